"""Agreement as a stage: the labels of people are read from the columns that were named."""

from __future__ import annotations

from assay.data.schemas import Classes, Findings, Samples, class_names
from assay.infra.stages.partitions import Columns, Reuse, collect, columns_in, reduce_partitions
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.agreement.alpha import (
    Annotators,
    Labelled,
    agreement_findings,
    count_patterns,
    labelled_patterns,
    labelled_samples,
)
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.groups import GROUP

IN_ONE_PLACE = 1 << 13
"""Up to so many samples their labels are collected and resampled one by one, which takes time with their square; of
more, patterns are counted."""


@stage(version=4, title="annotators")
def measure_agreement(
    samples: Artifact[Samples], classes: Artifact[Classes], settings: Annotators
) -> Artifact[Findings]:
    """The findings `annotators.*` on the columns of labels."""
    names = class_names(collect(classes, None))
    labelled = _labelled(samples, settings, {name: code for code, name in enumerate(names)})
    findings = agreement_findings(labelled, len(names))
    value = findings[0].value
    outcome = "not measured: no sample has two labels of theirs" if value is None else f"α = {value:.2f}"
    say(f"{len(labelled.labels)} annotators · {outcome}")
    return write_table(findings_table(findings), into=Findings)


def _labelled(samples: Artifact[Samples], settings: Annotators, classes: dict[str, int]) -> Labelled:
    """The labels by sample, or, of very many, by pattern."""
    columns, grouped = list(dict.fromkeys(settings.columns)), GROUP in columns_in(samples)
    needed = list(dict.fromkeys(["id", "gold", *columns, *([GROUP] if grouped else [])]))
    if samples.rows <= IN_ONE_PLACE:
        return labelled_samples(collect(samples, needed), columns, classes)
    read = Columns(samples, tuple(needed if grouped else needed[1:]))  # what has no group goes by its id
    counted = reduce_partitions(count_patterns, read, reuse=Reuse(), columns=columns, classes=classes)
    return labelled_patterns(counted, columns, grouped=grouped)
