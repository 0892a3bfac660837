"""Word vectors trained on the corpus: fastText by gensim, and positive pointwise mutual information reduced by a
truncated SVD.

Levy and Goldberg 2014; Swivel and GloVe factorise close relatives of the same matrix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import numpy.typing as npt

from assay.infra.errors import InputError
from assay.tasks.language.embeddings.provider import TableProvider, Vectors
from assay.tasks.language.words import normalised, words_of

if TYPE_CHECKING:
    from gensim.models.fasttext import FastTextKeyedVectors
    from scipy.sparse import csr_array


MOST_WORDS = 3_000_000
"""Training stops reading after so many words, so that it stays within a minute."""

MOST_DISTINCT = 30_000
"""Vectors are made of the most frequent words, at most so many."""


def sentences_of(texts: Sequence[str]) -> list[list[str]]:
    """One list of words per text, in an order that depends on the texts alone (by hash), so theirs has no say.

    >>> sentences_of(["A good film!", "..."]) == sentences_of(["...", "A good film!"]) == [["a", "good", "film"]]
    True
    """
    forms: dict[str, str] = {}
    sentences, total = [], 0
    hashed = [(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), text) for text in texts]
    for _, text in sorted(hashed):
        words = [forms.setdefault(word.text, normalised(word.text)) for word in words_of(text)]
        total += len(words)
        if words:
            sentences.append(words)
        if total >= MOST_WORDS:
            break
    if not sentences:
        raise InputError("There is no word in the training texts to learn word vectors from.")
    return sentences


def vocabulary_of(sentences: Sequence[Sequence[str]], least: int = 1, most: int | None = None) -> list[str]:
    """The `most` frequent words that occur at least so often (left out, `MOST_DISTINCT`), in alphabetical order.

    >>> vocabulary_of([["b", "a"], ["b"]]), vocabulary_of([["b", "a"], ["b"]], least=2)
    (['a', 'b'], ['b'])
    """
    counts = Counter(word for sentence in sentences for word in sentence)
    often = sorted((-count, word) for word, count in counts.items() if count >= least)
    return sorted(word for _, word in often[: MOST_DISTINCT if most is None else most])


FASTTEXT_DIMENSIONS = 64
FASTTEXT_EPOCHS = 30
WORDS_TO_TRAIN = 4_000_000
"""Epochs times words of the corpus: large corpora are seen less often, so that training stays within a minute."""

_GROUPS = 100_000
_LEAST_SEEN = 0.5


def fasttext_provider(texts: Sequence[str], seed: int = 0) -> FastTextProvider:
    """Vectors trained on the corpus (skip-gram); the same for the same texts and seed, in whatever order they come."""
    from gensim.models import FastText

    sentences = sentences_of(texts)
    total = sum(map(len, sentences))
    model = FastText(
        vector_size=FASTTEXT_DIMENSIONS,
        window=5,
        min_count=1,
        max_final_vocab=MOST_DISTINCT,
        sg=1,
        min_n=3,
        max_n=6,
        bucket=_GROUPS,
        workers=1,
        seed=seed,
        hashfxn=_word_hash,
    )
    model.build_vocab(sentences)
    model.train(sentences, total_examples=len(sentences), epochs=max(1, min(FASTTEXT_EPOCHS, WORDS_TO_TRAIN // total)))
    return FastTextProvider(model.wv)


class FastTextProvider:
    """Vectors of the corpus' words, and of other words of whose letter groups the corpus has at least half."""

    name = "fasttext"

    def __init__(self, trained: FastTextKeyedVectors) -> None:
        """What gensim has trained."""
        self._trained = trained
        self._centre = trained.vectors.mean(axis=0, dtype=np.float64)
        seen = np.zeros(_GROUPS, dtype=np.bool_)
        for groups in trained.buckets_word:
            seen[groups] = True
        self._seen = seen

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The vector of each word less the mean of the vocabulary, [n, d]; NaN where too little of it was seen."""
        vectors = np.full((len(words), self._trained.vector_size), np.nan, dtype=np.float32)
        for row, word in enumerate(words):
            if self._knows(word):
                vectors[row] = self._trained.get_vector(word) - self._centre
        return vectors

    def _knows(self, word: str) -> bool:
        from gensim.models.fasttext import ft_ngram_hashes

        if word in self._trained.key_to_index:
            return True
        groups = ft_ngram_hashes(word, self._trained.min_n, self._trained.max_n, _GROUPS)
        return len(groups) > 0 and bool(self._seen[groups].mean() >= _LEAST_SEEN)


def _word_hash(word: object) -> int:
    """A hash that is the same in every process, unlike Python's."""
    return crc32(str(word).encode())


PPMI_WINDOW = 5
PPMI_DIMENSIONS = 50
PPMI_LEAST = 2
"""A word that occurs less often has no vector: its few neighbours say too little."""
_SMOOTHING = 0.75
_AT_ONCE = 500_000
_DENSE = 600
_NEARLY = 0.999  # entries this close to the largest count as equal: rounding must not choose among them


def ppmi_provider(texts: Sequence[str], seed: int = 0) -> TableProvider:
    """Vectors of the corpus' words; the same for the same texts, in whatever order (`seed` starts the solver)."""
    sentences = sentences_of(texts)
    words = vocabulary_of(sentences, PPMI_LEAST)
    if not words:
        return TableProvider("ppmi", [], np.zeros((0, 1), dtype=np.float32))
    weights = ppmi(cooccurrences(sentences, words))
    return TableProvider("ppmi", words, reduced(weights, min(PPMI_DIMENSIONS, max(len(words) - 1, 1)), seed))


def cooccurrences(sentences: Sequence[Sequence[str]], words: Sequence[str], window: int = PPMI_WINDOW) -> csr_array:
    """How often each word stands within `window` words of each other, in the same text: whole numbers, symmetric.

    >>> cooccurrences([["a", "b", "a"]], ["a", "b"], window=1).toarray().tolist()
    [[0, 2], [2, 0]]
    """
    from scipy.sparse import csr_array

    rows = {word: row for row, word in enumerate(words)}
    counts = csr_array((len(words), len(words)), dtype=np.int64)
    ids: list[int] = []
    for number, sentence in enumerate(sentences, 1):
        ids += [rows.get(word, -1) for word in sentence]
        ids += [-1] * window  # nothing reaches from one text into the next
        if len(ids) >= _AT_ONCE or number == len(sentences):
            counts = counts + _within(np.array(ids, dtype=np.int64), len(words), window)
            ids = []
    return counts + counts.T


def ppmi(counts: csr_array) -> csr_array:
    """max(0, log p(w, c) / (p(w) p(c))), the context's share to the power 3/4 (Levy, Goldberg and Dagan 2015)."""
    from scipy.sparse import csr_array

    entries = counts.tocoo()
    totals = np.asarray(counts.sum(axis=1), dtype=np.float64)
    smooth = totals**_SMOOTHING
    expected = totals[entries.coords[0]] * smooth[entries.coords[1]] / max(smooth.sum(), 1.0)
    information = np.log(entries.data / expected)
    kept = information > 0
    weights: csr_array = csr_array(
        (information[kept], (entries.coords[0][kept], entries.coords[1][kept])), shape=counts.shape
    )
    return weights


def reduced(weights: csr_array, dimensions: int, seed: int) -> Vectors:
    """U·√Σ of the largest singular values, the largest first, [n, d].

    Of each column the first of the largest entries is positive: a solver is free to choose the sign.
    """
    from scipy.sparse.linalg import svds

    if min(weights.shape) <= max(_DENSE, dimensions):
        left, sizes, _ = np.linalg.svd(weights.toarray())
    else:
        start = np.random.default_rng(seed).standard_normal(min(weights.shape))
        left, sizes, _ = svds(weights, k=dimensions, v0=start, which="LM")
    order = np.argsort(-sizes, kind="stable")[:dimensions]
    columns = left[:, order] * np.sqrt(sizes[order])
    lengths = np.abs(columns)
    first = (lengths >= _NEARLY * lengths.max(axis=0)).argmax(axis=0)
    largest = columns[first, np.arange(columns.shape[1])]
    return np.asarray((columns * np.where(largest < 0, -1.0, 1.0)).astype(np.float32))


def _within(ids: npt.NDArray[np.int64], size: int, window: int) -> csr_array:
    """Counts of (word, later word within the window) in a run of word numbers; -1 is no word."""
    from scipy.sparse import csr_array

    total = csr_array((size, size), dtype=np.int64)
    for distance in range(1, window + 1):
        first, second = ids[:-distance], ids[distance:]
        both = (first >= 0) & (second >= 0)
        ones = np.ones(int(both.sum()), dtype=np.int64)
        total = total + csr_array((ones, (first[both], second[both])), shape=(size, size))
    return total
