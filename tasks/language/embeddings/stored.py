"""Word vectors as an artifact: the words that matter, so that later stages need no model, no corpus and no file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.data.text_schemas import WordVectors
from assay.tasks.language.embeddings.provider import Provider


def word_vectors(provider: Provider, words: Sequence[str]) -> pa.Table:
    """The WordVectors of a provider: one row per distinct word, in alphabetical order; null where it is unknown."""
    distinct = sorted(set(words))
    vectors = np.asarray(provider.vectors(distinct), dtype=np.float32)
    unknown = ~np.isfinite(vectors).all(axis=1)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]).cast(pa.list_(pa.float32()))
    column = pa.compute.if_else(pa.array(unknown), pa.scalar(None, lists.type), lists) if unknown.any() else lists
    return pa.table([[provider.name] * len(distinct), distinct, column], schema=WordVectors.schema)
