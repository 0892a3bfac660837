"""The table of kinds of subject: every way to name one is in it, and it knows who learns and what is read."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.tasks.subjects.kinds import KINDS, kind_of, kinds_written, stages_of
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import KNOWN, SCORING, TAGGING, WAYS, Subject


def test_every_way_to_name_a_subject_is_a_kind() -> None:
    assert tuple(kind.name for kind in KINDS) == WAYS == tuple(KNOWN)


def test_what_has_a_usual_training_is_known_by_name() -> None:
    assert (tuple(TAGGING), tuple(SCORING)) == (KNOWN["tagger"], KNOWN["scorer"])


@pytest.mark.parametrize(
    "named", [{"network": "./vit"}, {"model": "m.onnx"}, {"model": "m.skops"}, {"model": "models:/m@x"}]
)
def test_a_model_at_an_address_is_read_again_from_the_record_of_a_run(named: dict[str, str]) -> None:
    subject = Subject(**named)
    assert Subject.model_validate(subject.model_dump(mode="json")) == subject


@pytest.mark.parametrize(
    ("named", "train", "learns"),
    [
        ({"model": "logistic"}, None, True),
        ({"model": "mine.py:model"}, None, False),
        ({"network": "small-cnn"}, {}, True),
        ({"network": "mine.py:build"}, {}, True),
        ({"network": "small-cnn"}, None, False),
        ({"classifier": "small-bert"}, None, True),
        ({"classifier": "some/folder"}, None, False),
        ({"classifier": "some/folder"}, {}, True),
        ({"tagger": "minilm"}, None, True),
        ({"tagger": "mine.py:tag"}, {}, False),
        ({"scorer": "some/folder"}, None, False),
        ({"predictions": "column"}, None, False),
    ],
)
def test_who_learns(named: dict[str, str], train: object, learns: bool) -> None:
    (kind,) = kinds_written(named)
    assert kind.learns(next(iter(named.values())), train) is learns


def test_columns_that_are_read() -> None:
    assert kind_of(tagger := Subject(tagger="minilm", tokens="words")).columns(tagger) == ("words",)
    assert kind_of(given := Subject(predictions="theirs")).columns(given) == ()


def test_a_subject_of_columns_has_no_samples_set_apart() -> None:
    with pytest.raises(ValueError, match="subject of columns"):
        stages_of(Subject(model="logistic"))


def test_subjects_are_known_by_the_fingerprints_that_stores_have() -> None:
    written = [
        {"model": "logistic"},
        {"network": "small-cnn", "train": {}},
        {"classifier": "small-bert"},
        {"tagger": "small-tagger"},
        {"scorer": "small-scorer", "train": {"epochs": 2}},
        {"predictions": "x"},
    ]
    found = [resolve_subject(Subject.model_validate(one), Path()).fingerprint[:8] for one in written]
    assert found == ["1bb6de5f", "4d0b744f", "73ecc962", "65981ae5", "021b2197", "6aef286a"]


def test_the_table_loads_no_model_library() -> None:
    code = "import sys, assay.tasks.subjects.kinds; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "assay.tasks.subjects.kinds" in loaded
    assert not {"torch", "transformers", "sklearn"} & set(loaded)
