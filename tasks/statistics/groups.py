"""What is independent in a user's data (a patient, a document, a site): the column that says so, wherever it is
read.

`source.group` names a column; ingest keeps it under one name of ours, so that every stage finds it in the samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, columns_in
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.clusters import codes_of

GROUP = "independent_group"
"""The column that holds each sample's group, as text; a sample without one is a group of its own."""


def group_names(column: pa.Array) -> pa.Array:
    """A column of groups as text, nothing where a cell is empty.

    >>> group_names(pa.array(["a", " ", None])).to_pylist(), group_names(pa.array([7, 8])).to_pylist()
    (['a', None, None], ['7', '8'])
    """
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        if (pc.max(pc.abs(column.cast(pa.float64()))).as_py() or 0) >= 2.0**53:  # neighbours are one double from here
            raise InputError(
                "The column that `source.group` names has numbers of 16 digits and more, read as fractions, so that "
                "several groups would be one; make it text (in CSV by `columns`, in JSON by quotes)."
            )
    names = pc.utf8_trim_whitespace(column.cast(pa.string()))
    return pc.if_else(pc.equal(names, ""), pa.scalar(None, pa.string()), names)


def named_groups(samples: pa.Table) -> list[str]:
    """The group of each sample, and its id where it has none: what folds are drawn by, so that none parts a group.

    >>> named_groups(pa.table({"id": ["a", "b"], GROUP: ["p1", None]}))
    ['p1', 'b']
    """
    ids = samples["id"]
    names: list[str] = (pc.coalesce(samples[GROUP], ids) if GROUP in samples.column_names else ids).to_pylist()
    return names


def group_hashes(samples: pa.Table, column: str = GROUP) -> npt.NDArray[np.int64] | None:
    """A 64-bit hash of each sample's group, of its id where it has none; None where there is no such column.

    >>> rows = pa.table({"id": ["a", "b", "c"], GROUP: ["p1", None, "p1"]})
    >>> hashes = group_hashes(rows)
    >>> bool(hashes[0] == hashes[2] != hashes[1]), group_hashes(rows.select(["id"])) is None
    (True, True)
    """
    if column not in samples.column_names:
        return None
    names = pc.coalesce(
        pc.binary_join_element_wise("g", samples[column].cast(pa.string()), "\0"),
        pc.binary_join_element_wise("i", samples["id"].cast(pa.string()), "\0"),
    ).combine_chunks()
    coded = names.dictionary_encode()
    hashes: npt.NDArray[np.int64] = hashed([name.encode() for name in coded.dictionary.to_pylist()])
    return np.asarray(hashes[coded.indices.to_numpy()])


def hashed(values: list[bytes]) -> npt.NDArray[np.int64]:
    """A 64-bit hash of each value, the same on any machine and any day."""
    return np.frombuffer(b"".join(blake2b(value, digest_size=8).digest() for value in values), dtype="<i8").astype(
        np.int64
    )


def groups_of(samples: Artifact[Any], column: str = GROUP) -> npt.NDArray[np.int64] | None:
    """The code of each sample's group, in sample order; None where samples are independent."""
    if column not in columns_in(samples):
        return None
    hashes = group_hashes(collect(samples, ["id", column]), column)
    return None if hashes is None else codes_of(hashes)


def group_sizes(samples: Artifact[Any], column: str = GROUP) -> npt.NDArray[np.int64] | None:
    """How many samples each group has; None where samples are independent."""
    codes = groups_of(samples, column)
    return None if codes is None else np.bincount(codes)


def groups_by_id(samples: Artifact[Any], column: str = GROUP) -> dict[str, int] | None:
    """The code of the group of every sample, by its id; None where samples are independent."""
    codes = groups_of(samples, column)
    return None if codes is None else dict(zip(collect(samples, ["id"])["id"].to_pylist(), codes.tolist(), strict=True))


def groups_of_ids(samples: Artifact[Any], ids: Sequence[str], column: str = GROUP) -> npt.NDArray[np.int64] | None:
    """The codes of the groups of some samples, in the order of their ids; None where samples are independent."""
    of_id = groups_by_id(samples, column)
    return None if of_id is None else np.array([of_id[sample] for sample in ids], dtype=np.int64)
