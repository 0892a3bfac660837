"""Vectors trained on the corpus depend on its texts and the seed, and on nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from repository import ROOT

from assay.infra.errors import InputError
from assay.tasks.language.embeddings.corpus import (
    PPMI_LEAST,
    cooccurrences,
    fasttext_provider,
    ppmi,
    ppmi_provider,
    reduced,
    sentences_of,
    vocabulary_of,
)
from assay.tasks.language.relatedness import cosines


def corpus(n=300, seed=0):
    """Texts about food and about ships: words of one kind stand together."""
    generator = np.random.default_rng(seed)
    kinds = [["soup", "bread", "cheese", "apple", "butter"], ["ship", "sail", "anchor", "harbour", "captain"]]
    return [f"The {' '.join(generator.choice(kinds[i % 2], 6))}, no. {i % 7}!" for i in range(n)]


PROVIDERS = {"fasttext": fasttext_provider, "ppmi": ppmi_provider}


@pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)
def test_words_of_a_kind_are_nearer_than_words_of_two_kinds(make):
    found = make(corpus())
    near = cosines(found.vectors(["soup", "ship"]), found.vectors(["bread", "cheese", "sail", "anchor"]))
    assert near[0, :2].min() > 0.3 + near[0, 2:].max()
    assert near[1, 2:].min() > 0.3 + near[1, :2].max()


@pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)
def test_the_order_of_texts_has_no_say(make):
    texts = corpus(60)
    words = ["soup", "ship", "the", "6"]
    np.testing.assert_array_equal(make(texts).vectors(words), make(texts[::-1]).vectors(words))


@pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)
def test_a_vector_depends_on_the_word_alone(make):
    found = make(corpus(60))
    both = found.vectors(["soup", "zzz", "ship"])
    np.testing.assert_array_equal(both[2], found.vectors(["ship"])[0])
    assert np.isnan(both[1]).all()
    assert not np.isnan(both[[0, 2]]).any()
    assert found.vectors([]).shape == (0, both.shape[1])


@pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)
def test_a_corpus_without_a_word_is_refused(make):
    with pytest.raises(InputError, match="no word in the training texts"):
        make(["...", "", "\0 😀"])


@pytest.mark.parametrize("make", PROVIDERS.values(), ids=PROVIDERS)
@pytest.mark.parametrize("texts", [["one"], ["one one"], ["a b", "a b"]])
def test_the_smallest_corpora_work(make, texts):
    assert make(texts).vectors(["one", "a"]).shape[0] == 2


def test_fasttext_knows_new_words_by_their_letter_groups_and_others_not():
    found = fasttext_provider(corpus(60))
    new = found.vectors(["captains", "harbours", "xylophone"])
    assert np.isnan(new).any(axis=1).tolist() == [False, False, True]
    words = vocabulary_of(sentences_of(corpus(60)))
    assert words[cosines(new[:1], found.vectors(words))[0].argmax()] == "captain"


@pytest.mark.slow
def test_fasttext_is_the_same_in_another_process_whatever_python_hashes():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_corpus import corpus; "
        "from assay.tasks.language.embeddings.corpus import fasttext_provider as f; "
        "print(f(corpus(40)).vectors(['soup', 'ship', 'captains']).tobytes().hex())"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).parent)],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    here = fasttext_provider(corpus(40)).vectors(["soup", "ship", "captains"]).tobytes().hex()
    assert found == [here, here]


def test_fasttext_differs_by_seed():
    one, two = (fasttext_provider(corpus(40), seed).vectors(["soup"]) for seed in (0, 1))
    assert not np.array_equal(one, two)


def test_counts_are_exact_and_never_reach_into_another_text(monkeypatch):
    from assay.tasks.language.embeddings import corpus as module

    sentences = [["a", "b", "c", "a"], ["c"], ["a", "x", "b"]]
    expected = np.zeros((3, 3), dtype=int)
    for sentence in sentences:
        for i, first in enumerate(sentence):
            for j, second in enumerate(sentence):
                if i != j and abs(i - j) <= 2 and {first, second} <= set("abc"):
                    expected["abc".index(first), "abc".index(second)] += 1
    assert cooccurrences(sentences, list("abc"), window=2).toarray().tolist() == expected.tolist()
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    assert cooccurrences(sentences, list("abc"), window=2).toarray().tolist() == expected.tolist()


def test_information_is_the_formula():
    counts = np.array([[0, 6, 1], [6, 0, 2], [1, 2, 0]])
    from scipy.sparse import csr_array

    totals = counts.sum(axis=1).astype(float)
    share = totals**0.75 / (totals**0.75).sum()
    with np.errstate(divide="ignore"):
        expected = np.maximum(np.log(counts / totals[:, None] / share[None, :]), 0)
    np.testing.assert_allclose(ppmi(csr_array(counts)).toarray(), expected, atol=1e-12)


def test_the_sparse_decomposition_equals_the_dense_one(monkeypatch):
    from assay.tasks.language.embeddings import corpus as module

    sentences = sentences_of(corpus(100) + [f"word{i} word{i + 1} word{i + 2}" for i in range(60)])
    weights = ppmi(cooccurrences(sentences, vocabulary_of(sentences)))
    dense = reduced(weights, 4, seed=0)
    monkeypatch.setattr(module, "_DENSE", 0)
    np.testing.assert_allclose(reduced(weights, 4, seed=0), dense, atol=1e-4)
    np.testing.assert_array_equal(reduced(weights, 4, seed=0), reduced(weights, 4, seed=0))


def test_a_word_that_occurs_once_has_no_count_vector():
    found = ppmi_provider([*corpus(60), "the albatross soup"])
    assert PPMI_LEAST == 2
    assert np.isnan(found.vectors(["albatross", "soup"])).any(axis=1).tolist() == [True, False]


def test_a_long_corpus_is_read_up_to_a_bound(monkeypatch):
    from assay.tasks.language.embeddings import corpus as module

    monkeypatch.setattr(module, "MOST_WORDS", 100)
    monkeypatch.setattr(module, "MOST_DISTINCT", 5)
    sentences = sentences_of(corpus(100))
    assert 100 <= sum(map(len, sentences)) < 110
    assert len(vocabulary_of(sentences)) == 5
