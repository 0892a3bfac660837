"""Rationales of any form are spans of their text, or refused without quoting it."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.language.rationales import Span, rationale_spans, rationale_words

TEXT = "My boss fired me, and since then I have no job at all."


def quoted(rationale: object, text: str = TEXT) -> list[str]:
    return [text[span.start : span.end] for span in rationale_spans(text, rationale)]


def test_all_forms_of_the_same_rationale_are_the_same_spans() -> None:
    spans = [{"start": 3, "end": 7}, {"start": 8, "end": 13}]
    mask = [0, 1, 1, *[0] * 10]
    assert rationale_spans(TEXT, spans) == rationale_spans(TEXT, [[3, 7], [8, 13]]) == rationale_spans(TEXT, mask)
    assert rationale_spans(TEXT, json.dumps(spans)) == rationale_spans(TEXT, [[8, 13], [3, 7]])
    assert quoted(spans) == ["boss", "fired"]
    assert quoted(["boss fired"]) == ["boss fired"]


def test_phrases_are_found_whatever_their_case_and_punctuation() -> None:
    assert quoted(["MY BOSS", "have no job."]) == ["My boss", "have no job"]
    assert quoted("fired me; no job at all") == ["fired me", "no job at all"]


def test_a_phrase_is_found_wherever_it_stands() -> None:
    assert quoted(["so bad"], "so bad it was, so Bad") == ["so bad", "so Bad"]


def test_a_reworded_phrase_is_its_words_where_they_stand_closest() -> None:
    assert quoted(["fired by my boss"]) == ["My", "boss", "fired"]
    assert quoted(["boss was mean to everybody there"]) == []  # one word of six is no finding
    assert quoted(["unheard of"]) == []


def test_overlapping_spans_become_one() -> None:
    assert rationale_spans(TEXT, [[0, 7], [3, 13], [20, 23]]) == [Span(0, 13), Span(20, 23)]


@pytest.mark.parametrize("nothing", [None, [], "", [""], [0] * 13])
def test_no_rationale_is_no_span(nothing: object) -> None:
    assert rationale_spans(TEXT, nothing) == []


@pytest.mark.parametrize(
    ("rationale", "said"),
    [
        ([0, 1], "Sample 'a' is a mask of 2 tokens, and its text has 13 between blanks"),
        ([0, 2] + [0] * 11, "numbers other than 0 and 1"),
        ([[3, 99]], "a span from 3 to 99, and its text has the characters 0 to 54"),
        ([[7, 3]], "a span from 7 to 3"),
        ([[1.5, 3]], "ends are no whole numbers"),
        ([{"from": 1, "to": 2}], "has an entry that is a dict"),
        (7, "is a int; expected are spans of characters"),
    ],
)
def test_what_is_no_rationale_is_refused_by_name_and_never_quoted(rationale: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        rationale_spans(TEXT, rationale, "Sample 'a'")
    assert said in str(caught.value)
    assert "boss" not in str(caught.value)


def test_the_words_of_a_rationale_are_those_it_touches() -> None:
    assert rationale_words(TEXT, [Span(3, 10), Span(43, 46)]) == {"boss", "fired", "job"}
    assert rationale_words(TEXT, []) == frozenset()


@given(st.lists(st.sampled_from(["ab", "c", "d.e", "😀", "it's"]), min_size=1, max_size=12), st.data())
def test_a_mask_marks_exactly_its_tokens(tokens: list[str], data: st.DataObject) -> None:
    mask = data.draw(st.lists(st.integers(0, 1), min_size=len(tokens), max_size=len(tokens)))
    text = " ".join(tokens)
    assert quoted(mask, text) == [token for token, marked in zip(tokens, mask, strict=True) if marked]


@given(st.text(max_size=60), st.text(max_size=20))
def test_spans_of_phrases_lie_within_the_text_in_order(text: str, phrase: str) -> None:
    spans = rationale_spans(text, [phrase])
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(one.end <= two.start for one, two in pairwise(spans))
