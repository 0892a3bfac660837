"""What can be true of a sample beside a class: tags, one per word, or a number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from assay.data.biomedical_schemas import WORDS
from assay.infra.exact import Greatest
from assay.tasks.ingest.tag_conventions import IOB2, TagError, as_iob2, letters_of

LONG = 1000
"""A sentence of more words is rather a document of which the ends of sentences are lost; models cut it."""


def checked_tags(tokens: pa.Array, tags: pa.Array) -> tuple[pa.Array, list[tuple[int, str]]]:
    """The tags in IOB2, and the reason of each row that has none that fit its words.

    >>> words = pa.array([["a", "drug"], ["a"]])
    >>> checked_tags(words, pa.array([["O", "S-Drug"], ["I-Drug"]]))[1]
    [(1, "tag 1: 'I-Drug' goes on from the beginning of the sentence: an entity begins with 'B-Drug'")]
    """
    checked: list[list[str] | None] = []
    faults = []
    for position, (words, given) in enumerate(zip(tokens.to_pylist(), tags.to_pylist(), strict=True)):
        checked.append(None)
        if words is None or None in words:
            faults.append((position, "a word is missing"))
        elif given is None:
            continue
        elif None in given or len(given) != len(words):
            there = sum(tag is not None for tag in given)
            faults.append((position, f"{there} tags for {len(words)} words, and every word has one"))
        else:
            try:
                checked[-1] = as_iob2(letters_of(given), IOB2)
            except TagError as fault:
                faults.append((position, f"tag {fault.place + 1}: {fault}"))
    return pa.array(checked, WORDS), faults


def long_sentences(samples: pa.Table, *, tokens: str) -> dict[str, object]:
    """How many sentences of a partition have more than `LONG` words, and the longest of them with its id."""
    lengths = pc.fill_null(pc.list_value_length(samples[tokens]), 0).to_numpy()
    long = [(int(lengths[place]), samples["id"][int(place)].as_py()) for place in np.flatnonzero(lengths > LONG)]
    return {"long": len(long), **({"longest": Greatest(max(long))} if long else {})}


def checked_scores(scores: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The scores as numbers, null where there is none, and the positions of those that are infinite.

    >>> checked_scores(pa.array([1.5, float("nan"), None]))[0].to_pylist()
    [1.5, None, None]
    """
    values = scores.cast(pa.float64(), safe=False)  # above 2⁵³ to the nearest number there is
    values = pc.if_else(pc.is_nan(values), pa.scalar(None, pa.float64()), values)
    infinite = pc.fill_null(pc.is_inf(values), False).to_numpy(zero_copy_only=False)
    return values, np.flatnonzero(infinite).astype(np.int64)
