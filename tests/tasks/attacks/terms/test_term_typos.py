"""Swapped letters and neighbouring keys: always a real change, never more than asked for, at the right places."""

import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.tasks.attacks.terms.typos import NEIGHBOURS, letters_in, neighbours, press_neighbours, swap_letters

words = st.text(alphabet=string.ascii_letters + string.digits + "-éß'αÅ", min_size=1, max_size=14)
seeds = st.integers(0, 2**32)
TYPOS = [swap_letters, press_neighbours]


def moved(word, made):
    return [at for at, (before, after) in enumerate(zip(word, made, strict=True)) if before != after]


@pytest.mark.parametrize(("typo", "letters"), [(swap_letters, 2), (press_neighbours, 1)])
@settings(max_examples=60)
@given(words, st.integers(1, 4), seeds)
def test_a_change_is_one_also_for_a_subject_that_ignores_case(typo, letters, word, changes, seed):
    made = typo(word, changes, np.random.default_rng(seed))
    assert made == word or made.casefold() != word.casefold()
    assert len(moved(word, made)) <= letters * changes


@settings(max_examples=60)
@given(words, st.integers(1, 4), seeds)
def test_swaps_move_letters_to_the_next_place_and_nothing_else(word, changes, seed):
    made = swap_letters(word, changes, np.random.default_rng(seed))
    assert sorted(made) == sorted(word)
    places = moved(word, made)
    for left, right in zip(places[::2], places[1::2], strict=True):
        assert right == left + 1
        assert made[left : right + 1] == word[right] + word[left]
        assert word[left].isalpha()
        assert word[right].isalpha()


@settings(max_examples=60)
@given(words, st.integers(1, 4), seeds)
def test_keys_replace_letters_by_what_lies_beside_them_in_their_case(word, changes, seed):
    made = press_neighbours(word, changes, np.random.default_rng(seed))
    for at in moved(word, made):
        assert made[at].lower() in NEIGHBOURS[word[at].lower()]
        assert made[at].isdigit() or made[at].isupper() == word[at].isupper()


@pytest.mark.parametrize("typo", TYPOS)
@settings(max_examples=40)
@given(words, seeds)
def test_more_changes_are_the_fewer_changed_further(typo, word, seed):
    once, twice = (typo(word, changes, np.random.default_rng(seed)) for changes in (1, 2))
    # every letter that one change moved stays where it went
    assert all(twice[at] == once[at] for at in moved(word, once))


def test_keys_touch_each_other_and_are_those_of_the_papers_example():
    assert all(key in NEIGHBOURS[other] for key, beside in NEIGHBOURS.items() for other in beside)
    # Table 1: valve → valce, prosthesis → prosth3sis, treated → trezted, warfarin → warfsrin, pregnancy → pregnahcy
    for key, pressed in ("vc", "e3", "az", "as", "nh"):
        assert pressed in neighbours(key)
    assert set(neighbours("r")) & set("45")
    assert neighbours("ß") == ""


def test_every_place_can_be_hit():
    swapped = {swap_letters("heart", 1, np.random.default_rng(seed)) for seed in range(200)}
    assert swapped == {"ehart", "haert", "herat", "heatr"}
    pressed = {press_neighbours("heart", 1, np.random.default_rng(seed)) for seed in range(2000)}
    assert len(pressed) == sum(len(neighbours(letter)) for letter in "heart")


@pytest.mark.parametrize(("word", "letters"), [("5-HT", 2), ("123", 0), ("naïve", 5)])
def test_letters_are_counted_without_digits_and_signs(word, letters):
    assert letters_in(word) == letters
