"""The texts of samples and what they are about, or an error that names the sample without one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError
from assay.tasks.subjects.gold_codes import codes_known
from assay.tasks.subjects.token_networks.blocks import IntArray

COPIED_FROM = "copied_from"
"""The column that names the original of an attacked copy among samples to learn from; null for originals."""


def texts_of(samples: pa.Table, column: str) -> list[str]:
    """The text of every sample.

    >>> texts_of(pa.table({"id": ["a"], "text": ["good"]}), "text")
    ['good']
    """
    if column not in samples.column_names:
        raise InputError(
            f"The samples have no column {column!r} for the classifier to read: their columns are "
            f"{', '.join(samples.column_names)}; name one with the subject's `text`."
        )
    values = samples[column]
    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        raise InputError(f"The column {column!r} holds {values.type}, and the classifier reads text.")
    if values.null_count:
        sample = samples["id"].filter(pc.is_null(values))[0].as_py()
        raise InputError(
            f"Sample {sample!r} has no text in the column {column!r}: list it under the source's `required`, or leave "
            "the sample out."
        )
    texts: list[str] = values.to_pylist()
    return texts


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


def labelled_codes(samples: pa.Table, classes: Sequence[str]) -> tuple[pa.Table, IntArray]:
    """The samples whose class is known, in the order of their ids, and their classes: something to learn from.

    No order of files shows in what is learnt from them.
    """
    known = samples.filter(pc.greater_equal(pc.fill_null(samples["gold"], -1), 0)).sort_by("id")
    codes = codes_known(known, classes)
    taught = np.unique(codes)
    if len(taught) < 2:
        classes_known = "no class at all" if not len(taught) else f"the class {classes[taught[0]]!r} only"
        raise InputError(
            f"The labelled training texts know {classes_known}: a classifier needs texts of at least two classes."
        )
    return known, codes
