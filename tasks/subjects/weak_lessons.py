"""What a subject learns from weak labels: the training samples whose label is decided, with it in the place of gold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share

Codes = npt.NDArray[np.int16]
NONE = -1


def weak_codes(ids: pa.ChunkedArray, labels: pa.Table) -> Codes:
    """The weak label of each sample, −1 where it has none or the votes were undecided.

    >>> labels = pa.table({"id": ["a", "b"], "label": pa.array([1, 0], pa.int16()), "undecided": [False, True]})
    >>> weak_codes(pa.chunked_array([["b", "c", "a"]]), labels).tolist()
    [-1, -1, 1]
    """
    decided = labels.filter(pc.invert(labels["undecided"]))
    places = pc.index_in(ids, value_set=decided["id"].combine_chunks())
    codes: Codes = pc.fill_null(decided["label"].take(places), NONE).to_numpy().astype(np.int16)
    return codes


def taught_rows(samples: pa.Table, codes: Codes) -> pa.Table:
    """The samples of a partition that have a decided weak label, which stands where gold stood."""
    at = samples.column_names.index("gold")
    taught = samples.set_column(at, pa.field("gold", pa.int16()), pa.array(codes))
    return taught.filter(pa.array(codes != NONE))


@dataclass(frozen=True)
class Lessons:
    """How many samples could train, how many of them do, and of those with gold how many bear the right label."""

    samples: int
    taught: int
    judged: int
    right: int


def lessons(gold: npt.NDArray[np.int16], codes: Codes) -> Lessons:
    """The counts; gold is −1 where unknown, and teaches nothing here."""
    taught = codes != NONE
    judged = taught & (gold != NONE)
    return Lessons(len(codes), int(taught.sum()), int(judged.sum()), int((judged & (gold == codes)).sum()))


def lesson_findings(counted: Lessons, subject: str) -> list[Finding]:
    """The share of the training samples that the subject learns from, and how many of its lessons gold confirms."""
    return [
        share("subject.taught", counted.taught, counted.samples, of="weak", subject=subject),
        share("subject.lessons_right", counted.right, counted.judged, of="weak", subject=subject),
    ]
