"""The examples: which are chosen, what is marked in them, and what is left of them where they are masked."""

from __future__ import annotations

import pytest

from assay.tasks.reporting.gallery import marked_figure
from assay.tasks.reporting.parts import MarkedText, MarkedTexts, Stretch
from assay.tasks.trust.findings import example_rows, most_damning
from assay.tasks.trust.page import LEGEND, stretches_of


def label(name, verdict="untrustworthy", code=0, confidence=0.9, for_it=0.1, against=0.5, **words):
    about = {"id": name, "explainer": "lime", "predicted": code, "label": verdict, "confidence": confidence}
    nothing = {"words": [], "importance": [], "related": []}
    return about | {"related_mass": for_it, "unrelated_mass": against} | nothing | words


def test_the_most_damning_are_confident_and_clear_and_of_every_class():
    rows = [
        label("clear"),
        label("unsure", confidence=0.5),
        label("narrow", against=0.11),
        label("other", code=1),
        label("fine", "trustworthy", for_it=0.9),
        label("fair", "trustworthy", for_it=0.6),
        label("odd", "undecided"),
    ]
    assert [row["id"] for row in most_damning(rows, per_class=2)] == ["clear", "unsure", "other", "fine"]


def test_ties_are_in_the_order_of_ids():
    assert [row["id"] for row in most_damning([label("b"), label("a"), label("c")], per_class=2)] == ["a", "b"]


def one_example(text, masked=False):
    said = label("a", words=["friday", "good"], importance=[0.6, 0.3], related=[False, True])
    explained = {"Friday": 0.4, "friday": 0.2, "good": 0.3, "slow": -0.2}
    table = example_rows([said], {"a": explained}, {"a": text}, {"a": "untrustworthy"}, lemmatise=False, masked=masked)
    return table.to_pylist()[0]


def test_every_occurrence_of_a_word_is_marked_and_words_against_are_neutral():
    text = "Friday was slow. FRIDAY, good Friday"
    row = one_example(text)
    marked = [(one.text, one.tone) for one in stretches_of(row) if one.tone]
    assert marked == [("Friday", "bad"), ("slow", "neutral"), ("FRIDAY", "bad"), ("good", "good"), ("Friday", "bad")]
    assert "".join(one.text for one in stretches_of(row)) == text
    assert row["truth"] == "untrustworthy"


def test_a_masked_example_has_marks_and_no_text():
    row = one_example("Friday was slow. FRIDAY, good Friday", masked=True)
    assert (row["text"], row["starts"]) == ("", [0, 2, 4, 6, 8])
    assert {one.text for one in stretches_of(row, hidden=True)} == {"■■■■", " "}
    assert [one.tone for one in stretches_of(row, hidden=True) if one.tone] == ["bad", "neutral", "bad", "good", "bad"]


@pytest.mark.parametrize(
    "text",
    ["good" + " x" * 50_000, "x " * 50_000 + "good", "good " + "x " * 50_000 + "Friday"],
    ids=["at the start", "at the end", "at both"],
)
def test_a_long_text_is_shown_around_its_marks(text):
    shown = "".join(one.text for one in stretches_of(one_example(text)))
    assert len(shown) < 500
    assert "good" in shown
    assert "…" in shown


def test_the_heaviest_word_is_the_strongest():
    assert (
        max((one for one in stretches_of(one_example("good Friday")) if one.tone), key=lambda s: s.weight).weight == 1
    )


def test_marks_hang_on_no_colour_and_text_is_escaped():
    text = MarkedText("a", [Stretch("<b>"), Stretch("evil&", "bad", 0.5), Stretch("x", "neutral", 0.1)])
    html = marked_figure(MarkedTexts("Texts", [text], LEGEND))
    assert "&lt;b&gt;" in html
    assert (
        '<mark class="bad w3">evil&amp;<sup role="img" aria-label="speaks for the prediction, not related to it">✗'
        in html
    )
    assert '<mark class="neutral w1">x</mark>' in html
    assert 'dir="auto"' in html
    assert "No texts." in marked_figure(MarkedTexts("Texts", [], LEGEND))


@pytest.mark.parametrize("text", ["good \u05d8\u05d5\u05d1", "good 😀 \x00 end", ""])
def test_odd_texts_are_shown_as_they_are(text):
    assert "".join(one.text for one in stretches_of(one_example(text))) == text
    assert "\x00" not in marked_figure(MarkedTexts("t", [MarkedText("a", stretches_of(one_example(text)))], LEGEND))
