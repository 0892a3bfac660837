"""What the test of an order counts is the same in one place and by ranges, and what the plain statistics say."""

import functools
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.infra.stages.exact import merge
from assay.infra.stages.partitions import collect
from assay.tasks.ordering import order_test as by_ranges
from assay.tasks.ordering import sorting
from assay.tasks.ordering.datasets import range_bounds
from assay.tasks.ordering.order_test import area_gain, calibration_findings, order_test_findings, order_test_of
from assay.tasks.ordering.ranges import (
    BLOCKS,
    LabelledSamples,
    LeftOut,
    Pools,
    Risks,
    ends_of,
    first_clusters,
    labelled_samples,
    mean_risk,
    places_of,
    surroundings,
)
from assay.tasks.ordering.task import find_clusters, judge_order
from assay.tasks.statistics.calibration import brier, calibration_error, risk_area_interval
from assay.tasks.statistics.clusters import share_by
from assay.tasks.statistics.order_test import area_difference, area_sums, order_test
from tests.tasks.ordering.in_one_place import order_counts_at_once, tenth_findings
from tests.tasks.ordering.test_task import N, given_votes, ordered

CUTS = (0, 3, 100, 150, 151, 399, N)


def tables(
    seed: int, n: int = 300, groups: int = 40, ties: int = 12, grouped: bool = True
) -> tuple[pa.Table, pa.Table, pa.Table, pa.Table]:
    """Intervals of two orders, samples and clusters; some samples have no gold, some no winner."""
    generator = np.random.default_rng(seed)
    intervals = [
        pa.table(
            {
                "lower": generator.integers(0, ties, n) / ties,
                "confidence": generator.random(n).round(2),
                "tie_break": generator.integers(-(2**62), 2**62, n),
                "label": generator.integers(0, 2, n).astype(np.int16),
                "undecided": generator.random(n) < 0.1,
            }
        )
        for _ in range(2)
    ]
    gold = pa.array(generator.integers(0, 2, n).astype(np.int16), mask=generator.random(n) < 0.2)
    return (
        *intervals,
        pa.table({"gold": gold}),
        pa.table(
            {
                "cluster": generator.integers(-(2**62), 2**62, groups)[generator.integers(0, groups, n)],
                "pattern": pa.nulls(n, pa.int64()) if grouped else generator.integers(0, 30, n),
            }
        ),
    )


@pytest.mark.parametrize("seed", range(6))
def test_it_is_what_the_plain_statistics_say(seed):
    grouped = seed % 2 == 0
    first, second, samples, clusters = tables(seed, grouped=grouped, groups=40 if grouped else 10**6)
    pools = Pools(tuple(np.unique(clusters["cluster"].to_numpy()).tolist()), grouped)
    codes = pools.of(clusters["cluster"].to_numpy())
    judged, other = (
        order_counts_at_once(labelled_samples(each, samples, clusters, "lower", True), pools)
        for each in (first, second)
    )
    found = {
        one.metric: one
        for one in order_test_findings(judged, other, 0.01, "pl_all", "majority", np.random.default_rng(7))
    }

    def plain(table: pa.Table) -> tuple[np.ndarray, ...]:
        known = samples["gold"].is_valid().to_numpy()
        right = (table["label"].to_numpy() == samples["gold"].fill_null(-1).to_numpy()).astype(np.int64)
        return table["lower"].to_numpy(), right, known & ~table["undecided"].to_numpy(), known

    scores, right, tested, known = plain(first)
    patterns = None if grouped else clusters["pattern"].to_numpy()[tested]
    expected = order_test(scores[tested], right[tested], patterns, codes[tested], np.random.default_rng(7))
    tested_here = order_test_of(judged, np.random.default_rng(7))
    assert (tested_here.p_value, tested_here.n, tested_here.clusters) == (
        expected.p_value,
        expected.n,
        expected.clusters,
    )  # to the last bit
    assert (tested_here.area.low, tested_here.t) == pytest.approx((expected.area.low, expected.t), rel=1e-12)
    others, right_there, there, _ = plain(second)
    areas = (
        area_sums(scores[tested], right[tested], codes[tested], pools.count),
        area_sums(others[there], right_there[there], codes[there], pools.count),
    )
    assert area_gain(judged, other) == area_difference(*areas)
    ends = tenth_findings(
        "ordering", scores[tested], first["tie_break"].to_numpy()[tested], right[tested], codes[tested]
    )
    apart = first["undecided"].to_numpy() & known
    for one in (*ends, share_by("ordering.accuracy_undecided", right[apart] == 1, codes[apart])):
        ours = found[one.metric]
        assert (ours.value, ours.n) == (one.value, one.n)
        assert (ours.low, ours.high) == pytest.approx((one.low, one.high), abs=1e-12)
    aurc = risk_area_interval(scores[tested], right[tested], codes[tested])
    ours = found["ordering.aurc"]
    assert (ours.value, ours.low, ours.high) == pytest.approx(tuple(aurc), abs=1e-10)

    counted = order_counts_at_once(labelled_samples(first, samples, clusters, "confidence", False), pools)
    ece, by_chance, squares = calibration_findings(counted.calibration, "majority", np.random.default_rng(3))
    generator, sure = np.random.default_rng(3), first["confidence"].to_numpy()[known]
    error = calibration_error(sure, right[known], codes[known], generator)
    assert (ece.value, ece.low, ece.high, by_chance.value) == pytest.approx(tuple(error), abs=1e-12)
    score = brier(sure[:, None], np.where(right[known] == 1, 0, 1), codes[known], generator)
    assert (squares.value, squares.low, squares.high) == pytest.approx(tuple(score), abs=1e-12)


@given(st.integers(0, 999), st.integers(1, 5), st.lists(st.integers(0, 30), max_size=6))
def test_ties_that_reach_over_ranges_are_whole_in_each(seed, ties, cuts):
    generator = np.random.default_rng(seed)
    scores, wrong = np.sort(generator.integers(0, ties, 30)), generator.random(30) < 0.5
    parts = generator.integers(0, 3, 30)
    ranges = list(pairwise([0, *sorted(cuts), 30]))
    ends = [ends_of(scores[a:b], wrong[a:b], parts[a:b], 3) for a, b in ranges]
    arounds = surroundings(ends, 3)
    for without in (None, 0, 1, 2):
        units, kept = 0, np.ones(30, bool) if without is None else parts != without
        for (a, b), here in zip(ranges, arounds, strict=True):
            if a == b:
                continue
            tie = places_of(scores[a:b])
            ties = here.ties(*(np.bincount(tie[each], minlength=tie[-1] + 1) for each in (tie >= 0, wrong[a:b])))
            risks = Risks.of(ties)
            if without is not None:
                gone = ~kept[a:b]
                risks = risks.without(ties, LeftOut.of(tie[gone], wrong[a:b][gone]), here, without)
            for at, score in enumerate(np.unique(scores[a:b])):
                same, before = kept & (scores == score), kept & (scores < score)
                assert risks.here[at] == same[a:b].sum()
                if risks.here[at]:
                    assert risks.share[at] == (same & wrong).sum() / same.sum()
                    assert (risks.before[at], risks.lost[at]) == (before.sum(), (before & wrong).sum())
            assert risks.start == kept[:a].sum()
            assert (ties.n, ties.all_wrong) == (30, wrong.sum())
            units += risks.units()
        kept_scores = -scores[kept].astype(float)
        expected = risk_area_interval(kept_scores, ~wrong[kept], np.arange(len(kept_scores))).value
        assert mean_risk(units, int(kept.sum())) == pytest.approx(expected, abs=1e-10, nan_ok=True)


def test_known_samples_travel_whole():
    known = labelled_samples(*tables(1, grouped=False)[1:], "lower", True)
    bounds = range_bounds(set(zip(known.keys.scores[:40].tolist(), known.keys.ties[:40].tolist(), strict=True)), 3)
    senders = [known.take(np.arange(len(known)) % 2 == at) for at in (0, 1)]
    sent = [each.dealt(bounds) for each in senders]
    came = [
        LabelledSamples.received({at: memoryview(parts[number]) for at, parts in enumerate(sent)})
        for number in range(3)
    ]
    columns = zip(*((*each.keys, each.clusters, each.right, each.tested, each.patterns) for each in came), strict=True)
    whole = known.in_order()
    for column, expected in zip(
        columns, (*whole.keys, whole.clusters, whole.right, whole.tested, whole.patterns), strict=True
    ):
        assert np.concatenate(column).tolist() == expected.tolist()


def test_few_clusters_stay_apart_and_many_are_put_together():
    parts = [
        pa.table({"cluster": np.arange(start, start + 3000), "pattern": np.arange(3000)}) for start in (0, 500, 2000)
    ]
    counted = [first_clusters(part, BLOCKS + 1) for part in parts]
    assert len(functools.reduce(merge, counted[:2])["first"].values) == 3500
    assert len(functools.reduce(merge, counted)["first"].values) == BLOCKS + 1
    assert set(Pools().of(np.arange(-BLOCKS, BLOCKS))) == set(range(BLOCKS))


@pytest.mark.slow
@pytest.mark.parametrize("few", [1, 5000])
@pytest.mark.parametrize("options", [{}, {"undecided": "default"}, {"known": 3}, {"known": 0}])
def test_digests_are_those_of_one_place(make_run, tmp_path, monkeypatch, options, few):
    """`few`: clusters that stay apart; with 1 all are put together."""
    monkeypatch.setattr("assay.tasks.ordering.ranges.BLOCKS", few)

    def digests(store: str) -> list[object]:
        with make_run(store=str(tmp_path / store)) as run:
            intervals, samples, settings = ordered(cuts=CUTS, **options)
            clusters = find_clusters(given_votes(list(CUTS)), samples, None)
            both = [
                judge_order(intervals, intervals, samples, clusters, settings, name, "majority")
                for name in ("ours", "pl_indep")
            ]
            return (
                [collect(each, None).to_pydict() for each in both],
                [each.digest for each in both],
                [record.summary for record in run.record.stages if record.title == "trend"],
            )

    at_once = digests("one place")
    monkeypatch.setattr(sorting, "RANGE_ROWS", 50)
    assert digests("ranges") == at_once
    monkeypatch.setattr(by_ranges, "RANGES_PER_SLOT", 1)
    assert digests("some ranges at a time") == at_once
