"""Tables in Parquet files as the store wants them (declared schema, bounded row groups, checksummed pages), and
digests of their rows, which do not depend on partitions, row groups or the version of Parquet.

Each row becomes canonical bytes, each row's bytes a 256-bit BLAKE2b h. A table's digest is made of Σ h and Σ rank · h
modulo 2^256, its schema and its row count. Both sums of partitions add up to those of the whole, so the digest knows
in which order the rows stand and not how they were cut: artifacts that are laid side by side row by row are the same
only if their rows stand in the same order.
"""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.infra.errors import RunError
from assay.infra.storage.artifacts import PartFile, Table
from assay.infra.storage.folders import Folder

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
    blocks = (table.slice(at, _ROWS_AT_ONCE) for at in range(0, table.num_rows, _ROWS_AT_ONCE))
    return functools.reduce(RowSums.then, map(_block_sums, blocks), RowSums())


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
    types = (field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in schema)
    return ";".join(f"{name}:{kind}" for name, kind in zip(schema.names, types, strict=True))


def table_digest(schema: pa.Schema, parts: Iterable[RowSums]) -> str:
    """The digest of a table from its schema and the sums of its partitions, in their order."""
    whole = functools.reduce(RowSums.then, parts, RowSums())
    return hashlib.blake2b(f"{schema_text(schema)}|{whole.rows}|{whole.text}".encode(), digest_size=32).hexdigest()


def files_digest(checksums: dict[str, str]) -> str:
    """The digest of a set of named files from the sha256 of each."""
    text = "\n".join(f"{name}\0{checksums[name]}" for name in sorted(checksums))
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


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
    if not columns:
        return [b""] * rows
    matrix = np.ascontiguousarray(np.hstack(columns))
    values: list[bytes] = matrix.view(f"V{matrix.shape[1]}").ravel().tolist()
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


_ROW_GROUP_BYTES = 64 << 20
_LOOKED_AT = 4096
UNCOMPRESSED = {b"compression": b"none"}
"""The metadata of a field whose values are written as they are, and can be found in the file."""
_COLUMNS = 128  # that are read at a time: each has a reader of some 300 kB, which for 1,800 columns is half a gigabyte


def conform(table: pa.Table, kind: type[Table], what: str) -> pa.Table:
    """The table with exactly the types and null rules that its kind declares; RunError names what does not fit."""
    names = kind.schema.names
    if table.column_names[: len(names)] != names:
        raise RunError(
            f"{what}: {kind.__name__} must begin with the columns {', '.join(names)}, not {table.column_names[:12]}."
        )
    for extra in table.column_names[len(names) :]:
        dtype = table.schema.field(extra).type
        if kind.extras is None or (kind.extras != "any" and dtype != kind.extras):
            raise RunError(f"{what}: {kind.__name__} may not hold a column {extra!r} of type {dtype}.")
    fields = [*kind.schema, *(table.schema.field(i) for i in range(len(names), table.num_columns))]
    for field in kind.schema:
        column = table.column(field.name)
        if column.type != field.type:
            raise RunError(f"{what}: column {field.name} of {kind.__name__} is {column.type}, not {field.type}.")
        if column.null_count and not field.nullable:
            raise RunError(f"{what}: column {field.name} of {kind.__name__} has {column.null_count} nulls.")
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))


def write_part(folder: Folder, prefix: str, table: pa.Table) -> PartFile:
    """The file that now holds the table, named after its content: writing it twice is writing it once."""
    sums = row_sums(table).text
    name = name_of_part(prefix, sums)
    blobs = {
        field.name for field in table.schema if pa.types.is_large_binary(field.type) or pa.types.is_binary(field.type)
    }
    plain = [field.name for field in table.schema if field.name not in blobs]
    as_they_are = any(field.metadata == UNCOMPRESSED for field in table.schema)
    rows = max(1, int(_ROW_GROUP_BYTES / max(1.0, table.nbytes / max(1, table.num_rows))))
    with folder.writing(name) as sink:
        pq.write_table(
            table,
            sink,
            row_group_size=rows,
            compression="none" if as_they_are else "zstd",
            write_page_checksum=True,
            use_dictionary=[name for name in plain if _repeats(table.column(name))],
            write_statistics=plain if blobs else True,
        )
        size = sink.tell()
    return PartFile(name, table.num_rows, sums, size, schema_hash(table.schema))


def name_of_part(prefix: str, sums: str) -> str:
    """The name of the file with these rows."""
    return f"{prefix}-{hashlib.blake2b(sums.encode(), digest_size=6).hexdigest()}.parquet"


def schema_hash(schema: pa.Schema) -> str:
    """The hash of everything that a function may see of a table's columns before it sees a row."""
    return hashlib.blake2b(schema.remove_metadata().serialize().to_pybytes(), digest_size=8).hexdigest()


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether values repeat, to judge by the first ones: a dictionary of all different ones costs time and space."""
    if pa.types.is_nested(column.type):
        return False
    first = column.slice(0, _LOOKED_AT)
    return 2 * len(first.unique()) <= len(first)


def read_parquet(folder: Folder, name: str, columns: list[str] | None = None, size: int | None = None) -> pa.Table:
    """The table in a Parquet file, its page checksums verified, read in the calling thread.

    Arrow's own reading ahead through a Python file leaves threads behind that abort the interpreter when it ends early.
    """
    with open_parquet(folder, name, size) as file:
        wanted = file.schema_arrow.names if columns is None else columns
        if len(wanted) <= _COLUMNS:
            return file.read(columns=columns, use_threads=False)
        blocks = [
            file.read(columns=wanted[at : at + _COLUMNS], use_threads=False) for at in range(0, len(wanted), _COLUMNS)
        ]
    arrays = [column for block in blocks for column in block.columns]
    schema = pa.schema([field for block in blocks for field in block.schema], blocks[0].schema.metadata)
    return pa.Table.from_arrays(arrays, schema=schema)


@contextmanager
def open_parquet(folder: Folder, name: str, size: int | None = None) -> Iterator[pq.ParquetFile]:
    """A Parquet file of a folder, open for reading; local ones by Arrow itself, without Python in between."""
    if folder.is_local:
        with pq.ParquetFile(folder.path_of_file(name), page_checksum_verification=True, pre_buffer=False) as file:
            yield file
    else:
        with folder.open(name, size) as source:
            yield pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False)


def read_part(folder: Folder, part: PartFile, columns: list[str] | None = None) -> pa.Table:
    """The table in a part's file; RunError by name where the file is damaged."""
    try:
        table = read_parquet(folder, part.file, columns, part.bytes)
    except (pa.ArrowInvalid, OSError) as error:
        raise damaged(folder, part, error) from error
    if table.num_rows != part.rows:
        place = f"{folder.url}/{part.file}"
        raise RunError(f"The file {place} has {table.num_rows} rows, not {part.rows}: delete it and run again.")
    return table


def read_rows(folder: Folder, parts: Iterable[PartFile], ids: Collection[str]) -> pa.Table:
    """The rows of the parts whose `id` is among these, in their order, one row group in memory at a time; RunError
    where a part is damaged."""
    wanted, tables = pa.array(sorted(ids), pa.string()), list[pa.Table]()
    for part in parts:
        try:
            with open_parquet(folder, part.file, part.bytes) as file:
                tables.append(file.schema_arrow.remove_metadata().empty_table())
                for group in range(file.num_row_groups):
                    there = pc.is_in(file.read_row_group(group, columns=["id"], use_threads=False)["id"], wanted)
                    if pc.any(there).as_py():
                        tables.append(file.read_row_group(group, use_threads=False).filter(there))
        except (pa.ArrowInvalid, OSError) as error:
            raise damaged(folder, part, error) from error
    return pa.concat_tables(tables)


def damaged(folder: Folder, part: PartFile, error: Exception) -> RunError:
    """The sentence for a part's file that cannot be read."""
    reason = str(error).strip().split("\n", 1)[0][:200] or type(error).__name__
    return RunError(
        f"The file {folder.url}/{part.file} is damaged or gone ({reason}): delete it and run again, "
        "only that partition is computed anew."
    )
