"""The stages of learning from weak labels: the samples that teach, and how many there are."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Samples, WeakLabels
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect, map_partitions
from assay.infra.stage import say, stage, write_table
from assay.tasks.statistics.findings import findings_table
from assay.tasks.subjects.holding_out import rows_as_they_are
from assay.tasks.subjects.holding_out_task import ROWS
from assay.tasks.subjects.weak_lessons import NONE, lesson_findings, lessons, taught_rows, weak_codes


@stage(version=1, title="weak lessons")
def take_weak_lessons(
    training: Artifact[Samples], labels: Artifact[WeakLabels], classes: Artifact[Classes]
) -> Artifact[Samples]:
    """The training samples that have a decided weak label, with it in the place of gold."""
    codes = weak_codes(collect(training, ["id"])["id"], collect(labels, ["id", "label", "undecided"]))
    names, known = class_names(collect(classes, None)), np.unique(codes[codes != NONE])
    if len(known) < 2:
        lack = f"all say {names[known[0]]!r}" if len(known) else "none is decided"
        raise InputError(
            f"A subject is to learn from the weak labels of {training.rows} training samples, and {lack}: a classifier "
            "needs two classes at least. Write rules for the others, or set `train_on: gold`."
        )
    rows = map_partitions(taught_rows, training, into=Samples, name="taught_rows", aligned={"codes": codes})
    taught: Artifact[Samples] = map_partitions(rows_as_they_are, rows, into=Samples, rows=ROWS)
    say(f"{taught.rows} of {training.rows} training samples have a decided label")
    return taught


@stage(version=1, title="lessons")
def measure_weak_lessons(training: Artifact[Samples], labels: Artifact[WeakLabels], name: str) -> Artifact[Findings]:
    """How many training samples a subject learns from, and how many of its lessons gold confirms."""
    known = collect(training, ["id", "gold"])
    gold = pc.fill_null(known["gold"], NONE).to_numpy().astype(np.int16)
    counted = lessons(gold, weak_codes(known["id"], collect(labels, ["id", "label", "undecided"])))
    right = f", {counted.right} of {counted.judged} rightly by gold" if counted.judged else ""
    say(f"{name} · taught by {counted.taught} of {counted.samples} samples{right}")
    return write_table(findings_table(lesson_findings(counted, name)), into=Findings)
