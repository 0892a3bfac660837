"""What a table holds, in one number: independent of partitions, row groups and Parquet version.

Each row becomes canonical bytes, each row's bytes a 256-bit BLAKE2b h. A table's digest is made of Σ h and Σ rank · h
modulo 2^256, its schema and its row count. Both sums of partitions add up to those of the whole, so the digest knows in
which order the rows stand and not how they were cut: artifacts that are laid side by side row by row are the same only
if their rows stand in the same order.
"""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_MODULUS = 1 << 256
_ROWS_AT_ONCE = 8_192

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class RowSums:
    """The sums of a stretch of rows: of their hashes, and of their hashes times their ranks in it, from 0."""

    rows: int = 0
    plain: int = 0
    ranked: int = 0

    def then(self, other: RowSums) -> RowSums:
        """The sums of these rows followed by the others."""
        plain = (self.plain + other.plain) % _MODULUS
        ranked = (self.ranked + other.ranked + self.rows * other.plain) % _MODULUS
        return RowSums(self.rows + other.rows, plain, ranked)

    @property
    def text(self) -> str:
        """The sums as text, for manifests and file names."""
        return f"{self.plain:064x}{self.ranked:064x}"

    @classmethod
    def from_text(cls, text: str, rows: int) -> RowSums:
        """The sums that `text` was made of."""
        return cls(rows, int(text[:64], 16), int(text[64:], 16))


def row_sums(table: pa.Table) -> RowSums:
    """The sums of a table's rows.

    >>> whole = pa.table({"id": ["a", "b"], "x": [0.0, -0.0]})
    >>> row_sums(whole) == row_sums(whole.slice(0, 1)).then(row_sums(whole.slice(1)))
    True
    >>> row_sums(whole) == row_sums(whole.take([1, 0]))
    False
    """
    sums = RowSums()
    for at in range(0, table.num_rows, _ROWS_AT_ONCE):
        sums = sums.then(_block_sums(table.slice(at, _ROWS_AT_ONCE)))
    return sums


def row_hashes(table: pa.Table) -> list[bytes]:
    """The hash of every row's content, wherever it stands.

    >>> one, other = row_hashes(pa.table({"id": ["a", "a"], "x": [0.0, -0.0]}))
    >>> one == other
    True
    """
    rows = _row_bytes([table.column(i).combine_chunks() for i in range(table.num_columns)], table.num_rows)
    blake2b = hashlib.blake2b
    return [blake2b(row, digest_size=32).digest() for row in rows]


def schema_text(schema: pa.Schema) -> str:
    """The schema as text: names and value types in order; how a column is encoded or may be null is left out."""
    return ";".join(f"{field.name}:{_value_type(field.type)}" for field in schema)


def table_digest(schema: pa.Schema, parts: Iterable[RowSums]) -> str:
    """The digest of a table from its schema and the sums of its partitions, in their order."""
    whole = functools.reduce(RowSums.then, parts, RowSums())
    text = f"{schema_text(schema)}|{whole.rows}|{whole.text}"
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def files_digest(checksums: dict[str, str]) -> str:
    """The digest of a set of named files from the sha256 of each."""
    text = "\n".join(f"{name}\0{checksums[name]}" for name in sorted(checksums))
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def _value_type(dtype: pa.DataType) -> pa.DataType:
    return dtype.value_type if pa.types.is_dictionary(dtype) else dtype


def _block_sums(table: pa.Table) -> RowSums:
    limbs = np.frombuffer(b"".join(row_hashes(table)), dtype="<u4").reshape(-1, 8).astype(np.uint64)
    # 2^32 times a rank below 2^13, added up 2^13 times, stays below 2^64.
    ranks = np.arange(len(limbs), dtype=np.uint64)
    return RowSums(len(limbs), _joined(limbs.sum(axis=0)), _joined(ranks @ limbs))


def _joined(limbs: npt.NDArray[np.uint64]) -> int:
    """The number whose 32-bit limbs, least first, were added up."""
    return sum(int(limb) << (32 * place) for place, limb in enumerate(limbs)) % _MODULUS


def _row_bytes(arrays: Sequence[pa.Array], rows: int) -> Iterable[bytes]:
    """Canonical bytes of each row: fixed-width columns side by side, then the others, each with its length in front."""
    fixed: list[Bytes] = []
    varying: list[pa.Array | list[bytes]] = []
    for array in arrays:
        _encode(array, fixed, varying)
    if varying and isinstance(varying[0], pa.Array) and not varying[0].null_count:
        fixed.append(_frames(varying[0]))  # the frame of the first text stands where the fixed-width columns end
        tails = [_contents(varying[0]), *map(_framed_all, varying[1:])]
    else:
        tails = [_framed_all(each) for each in varying]
    heads = _fixed_rows(fixed, rows)
    for tail in tails:
        heads = list(map(operator.add, heads, tail))
    return heads


def _fixed_rows(columns: Sequence[Bytes], rows: int) -> list[bytes]:
    """The bytes of all columns side by side, a value per row."""
    width = sum(column.shape[1] for column in columns)
    if not width:
        return [b""] * rows
    matrix = np.empty((rows, width), np.uint8)
    at = 0
    for column in columns:
        matrix[:, at : at + column.shape[1]] = column
        at += column.shape[1]
    values: list[bytes] = matrix.view(f"V{width}").ravel().tolist()
    return values


def _encode(array: pa.Array, fixed: list[Bytes], varying: list[pa.Array | list[bytes]]) -> None:
    """Append the canonical bytes of one column to those of the others; texts are framed later."""
    dtype = array.type
    if pa.types.is_dictionary(dtype):
        return _encode(array.dictionary_decode(), fixed, varying)
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype) or pa.types.is_fixed_size_list(dtype):
        varying.append(_list_bytes(array, _valid(array)))
    elif _is_text(dtype):
        varying.append(array)
    elif pa.types.is_null(dtype):
        fixed.append(np.zeros((len(array), 1), np.uint8))
    elif pa.types.is_decimal(dtype):
        varying.append(array.cast(pa.string()))
    else:
        fixed.append(_valid(array)[:, None].astype(np.uint8))
        if pa.types.is_struct(dtype):
            for child in array.flatten():
                _encode(child, fixed, varying)
        else:
            fixed.append(_fixed_bytes(array))
    return None


def _valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    if not array.null_count:
        return np.ones(len(array), dtype=np.bool_)
    return cast("npt.NDArray[np.bool_]", array.is_valid().to_numpy(zero_copy_only=False))


def _is_text(dtype: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(kind(dtype) for kind in kinds) or pa.types.is_fixed_size_binary(dtype)


def _fixed_bytes(array: pa.Array) -> Bytes:
    """Little-endian bytes [n, width]; nulls are zero, −0 is 0, every NaN is the same NaN."""
    if pa.types.is_temporal(array.type):
        array = array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64())
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0, array.type) if not pa.types.is_boolean(array.type) else False)
    values = np.ascontiguousarray(array.to_numpy(zero_copy_only=False))
    if values.dtype.kind == "f":
        nowhere = np.isnan(values)
        values = values + np.array(0, values.dtype)
        if nowhere.any():
            values[nowhere] = np.nan
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), values.dtype.itemsize)


def _framed(valid: bool, content: bytes) -> bytes:
    return b"\x01" + len(content).to_bytes(8, "little") + content if valid else b"\x00"


def _framed_all(column: pa.Array | list[bytes]) -> list[bytes]:
    """Texts with their lengths in front; what is framed already stays as it is."""
    if isinstance(column, list):
        return column
    return [_framed(bool(ok), value or b"") for ok, value in zip(_valid(column), _contents(column), strict=True)]


def _frames(texts: pa.Array) -> Bytes:
    """What `_framed` puts in front of each of these texts, [n, 9]; none of them is null."""
    frames = np.ones((len(texts), 9), np.uint8)
    frames[:, 1:] = _lengths(texts).astype("<i8")[:, None].view(np.uint8)
    return frames


def _lengths(texts: pa.Array) -> npt.NDArray[np.int64]:
    if pa.types.is_fixed_size_binary(texts.type):
        return np.full(len(texts), texts.type.byte_width, dtype=np.int64)
    return cast("npt.NDArray[np.int64]", pc.binary_length(texts).to_numpy(zero_copy_only=False).astype(np.int64))


def _contents(texts: pa.Array) -> list[bytes]:
    """The bytes of each text, None for a null."""
    binary = texts if pa.types.is_fixed_size_binary(texts.type) else texts.cast(pa.large_binary())
    values: list[bytes] = binary.to_numpy(zero_copy_only=False).tolist()
    return values


def _list_bytes(array: pa.Array, valid: npt.NDArray[np.bool_]) -> list[bytes]:
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    items = list(_row_bytes([array.flatten()], int(ends[-1]) if len(ends) else 0))
    return [
        _framed(bool(ok), int(length).to_bytes(8, "little") + b"".join(items[end - length : end]))
        for ok, length, end in zip(valid, lengths, ends, strict=True)
    ]
