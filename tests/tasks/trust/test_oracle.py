"""The oracle is Eq. 5-6, with the ties on the side of trust, and says why where it cannot decide."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_spaces import at, space

from assay.tasks.language.relatedness import Anchors, related_words
from assay.tasks.trust.oracle import (
    NO_KEYWORDS,
    NO_WORDS,
    UNKNOWN_WORDS,
    Relatedness,
    by_keywords,
    by_name,
    judge,
    naive_label,
    related_to_name,
    weigh,
)

VECTORS = {"good": at(0), "monday": at(90), "great": at(30), "sunday": at(70), "between": at(45), "odd": None}
ANCHORS = Anchors(("good", "monday"), np.array([True, False]))


def test_a_word_is_related_if_its_nearest_word_of_the_pool_is_a_keyword():
    assert related_words(["great", "sunday"], ANCHORS, [space("a", VECTORS)]) == [True, False]


def test_as_near_to_a_keyword_as_to_another_word_is_related():
    assert related_words(["between"], ANCHORS, [space("a", {**VECTORS, "between": (1.0, 1.0)})]) == [True]


def test_without_other_words_every_word_is_related():
    anchors = Anchors(("good",), np.array([True]))
    assert related_words(["sunday", "monday"], anchors, [space("a", VECTORS)]) == [True, True]


def test_most_providers_decide_and_a_tied_vote_is_related():
    near = space("near", {**VECTORS, "word": at(10)})
    far = space("far", {**VECTORS, "word": at(80)})
    dumb = space("dumb", {**VECTORS, "word": None})
    for voters, expected in (
        ((near, far, far), False),
        ((near, near, far), True),
        ((near, far, dumb), True),
        ((far, dumb, dumb), False),
        ((dumb, dumb), None),
    ):
        assert related_words(["word"], ANCHORS, voters) == [expected]


def test_trust_is_what_related_words_weigh_against_the_others():
    # Eq. 6 by hand: 0.5 + 0.2 related, 0.6 not.
    found = judge({"great": 0.5, "good": 0.2, "sunday": 0.6}, by_keywords(ANCHORS, [space("a", VECTORS)]), "different")
    assert (found.label, found.related_mass, found.unrelated_mass) == ("trustworthy", 0.7, 0.6)
    assert found.related == (True, True, False)


def test_with_equivalent_importance_words_are_counted():
    relatedness = by_keywords(ANCHORS, [space("a", VECTORS)])
    words = {"great": 0.9, "sunday": 0.1, "monday": 0.1}
    assert judge(words, relatedness, "different").label == "trustworthy"
    found = judge(words, relatedness, "equivalent")
    assert (found.label, found.related_mass, found.unrelated_mass) == ("untrustworthy", 1.0, 2.0)


def test_a_tie_is_trustworthy():
    assert weigh([0.5, 0.25, 0.25], [True, False, False]).label == "trustworthy"
    assert weigh([0.5, 0.25, 0.2500001], [True, False, False]).label == "untrustworthy"


def test_a_tie_does_not_depend_on_the_order_of_addition():
    scores = [0.1] * 10
    assert weigh([1.0, *scores], [True, *[False] * 10]).label == "trustworthy"


def test_no_keyword_is_undecided_with_the_reason():
    none = Anchors(("good", "monday"), np.array([False, False]))
    empty = Anchors((), np.array([], dtype=np.bool_))
    for anchors in (none, empty):
        found = judge({"great": 0.5}, by_keywords(anchors, [space("a", VECTORS)]), "different")
        assert (found.label, found.reason, found.related) == ("undecided", NO_KEYWORDS, (None,))


def test_no_word_for_the_prediction_is_undecided_with_the_reason():
    found = judge({}, by_keywords(ANCHORS, [space("a", VECTORS)]), "different")
    assert (found.label, found.reason) == ("undecided", NO_WORDS)


def test_words_that_nobody_knows_are_undecided_and_one_known_word_decides():
    relatedness = by_keywords(ANCHORS, [space("a", VECTORS)])
    assert judge({"odd": 0.9, "never": 0.1}, relatedness, "different").reason == UNKNOWN_WORDS
    found = judge({"odd": 0.9, "sunday": 0.1}, relatedness, "different")
    assert (found.label, found.related) == ("untrustworthy", (None, False))


def test_each_word_is_looked_up_once():
    asked: list[list[str]] = []

    def look_up(words):
        asked.append(list(words))
        return [True] * len(words)

    relatedness = Relatedness(look_up)
    assert relatedness.of(["b", "a", "b"]) == [True] * 3
    assert relatedness.of(["a", "c"]) == [True, True]
    assert asked == [["b", "a"], ["c"]]


def test_without_keywords_a_word_is_compared_with_the_class_name_itself():
    spaces = [space("a", {**VECTORS, "class": at(0)}, theta=0.8)]
    assert related_to_name(["great", "sunday", "odd"], ["class"], spaces) == [True, False, None]
    assert judge({"sunday": 0.6, "great": 0.5}, by_name(["class"], spaces), "different").label == "untrustworthy"


def test_a_class_name_that_nobody_knows_leaves_it_undecided():
    found = judge({"great": 0.5}, by_name(["unheard"], [space("a", VECTORS)]), "different")
    assert (found.label, found.reason) == ("undecided", UNKNOWN_WORDS)


@pytest.mark.parametrize(("confidence", "label"), [(0.9, "trustworthy"), (0.89, "untrustworthy")])
def test_naive_trusts_confidence(confidence, label):
    assert naive_label(confidence, 0.9) == label


ANGLES = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 180), min_size=2, max_size=8)


@settings(max_examples=40)
@given(ANGLES, st.data())
def test_relatedness_agrees_with_the_equation_word_by_word_in_any_company(angles, data):
    words = sorted(angles)
    anchors = data.draw(st.lists(st.sampled_from(words), min_size=1, unique=True))
    keyword = np.array(data.draw(st.lists(st.booleans(), min_size=len(anchors), max_size=len(anchors))))
    one = space("a", {word: at(angle) for word, angle in angles.items()})
    together = related_words(words, Anchors(tuple(anchors), keyword), [one])
    for word, found in zip(words, together, strict=True):
        near = one.cosines([word], anchors)[0]
        expected = max(near[keyword], default=-np.inf) >= max(near[~keyword], default=-np.inf)
        assert found == expected
        assert related_words([word], Anchors(tuple(anchors), keyword), [one]) == [found]
