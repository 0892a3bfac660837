"""Other scores to order by: what they are, that they see no sample's own gold, and which is shown to be better."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import entropy

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.ordering import sorting
from assay.tasks.ordering.page import _recommended
from assay.tasks.ordering.scores import folds_of, learned_lines, rival_findings, vote_entropy
from assay.tasks.ordering.settings import SCORES, Ordering
from assay.tasks.ordering.task import find_clusters, order_adversarially, score_samples
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_from
from assay.tasks.statistics.order_test import area_sums
from tests.tasks.ordering.test_task import N, given_classes, given_votes, ordered


def scored(cuts=(0, N), known=1, **options):
    intervals, samples, settings = ordered(cuts, known, **options)
    votes = given_votes(list(cuts))
    clusters = find_clusters(votes, samples, None)
    return score_samples(intervals, votes, None, samples, clusters, given_classes(), settings, "majority")


def test_the_entropy_is_that_of_the_votes_and_at_its_most_where_nobody_votes():
    votes = np.random.default_rng(0).integers(-1, 3, (60, 7)).astype(np.int8)
    shares = [np.bincount(row[row >= 0], minlength=3) for row in votes]
    assert vote_entropy(votes, 3) == pytest.approx([entropy(each) / np.log(3) for each in shares])
    assert vote_entropy(np.full((1, 4), -1, np.int8), 3).tolist() == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize("by", SCORES)
def test_whatever_orders_the_cut_does_not_matter_and_the_contract_holds(make_run, tmp_path, monkeypatch, by):
    seen = set()
    for cuts, rows in (((0, N), 10**6), ((0, 3, 100, 399, N), 50)):
        monkeypatch.setattr(sorting, "RANGE_ROWS", rows)
        with make_run(store=str(tmp_path / str(rows))):
            found = scored(cuts, by=by)
            _, samples, settings = ordered(cuts, by=by)
            curated = order_adversarially(found.intervals, samples, settings, "majority")
            table = collect(curated, ["lower", "upper", "rank"]).sort_by("rank")
            assert (np.diff(table["lower"].to_numpy()) <= 0).all()
            assert (table["upper"].to_numpy() >= table["lower"].to_numpy()).all()
            seen.add((found.intervals.digest, found.findings.digest, curated.digest))
    assert len(seen) == 1


def test_the_bound_is_left_as_it_is(run):
    intervals, *_ = ordered()
    assert scored(by="bound").intervals.digest == intervals.digest


def test_a_learned_score_has_not_seen_the_gold_of_its_sample(run):
    """Labels that nothing tells right from wrong: a model that had seen the sample would."""
    rng = np.random.default_rng(0)
    rows = [(at, int(rng.integers(5)), bool(rng.random() < 0.6), rng.random(30).tobytes()) for at in range(300)]
    lines = learned_lines(rows)
    features, folds = np.stack([np.frombuffer(row) for *_, row in rows]), np.array([fold for _, fold, *_ in rows])
    score, right = (features * lines[folds][:, :-1]).sum(axis=1) + lines[folds][:, -1], [each for _, _, each, _ in rows]
    area = np.mean(np.subtract.outer(score[np.array(right)], score[~np.array(right)]) > 0)
    assert area < 0.56
    assert learned_lines([row for row in rows if row[2]]) is None


def test_samples_of_one_pattern_or_of_one_group_are_in_one_fold(run):
    """Scores are permuted over patterns: one that is scored by five lines would count as five."""
    _, samples, _ = ordered(by="learned")
    clusters = collect(find_clusters(given_votes([0, N]), samples, None), None)
    counts = clusters.append_column("fold", pa.array(folds_of(clusters))).group_by("pattern")
    folds = counts.aggregate([("fold", "count_distinct"), ("fold", "count")])
    assert max(folds["fold_count"].to_pylist()) > 5
    assert set(folds["fold_count_distinct"].to_pylist()) == {1}
    grouped = pa.table({"cluster": [3, 3, 9], "pattern": pa.nulls(3, pa.int64())})
    assert folds_of(grouped).tolist() == [3, 3, 4]


def test_without_enough_gold_nothing_is_learned(run):
    with pytest.raises(InputError, match=r"ordering.by is learned, and too few samples have gold"):
        scored(known=40, by="learned")
    assert {each.of for each in findings_from(collect(scored(known=40).findings, None))} == {"confidence", "entropy"}


def test_the_better_score_is_named_and_the_page_recommends_it(run):
    found = {each.of: each for each in findings_from(collect(scored().findings, None))}
    assert set(found) == {"confidence", "entropy", "learned"}
    assert {each.n for each in found.values()} == {found["confidence"].n}
    assert all(each.low <= each.value <= each.high for each in found.values())
    better = [
        Finding("ordering.by_gain", of="learned", group="m", value=0.06, low=0.02, high=0.1, verdict="better"),
        Finding("ordering.by_gain", of="entropy", group="m", value=0.09, low=-0.02, high=0.2, verdict="not shown"),
    ]
    (said,) = _recommended(FindingIndex(better), "m")
    assert "learned orders better: by it a right label outranks a wrong one 6 points [2" in said.text
    assert said.text.endswith("ordering: {by: learned} takes it.")
    (said,) = _recommended(FindingIndex(better[1:]), "m")
    assert "entropy comes closest, and is not shown to order better" in said.text
    assert "takes it" not in said.text
    assert _recommended(FindingIndex([]), "m") == []


def test_a_rival_that_is_no_better_is_seldom_called_better():
    """Of three scores that all know nothing the best is called better in few of 400 draws, not in one of fourteen."""
    called = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        right = rng.random(120) < 0.7
        ours, *rivals = (
            SimpleNamespace(area=area_sums(rng.random(120), right, np.arange(120)), one_score=False) for _ in range(4)
        )
        findings = rival_findings(ours, dict(zip(SCORES[1:], rivals, strict=True)), "m")
        called += any(each.verdict == "better" for each in findings)
    assert called <= 18  # 2.5 % are allowed, and three standard errors


def test_the_default_has_the_key_it_had():
    assert "by" not in Ordering().model_dump(mode="json")
    assert Ordering(by="entropy").model_dump(mode="json")["by"] == "entropy"
