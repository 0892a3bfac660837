"""What the numbers say: drops and gains are paired, nought is no certainty, and slices add up to the whole."""

import numpy as np
import pyarrow as pa
import pytest

from assay.data.biomedical_schemas import Scored, Tagged
from assay.data.term_schemas import EntityMatches
from assay.infra.errors import RunError
from assay.infra.seeds import Seeds
from assay.tasks.attacks.terms.judging import (
    scorer_findings,
    tagger_findings,
    trained_scorer_findings,
    trained_tagger_findings,
)
from assay.tasks.attacks.terms.matching import match_rows
from assay.tasks.statistics.entities import percentiles

SEEDS = Seeds(0, "judging")
CLEAN, SWAP = ("clean", ""), ("swap", "share=1, changes=1")
N = 200


def matches(share: float, seed: int, kinds=("Disease", "Chemical")) -> pa.Table:
    """One entity a sentence of alternating kind; a share is found, and every tenth sentence names one more."""
    rng = np.random.default_rng(seed)
    rows = []
    for at in range(N):
        hit, more, kind = bool(rng.random() < share), at % 10 == 0, kinds[at % 2]
        said = ([kind] if hit else []) + (["Disease"] if more else [])
        rows.append({
            "id": str(at), "gold_kinds": [kind], "gold_lengths": [1 + at % 3], "gold_hits": [hit],
            "gold_seen": [at % 4 > 0], "said_kinds": said, "said_lengths": [1 + at % 3] * len(said),
            "said_hits": [True] * hit + [False] * more, "said_seen": [at % 4 > 0] * len(said),
        })  # fmt: skip
    return pa.Table.from_pylist(rows, schema=EntityMatches.schema)


def by_name(findings):
    return {(one.metric, one.of, one.group): one for one in findings}


@pytest.fixture(scope="module")
def measured():
    tables = {CLEAN: matches(0.9, 0), SWAP: matches(0.5, 1), ("keyboard", "share=1, changes=1"): matches(0.9, 0)}
    return by_name(tagger_findings(tables, "mine", 0.01, SEEDS))


def test_f1_is_that_of_what_was_counted(measured):
    found = measured["ner.f1", *CLEAN]
    hits = sum(hit for row in matches(0.9, 0)["gold_hits"].to_pylist() for hit in row)
    assert found.value == pytest.approx(2 * hits / (N + hits + N // 10))
    assert found.n == N
    assert found.low < found.value < found.high


def test_a_drop_is_lower_only_where_its_interval_is(measured):
    assert (measured["ner.drop", *SWAP].verdict, measured["ner.mcnemar_p", *SWAP].verdict) == ("lower", "lower")
    same = measured["ner.drop", "keyboard", "share=1, changes=1"]
    assert (same.value, same.low, same.high, same.verdict) == (0.0, 0.0, 0.0, "no drop shown")
    assert measured["ner.mcnemar_p", "keyboard", "share=1, changes=1"].p_value == 1.0


def test_slices_add_up_to_the_whole(measured):
    for slices in (["type=Disease", "type=Chemical"], ["length=1", "length=2", "length=3"], ["seen", "unseen"]):
        parts = [measured["ner.recall", "clean", name] for name in slices]
        assert sum(one.n for one in parts) == N
        whole = measured["ner.recall", *CLEAN].value
        assert sum(one.value * one.n for one in parts) == pytest.approx(whole * N)
    assert ("ner.precision", "swap", "share=1, changes=1, length=1") not in measured  # nobody can tell what it was


def test_nought_of_some_is_no_certainty():
    none = by_name(tagger_findings({CLEAN: matches(0.9, 0), SWAP: matches(0.0, 1)}, "mine", 0.01, SEEDS))
    found = none["ner.recall", "swap", "share=1, changes=1, unseen"]
    assert (found.value, found.n) == (0.0, 50)
    assert 0.03 < found.high < 0.12


def test_a_tagger_that_names_nothing_is_degenerate():
    empty = matches(0.0, 0, kinds=("Disease", "Disease")).slice(1, 8)
    found = by_name(tagger_findings({CLEAN: empty}, "mine", 0.01, SEEDS))["ner.f1", *CLEAN]
    assert "names no entity" in found.verdict


def test_training_that_helps_is_told_from_training_that_does_not():
    before = {CLEAN: matches(0.9, 0), SWAP: matches(0.4, 1), ("keyboard", ""): matches(0.5, 2)}
    after = {CLEAN: matches(0.9, 0), SWAP: matches(0.8, 3), ("keyboard", ""): matches(0.5, 2)}
    found = by_name(trained_tagger_findings(before, after, "mine+on-swap", ["swap"], SEEDS))
    assert found["ner.gain", *SWAP].verdict == found["ner.own_gain", *SWAP].verdict == "helps"
    assert found["ner.gain", "keyboard", ""].verdict == "no gain shown"
    assert ("ner.own_gain", "keyboard", "") not in found
    recovered = found["ner.recovered", *SWAP]
    assert recovered.low < recovered.value < recovered.high
    assert 0.5 < recovered.value < 1.1
    cost = found["ner.cost", *CLEAN]
    assert (cost.value, cost.verdict) == (0.0, "no cost shown")


def test_no_share_is_given_of_a_drop_that_is_not_shown():
    before, after = {CLEAN: matches(0.7, 0), SWAP: matches(0.7, 1)}, {CLEAN: matches(0.7, 0), SWAP: matches(0.9, 2)}
    found = by_name(trained_tagger_findings(before, after, "mine+on-swap", ["swap"], SEEDS))
    assert (found["ner.recovered", *SWAP].value, found["ner.recovered", *SWAP].verdict) == (None, "no drop to recover")


def test_pairing_sees_what_two_intervals_side_by_side_would_not():
    before, after = matches(0.7, 0), matches(0.7, 0).to_pylist()
    for row in after[:160:10]:  # a few more are found, none less
        row |= {"gold_hits": [True], "said_kinds": row["gold_kinds"], "said_lengths": row["gold_lengths"]}
        row |= {"said_hits": [True], "said_seen": row["gold_seen"]}
    tables = {CLEAN: pa.Table.from_pylist(after, schema=EntityMatches.schema)}
    gain = by_name(trained_tagger_findings({CLEAN: before}, tables, "mine+x", [], SEEDS))["ner.gain", *CLEAN]
    alone = by_name(tagger_findings({CLEAN: before}, "mine", 0.01, SEEDS))["ner.f1", *CLEAN]
    assert gain.verdict == "helps"
    assert gain.value < alone.high - alone.value


def scored(noise: float, n: int = 100) -> pa.Table:
    rng = np.random.default_rng(7)
    gold = rng.uniform(0, 4, n)
    said = gold + noise * np.random.default_rng(8).normal(size=n)
    return pa.table({"id": [str(at) for at in range(n)], "gold": gold, "predicted": said}, schema=Scored.schema)


def test_scores_are_compared_pair_by_pair():
    tables = {CLEAN: scored(0.5), SWAP: scored(1.5)}
    found = by_name(scorer_findings(tables, "mine", SEEDS))
    assert found["sts.pearson", *CLEAN].low < found["sts.pearson", *CLEAN].value < found["sts.pearson", *CLEAN].high
    assert found["sts.drop", *SWAP].verdict == "lower"
    assert found["sts.mae", *SWAP].value == pytest.approx(3 * found["sts.mae", *CLEAN].value)
    gains = by_name(trained_scorer_findings(tables, {CLEAN: scored(0.5), SWAP: scored(0.5)}, "mine+x", ["swap"], SEEDS))
    assert gains["sts.recovered", *SWAP].value == pytest.approx(1.0)
    assert gains["sts.own_gain", *SWAP].verdict == "helps"


def test_pairs_without_a_score_are_left_out_and_equal_scores_have_no_correlation():
    table = scored(0.5)
    table = table.set_column(1, "gold", pa.array([None, *table["gold"].to_pylist()[1:]], pa.float64()))
    flat = table.set_column(2, "predicted", pa.array([1.0] * 100))
    found = by_name(scorer_findings({CLEAN: table, SWAP: flat}, "mine", SEEDS))
    assert found["sts.pearson", *CLEAN].n == 99
    assert found["sts.pearson", *SWAP].value is None
    assert "same score" in found["sts.pearson", *SWAP].verdict


def test_entities_are_matched_by_both_ends_and_kind():
    tagged = pa.table({
        "id": ["a"], "tokens": [["new", "heart", "atatck", "rash"]], "gold": [["O", "B-D", "I-D", "B-D"]],
        "predicted": [["O", "B-D", "O", "B-D"]], "confidence": [[1.0] * 4],
    }, schema=Tagged.schema)  # fmt: skip
    words, tags = ["new", "heart", "attack", "rash"], ["O", "B-D", "I-D", "B-D"]
    before = pa.table({"id": ["a"], "tokens": [words], "tags": [tags]})
    known = frozenset({"heart attack"})
    (row,) = match_rows(tagged, before, tokens="tokens", tags="tags", known=known).to_pylist()
    assert (row["gold_hits"], row["gold_lengths"], row["gold_seen"]) == ([False, True], [2, 1], [True, False])
    assert row["said_hits"] == [False, True]
    fewer = before.set_column(2, "tags", [[["O", "O", "O", "B-D"]]])
    with pytest.raises(RunError, match="1 entities, and 2 under attack"):
        match_rows(tagged, fewer, tokens="tokens", tags="tags", known=known)


def test_intervals_of_nothing_are_nothing():
    assert all(np.isnan(end) for end in percentiles(np.array([])))
