"""A text's probabilities depend on the text alone; tokens, gradients and odd texts behave."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_texts import TEXTS, tiny_model

from assay.infra.errors import InputError
from assay.tasks.subjects.texts.model import TextModel, TokenModel, UnusableTextError
from assay.tasks.subjects.texts.network import NetworkModel
from assay.tasks.subjects.token_networks.epochs import blocks, rung

WORDS = " ".join(TEXTS).split()


@pytest.fixture(scope="module")
def model() -> NetworkModel:
    return tiny_model(3)


def texts(count: int, seed: int = 0) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(0, 40))) for _ in range(count)]


def test_a_network_is_a_text_model_and_a_token_model(model: NetworkModel) -> None:
    assert isinstance(model, TextModel)
    assert isinstance(model, TokenModel)
    assert model.classes == 3


def test_the_same_text_has_the_same_bits_in_any_batch_order_and_company(model: NetworkModel) -> None:
    many = texts(150)
    together = model.probabilities(many)
    shuffled = random.Random(1).sample(range(len(many)), len(many))
    assert np.array_equal(model.probabilities([many[at] for at in shuffled]), together[shuffled])
    for at in range(0, 150, 30):
        assert np.array_equal(model.probabilities([many[at]])[0], together[at])
    assert len(np.unique(together[:, 0])) > 50  # and they are no constant


def test_padding_and_filling_up_change_nothing_that_counts(model: NetworkModel) -> None:
    """Against transformers as everybody calls it: one text, no padding."""
    for text in texts(5):
        ids = torch.tensor([model.encode(text).ids.tolist()])
        with torch.inference_mode():
            plain = torch.softmax(model.network.logits(ids, torch.ones_like(ids), None).double(), dim=-1)[0].numpy()
        assert np.allclose(model.probabilities([text])[0], plain, atol=1e-6)


def test_token_ids_give_what_their_text_gives(model: NetworkModel) -> None:
    some = texts(20)
    assert np.array_equal(model.token_probabilities([model.encode(t).ids for t in some]), model.probabilities(some))


def test_dropping_a_word_s_tokens_is_dropping_the_word(model: NetworkModel) -> None:
    assert model.word_pieces
    text = "the brilliant plot-twist is dull"
    encoded = model.encode(text)
    start = text.index("plot")
    kept = encoded.special | (encoded.ends <= start) | (encoded.starts >= start + len("plot-twist"))
    assert encoded.ids[kept].tolist() == model.encode("the brilliant  is dull").ids.tolist()


def test_byte_pair_tokens_depend_on_neighbours_and_say_so() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    bpe = Tokenizer(models.BPE({"a": 0, "Ġa": 1}, []))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel()
    network = tiny_model()
    assert not NetworkModel(network.network, bpe, 0, 512, columns=(0, 1)).word_pieces


def test_tokens_know_their_characters(model: NetworkModel) -> None:
    text = "We saw  LISBON, é"
    encoded = model.encode(text)
    assert encoded.special.tolist() == [True, *[False] * (len(encoded.ids) - 2), True]
    assert text[encoded.starts[1] : encoded.ends[1]] == "We"
    spelt = "".join(text[s:e] for s, e in zip(encoded.starts[1:-1], encoded.ends[1:-1], strict=True))
    assert spelt == text.replace(" ", "")


def test_the_gradient_is_the_slope_of_the_log_probability(model: NetworkModel) -> None:
    text, step = "the plot is dull", 1e-2
    gradient = model.gradients(text, 1)
    ids = model.encode(text).ids
    assert gradient.shape == (len(ids), 64)
    direction = np.random.default_rng(0).normal(size=gradient.shape).astype(np.float32)
    direction /= np.linalg.norm(direction)
    base = torch.from_numpy(model.embeddings(ids))

    @torch.inference_mode()
    def log_p(way: float) -> float:
        moved = (base + way * torch.from_numpy(direction))[None]
        logits = model.network.logits(None, torch.ones((1, len(ids)), dtype=torch.long), moved)
        return float(torch.log_softmax(logits.double(), dim=-1)[0, 1])

    slope = (log_p(step) - log_p(-step)) / (2 * step)
    assert slope == pytest.approx(float((gradient * direction).sum()), rel=0.02, abs=1e-4)
    assert np.array_equal(gradient, model.gradients(text, 1))  # nothing is dropped out


def test_gradients_over_all_classes_balance(model: NetworkModel) -> None:
    """Σ p(k) · ∂ log p(k) = ∂ Σ p(k) = 0."""
    text = "a brilliant film"
    shares = model.probabilities([text])[0]
    weighted = sum(share * model.gradients(text, k) for k, share in enumerate(shares))
    assert np.abs(weighted).max() < 1e-5


@pytest.mark.parametrize(
    "text",
    ["", "   ", "film", "...", "😀 👩‍👩‍👧", "فيلم رائع جدا", "a\0film\0", "ﬁlm é ßß", "\u202eflip\u202c", "字幕"],
)
def test_odd_texts_have_probabilities_and_gradients(model: NetworkModel, text: str) -> None:
    assert model.probabilities([text]).sum() == pytest.approx(1)
    assert np.isfinite(model.gradients(text, 0)).all()


def test_a_text_of_a_hundred_thousand_words_is_cut_and_known_to_be(model: NetworkModel) -> None:
    long = "the plot is dull " * 25_000
    assert len(model.encode(long).ids) == model.limit == 512
    assert model.is_cut(long)
    assert not model.is_cut("the plot is dull")
    assert np.array_equal(model.probabilities([long]), model.probabilities([long + "and more"]))


def test_weights_that_give_no_number_name_the_text() -> None:
    broken = tiny_model()
    word = broken.encode("dull").ids[1]
    with torch.no_grad():
        broken.network.table()[word] = float("nan")
    with pytest.raises(UnusableTextError, match="no finite number for text 3") as caught:
        broken.probabilities(["a film", "the cast", "the plot is dull"])
    assert caught.value.row == 2
    with pytest.raises(UnusableTextError):
        broken.gradients("the plot is dull", 0)


def test_more_tokens_than_the_network_reads_are_refused(model: NetworkModel) -> None:
    with pytest.raises(InputError, match="1 to 512 tokens, and was given 513"):
        model.token_probabilities([np.ones(513, dtype=np.int64)])


def test_no_text_at_all_is_no_row(model: NetworkModel) -> None:
    assert model.probabilities([]).shape == (0, 3)


@given(st.lists(st.integers(1, 600), max_size=60), st.integers(16, 4096))
@settings(max_examples=40)
def test_blocks_hold_every_text_once_within_the_budget_in_shapes_of_their_own(lengths: list[int], budget: int) -> None:
    batch = [np.full(length, at + 1, dtype=np.int64) for at, length in enumerate(lengths)]
    seen: list[int] = []
    for texts, ids, mask in blocks(batch, pad=0, limit=600, tokens=budget):
        rows, length = ids.shape
        assert rows == max(1, budget // length)
        for row, text in enumerate(texts):
            assert length == rung(lengths[text], 600)
            assert mask[row].sum() == lengths[text]
            assert (ids[row, : lengths[text]] == text + 1).all()
        seen += texts.tolist()
    assert sorted(seen) == list(range(len(lengths)))


@given(st.integers(1, 512))
def test_a_rung_is_at_most_a_quarter_longer_beyond_32(length: int) -> None:
    assert length <= rung(length, 512) <= max(length + 7, length * 1.26)


def test_a_tokenizer_that_knows_more_than_its_network_is_a_sentence(model: NetworkModel) -> None:
    known, mask = len(model.network.table()), torch.ones(1, 2, dtype=torch.int64)
    assert model.network.logits(torch.tensor([[0, known - 1]]), mask, None).shape == (1, 3)
    with pytest.raises(InputError, match=f"token {known} of a text, and the network knows {known}, counted from 0"):
        model.network.logits(torch.tensor([[0, known]]), mask, None)
