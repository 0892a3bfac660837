"""The first piece of a word stands for it, whatever the words are."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from assay.tasks.subjects.sequences.tagger import NONE, align, read_word_by_word, targets
from assay.tasks.subjects.token_networks.hugging_face import learn_vocabulary

TEXTS = ["a patient with hypotension took warfarin", "hypertension after warfarin in a patient", "L - dopa , 5 mg !"]
PAD = 0


def tokenizer(limit: int = 512) -> Tokenizer:
    made = Tokenizer.from_str(learn_vocabulary(TEXTS))
    read_word_by_word(made)
    made.enable_truncation(limit)
    return made


READER = tokenizer()
WORDS = st.lists(st.text(min_size=1, max_size=12), max_size=15)


@given(WORDS)
@settings(max_examples=60)
def test_words_have_places_in_order_and_only_words_with_something_to_read(words) -> None:
    found = align(READER, words, PAD)
    places = found.places[found.read]
    assert len(found.places) == len(words)
    assert np.all(np.diff(places) > 0)
    assert np.all((places > 0) & (places < len(found.ids) - 1))  # between [CLS] and [SEP]
    alone = [bool(READER.encode([word], is_pretokenized=True, add_special_tokens=False).ids) for word in words]
    assert (found.places >= 0).tolist() == alone


@given(WORDS.filter(len), st.data())
@settings(max_examples=40)
def test_every_word_that_is_read_carries_its_tag_once(words, data) -> None:
    codes = data.draw(st.lists(st.integers(0, 4), min_size=len(words), max_size=len(words)))
    found = align(READER, words, PAD)
    wanted = targets(found, codes)
    assert len(wanted) == len(found.ids)
    assert wanted[wanted != NONE].tolist() == [codes[word] for word in found.read]


def test_an_unknown_word_is_spelt_and_its_first_piece_stands_for_it() -> None:
    found = align(READER, ["a", "hypomania", "patient"], PAD)
    assert found.places[1] == 2
    assert found.places[2] > 3


def test_a_long_sentence_is_cut_and_says_so() -> None:
    found = align(tokenizer(6), ["a", "patient", "warfarin", "a", "patient", "a"], PAD)
    assert found.cut
    assert len(found.ids) == 6
    assert found.places.tolist() == [1, 2, 3, 4, -1, -1]
    assert not align(tokenizer(6), ["a", "patient"], PAD).cut


def test_a_sentence_of_nothing_is_one_piece() -> None:
    assert align(READER, [" ", "\x00"], PAD).read.tolist() == []
    assert len(align(READER, [], PAD).ids) >= 1


def test_bytes_level_words_are_read_as_words_after_a_blank() -> None:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({piece: code for code, piece in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    read_word_by_word(made)
    ids = align(made, ["ab", "c"], PAD).ids.tolist()
    assert [alphabet[code] for code in ids] == ["Ġ", "a", "b", "Ġ", "c"]
