"""Pruning as a stage gives the panel of the pure module, however the votes are cut."""

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import Classes, Panel, Votes
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.pruning.panel import panel, prune_labeling_functions
from assay.tasks.pruning.settings import Pruning
from assay.tasks.statistics.findings import findings_from
from assay.tasks.statistics.vote_counts import count_partition, vote_counts

VOTES = np.random.default_rng(0).integers(-1, 2, size=(90, 6)).astype(np.int8)
VOTES[:, 5] = VOTES[:, 0]


@dataclass(frozen=True)
class Rows:
    start: int
    stop: int


def votes_table(rows: Rows) -> pa.Table:
    columns = {f"rule {i}": pa.array(VOTES[rows.start : rows.stop, i].copy()) for i in range(6)}
    return pa.table({"id": [f"s{i}" for i in range(rows.start, rows.stop)], **columns})


@stage(version=1)
def given_votes(cuts: list[int]) -> Artifact[Votes]:
    return map_pieces(votes_table, [Rows(*cut) for cut in itertools.pairwise(cuts)], into=Votes)


@stage(version=1)
def given_classes() -> Artifact[Classes]:
    return write_table(pa.table({"code": [0, 1], "name": ["no", "yes"]}, schema=Classes.schema), into=Classes)


@pytest.mark.parametrize("cuts", [[0, 90], [0, 1, 40, 90], list(range(0, 91, 10))])
def test_the_stage_gives_the_panel_of_all_votes_however_they_are_cut(run, cuts):
    artifact = prune_labeling_functions(given_votes(cuts), given_classes(), Pruning()).panel
    expected = panel(vote_counts(count_partition(votes_table(Rows(0, 90)), 2), 2), Pruning())
    table = collect(artifact, Panel.schema.names)
    assert table.equals(expected)
    assert table["kept"].to_pylist().count(False) == 1


def test_the_findings_count_the_functions_kept(run):
    pruned = prune_labeling_functions(given_votes([0, 90]), given_classes(), Pruning())
    findings = findings_from(collect(pruned.findings, None))
    kept = next(one for one in findings if one.metric == "pruning.kept")
    assert (kept.value, kept.n) == (5, 6)
