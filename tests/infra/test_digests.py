"""A table's digest is what it holds, however it is stored."""

import io
import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.infra.storage.parquet import RowSums, files_digest, row_sums, schema_text, table_digest

ROWS = st.lists(
    st.tuples(
        st.text(max_size=8),
        st.one_of(st.none(), st.floats(width=64)),
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
        st.one_of(st.none(), st.lists(st.integers(-5, 5), max_size=3)),
        st.one_of(st.none(), st.binary(max_size=5)),
    ),
    max_size=12,
)
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("x", pa.float64()),
        ("n", pa.int64()),
        ("items", pa.list_(pa.int64())),
        ("blob", pa.binary()),
    ]
)


def table(rows: list[tuple[object, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(SCHEMA)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


@given(ROWS, st.lists(st.integers(0, 12), max_size=4))
def test_digest_ignores_how_rows_are_cut(rows, cuts):
    bounds = [0, *sorted(cuts), len(rows)]
    pieces = [row_sums(table(rows[a:b])) for a, b in itertools.pairwise(bounds)] if rows else []
    assert table_digest(SCHEMA, pieces) == table_digest(SCHEMA, [row_sums(table(rows))])


@given(ROWS, st.randoms())
def test_digest_knows_the_order_of_rows(rows, random):
    """Artifacts are laid side by side row by row, so a re-sorted one is another one."""
    shuffled = random.sample(rows, len(rows))
    same = [row_sums(table([row])) for row in shuffled] == [row_sums(table([row])) for row in rows]
    assert (row_sums(table(shuffled)) == row_sums(table(rows))) == same
    assert row_sums(table(shuffled)).plain == row_sums(table(rows)).plain


@given(ROWS)
def test_digest_survives_parquet_of_any_row_group_size(rows):
    sink = io.BytesIO()
    pq.write_table(table(rows), sink, row_group_size=3, version="1.0", compression="none")
    sink.seek(0)
    assert row_sums(pq.read_table(sink).cast(SCHEMA)) == row_sums(table(rows))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([0.0], [-0.0]),
        ([float("nan")], [-float("nan")]),
        ([np.frombuffer(b"\x01\0\0\0\0\0\xf8\x7f", "<f8")[0]], [float("nan")]),
    ],
)
def test_equal_values_have_equal_digests(left, right):
    assert row_sums(pa.table({"x": left})) == row_sums(pa.table({"x": right}))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"x": [1.0]}, {"x": [np.nextafter(1.0, 2)]}),
        ({"x": [None]}, {"x": [0.0]}),
        ({"x": [None]}, {"x": [float("nan")]}),
        ({"a": ["ab"], "b": ["c"]}, {"a": ["a"], "b": ["bc"]}),
        ({"x": [[1], [2]]}, {"x": [[1, 2], []]}),
        ({"x": [1, 1]}, {"x": [1]}),
    ],
)
def test_different_values_have_different_digests(left, right):
    left, right = (
        pa.table({name: pa.array(v, pa.float64()) if v == [None] else pa.array(v) for name, v in side.items()})
        for side in (left, right)
    )
    assert row_sums(left) != row_sums(right)


def test_digest_looks_into_structs_and_through_dictionaries():
    plain = pa.table({"s": pa.array([{"a": 1, "b": "x"}, None]), "d": pa.array(["u", "v"])})
    other = pa.table({"s": pa.array([{"a": 2, "b": "x"}, None]), "d": pa.array(["u", "v"])})
    coded = pa.table({"s": plain["s"], "d": plain["d"].combine_chunks().dictionary_encode()})
    assert row_sums(plain) != row_sums(other)
    assert row_sums(coded) == row_sums(plain)
    assert schema_text(coded.schema) == schema_text(plain.schema)


def test_schema_and_row_count_are_part_of_the_digest():
    ints, floats = pa.schema([("x", pa.int64())]), pa.schema([("x", pa.float64())])
    assert table_digest(ints, []) != table_digest(floats, [])
    assert table_digest(ints, []) != table_digest(ints, [RowSums(rows=1)])


def test_digest_of_files_depends_on_names_and_contents():
    assert files_digest({"a": "1", "b": "2"}) == files_digest({"b": "2", "a": "1"})
    assert files_digest({"a": "1", "b": "2"}) != files_digest({"a": "2", "b": "1"})
