"""Dropping tokens is what the tokenizer makes of the text without the words, or it is not done.

And: masks are drawn as LIME draws them: a uniform number of words goes, every word as often as any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from assay.tasks.subjects.texts.network import NetworkModel
from assay.tasks.trust.explainers import documents
from assay.tasks.trust.explainers.documents import (
    MOST_WORDS,
    can_mask_tokens,
    distinct_masks,
    draw_masks,
    read_document,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789éאבמ中文"


PIECES = ["un", "##un", "good", "##ing", "do", "n", "##n", "so", "know", "##n"]


ALPHABET = "abdo'-.,_! 😀中文\u0301\u200b\0é\tא°$\u2019"


@dataclass
class Silent:
    """A network that is only asked for its tokens."""

    def eval(self):
        return self


def bert() -> NetworkModel:
    marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~’😀°"
    vocabulary = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *marks, *PIECES])
    vocabulary |= dict.fromkeys(f"##{letter}" for letter in LETTERS)
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return NetworkModel(Silent(), tokenizer, 0, 512, columns=(0, 1))


def roberta() -> NetworkModel:
    """Byte-level BPE: a word's tokens depend on the space before it."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: i for i, piece in enumerate([*alphabet, "oo", "Ġg"])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("o", "o"), ("Ġ", "g")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return NetworkModel(Silent(), tokenizer, 0, 512, columns=(0, 1))


BERT, ROBERTA = bert(), roberta()


def dropped(document, masks, model):
    """The tokens that masking leaves, and those of the masked texts."""
    by_tokens = [ids.tolist() for ids in document.token_ids(masks)]
    return by_tokens, [model.encode(text).ids.tolist() for text in document.texts(masks)]


def random_masks(words, n, seed=0):
    return np.random.default_rng(seed).random((n, words)) < np.linspace(0, 1, n)[:, None]


@pytest.mark.parametrize(
    "text",
    [
        "So good, so good: unknown things don't go un-noticed (3.5 of 10)!",
        "good 中文 中 good_a 'a' b–c \u201cunknown\u201d",
        "été e\u0301te\u0301 don\u2019t\n\tא מב",
    ],
)
def test_masked_tokens_are_the_tokens_of_the_masked_text(text):
    document = read_document(text, BERT)
    assert can_mask_tokens(document, BERT)
    by_tokens, by_texts = dropped(document, random_masks(len(document.words), 200), BERT)
    assert by_tokens == by_texts


@given(text=st.text(st.sampled_from(ALPHABET), max_size=30), seed=st.integers(0, 1000))
@settings(max_examples=300)
def test_whenever_tokens_may_be_masked_that_is_exact(text, seed):
    document = read_document(text, BERT)
    if can_mask_tokens(document, BERT):
        by_tokens, by_texts = dropped(document, random_masks(len(document.words), 12, seed), BERT)
        assert by_tokens == by_texts


@pytest.mark.parametrize("text", ["good😀good", "a中b", "good\u200bun", "a\0b", "good°un"])
def test_words_that_touch_others_are_not_masked_as_tokens(text):
    assert not can_mask_tokens(read_document(text, BERT), BERT)


def test_a_tokenizer_whose_tokens_depend_on_neighbours_is_asked_about_texts():
    assert not can_mask_tokens(read_document("so good a thing", ROBERTA), ROBERTA)


def test_tokens_belong_to_the_words_they_overlap():
    document = read_document("good unknown, good", BERT)
    assert [document.words[word].text if word >= 0 else "" for word in document.token_feature] == [
        "",
        "good",
        *["unknown"] * (len(document.token_feature) - 5),
        "",
        "good",
        "",
    ]
    with_space = read_document("so good", ROBERTA)
    assert with_space.token_feature.tolist() == [0, 0, 1, 1, 1]


def test_a_text_that_is_cut_loses_the_words_beyond_and_no_others():
    model = NetworkModel(Silent(), bert().tokenizer, 0, 7, columns=(0, 1))
    document = read_document("good good so un good so good 😀", model)
    assert (document.text, [word.text for word in document.words]) == ("good good so un good", ["good", "so", "un"])
    assert (document.text_words, len(document.occurrences)) == (7, 5)
    assert can_mask_tokens(document, model)
    by_tokens, by_texts = dropped(document, random_masks(3, 20), model)
    assert by_tokens == by_texts


def test_a_word_cut_in_two_is_no_feature_and_stays():
    model = NetworkModel(Silent(), bert().tokenizer, 0, 5, columns=(0, 1))
    document = read_document("good unknown", model)
    assert [word.text for word in document.words] == ["good"]
    assert [ids.tolist() for ids in document.token_ids(np.array([[False]]))] == [
        np.delete(model.encode("good unknown").ids, 1).tolist()
    ]


def test_what_follows_the_first_two_thousand_different_words_is_no_feature():
    model = NetworkModel(Silent(), bert().tokenizer, 0, 1_000_000, columns=(0, 1))
    document = read_document(" ".join(f"a{i} so" for i in range(MOST_WORDS)), model)
    assert len(document.words) == MOST_WORDS
    assert document.words[-1].text == f"a{MOST_WORDS - 2}"
    assert len(document.occurrences) == 2 * (MOST_WORDS - 1)


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
