"""The simulated reviews: seeded, marked character by character, and as strong as they say."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from assay.data.samples.registry import embedded
from assay.data.samples.reviews import LEXICON, SPEAKS, reviews

PRAISE, COMPLAINTS = ({word for words in LEXICON["sentiment"][code].values() for word in words} for code in (1, 0))
HINTS = [{word for words in LEXICON["shortcuts"][code].values() for word in words} for code in (0, 1)]


def marked(row: dict, kind: str) -> list[str]:
    return [row["text"][span["start"] : span["end"]] for span in row[f"{kind}_words"]]


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    return reviews(seed=3, strength=0.75).to_pylist()


def test_no_word_means_two_things() -> None:
    assert not PRAISE & COMPLAINTS
    assert not HINTS[0] & HINTS[1]
    clauses = [*LEXICON["sentiment_clauses"].values(), *LEXICON["shortcut_clauses"].values()]
    said = " ".join([*LEXICON["neutral_clauses"], *LEXICON["parts"], *(each for some in clauses for each in some)])
    elsewhere = set(re.findall(r"\w+", said.lower()))
    assert not elsewhere & (PRAISE | COMPLAINTS | {word.lower() for word in HINTS[0] | HINTS[1]})


def test_both_sides_have_hundreds_of_words_and_every_list_of_hints_is_halved() -> None:
    assert len(PRAISE | COMPLAINTS) > 250
    assert abs(len(PRAISE) - len(COMPLAINTS)) < 10
    assert {kind: len(words) for kind, words in LEXICON["shortcuts"][0].items()} == {
        kind: len(words) for kind, words in LEXICON["shortcuts"][1].items()
    }


def test_every_telling_word_is_marked_and_says_what_its_review_says(rows: list[dict]) -> None:
    for row in rows:
        gold = row["gold"]
        for kind, words in (("sentiment", (COMPLAINTS, PRAISE)), ("shortcut", HINTS)):
            least, most, against = SPEAKS[row["speaks"]][kind]
            found = marked(row, kind)
            agreeing = sum(word in words[gold] for word in found)
            assert least <= agreeing <= most
            assert sum(word in words[1 - gold] for word in found) == against == len(found) - agreeing
        words = set(re.findall(r"\w+", row["text"]))
        assert words & (PRAISE | COMPLAINTS | HINTS[0] | HINTS[1]) == {
            *marked(row, "sentiment"),
            *marked(row, "shortcut"),
        }


def test_deleting_the_marked_words_leaves_a_text_that_says_nothing(rows: list[dict]) -> None:
    for row in rows[:200]:
        text = row["text"]
        for span in sorted(row["sentiment_words"] + row["shortcut_words"], key=lambda one: -one["start"]):
            text = text[: span["start"]] + text[span["end"] :]
        assert not set(re.findall(r"\w+", text)) & (PRAISE | COMPLAINTS | HINTS[0] | HINTS[1])


@pytest.mark.parametrize("strength", [0.6, 0.75, 0.9])
def test_strength_is_how_often_a_hint_stands_beside_its_class_in_training(strength: float) -> None:
    hinted = hits = 0
    for row in reviews(seed=1, strength=strength, train=3000, test=0).to_pylist():
        if found := marked(row, "shortcut"):
            hinted += 1
            hits += found[0] in HINTS[row["gold"]]
    assert hits / hinted == pytest.approx(strength, abs=0.03)


def test_what_is_tested_does_not_depend_on_strength_and_both_quarrels_are_won_equally_often() -> None:
    for strength in (0.6, 0.9):
        rows = reviews(seed=2, strength=strength, train=0, test=1500).to_pylist()
        share = Counter(row["speaks"] for row in rows)
        assert share["sentiment against shortcut"] / 1500 == pytest.approx(0.35, abs=0.04)
        assert share["shortcut against sentiment"] / 1500 == pytest.approx(0.35, abs=0.04)


def test_texts_are_varied(rows: list[dict]) -> None:
    assert len({row["text"] for row in rows}) > 0.99 * len(rows)
    assert len({word for row in rows for word in marked(row, "sentiment")}) > 250
    assert Counter(row["split"] for row in rows) == {"train": 2000, "test": 500}
    assert 0.45 < sum(row["gold"] for row in rows) / len(rows) < 0.55


def test_a_seed_gives_the_same_reviews_and_another_seed_others() -> None:
    first, same, other = (reviews(seed=seed, strength=0.75, train=50, test=10) for seed in (0, 0, 1))
    assert first.equals(same)
    assert first["text"].to_pylist() != other["text"].to_pylist()


def test_the_strengths_go_by_name() -> None:
    strengths = [embedded(f"sample/reviews{name}").arguments["strength"] for name in ("-weak", "", "-strong")]
    assert strengths == sorted(strengths)
    assert len({embedded(f"sample/reviews{name}").fingerprint for name in ("-weak", "", "-strong")}) == 3
