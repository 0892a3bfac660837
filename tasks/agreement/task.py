"""Agreement as a stage: the labels of people are read from the columns that were named."""

from __future__ import annotations

from assay.data.schemas import Classes, Findings, Samples, class_names
from assay.infra.stages.partitions import Columns, Reuse, collect, columns_in, reduce_partitions
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.agreement.alpha import Annotators, agreement_findings, count_patterns, labelled_patterns
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.groups import GROUP


@stage(version=5, title="annotators")
def measure_agreement(
    samples: Artifact[Samples], classes: Artifact[Classes], settings: Annotators
) -> Artifact[Findings]:
    """The findings `annotators.*` on the columns of labels."""
    names = class_names(collect(classes, None))
    columns, grouped = list(dict.fromkeys(settings.columns)), GROUP in columns_in(samples)
    read = Columns(samples, tuple(dict.fromkeys(["gold", *columns, *(["id", GROUP] if grouped else [])])))
    codes = {name: code for code, name in enumerate(names)}
    counted = reduce_partitions(count_patterns, read, reuse=Reuse(), columns=columns, classes=codes)
    labelled = labelled_patterns(counted, columns, grouped=grouped)
    findings = agreement_findings(labelled, len(names))
    value = findings[0].value
    outcome = "not measured: no sample has two labels of theirs" if value is None else f"α = {value:.2f}"
    say(f"{len(labelled.labels)} annotators · {outcome}")
    return write_table(findings_table(findings), into=Findings)
