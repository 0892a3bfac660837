"""The texts of samples and their classes, and what the classifier in a subject's files says of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Integers
from assay.data.schemas import ListedTable
from assay.infra.errors import InputError
from assay.infra.stages.partitions import Tallied
from assay.tasks.subjects.predictions import codes_known, predictions_table
from assay.tasks.subjects.resolved import BuiltFrom, ResolvedSubject
from assay.tasks.subjects.texts.model import OwnTextModel, TextModel, UnusableTextError

if TYPE_CHECKING:
    from assay.tasks.subjects.texts.network import NetworkModel


COPIED_FROM = "copied_from"
"""The column that names the original of an attacked copy among samples to learn from; null for originals."""


def column_of(samples: pa.Table, column: str, setting: str, who: str) -> pa.ChunkedArray:
    """The column that a subject reads; the sentence that names its setting where there is none."""
    if column not in samples.column_names:
        raise InputError(
            f"The samples have no column {column!r} for the {who} to read: their columns are "
            f"{', '.join(samples.column_names)}; name one with the subject's `{setting}`."
        )
    return samples[column]


def texts_of(samples: pa.Table, column: str, setting: str = "text", who: str = "classifier") -> list[str]:
    """The text of every sample.

    >>> texts_of(pa.table({"id": ["a"], "text": ["good"]}), "text")
    ['good']
    """
    values = column_of(samples, column, setting, who)
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise InputError(f"The column {column!r} holds {values.type}, and a {who} reads text.")
    if values.null_count:
        sample = samples["id"].filter(pc.is_null(values))[0].as_py()
        raise InputError(
            f"Sample {sample!r} has no text in the column {column!r}: list it under the source's `required`, or leave "
            "the sample out."
        )
    return list(values.to_pylist())


def origins_of(samples: pa.Table, texts: Sequence[str]) -> list[str]:
    """Per sample the text that it comes from: its original's for an attacked copy, else its own.

    What is set aside for validation is set aside by these, so that no copy of a validation text trains.

    >>> samples = pa.table({"id": ["a", "a+copy"], "copied_from": [None, "a"]})
    >>> origins_of(samples, ["good", "gpod"])
    ['good', 'good']
    """
    if COPIED_FROM not in samples.column_names:
        return list(texts)
    by_id = dict(zip(samples["id"].to_pylist(), texts, strict=True))
    pairs = zip(samples[COPIED_FROM].to_pylist(), texts, strict=True)
    return [text if source is None else by_id.get(source, text) for source, text in pairs]


def labelled_codes(samples: pa.Table, classes: Sequence[str]) -> tuple[pa.Table, Integers]:
    """The samples whose class is known, in the order of their ids, and their classes: something to learn from.

    No order of files shows in what is learnt from them.
    """
    known = samples.filter(pc.greater_equal(pc.fill_null(samples["gold"], -1), 0)).sort_by("id")
    codes = codes_known(known, classes)
    seen = np.unique(codes)
    if len(seen) < 2:
        classes_known = "no class at all" if not len(seen) else f"the class {classes[seen[0]]!r} only"
        raise InputError(
            f"The labelled training texts know {classes_known}: a classifier needs texts of at least two classes."
        )
    return known, codes


class TextFeatures(ListedTable):
    """One row per text: its class, and the encoder's features."""


def feature_rows(samples: pa.Table, *, text: str) -> pa.Table:
    """The `TextFeatures` of a partition."""
    from assay.tasks.language.embeddings.encoder import SentenceEncoder, minilm_folder

    texts = texts_of(samples, text)
    vectors = SentenceEncoder(minilm_folder()).encode(texts) if texts else np.zeros((0, 1), np.float32)
    offsets = np.arange(len(texts) + 1, dtype=np.int32) * vectors.shape[1]
    listed = pa.ListArray.from_arrays(pa.array(offsets), pa.array(vectors.ravel().astype(np.float32)))
    return pa.table([samples["id"], samples["gold"], listed], schema=TextFeatures.schema)


def load_text_model(subject: ResolvedSubject, files: dict[str, bytes], classes: int) -> TextModel:
    """The model in a subject's files, on a GPU where there is one; each process builds it once.

    Where the model is a network over tokens, what comes back is a `TokenModel`.
    """
    return _build(BuiltFrom.of(subject, files, classes))


@lru_cache(maxsize=2)
def _build(source: BuiltFrom) -> TextModel:
    card, subject = json.loads(source.files["card.json"]), source.subject
    if subject.code is not None:
        return OwnTextModel(subject.code, source.classes, subject.masked, tuple(card.get("class_names", ())))
    if card["kind"] == "minilm-linear":
        from assay.tasks.subjects.texts.network import linear_from_files

        return linear_from_files(source.files)
    from assay.tasks.subjects.texts.network import network_from_files

    return network_from_files(source.files)


def predict_table(
    samples: pa.Table, subject: ResolvedSubject, files: dict[str, bytes], classes: Sequence[str]
) -> Tallied:
    """Predictions for a partition of the samples, and how many texts were longer than the classifier reads (`cut`)."""
    model = load_text_model(subject, files, len(classes))
    texts = texts_of(samples, subject.settings.text)
    try:
        probabilities = model.probabilities(texts)
    except UnusableTextError as fault:
        sample = samples["id"][fault.row].as_py()
        raise InputError(f"{fault.reason} for sample {sample!r}.") from fault
    cut = 0 if subject.way == "own" else sum(map(cast("NetworkModel", model).is_cut, texts))
    return Tallied(predictions_table(samples["id"], probabilities, chances=subject.gives_chances), {"cut": cut})
