"""What is known about trust: by deleting words and asking again, and by what people point to."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.tasks.language.rationales import Span
from assay.tasks.trust.truth import explanation_precision, truth_by_deletion, truth_by_rationale, without_spans


@pytest.mark.parametrize(
    ("without_reasons", "without_shortcuts", "truth"),
    [(0, 1, "trustworthy"), (1, 0, "untrustworthy"), (0, 0, None), (1, 1, None), (0, 2, None)],
)
def test_what_flips_a_prediction_is_what_it_rests_on(without_reasons, without_shortcuts, truth):
    assert truth_by_deletion(1, without_reasons, without_shortcuts) == truth


@pytest.mark.parametrize(
    ("spans", "left"),
    [
        ([], "abcdef"),
        ([(0, 2)], "cdef"),
        ([(4, 6), (1, 2)], "acd"),
        ([(1, 4), (2, 3)], "aef"),
        ([(1, 3), (2, 5)], "af"),
        ([(0, 6)], ""),
    ],
)
def test_spans_are_deleted_and_nothing_else(spans, left):
    assert without_spans("abcdef", [Span(*span) for span in spans]) == left


@settings(max_examples=60)
@given(st.text(max_size=20), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=5))
def test_what_is_left_is_every_character_outside_all_spans(text, ends):
    spans = [Span(min(pair), max(pair)) for pair in ends]
    kept = [c for place, c in enumerate(text) if not any(span.start <= place < span.end for span in spans)]
    assert without_spans(
        text, [Span(s.start, min(s.end, len(text))) for s in spans if s.start <= len(text)]
    ) == "".join(kept)


def test_explanation_precision_counts_the_explanations_words():
    assert explanation_precision(["dull", "slow", "film", "plot"], ["dull", "slow", "tired"]) == 0.5
    assert explanation_precision([], ["dull"]) is None


def test_half_of_the_words_is_enough_and_an_empty_rationale_tells_nothing():
    assert truth_by_rationale(["dull", "film"], ["dull"]) == "trustworthy"
    assert truth_by_rationale(["dull", "film", "plot"], ["dull"]) == "untrustworthy"
    assert truth_by_rationale(["dull"], []) is None
    assert truth_by_rationale([], ["dull"]) is None
