"""Slices as a stage: what every subject has right is held against the values of the columns that were named."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import Findings, Predictions, Samples
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.slices.search import SlicedAnswers, Slices, confirmed_findings, search, slice_findings, slice_values
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import groups_by_id


@stage(version=2, title="slices", draws=True)
def measure_slices(
    samples: Artifact[Samples], predictions: dict[str, Artifact[Predictions]], settings: Slices, significance: float
) -> Artifact[Findings]:
    """The findings `slices.*` of every subject, by name, on the samples that it was asked about and whose class is
    known."""
    known = collect(samples, list(dict.fromkeys(["id", "gold", *settings.columns])))
    values = {name: slice_values(known[name], name) for name in settings.columns}
    of_id = groups_by_id(samples)
    findings: list[Finding] = []
    by_subject = {}
    for subject, table in predictions.items():
        answers = sliced_answers(known, collect(table, ["id", "predicted"]), values, of_id)
        findings += slice_findings(answers, subject)
        by_subject[subject] = search(answers, settings, stage_seeds().generator(subject))
    confirmed = confirmed_findings(by_subject, significance)
    worse = [f"{test.subject} is worse where {test.of}" for test in confirmed if test.verdict == "worse"]
    say("; ".join(worse) or f"{len(settings.columns)} columns · no slice is shown to be worse than the rest")
    return write_table(findings_table([*findings, *confirmed]), into=Findings)


def sliced_answers(
    known: pa.Table, predictions: pa.Table, values: dict[str, list[str | None]], of_id: dict[str, int] | None
) -> SlicedAnswers:
    """What a subject has right of the samples with a class that it gave one class, in the order of the samples."""
    place = pc.index_in(known["id"], value_set=predictions["id"].combine_chunks())
    predicted = pc.fill_null(predictions["predicted"].take(place), -1).to_numpy().astype(np.int64)
    gold = pc.fill_null(known["gold"], -1).to_numpy().astype(np.int64)
    rows = np.flatnonzero((predicted >= 0) & (gold >= 0))
    ids = known["id"].to_pylist()
    groups = None if of_id is None else np.array([of_id[ids[row]] for row in rows], dtype=np.int64)
    columns = {name: [column[row] for row in rows] for name, column in values.items()}
    return SlicedAnswers((predicted == gold)[rows], columns, groups)
