"""A share of the samples: drawn by the seed, groups whole, the same however they are cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import Samples
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ingest.settings import share_of
from assay.tasks.ingest.task import draw_share, drawn_rows
from assay.tasks.statistics.groups import GROUP


@dataclass(frozen=True)
class Piece:
    start: int
    stop: int


def rows(start: int, stop: int, group: int = 0) -> pa.Table:
    numbers = range(start, stop)
    table = pa.table({"id": [f"s{one}" for one in numbers], "gold": pa.array([one % 2 for one in numbers], pa.int16())})
    return table if not group else table.append_column(GROUP, pa.array([f"p{one // group}" for one in numbers]))


def piece_rows(piece: Piece) -> pa.Table:
    return rows(piece.start, piece.stop, group=4)


@stage(version=1)
def given_samples(cut: list[int]) -> Artifact[Samples]:
    return map_pieces(piece_rows, [Piece(a, b) for a, b in pairwise(cut)], into=Samples)


def drawn_ids(run: Run, cut: list[int], share: float = 0.25) -> list[str]:
    found: list[str] = collect(draw_share(given_samples(cut), share), ["id"])["id"].to_pylist()
    return found


def test_groups_are_whole_and_the_cut_does_not_matter(make_run: Callable[..., Run]) -> None:
    with make_run() as run:
        one, many = drawn_ids(run, [0, 400]), drawn_ids(run, list(range(0, 401, 10)))
    assert one == many
    assert 60 <= len(one) <= 140
    groups = [int(name[1:]) // 4 for name in one]
    assert all(groups.count(group) == 4 for group in groups)


def test_partitions_are_not_left_empty(make_run: Callable[..., Run]) -> None:
    with make_run():
        made = draw_share(given_samples(list(range(0, 401, 10))), 0.05)
    assert made.partitions <= 1 + made.rows // 10


def test_another_seed_draws_others(make_run: Callable[..., Run]) -> None:
    found = []
    for seed in (0, 1):
        with make_run(seed=seed) as run:
            found.append(drawn_ids(run, [0, 400]))
    assert found[0] != found[1]


def test_a_smaller_share_lies_inside_a_larger_one_and_shares_are_as_large_as_asked() -> None:
    samples = rows(0, 20_000)
    drawn = {share: set(drawn_rows(samples, share, seed=7)["id"].to_pylist()) for share in (0.05, 0.2, 0.5)}
    assert drawn[0.05] < drawn[0.2] < drawn[0.5]
    for share, ids in drawn.items():
        assert abs(len(ids) / 20_000 - share) < 4 * np.sqrt(share * (1 - share) / 20_000)


def test_a_share_that_draws_nobody_is_refused_with_one_that_would(make_run: Callable[..., Run]) -> None:
    with make_run(), pytest.raises(InputError, match=r"drew none of them: ask for more, as in --sample 5%"):
        draw_share(given_samples([0, 400]), 1e-6)


@stage(version=1)
def given_clinics() -> Artifact[Samples]:
    return map_pieces(clinic_rows, [Piece(0, 400)], into=Samples)


def clinic_rows(piece: Piece) -> pa.Table:
    return rows(piece.start, piece.stop, group=100)


def test_where_few_groups_are_drawn_from_a_larger_share_than_was_asked_is_named(make_run: Callable[..., Run]) -> None:
    with make_run(), pytest.raises(InputError, match=r"drew none of them: ask for more, as in --sample 16%"):
        draw_share(given_clinics(), 0.08)


@pytest.mark.parametrize("text", ["0", "0%", "101%", "-5%", "five", "5", "1e-3", ""])
def test_what_is_no_share_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a share of the samples above 0 and up to 100 %"):
        share_of(text)
