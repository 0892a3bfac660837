"""What is known about trust: by deleting words and asking again, and by what people point to.

And: human verdicts: Dong's rule, plain verdicts, plurality; and what is wrong with a table of them, by row.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.language.rationales import Span
from assay.tasks.trust.truth import (
    dong_verdict,
    explanation_precision,
    plurality,
    truth_by_deletion,
    truth_by_rationale,
    verdicts_of,
    without_spans,
)


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


CLASSES = ("ham", "spam")


def verdicts(rows, predicted=None):
    return verdicts_of(pa.Table.from_pylist(rows), predicted or {"a": "spam", "b": "ham"}, CLASSES, "people.csv")


def guessed(sample, annotator, guess, confidence):
    return {"sample": sample, "annotator": annotator, "guess": guess, "confidence": confidence}


def told(sample, annotator, verdict, **more):
    return {"sample": sample, "annotator": annotator, "verdict": verdict, **more}


@pytest.mark.parametrize(
    ("guess", "confidence", "verdict"),
    [
        ("spam", 5, "trustworthy"),
        ("spam", 4, "trustworthy"),
        ("spam", 3, None),
        ("spam", 2, "untrustworthy"),
        ("spam", 1, "untrustworthy"),
        ("ham", 5, "untrustworthy"),
        ("ham", 4, "untrustworthy"),
        ("ham", 3, None),
        ("ham", 2, None),
        ("ham", 1, None),
    ],
)
def test_dongs_rule_in_all_its_cases(guess, confidence, verdict):
    assert dong_verdict(guess, "spam", confidence) == verdict


def test_most_annotators_decide_and_a_tie_decides_nothing():
    assert plurality(["trustworthy", "untrustworthy", "untrustworthy", None]) == "untrustworthy"
    assert plurality(["trustworthy", "untrustworthy"]) is None
    assert plurality([None, None]) is None


def test_guesses_become_verdicts_by_dongs_rule_and_plurality():
    rows = [
        guessed("a", "1", "spam", 5),
        guessed("a", "2", "ham", 5),
        guessed("a", "3", "spam", 4),
        guessed("b", "1", "ham", 3),
    ]
    assert verdicts(rows) == {"a": "trustworthy", "b": None}


def test_plain_verdicts_are_counted():
    rows = [
        told("a", "1", "Trustworthy"),
        told("a", "2", "untrustworthy"),
        told("a", "3", "untrustworthy"),
        told("b", "1", "undecided"),
    ]
    assert verdicts(rows) == {"a": "untrustworthy", "b": None}


def test_a_verdict_counts_only_where_its_annotator_guessed_right():
    rows = [told("a", "1", "untrustworthy", guess="ham"), told("a", "2", "trustworthy", guess="spam")]
    assert verdicts(rows) == {"a": "trustworthy"}


def test_samples_that_are_not_judged_here_are_left_out():
    assert verdicts([told("z", "1", "trustworthy"), told("a", "1", "trustworthy")]) == {"a": "trustworthy"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"sample": "a", "verdict": "trustworthy"}], "has the columns sample, verdict"),
        (
            [told("a", "1", "trustworthy"), told("a", "1", "trustworthy")],
            "row 2: annotator '1' judges sample 'a' twice",
        ),
        ([told("a", "1", "maybe")], "row 1: the verdict is 'maybe'"),
        ([guessed("a", "1", "spam", 6)], "row 1: the confidence is 6"),
        ([guessed("a", "1", "spam", None)], "row 1: the confidence is None"),
        ([guessed("a", "1", "sparn", 5)], "row 1: the guess is 'sparn', expected one of ham, spam"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_by_row(rows, said):
    with pytest.raises(InputError, match=r"people\.csv") as fault:
        verdicts(rows)
    assert said in str(fault.value)
