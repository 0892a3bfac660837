"""Which samples a share is: all of the groups whose hash under the seed lies below it.

Every group is drawn by itself, so a share does not depend on how the samples are cut or which others there are, and a
smaller share lies inside a larger one of the same seed.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.statistics.groups import GROUP
from assay.tasks.subjects.grouping import DOCUMENT


def drawn_rows(samples: pa.Table, share: float, seed: int) -> pa.Table:
    """The rows of the groups that are drawn; a sample without a group is one by itself.

    >>> rows = pa.table({"id": ["a", "b", "c", "d"], GROUP: ["p", "q", "p", "q"]})
    >>> drawn_rows(rows, 0.5, seed=3)["id"].to_pylist()
    ['a', 'c']
    """
    units = pc.unique(_units(samples))
    drawn = units.filter(pa.array(_hashed(units.to_pylist(), seed) < int(share * 2.0**64)))
    return samples.filter(pc.is_in(_units(samples), value_set=drawn))


def _units(samples: pa.Table) -> pa.ChunkedArray:
    """What is drawn or not as one: the group, where there is none the document, else the id."""
    ids = pc.binary_join_element_wise("i", samples["id"].cast(pa.string()), "\0")
    column = next((name for name in (GROUP, DOCUMENT) if name in samples.column_names), None)
    if column is None or pa.types.is_nested(samples.schema.field(column).type):
        return ids
    return pc.coalesce(pc.binary_join_element_wise("g", samples[column].cast(pa.string()), "\0"), ids)


def _hashed(names: list[str], seed: int) -> npt.NDArray[np.uint64]:
    key = seed.to_bytes(8, "little")
    digests = b"".join(blake2b(name.encode(), digest_size=8, key=key, person=b"assay.share").digest() for name in names)
    return np.frombuffer(digests, dtype="<u8")
