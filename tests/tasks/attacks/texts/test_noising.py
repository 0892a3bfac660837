"""Noise: ever more of the same slips, the same for the same seed, never nothing that is called a change."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.terms.typos import neighbours
from assay.tasks.attacks.texts.noise import LOOK_ALIKES, MAKERS, SHARES, Edit, applied, with_noise
from assay.tasks.attacks.texts.settings import NOISES, Noise
from assay.tasks.language.words import words_of

LEVELS = (1, 2, 3, 4, 5)
TEXTS = st.one_of(st.text(max_size=60), st.text(alphabet="abAB .,!'\u00df\u0301\U0001f600", max_size=40))
FILM = "A rather GOOD film, well-acted and moving; I can't recommend it enough (really!)."


def noisy(text: str, kind: str, seed: int = 0, severities=LEVELS):
    return with_noise(text, kind, severities, Seeds(seed, "noise").generator(f"a\0{kind}"))


@pytest.mark.parametrize("kind", NOISES)
@settings(max_examples=60)
@given(text=TEXTS)
@example("")
@example("\U0001f600\U0001f602")
@example("a")
@example("aaaa")
@example("abab abab")
def test_what_is_called_a_change_is_one_and_severities_hold_ever_more_of_the_same(kind, text):
    made = noisy(text, kind)
    for one in made:
        assert (one.text != text) == bool(one.edits)
        assert applied(text, one.edits) == one.text
    for lower, higher in pairwise(made):
        if higher.edits:  # slips that make up for each other count as none
            assert set(lower.edits) <= set(higher.edits)


@pytest.mark.parametrize("kind", ["casing", "homoglyphs"])
@settings(max_examples=60)
@given(text=TEXTS)
def test_casing_and_homoglyphs_keep_the_length_and_change_ever_more_letters(kind, text):
    made = noisy(text, kind)
    assert {len(one.text) for one in made} == {len(text)}
    differing = [sum(a != b for a, b in zip(text, one.text, strict=True)) for one in made]
    assert differing == sorted(differing)


@pytest.mark.parametrize("kind", NOISES)
def test_the_number_of_changes_is_the_share_of_the_places_and_at_least_one(kind):
    places = len(MAKERS[kind](FILM, np.random.default_rng(0)))
    counts = [len(one.edits) for one in noisy(FILM, kind)]
    assert counts == [int(np.ceil(share * places)) for share in SHARES[kind]]
    assert 1 <= counts[0] < counts[-1]


@pytest.mark.parametrize("kind", NOISES)
def test_one_seed_draws_the_same_and_another_draws_others(kind):
    assert noisy(FILM, kind) == noisy(FILM, kind)
    assert noisy(FILM, kind, severities=[3])[0] == noisy(FILM, kind)[2]
    assert noisy(FILM, kind, seed=1) != noisy(FILM, kind)


@pytest.mark.parametrize("twice", [{"severities": (3, 3)}, {"kinds": ("typos", "typos")}])
def test_what_stands_twice_is_refused_before_texts_would_be_counted_twice(twice):
    with pytest.raises(ValueError, match="stands twice; name each once"):
        Noise(**twice)


@pytest.mark.parametrize("text", ["", " ", "\U0001f600\u2764\ufe0f", "\x00"])
def test_a_text_without_a_word_stays_as_it_is_and_counts_as_unchanged(text):
    for kind in NOISES:
        assert all(one.text == text and one.edits == () for one in noisy(text, kind))


def test_typos_are_slips_of_the_keyboard_and_casing_changes_no_letter():
    words = {word.text for word in words_of(FILM)}
    for seed in range(20):
        for edit in MAKERS["typos"](FILM, np.random.default_rng(seed)):
            old = FILM[edit.start : edit.end]
            assert edit.new in {old * 2, old[1:], old[::-1], *neighbours(old[0])} - {old}
        cased = noisy(FILM, "casing", seed=seed)[-1].text
        assert cased.casefold() == FILM.casefold()
        assert words.isdisjoint(word.text for word in words_of(cased))


def test_look_alikes_are_others_to_a_computer():
    assert all(ord(other) > 0x250 and letter.isascii() for letter, other in LOOK_ALIKES.items())
    assert len(set(LOOK_ALIKES.values())) == len(LOOK_ALIKES)


def test_most_words_stay_whole_where_typos_are_few():
    text = " ".join(["wonderful"] * 200)
    changed = sum(a != "wonderful" for a in noisy(text, "typos")[0].text.split())
    assert changed <= 20  # 1 % of 1800 letters


def test_edits_that_overlap_or_change_nothing_are_refused():
    with pytest.raises(ValueError, match="overlaps"):
        applied("abc", [Edit(0, 2, "x"), Edit(1, 3, "y")])
    with pytest.raises(ValueError, match="changes nothing"):
        applied("abc", [Edit(0, 1, "a")])
