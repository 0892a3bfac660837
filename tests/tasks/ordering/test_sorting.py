"""An order that is sorted by ranges is the one sorted at once: ranks, ties, and all that is counted along it."""

import functools
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from posted import opened

from assay.data.schemas import CuratedSets
from assay.infra.errors import RunError
from assay.infra.stages.exact import merge
from assay.infra.stages.partitions import collect
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering import sorting
from assay.tasks.ordering.datasets import (
    cut_points,
    drawn_keys,
    keys_of,
    range_bounds,
    sorted_places,
    ties_in,
    ties_over,
)
from assay.tasks.ordering.task import measure_ordering, order_adversarially
from tests.tasks.ordering.in_one_place import adversarial_order, counted_at_once, largest_tie
from tests.tasks.ordering.test_task import N, ordered

CUTS = (0, 3, 100, 150, 151, 399, N)


@st.composite
def cut_tables(draw):
    """Partitions of intervals and samples with many ties, some of them in the tie breaks too, and what is drawn."""
    n = draw(st.integers(3, 60))
    generator = np.random.default_rng(draw(st.integers(0, 999)))
    scores = generator.choice([0.0, -0.0, 0.25, 0.5, 0.75, 1.0][: draw(st.integers(1, 6))], n)
    intervals = pa.table(
        {
            "lower": scores if draw(st.booleans()) else generator.random(n),
            "tie_break": generator.integers(-4, 4, n)
            if draw(st.booleans())
            else generator.integers(-(2**62), 2**62, n),
            "label": generator.integers(0, 2, n).astype(np.int16),
        }
    )
    unknown = generator.random(n) < draw(st.sampled_from([0, 0.5]))
    samples = pa.table({"gold": pa.array(generator.integers(0, 2, n).astype(np.int16), mask=unknown)})
    ends = sorted({0, n, *draw(st.lists(st.integers(0, n), max_size=4))})
    parts = [(intervals.slice(a, b - a), samples.slice(a, b - a)) for a, b in pairwise(ends)]
    labelled = draw(st.booleans()) and not unknown.all() and n - unknown.sum() >= 3
    return intervals, samples, parts, labelled, draw(st.integers(1, 7))


def received(sent: dict[int, pa.Table], addressee: int) -> dict[int, memoryview]:
    return {number: opened(table, addressee) for number, table in sent.items()}


@pytest.mark.slow
@given(cut_tables())
def test_ranks_and_counts_are_those_of_one_sort(tables):
    intervals, samples, parts, labelled, rows = tables
    by = sorting.By("lower", labelled)
    drawn = functools.reduce(merge, (sorting.keys_drawn(*part, by, rows) for part in parts))
    cuts = cut_points(drawn["rows"]["0"], 3)
    bounds = range_bounds(drawn["keys"]["0"], -(-drawn["rows"]["0"] // rows))
    dealt = {at: sorting.keys_dealt(*part, by, bounds) for at, part in enumerate(parts)}
    sent = {at: one.result for at, one in dealt.items()}
    ends = np.cumsum(sum(one.tally["rows"] for one in dealt.values())).tolist()
    pieces, starts = [sorting.Range(at) for at in range(len(ends))], [0, *ends[:-1]]

    chosen = np.flatnonzero(samples["gold"].is_valid()) if labelled else np.arange(len(intervals))
    scores, ties = (intervals[name].to_numpy()[chosen] for name in ("lower", "tie_break"))
    order = adversarial_order(scores, ties)
    expected = np.full(len(intervals), -1)
    expected[chosen[order]] = np.arange(len(chosen))
    back = {one.number: sorting.ranks_in_range(one, received(sent, one.number), starts) for one in pieces}
    ranked = {number: one.result for number, one in back.items()}
    came = [sorting.ranks_received(*part, received(ranked, at), by) for at, part in enumerate(parts)]
    assert np.concatenate(came).tolist() == expected.tolist()

    in_ranges = (sorting.counts_in_range(one, received(sent, one.number), starts, cuts.tolist()) for one in pieces)
    found = functools.reduce(merge, in_ranges)
    at_scores = (sorting.counts_at_scores(*part, by, found["scores_at_cuts"]) for part in parts)
    counted = sorting.joined(cuts, found, functools.reduce(merge, at_scores))
    known = sorting.known_of(intervals, samples)[chosen][order]
    whole = counted_at_once(scores[order], known, cuts)
    assert {name: np.asarray(value).tolist() for name, value in asdict(counted).items()} == {
        name: np.asarray(value).tolist() for name, value in asdict(whole).items()
    }


@given(st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=5))
def test_a_tie_may_reach_over_any_number_of_ranges(ranges):
    scores = np.sort(np.array([one for part in ranges for one in part], dtype=np.int64))
    parts = np.split(scores, np.cumsum([len(part) for part in ranges])[:-1]) if ranges else []
    assert ties_over([ties_in(part) for part in parts]) == (largest_tie(scores.astype(float)), len(np.unique(scores)))


def test_keys_sort_as_scores_do():
    generator = np.random.default_rng(0)
    scores = np.concatenate([generator.normal(size=300), generator.choice([0.0, -0.0, 1.0, np.inf, 5e-324], 300)])
    ties = generator.integers(-(2**63), 2**63 - 1, 600)
    assert sorted_places(keys_of(scores, ties)).tolist() == np.lexsort((ties, -scores)).tolist()


def test_ranges_are_about_even_even_where_all_scores_are_one():
    ties = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 1 << 20)
    keys = keys_of(np.full(len(ties), 0.5), ties)
    bounds = range_bounds(drawn_keys(keys, 1 << 17), 8)
    sizes = np.diff([0, *np.searchsorted(np.sort(ties), bounds.ties), len(ties)])
    assert sizes.max() < 1.3 * (1 << 17)


def in_ranges(monkeypatch, rows=50):
    monkeypatch.setattr(sorting, "RANGE_ROWS", rows)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"known": 1}, {"known": 3}, {"known": 3, "curate": "labelled"}, {"known": 0}])
def test_digests_are_those_of_the_order_in_one_place(make_run, tmp_path, monkeypatch, options):
    def measured(store: str) -> list[object]:
        with make_run(store=str(tmp_path / store)) as run:
            inputs = ordered(cuts=CUTS, **options)
            curated = order_adversarially(*inputs, "majority")
            both = [measure_ordering(*inputs, name, "majority") for name in ("ours", "pl_indep")]
            lines = [record.summary for record in run.record.stages]
            return [curated.digest, collect(curated, CuratedSets.schema.names), both, lines]

    def digests(found):
        curated, table, both, lines = found
        return curated, table.to_pydict(), [one.digest for pair in both for one in pair], lines

    at_once = digests(measured("one place"))
    in_ranges(monkeypatch)
    assert digests(measured("ranges")) == at_once


def test_parcels_are_gone_when_the_order_is_committed(run, monkeypatch):
    in_ranges(monkeypatch)
    order_adversarially(*ordered(cuts=CUTS), "majority")
    assert not [name for name in run.store.folder.sizes("stages/order_adversarially") if "/keys/" in name]


def test_an_order_without_all_partitions_is_refused():
    sent: Artifact[object] = Artifact("Parcels", "", "", "", 3, 3)
    with pytest.raises(
        RunError, match=r"1 of 4 partitions could not be sorted, so that no rank is known: .* run again"
    ):
        sorting.require_all(sent, 4)
