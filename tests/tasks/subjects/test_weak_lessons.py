"""Subjects of images and texts learn from decided weak labels only, and everything else is counted."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pytest

from assay.data.schemas import Classes, Samples, WeakLabels
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.findings import findings_from
from assay.tasks.subjects.task import measure_weak_lessons, take_weak_lessons

IDS = [f"s{row}" for row in range(6)]
SAMPLES = pa.table({"id": IDS, "gold": pa.array([0, 0, 1, 1, None, 1], pa.int16()), "text": list("abcdef")})


def labels(rows: dict[str, list[int | bool]]) -> pa.Table:
    """Weak labels, in an order and with samples of their own."""
    n = len(rows)
    return pa.table(
        {
            "id": list(rows),
            "label": [label for label, _ in rows.values()],
            "confidence": [0.7] * n,
            "votes_cast": [3] * n,
            "share": [0.7] * n,
            "undecided": [undecided for _, undecided in rows.values()],
        },
        schema=WeakLabels.schema,
    )


class Stored(NamedTuple):
    samples: Artifact[Samples]
    weak: Artifact[WeakLabels]
    classes: Artifact[Classes]


@stage(version=1)
def store_all(rows: dict[str, list[int | bool]]) -> Stored:
    classes = pa.table({"code": [0, 1], "name": ["no", "yes"]}, schema=Classes.schema)
    return Stored(
        write_table(SAMPLES, into=Samples, name="samples"),
        write_table(labels(rows), into=WeakLabels, name="weak"),
        write_table(classes, into=Classes, name="classes"),
    )


DECIDED = {"s5": [1, False], "s0": [1, False], "s1": [0, False], "s2": [0, True], "s4": [1, False], "x": [0, False]}
"""s2 is undecided and s3 has no label; s0 is wrong by gold, and of s4 gold says nothing."""


def test_only_samples_with_a_decided_label_teach_and_their_gold_is_not_looked_at(run: Run) -> None:
    samples, weak, classes = store_all(DECIDED)
    taught = collect(take_weak_lessons(samples, weak, classes), None)
    assert taught["id"].to_pylist() == ["s0", "s1", "s4", "s5"]
    assert taught["gold"].to_pylist() == [1, 0, 1, 1]
    assert taught["text"].to_pylist() == ["a", "b", "e", "f"]


def test_what_is_left_out_is_counted_and_gold_judges_the_lessons(run: Run) -> None:
    samples, weak, _ = store_all(DECIDED)
    found = findings_from(collect(measure_weak_lessons(samples, weak, "net"), None))
    assert [(one.metric, one.subject, one.value, one.n) for one in found] == [
        ("subject.taught", "net", 4 / 6, 6),
        ("subject.lessons_right", "net", 2 / 3, 3),
    ]


@pytest.mark.parametrize(
    ("weak", "said"), [({"s0": [1, True]}, "none is decided"), ({"s0": [1, False], "s1": [1, False]}, "all say 'yes'")]
)
def test_labels_of_one_class_teach_nothing_and_say_so(run: Run, weak: dict[str, list[int | bool]], said: str) -> None:
    samples, stored, classes = store_all(weak)
    with pytest.raises(InputError, match=f"6 training samples, and {said}: .* `train_on: gold`"):
        take_weak_lessons(samples, stored, classes)
