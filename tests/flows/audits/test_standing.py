"""What audits stand on in a pipeline, and what cannot learn from weak labels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from assay.flows.audit import run_kinds
from assay.flows.audits.data import Data
from assay.flows.audits.subjects import ALONG, SUBJECTS, clashes
from assay.flows.audits.table import KINDS, in_running_order
from assay.flows.kind import AuditKind, Ground, Measurements
from assay.flows.pipeline import Pipeline, pipeline_model
from assay.infra.errors import RunError

WEAKLY = {"network": "small-cnn", "train": {}, "train_on": "weak"}


def pipeline(**subject: object) -> Pipeline:
    return pipeline_model(KINDS).model_validate(
        {
            "name": "p",
            "source": {"dataset": "sample/lesions-small"},
            "labeling": {"functions": "lesions"},
            "weak_labels": {},
            "ordering": {},
            "subjects": [subject],
        }
    )


def test_subjects_wait_for_curation_only_where_they_learn_from_it() -> None:
    assert SUBJECTS.below(pipeline(network="small-cnn", train={})) == ("data",)
    assert SUBJECTS.below(pipeline(**WEAKLY)) == ("data", "curation")


class Pair:
    """A pipeline of two audits, of which the second asks later for what the first gives."""

    def __init__(self, oracle: Callable[[Ground], Any], attack: Callable[[Ground], Any]) -> None:
        def asked(_pipeline: object) -> bool:
            return True

        later = {"stands_on": ("oracle",), "asks_later": ("oracle",)}
        self.kinds = (AuditKind("oracle", asked, oracle), AuditKind("attack", asked, attack, **later))

    def asked(self, _settings: object) -> None:
        return None


def test_an_audit_that_asks_later_does_not_wait_until_it_asks(make_run: Any, tmp_path: Path) -> None:
    begun, said = threading.Event(), Measurements()

    def oracle(_ground: Ground) -> Measurements:
        assert begun.wait(20)
        return said

    def attack(ground: Ground) -> Measurements:
        begun.set()
        assert ground.awaited(Measurements) is said
        return Measurements()

    with make_run(at_once=2):
        made = run_kinds(cast(Pipeline, Pair(oracle, attack)), tmp_path, cast(Data, None))
    assert list(made) == ["oracle", "attack"]


def test_where_the_audit_failed_that_it_asks_for_it_goes_on_without(make_run: Any, tmp_path: Path) -> None:
    def oracle(_ground: Ground) -> Measurements:
        raise RunError("The oracle is out.")

    def attack(ground: Ground) -> Measurements:
        assert ground.awaited(Measurements) is None
        return Measurements()

    with make_run() as run:
        assert list(run_kinds(cast(Pipeline, Pair(oracle, attack)), tmp_path, cast(Data, None))) == ["attack"]
    assert [str(failure) for failure in run.failures] == ["The oracle is out."]


def test_the_order_is_followed_after_everything_that_is_done_to_subjects() -> None:
    names = [kind.name for kind in in_running_order(KINDS)]
    assert max(map(names.index, (*ALONG.stands_on, *ALONG.after))) < names.index("along")
    assert ALONG.asked(pipeline(network="small-cnn", train={}))
    assert not ALONG.asked(pipeline(model="logistic"))


@pytest.mark.parametrize(
    ("source", "subject", "said"),
    [
        ({"dataset": "sample/chest"}, WEAKLY, "these bear several labels"),
        ({"dataset": "sample/abstracts"}, {"tagger": "small-tagger", "train_on": "weak"}, "a tagger learns tags"),
        ({"dataset": "sample/lesions"}, {"network": "a.py:b", "weights": "w", "train_on": "weak"}, "learns nothing"),
        ({"dataset": "sample/reviews"}, {"classifier": "a.py:b", "train_on": "weak"}, "this classifier comes as it is"),
        ({"images": "scans"}, WEAKLY, ""),
    ],
)
def test_what_cannot_learn_from_weak_labels_is_said_by_its_line(
    source: dict[str, object], subject: dict[str, object], said: str
) -> None:
    found = list(clashes({"source": source, "weak_labels": {}, "subjects": [subject]}))  # type: ignore[dict-item]
    assert [one.where for one in found] == ([("subjects", 0, "train_on")] if said else [])
    assert said in " ".join(one.why for one in found)


def test_a_network_that_the_rules_teach_needs_no_gold() -> None:
    source = {"parquet": "a.parquet", "image": "scan", "classes": ["no", "yes"]}
    assert not list(clashes({"source": source, "weak_labels": {}, "subjects": [WEAKLY]}))  # type: ignore[dict-item]
    gold = {**WEAKLY, "train_on": "gold"}
    assert [one.where[-1] for one in clashes({"source": source, "weak_labels": {}, "subjects": [gold]})] == ["train"]  # type: ignore[dict-item]
