"""Pruning as a stage: votes are counted where they lie, the panel is chosen from the counts."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from assay.data.schemas import Classes, Findings, Panel, Votes
from assay.infra.stages.partitions import Reuse, reduce_partitions
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.pruning.panel import kept_functions, panel, panel_findings
from assay.tasks.pruning.settings import Pruning
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.vote_counts import count_partition, vote_counts


class Pruned(NamedTuple):
    """The panel, and what there is to say about it."""

    panel: Artifact[Panel]
    findings: Artifact[Findings]


@stage(version=1, title="prune")
def prune_labeling_functions(votes: Artifact[Votes], classes: Artifact[Classes], settings: Pruning) -> Pruned:
    """The panel of labelling functions of which no two depend on each other (Algorithm 1)."""
    counted: dict[str, object] = reduce_partitions(count_partition, votes, reuse=Reuse(), classes=classes.rows)
    table = panel(vote_counts(counted, classes.rows), settings)
    say(_in_words(table, settings))
    findings = findings_table(panel_findings(table))
    return Pruned(write_table(table, into=Panel), write_table(findings, into=Findings))


def _in_words(table: pa.Table, settings: Pruning) -> str:
    constant = sum(table.column("constant").to_pylist())
    always = f" · {constant} always say the same" if constant else ""
    return f"{len(kept_functions(table))} of {table.num_rows} rules kept (δ = {settings.correlation:g}){always}"
