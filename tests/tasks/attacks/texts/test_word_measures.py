"""Success, words changed, similarity and queries of word attacks, counted by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data.schemas import AttackedTexts
from assay.infra.errors import RunError
from assay.tasks.attacks.texts.measures import comparison_findings, summary, word_findings
from assay.tasks.attacks.texts.settings import MUST_CHANGE
from assay.tasks.statistics.multiplicity import corrected, is_test
from assay.tasks.statistics.paired import mcnemar, share_difference, wilcoxon
from assay.tasks.statistics.proportions import wilson

NEEDED = "not shown: p ≤ 0.05 needed"


def row(place: int, status: str = "success", changed: int = 1, queries: int = 10, reason: str = "", **more: object):
    similar = 0.9 + place / 100 if changed and status != "skipped" else None
    skipped = status == "skipped"
    said = 1 if status == "success" else 0
    return {
        "id": f"t{place}",
        "gold": 0,
        "status": status,
        "reason": reason,
        "predicted": 0,
        "probabilities": [0.9, 0.1],
        "attacked": said,
        "attacked_probabilities": [0.4, 0.6],
        "text": "a good film",
        "attacked_text": "a fine film",
        "positions": [1] * changed,
        "starts": [2] * changed,
        "ends": [6] * changed,
        "originals": ["Good"] * changed,
        "replacements": ["Fine"] * changed,
        "words": 10,
        "changed": changed,
        "modified": changed / 10,
        "similarity": similar,
        "encoder": "minilm",
        "second_similarity": similar,
        "second_encoder": "word-vectors",
        "queries": 0 if skipped else queries,
        "refused": 2,
        "ranking": "gradient",
        "providers": ["encoder", "lists"],
        "limits": [0.55, None],
    } | more


def table(*rows: dict[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=AttackedTexts.schema)


CLASSES = ["bad", "good"]
FIVE = table(
    row(1, changed=1),
    row(2, changed=3),
    row(3, "failed", changed=2, queries=40),
    row(4, "skipped", changed=0, reason="the text has no word"),
    row(5, "skipped", changed=0, reason="the prediction is wrong already", gold=1),
)


def named(findings):
    return {(one.metric, one.group): one for one in findings}


def test_success_is_of_the_texts_that_could_be_attacked():
    rate = named(word_findings(FIVE, "a2t", "bert", CLASSES))["attack.success_rate", ""]
    low, high = wilson([2], [3])
    assert (rate.value, rate.n, rate.of, rate.subject) == (2 / 3, 3, "a2t", "bert")
    assert (rate.low, rate.high) == (pytest.approx(low[0]), pytest.approx(high[0]))


def test_skipped_texts_are_counted_by_reason():
    found = named(word_findings(FIVE, "a2t", "bert", CLASSES))
    assert {group: one.value for (metric, group), one in found.items() if metric == "attack.skipped"} == {
        "": 0.4,
        "the text has no word": 0.2,
        "the prediction is wrong already": 0.2,
    }


def test_words_and_similarity_are_of_successes_and_queries_of_all_attacks():
    found = named(word_findings(FIVE, "a2t", "bert", CLASSES))
    assert (found["attack.perturbed_words", ""].value, found["attack.perturbed_words", ""].n) == (2.0, 2)
    assert found["attack.similarity", "minilm"].value == pytest.approx(0.915)
    assert found["attack.similarity", "word-vectors"].n == 2
    assert (found["attack.queries", ""].value, found["attack.queries", ""].n) == (20.0, 3)


def test_accuracy_after_the_attack_counts_every_text_of_a_known_class():
    found = named(word_findings(FIVE, "a2t", "bert", CLASSES))["attack.accuracy", ""]
    assert (found.value, found.n) == (2 / 5, 5)


def test_nothing_attacked_is_not_measured():
    found = named(
        word_findings(table(row(1, "skipped", changed=0, reason="the text is empty")), "a2t", "bert", CLASSES)
    )
    assert found["attack.success_rate", ""].value is None
    assert found["attack.perturbed_words", ""].verdict == "not measured"
    assert word_findings(table(), "a2t", "bert", CLASSES)[0].n == 0


def test_an_attack_that_could_try_nothing_says_nothing_about_robustness():
    nothing = table(*(row(place, "skipped", changed=0, reason="every replacement is refused") for place in range(20)))
    found = named(word_findings(nothing, "a2t", "bert", CLASSES))
    for metric in ("attack.success_rate", "attack.accuracy"):
        assert (found[metric, ""].value, found[metric, ""].verdict) == (None, "not measured")
    wrong = table(*(row(place, "skipped", changed=0, gold=1) for place in range(20)))
    assert named(word_findings(wrong, "a2t", "bert", CLASSES))["attack.accuracy", ""].value == 0.0


def test_the_limits_of_similarity_are_findings():
    found = named(word_findings(FIVE, "a2t", "bert", CLASSES))
    assert (found["attack.limit", "encoder"].value, found["attack.limit", "encoder"].unit) == (0.55, "cosine")
    assert found["attack.limit", "lists"].verdict == "not measured"


def test_two_attacks_are_compared_on_the_texts_that_either_could_attack():
    guided = table(
        *(row(place, "success", changed=1, queries=5) for place in range(8)),
        row(8, "skipped", changed=0),
        row(9, "skipped", changed=0),
    )
    a2t = table(
        *(row(place, "success" if place < 6 else "failed", changed=2 + place) for place in range(7)),
        row(7, "skipped", changed=0),
        row(8, "success"),
        row(9, "skipped", changed=0),
    )
    found = named(comparison_findings(guided, a2t, "guided - a2t", "bert", np.random.default_rng(0)))
    success, test = found["attack.success_difference", ""], found["attack.mcnemar_p", ""]
    wins = [True] * 8 + [False], [True] * 6 + [False] * 2 + [True]  # what had nothing to try did not succeed
    p, tango = mcnemar(*wins), share_difference(*wins)
    assert (success.value, success.n, success.p_value) == (pytest.approx(1 / 9), 9, p)
    assert (success.low, success.high) == (tango.low, tango.high)
    assert (test.value, test.p_value, test.verdict) == (p, p, NEEDED)
    idle = table(*(row(place, "skipped", changed=0) for place in range(10)))
    none = named(comparison_findings(guided, idle, "guided - a2t", "bert", np.random.default_rng(0)))
    assert none["attack.mcnemar_p", ""].verdict == none["attack.success_difference", ""].verdict == "not measured"
    words = found["attack.perturbed_words_difference", ""]
    assert (words.value, words.n) == (pytest.approx(-3.5), 6)
    assert words.p_value == wilcoxon([1] * 6, [2, 3, 4, 5, 6, 7])


def test_success_alone_is_a_test_that_the_run_corrects():
    both = [
        table(*(row(place, status, changed=1 + place % 3) for place in range(12))) for status in ("success", "failed")
    ]
    found = comparison_findings(both[0], both[1], "guided - a2t", "bert", np.random.default_rng(0))
    assert [one.metric for one in found if is_test(one)] == ["attack.mcnemar_p"]
    (test,) = (one for one in corrected(found, 0.05) if is_test(one))
    assert (test.verdict, test.p_adjusted) == ("more often", test.p_value)


def test_of_few_pairs_or_all_alike_no_amounts_are_compared():
    few, alike = (table(*(row(place, changed=1, queries=5) for place in range(count))) for count in (5, 12))
    for same in (few, alike):
        found = named(comparison_findings(same, same, "guided - a2t", "bert", np.random.default_rng(0)))
        assert found["attack.perturbed_words_difference", ""].verdict == "not measured"
        assert found["attack.perturbed_words_difference", ""].low is None
        success = found["attack.success_difference", ""]
        assert success.low < 0 == success.value < success.high  # ties prove nothing


@given(st.lists(st.tuples(st.integers(1, 9), st.floats(0.5, 1.0)), min_size=1, max_size=60))
@settings(max_examples=25, deadline=None)
def test_no_interval_of_a_mean_leaves_the_values_and_none_is_of_few_texts(drawn):
    rows = [row(place, changed=words, similarity=alike) for place, (words, alike) in enumerate(drawn)]
    found = named(word_findings(table(*rows), "a2t", "bert", CLASSES))
    for metric, group, values in (
        ("attack.perturbed_words", "", [words for words, _ in drawn]),
        ("attack.similarity", "minilm", [alike for _, alike in drawn]),
    ):
        one = found[metric, group]
        assert one.value == pytest.approx(np.mean(values))
        if len(drawn) < 30 or len(set(values)) == 1:
            assert one.low is one.high is None
        else:
            assert min(values) - 1e-9 <= one.low <= one.value <= one.high <= max(values) + 1e-9


def test_refused_opposites_are_counted_over_all_texts():
    assert named(word_findings(FIVE, "a2t", "bert", CLASSES))["attack.refused", ""].value == 10
    allowed = named(word_findings(table(row(1, refused=None)), "a2t", "bert", CLASSES))["attack.refused", ""]
    assert (allowed.value, allowed.verdict) == (None, "opposites are let in")


def test_attacks_on_other_texts_are_not_compared():
    with pytest.raises(RunError, match="not on the same texts"):
        comparison_findings(table(row(1)), table(row(2)), "guided - a2t", "bert", np.random.default_rng(0))


def test_the_line_counts_answers_that_stand_where_the_text_says_the_opposite():
    told = pa.table({"status": ["success", "failed"], "reason": [MUST_CHANGE, MUST_CHANGE]})
    assert summary(told) == "1 of 2 attacked texts keep their answer"


def test_the_line_says_what_was_skipped_and_why():
    assert summary(FIVE) == (
        "2 of 3 attacked texts get another answer · skipped: 1 (the prediction is wrong already), "
        "1 (the text has no word)"
    )


def test_what_probabilities_are_worth_is_of_the_attacked_texts():
    skipped = {"attacked_probabilities": [0.9, 0.1]}
    rows = [
        row(1, attacked_probabilities=[0.4, 0.6]),
        row(2, gold=1, attacked_probabilities=[0.3, 0.7], attacked=1),
        row(3, "failed", attacked_probabilities=[0.8, 0.2]),
        row(4, "skipped", 0, reason="no word", **skipped),
        row(5, gold=None),
    ]
    found = named(word_findings(table(*rows), "a2t", "bert", CLASSES))
    # By hand: of a known class are four, in which "good" is given 0.6, 0.7, 0.2 and 0.1, and only the second is good.
    assert (found["attack.auc", ""].value, found["attack.auc", ""].n) == (1.0, 4)
    brier = 2 * np.mean([0.6**2, 0.3**2, 0.2**2, 0.1**2])
    assert found["attack.brier", ""].value == pytest.approx(brier)
    assert {found[f"attack.{name}", ""].n for name in ("ece", "brier", "aurc")} == {4}
    assert ("attack.class_auc", "good") not in found  # of two classes there is one area only


def test_every_class_has_its_area_where_there_are_three():
    rows = [row(at, gold=at % 3, attacked_probabilities=np.eye(3)[at % 3].tolist()) for at in range(6)]
    found = named(word_findings(table(*rows), "a2t", "bert", ["a", "b", "c"]))
    assert [found["attack.class_auc", name].value for name in "abc"] == [1.0, 1.0, 1.0]


def test_an_attack_that_could_try_nothing_says_nothing_of_probabilities():
    found = named(word_findings(table(row(1, "skipped", 0, reason="the text is empty")), "a2t", "bert", CLASSES))
    assert not {metric for metric, _ in found} & {"attack.ece", "attack.auc", "attack.brier"}
