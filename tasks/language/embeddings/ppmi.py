"""Word vectors from counts: positive pointwise mutual information of the corpus, reduced by a truncated SVD.

Levy and Goldberg 2014; Swivel and GloVe factorise close relatives of the same matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from assay.tasks.language.embeddings.corpus import sentences_of, vocabulary_of
from assay.tasks.language.embeddings.provider import Vectors
from assay.tasks.language.embeddings.table import TableProvider

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WINDOW = 5
DIMENSIONS = 50
LEAST = 2
"""A word that occurs less often has no vector: its few neighbours say too little."""
_SMOOTHING = 0.75
_AT_ONCE = 500_000
_DENSE = 600
_NEARLY = 0.999  # entries this close to the largest count as equal: rounding must not choose among them


def ppmi_provider(texts: Sequence[str], seed: int = 0, name: str = "ppmi") -> TableProvider:
    """Vectors of the corpus' words; the same for the same texts, in whatever order (`seed` starts the solver)."""
    sentences = sentences_of(texts)
    words = vocabulary_of(sentences, LEAST)
    if not words:
        return TableProvider(name, [], np.zeros((0, 1), dtype=np.float32))
    weights = ppmi(cooccurrences(sentences, words))
    return TableProvider(name, words, reduced(weights, min(DIMENSIONS, max(len(words) - 1, 1)), seed))


def cooccurrences(sentences: Sequence[Sequence[str]], words: Sequence[str], window: int = WINDOW) -> csr_array:
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
    vectors: Vectors = (columns * np.where(largest < 0, -1.0, 1.0)).astype(np.float32)
    return vectors


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
