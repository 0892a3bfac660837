"""Samples that must be held out together: pairs that share a sentence, and sentences of one document.

A sentence that a subject learned from in one pair is no new sentence in another. So pairs that are linked by a shared
sentence, also over other pairs, make a group, and a group is audited or may train as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.statistics.groups import GROUP
from assay.tasks.subjects.folds import drawn

DOCUMENT = "document"
"""The column that says which document a sentence is of."""

LARGEST = 0.5
"""A group with more than this share of the samples cannot be held out: then pairs are, one by one."""

Marks = npt.NDArray[np.uint64]


class Chosen(NamedTuple):
    """The texts of the groups that are audited (None where one group is too large to hold out), and what there is."""

    texts: Marks | None
    groups: int
    largest: int


def text_marks(samples: pa.Table, *, content: Sequence[str]) -> pa.Table:
    """Ids, classes and a number for each text that a sample holds: what groups are made of."""
    columns = [samples[name].cast(pa.large_string()).to_pylist() for name in content]
    marks = [[_mark(text) for text in row if text is not None] for row in zip(*columns, strict=True)]
    return samples.select(["id", "gold"]).append_column("texts", pa.array(marks, pa.list_(pa.uint64())))


def choose_groups(marks: pa.ChunkedArray, share: float) -> Chosen:
    """The groups that are audited, about `share` of all, each drawn by the hash of its smallest mark.

    >>> pairs = pa.chunked_array([pa.array([[1, 2], [3, 4], [2, 3], [5, 6]], pa.list_(pa.uint64()))])
    >>> choose_groups(pairs, 0.5)[1:]
    (2, 3)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    flat, rows = _flattened(marks)
    texts, place = np.unique(flat, return_inverse=True)
    beside = np.flatnonzero(rows[1:] == rows[:-1])  # texts of one sample are linked one to the next
    links = coo_array((np.ones(len(beside)), (place[beside], place[beside + 1])), shape=(len(texts), len(texts)))
    _, group = connected_components(links, directed=False)
    _, first = np.unique(group, return_index=True)  # the smallest text of each group, since texts are sorted
    sizes = np.bincount(group[place[np.unique(rows, return_index=True)[1]]], minlength=len(first))
    largest = int(sizes.max(initial=0))
    if largest > LARGEST * len(marks):
        return Chosen(None, len(first), largest)
    audited = drawn((str(text) for text in texts[first].tolist()), share, "hold out")
    return Chosen(texts[audited[group]], len(first), largest)


def of_groups(samples: pa.Table, content: Sequence[str], texts: Marks) -> npt.NDArray[np.bool_]:
    """Which samples hold one of the texts [n]."""
    flat, rows = _flattened(text_marks(samples, content=content)["texts"])
    mask = np.zeros(samples.num_rows, dtype=np.bool_)
    mask[rows[np.isin(flat, texts)]] = True
    return mask


def shared_texts(training: pa.ChunkedArray, audited: pa.ChunkedArray) -> int:
    """How many audited samples hold a text that a training sample holds."""
    known, (flat, rows) = _flattened(training)[0], _flattened(audited)
    return len(np.unique(rows[np.isin(flat, known)]))


def documents_in(samples: pa.Table) -> dict[str, object]:
    """The documents of a partition, and how many of its samples are of none."""
    names = samples[DOCUMENT].cast(pa.string())
    return {"documents": frozenset(names.drop_null().unique().to_pylist()), "loose": names.null_count}


def groups_in(samples: pa.Table) -> dict[str, frozenset[str]]:
    """The groups of a partition."""
    return {"groups": frozenset(samples[GROUP].drop_null().unique().to_pylist())}


def in_documents(documents: Collection[object], rows: int) -> bool:
    """Whether the documents are worth keeping together: there are several, and some have several sentences.

    >>> in_documents(["a", "b"], 9), in_documents(["a"], 9), in_documents(["a", "b"], 2)
    (True, False, False)
    """
    return 1 < len(documents) < rows


def are_words(samples: pa.Table, content: Sequence[str]) -> bool:
    """Whether a column of the contents is of words: then samples are sentences, most likely of longer texts."""
    return any(pa.types.is_list(samples.schema.field(name).type) for name in content)


def _flattened(marks: pa.ChunkedArray) -> tuple[Marks, npt.NDArray[np.int64]]:
    whole = marks.combine_chunks()
    rows = np.asarray(pc.list_parent_indices(whole).to_numpy(zero_copy_only=False), dtype=np.int64)
    return np.asarray(pc.list_flatten(whole).to_numpy(zero_copy_only=False), dtype=np.uint64), rows


def _mark(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
