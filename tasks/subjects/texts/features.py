"""Features of texts by the frozen encoder that `minilm-linear` stands on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from assay.infra.artifacts import Table
from assay.tasks.subjects.texts.rows import texts_of


class TextFeatures(Table):
    """One row per text: its class, and the encoder's features."""

    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("gold", pa.int16()),
            pa.field("features", pa.list_(pa.float32()), nullable=False),
        ]
    )


def feature_rows(samples: pa.Table, *, text: str) -> pa.Table:
    """The `TextFeatures` of a partition."""
    from assay.tasks.language.embeddings.encoder import SentenceEncoder, minilm_folder

    texts = texts_of(samples, text)
    vectors = SentenceEncoder(minilm_folder()).encode(texts) if texts else np.zeros((0, 1), np.float32)
    offsets = np.arange(len(texts) + 1, dtype=np.int32) * vectors.shape[1]
    listed = pa.ListArray.from_arrays(pa.array(offsets), pa.array(vectors.ravel().astype(np.float32)))
    return pa.table([samples["id"], samples["gold"], listed], schema=TextFeatures.schema)
