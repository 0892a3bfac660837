"""Masks are drawn as LIME draws them: a uniform number of words goes, every word as often as any other."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from assay.tasks.trust.explainers import documents
from assay.tasks.trust.explainers.documents import distinct_masks, draw_masks


def drawn(words, samples, seed=0):
    return np.concatenate(list(draw_masks(words, samples, np.random.default_rng(seed))))


def test_the_whole_text_comes_first_and_all_others_lose_something():
    masks = drawn(7, 3000)
    assert masks[0].all()
    assert not masks[1:].all(axis=1).any()


def test_the_number_of_words_that_go_is_uniform_and_so_is_which():
    masks = drawn(6, 60_001)[1:]
    assert chisquare(np.bincount(6 - masks.sum(axis=1), minlength=7)[1:]).pvalue > 1e-3
    of_size_two = masks[masks.sum(axis=1) == 4]
    _, counts = np.unique(of_size_two, axis=0, return_counts=True)
    assert len(counts) == 15
    assert chisquare(counts).pvalue > 1e-3


def test_a_text_of_one_word_has_itself_and_the_empty_text():
    assert drawn(1, 4).tolist() == [[True], [False], [False], [False]]


def test_blocks_bound_the_memory_and_only_the_first_holds_the_whole_text(monkeypatch):
    monkeypatch.setattr(documents, "_CELLS", 50)
    blocks = list(draw_masks(10, 23, np.random.default_rng(0)))
    assert [len(block) for block in blocks] == [5, 5, 5, 5, 3]
    assert [bool(block.all(axis=1).any()) for block in blocks] == [True, False, False, False, False]


@given(seed=st.integers(0, 1000), words=st.integers(1, 20), samples=st.integers(1, 200))
def test_distinct_masks_with_their_counts_are_the_masks(seed, words, samples):
    masks = drawn(words, samples, seed)
    distinct, counts = distinct_masks(masks)
    assert len({mask.tobytes() for mask in distinct}) == len(distinct)
    again = np.repeat(distinct, counts, axis=0)
    assert sorted(map(bytes, again.astype(np.uint8))) == sorted(map(bytes, masks.astype(np.uint8)))
