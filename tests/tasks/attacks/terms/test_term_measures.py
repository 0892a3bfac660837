"""What the numbers say: drops and gains are paired, nought is no certainty, and slices add up to the whole."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import EntityMatches, Scored, Tagged
from assay.infra.errors import InputError, RunError
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.terms.measures import match_rows, scorer_findings, tagger_findings, trained_findings
from assay.tasks.statistics.entities import percentiles
from assay.tasks.statistics.gates import judge
from assay.tasks.statistics.proportions import unvaried
from assay.tasks.statistics.settings import Gate

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
        rows.append(
            {
                "id": str(at),
                "gold_kinds": [kind],
                "gold_lengths": [1 + at % 3],
                "gold_hits": [hit],
                "gold_seen": [at % 4 > 0],
                "said_kinds": said,
                "said_lengths": [1 + at % 3] * len(said),
                "said_hits": [True] * hit + [False] * more,
                "said_seen": [at % 4 > 0] * len(said),
            }
        )
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
    assert (measured["ner.drop", *SWAP].verdict, measured["ner.drop_p", *SWAP].verdict) == ("lower", "lower")
    same = measured["ner.drop", "keyboard", "share=1, changes=1"]
    assert (same.value, same.verdict) == (0.0, "no drop shown")
    assert (same.low, same.high) == pytest.approx(unvaried(0.0, N))  # no sentence differs: no certainty that none would
    assert measured["ner.drop_p", "keyboard", "share=1, changes=1"].p_value == 1.0


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
    assert (found.value, found.low, found.n) == (0.0, 0.0, 50)
    assert 0.03 < found.high < 0.12


@pytest.mark.parametrize("n", [9, 10])
def test_a_tagger_that_names_nothing_where_there_is_enough_is_degenerate(n):
    empty = table_of(entity(False, at) for at in range(n))
    found = by_name(tagger_findings({CLEAN: empty}, "mine", 0.01, SEEDS))["ner.f1", *CLEAN]
    assert ("names no entity" in found.verdict) == (n == 10)


def test_training_that_helps_is_told_from_training_that_does_not():
    before = {CLEAN: matches(0.9, 0), SWAP: matches(0.4, 1), ("keyboard", ""): matches(0.5, 2)}
    after = {CLEAN: matches(0.9, 0), SWAP: matches(0.8, 3), ("keyboard", ""): matches(0.5, 2)}
    found = by_name(trained_findings("ner", before, after, "mine+on-swap", ["swap"], SEEDS))
    assert found["ner.gain", *SWAP].verdict == found["ner.own_gain", *SWAP].verdict == "helps"
    assert found["ner.gain", "keyboard", ""].verdict == "no gain shown"
    assert ("ner.own_gain", "keyboard", "") not in found
    recovered = found["ner.recovered", *SWAP]
    assert recovered.low < recovered.value < recovered.high
    assert 0.5 < recovered.value < 1.1
    cost = found["ner.cost", *CLEAN]
    assert (cost.value, cost.verdict) == (0.0, "no cost shown")


def test_what_a_control_gains_as_well_is_not_due_to_the_attack():
    keyboard = ("keyboard", "")
    control = {CLEAN: matches(0.9, 0), SWAP: matches(0.6, 4), keyboard: matches(0.5, 2)}
    after = {CLEAN: matches(0.9, 0), SWAP: matches(0.8, 3), keyboard: matches(0.5, 2)}
    found = by_name(trained_findings("ner", control, after, "mine+on-swap", ["swap"], SEEDS, None, control))
    own = found["ner.own_gain_over_control", *SWAP]
    assert own == replace(found["ner.gain_over_control", *SWAP], metric="ner.own_gain_over_control")
    assert own.verdict == "helps"
    over_subject = by_name(trained_findings("ner", control, after, "mine+on-swap", ["swap"], SEEDS))["ner.gain", *SWAP]
    assert own.value == pytest.approx(over_subject.value)
    assert found["ner.gain_over_control", *keyboard].verdict == "no gain shown"
    assert not [metric for metric, of, _ in found if of != "swap" and "own" in metric]
    alike = by_name(trained_findings("ner", after, after, "mine+on-swap", ["swap"], SEEDS, None, after))
    assert alike["ner.own_gain_over_control", *SWAP].verdict == "no gain shown"


def test_scorers_are_held_against_their_control_pair_by_pair():
    control, after = {CLEAN: scored(0.5), SWAP: scored(1.5)}, {CLEAN: scored(0.5), SWAP: scored(0.7)}
    found = by_name(trained_findings("sts", control, after, "mine+on-swap", ["swap"], SEEDS, None, control))
    own = found["sts.own_gain_over_control", *SWAP]
    assert (own.verdict, own.low > 0) == ("helps", True)
    same = found["sts.gain_over_control", *CLEAN]
    assert (same.value, same.low, same.high, same.verdict) == (0.0, None, None, "no gain shown")


def test_a_correlation_that_is_the_same_in_every_resample_has_no_interval():
    perfect = {CLEAN: scored(0.0), SWAP: scored(0.5)}
    found = by_name(scorer_findings(perfect, "mine", SEEDS))
    assert (found["sts.mae", *CLEAN].value, found["sts.mae", *CLEAN].low) == (0.0, None)
    assert found["sts.drop", *SWAP].verdict == "lower"


def test_no_share_is_given_of_a_drop_that_is_not_shown():
    before, after = {CLEAN: matches(0.7, 0), SWAP: matches(0.7, 1)}, {CLEAN: matches(0.7, 0), SWAP: matches(0.9, 2)}
    found = by_name(trained_findings("ner", before, after, "mine+on-swap", ["swap"], SEEDS))
    assert (found["ner.recovered", *SWAP].value, found["ner.recovered", *SWAP].verdict) == (None, "no drop to recover")


def test_pairing_sees_what_two_intervals_side_by_side_would_not():
    before, after = matches(0.7, 0), matches(0.7, 0).to_pylist()
    for row in after[:160:10]:  # a few more are found, none less
        row |= {"gold_hits": [True], "said_kinds": row["gold_kinds"], "said_lengths": row["gold_lengths"]}
        row |= {"said_hits": [True], "said_seen": row["gold_seen"]}
    tables = {CLEAN: pa.Table.from_pylist(after, schema=EntityMatches.schema)}
    gain = by_name(trained_findings("ner", {CLEAN: before}, tables, "mine+x", [], SEEDS))["ner.gain", *CLEAN]
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
    gains = by_name(trained_findings("sts", tables, {CLEAN: scored(0.5), SWAP: scored(0.5)}, "mine+x", ["swap"], SEEDS))
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
    tagged = pa.table(
        {
            "id": ["a"],
            "tokens": [["new", "heart", "atatck", "rash"]],
            "gold": [["O", "B-D", "I-D", "B-D"]],
            "predicted": [["O", "B-D", "O", "B-D"]],
            "confidence": [[1.0] * 4],
        },
        schema=Tagged.schema,
    )
    words, tags = ["new", "heart", "attack", "rash"], ["O", "B-D", "I-D", "B-D"]
    before = pa.table({"id": ["a"], "tokens": [words], "tags": [tags]})
    known = frozenset({"heart attack"})
    (row,) = match_rows(tagged, before, tokens="tokens", tags="tags", known=known).result.to_pylist()
    assert (row["gold_hits"], row["gold_lengths"], row["gold_seen"]) == ([False, True], [2, 1], [True, False])
    assert row["said_hits"] == [False, True]
    fewer = before.set_column(2, "tags", [[["O", "O", "O", "B-D"]]])
    with pytest.raises(RunError, match="1 entities, and 2 under attack"):
        match_rows(tagged, fewer, tokens="tokens", tags="tags", known=known)


def test_intervals_of_nothing_are_nothing():
    assert all(np.isnan(end) for end in percentiles(np.array([])))


def entity(hit: bool, at: int = 0) -> dict[str, object]:
    """A sentence with one entity, found (and nothing else named) or not."""
    said = {"said_kinds": ["D"] * hit, "said_lengths": [1] * hit, "said_hits": [True] * hit, "said_seen": [True] * hit}
    gold = {"gold_kinds": ["D"], "gold_lengths": [1], "gold_hits": [hit], "gold_seen": [True]}
    return {"id": str(at), **gold, **said}


def clustered(n: int, hit: bool) -> pa.Table:
    """Sentences with four entities, all found or none (and another named)."""
    gold = {"gold_kinds": ["D"] * 4, "gold_lengths": [1] * 4, "gold_hits": [hit] * 4, "gold_seen": [True] * 4}
    said = {"said_kinds": ["D"] * 4, "said_lengths": [1] * 4, "said_hits": [hit] * 4, "said_seen": [True] * 4}
    return table_of({"id": str(at), **gold, **said} for at in range(n))


def table_of(rows):
    return pa.Table.from_pylist(list(rows), schema=EntityMatches.schema)


def test_a_tagger_that_rightly_names_nothing_is_not_measured_rather_than_bad():
    nothing = {name: [] for name in EntityMatches.schema.names[1:]}
    empty = table_of({"id": str(at), **nothing} for at in range(100))
    found = by_name(tagger_findings({CLEAN: empty, SWAP: empty}, "mine", 0.01, SEEDS))
    assert {(one.value, one.low, one.high, one.verdict) for one in found.values()} == {
        (None, None, None, "not measured")
    }
    gains = trained_findings("ner", {CLEAN: empty, SWAP: empty}, {CLEAN: empty, SWAP: empty}, "mine+x", ["swap"], SEEDS)
    assert all(one.value is None for one in gains)
    named = nothing | {"said_kinds": ["D"], "said_lengths": [1], "said_hits": [False], "said_seen": [False]}
    false = table_of({"id": str(at), **named} for at in range(20))
    wrong = by_name(tagger_findings({CLEAN: false}, "mine", 0.01, SEEDS))
    assert (wrong["ner.precision", *CLEAN].value, wrong["ner.f1", *CLEAN].value) == (0.0, None)


def test_samples_of_which_nothing_is_known_are_refused_in_words():
    with pytest.raises(InputError, match="None of the sentences that mine is tested on has tags"):
        tagger_findings({CLEAN: table_of([])}, "mine", 0.01, SEEDS)
    unknown = scored(0.5).set_column(1, "gold", pa.nulls(100, pa.float64()))
    with pytest.raises(InputError, match="None of the pairs that mine is tested on has a score"):
        scorer_findings({CLEAN: unknown}, "mine", SEEDS)
    bare = pa.table({"id": ["a"], "tokens": [["x"]]})
    with pytest.raises(InputError, match="The samples have no column 'tags'"):
        match_rows(bare.slice(0, 0), bare, tokens="tokens", tags="tags", known=frozenset())


@pytest.mark.parametrize(("n", "said"), [(1, "too few samples"), (9, "too few samples"), (10, "lower")])
def test_a_drop_on_a_few_sentences_is_no_certainty(n, said):
    before, after = ({CLEAN: table_of(entity(hit, at) for at in range(n))} for hit in (True, False))
    tables = before | {SWAP: after[CLEAN]}
    drop = by_name(tagger_findings(tables, "mine", 0.05, SEEDS))["ner.drop", *SWAP]
    assert (drop.value, drop.verdict, drop.low is None) == (1.0, said, n < 10)
    gains = by_name(trained_findings("ner", tables, before | {SWAP: before[CLEAN]}, "mine+x", ["swap"], SEEDS))
    assert gains["ner.gain", *SWAP].verdict == ("helps" if n == 10 else said)
    assert (gains["ner.recovered", *SWAP].value is None) == (n < 10)


@pytest.mark.parametrize("n", [6, 10])
def test_fewer_than_ten_sentences_have_no_interval_and_no_test(n):
    tables = {CLEAN: clustered(n, True), SWAP: clustered(n, False)}
    found = by_name(tagger_findings(tables, "mine", 0.05, SEEDS))
    shares = [one for (metric, *_), one in found.items() if metric in ("ner.precision", "ner.recall", "ner.f1")]
    assert {one.low is None and one.high is None for one in shares if one.value is not None} == {n < 10}
    test = found["ner.drop_p", *SWAP]
    assert (test.n, test.verdict) == (n, "too few samples" if n < 10 else "lower")
    assert test.p_value == (None if n < 10 else 2 / 2**10)


def test_the_entities_of_one_sentence_are_one_trial_of_the_test():
    before = table_of([*clustered(5, True).to_pylist(), *clustered(5, False).to_pylist()])
    after = table_of([*clustered(8, False).to_pylist(), *clustered(2, True).to_pylist()])
    test = by_name(tagger_findings({CLEAN: before, SWAP: after}, "mine", 0.01, SEEDS))["ner.drop_p", *SWAP]
    assert test.p_value > 0.4  # 20 entities lost and 8 found, by 5 sentences against 2: McNemar's over them says 0.04


def test_where_nothing_is_named_there_is_no_precision_and_a_gate_on_it_fails():
    silent = table_of(entity(False, at) for at in range(20))
    found = tagger_findings({CLEAN: table_of(entity(True, at) for at in range(20)), SWAP: silent}, "mine", 0.01, SEEDS)
    precision = by_name(found)["ner.precision", *SWAP]
    assert (precision.value, precision.low, precision.high, precision.n) == (None, None, None, 0)
    assert precision.verdict.startswith("degenerate")
    assert by_name(found)["ner.f1", *SWAP].value == 0.0
    (gate,) = judge([Gate(finding="ner.precision", at_least=0.5)], found)
    assert not gate.passed
    few = by_name(tagger_findings({CLEAN: silent.slice(0, 3)}, "mine", 0.01, SEEDS))
    assert few["ner.precision", *CLEAN].verdict == "not estimable"


def test_a_limit_that_only_one_of_two_sets_reaches_leaves_their_difference_without_interval():
    nine, nothing = [entity(True, at) for at in range(9)], {name: [] for name in EntityMatches.schema.names[1:]}
    named = nothing | {"said_kinds": ["D"], "said_lengths": [1], "said_hits": [False], "said_seen": [False]}
    tables = {CLEAN: table_of([*nine, {"id": "9", **nothing}]), SWAP: table_of([*nine, {"id": "9", **named}])}
    found = by_name(tagger_findings(tables, "mine", 0.01, SEEDS))
    assert found["ner.drop", *SWAP].verdict == found["ner.drop_p", *SWAP].verdict == "too few samples"


@pytest.mark.parametrize("n", [1, 3, 4, 9])
def test_a_correlation_of_a_few_pairs_is_no_certainty(n):
    found = by_name(scorer_findings({CLEAN: scored(0.1, n), SWAP: scored(0.5, n)}, "mine", SEEDS))
    r, drop = found["sts.pearson", *CLEAN], found["sts.drop", *SWAP]
    assert (r.value is None, r.low, r.high) == (n < 4, None, None)
    assert drop.verdict == ("not measured" if n < 4 else "too few samples")
    assert not r.verdict.startswith("degenerate")


def test_errors_on_another_range_are_not_averaged():
    table = scored(0.3)
    quarter = table.set_column(2, "predicted", pa.array(table["predicted"].to_numpy() / 4))
    found = by_name(scorer_findings({CLEAN: quarter, SWAP: quarter}, "mine", SEEDS))
    assert {found["sts.mae", *key].value for key in (CLEAN, SWAP)} == {None}
    assert found["sts.mae", *CLEAN].verdict.startswith("on another range: it scores")
    assert found["sts.pearson", *CLEAN].value > 0.9
    assert by_name(scorer_findings({CLEAN: table}, "mine", SEEDS))["sts.mae", *CLEAN].value is not None


def test_what_a_tagger_did_not_read_is_counted():
    words, tags = ["gout", "and", "rash"], ["B-D", "O", "B-D"]
    tagged = pa.table(
        {
            "id": ["a", "b"],
            "tokens": [words] * 2,
            "gold": [tags] * 2,
            "predicted": [["B-D", "O", "O"]] * 2,
            "confidence": [[0.9, 0.8, 0.0], [0.9, 0.0, 0.7]],
        },
        schema=Tagged.schema,
    )
    before = pa.table({"id": ["a", "b"], "tokens": [words] * 2, "tags": [tags] * 2})
    assert match_rows(tagged, before, tokens="tokens", tags="tags", known=frozenset()).tally == {"cut": 1, "beyond": 1}
