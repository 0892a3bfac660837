"""The scan agrees with Arrow's own reader about where records begin, wherever the file is cut into chunks."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.ingest.record_scanner import RecordScanner, index_records, records_in

CSV_TEXT = st.text(alphabet='a1,"\n\r', max_size=40)


def starts_by_chunks(data: bytes, size: int, delimiter: str | None) -> list[tuple[int, int]]:
    scanner = RecordScanner(delimiter)
    found = []
    for begin in range(0, len(data), size):
        starts, lines = scanner.feed(data[begin : begin + size])
        found += list(zip(starts.tolist(), lines.tolist(), strict=True))
    return found


def rows_by_arrow(data: bytes) -> int:
    """Records as Arrow's reader counts them: rows of any number of cells."""
    ragged = []

    def note(row: pyarrow.csv.InvalidRow) -> str:
        ragged.append(row.number)
        return "skip"

    table = pyarrow.csv.read_csv(
        pa.BufferReader(data),
        read_options=pyarrow.csv.ReadOptions(use_threads=False, column_names=["x"], block_size=len(data) + 64),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note),
        convert_options=pyarrow.csv.ConvertOptions(column_types={"x": pa.string()}),
    )
    return int(table.num_rows) + len(ragged)


@given(CSV_TEXT, st.integers(1, 7))
@settings(max_examples=300, deadline=None)
@example('"a"\n"b\n', 3)
@example('5" pipe\n"x""\ny"\n', 1)
@example("a\r\n\rb\r", 1)
def test_chunks_change_nothing(text: str, size: int) -> None:
    data = text.encode()
    assert starts_by_chunks(data, size, ",") == starts_by_chunks(data, max(len(data), 1), ",")


@given(CSV_TEXT)
@settings(max_examples=400, deadline=None)
@example('5" pipe,1\n"ab"c"d,2\nx"",3\n')
@example('"a""\nb",1\n')
@example('a""b\n""c\n')
def test_records_are_those_of_arrow(text: str) -> None:
    data = text.encode()
    scanner = RecordScanner(",")
    scanner.feed(data)
    if scanner.inside or not data:  # a quote that never closes is refused before Arrow sees it
        return
    starts, _ = records_in(data, ",")
    assert len(starts) == rows_by_arrow(data)


def test_a_quoted_line_break_ends_no_record_but_counts_as_a_line() -> None:
    starts, lines = records_in(b'1,"a\nb\nc"\n2,d\n', ",")
    assert starts.tolist() == [0, 10]
    assert lines.tolist() == [1, 4]


def test_json_lines_know_no_quotes() -> None:
    starts, lines = records_in(b'{"a": "\\""}\n\n{"a": "x"}\n', None)
    assert starts.tolist() == [0, 13]
    assert lines.tolist() == [1, 3]


@pytest.mark.parametrize("chunk_size", [1, 5, 64, 1 << 20])
def test_index_marks_every_record_of_a_small_file(monkeypatch: pytest.MonkeyPatch, chunk_size: int) -> None:
    monkeypatch.setattr("assay.tasks.ingest.record_scanner._CHUNK", chunk_size)
    data = b"h\n" + b"".join(f'{i},"x\n{i}"\n'.encode() for i in range(20))
    index = index_records(io.BytesIO(data[2:]), ",", start=2, line=2)
    assert index.records == 20
    assert index.size == len(data)
    for record in range(20):
        number, offset, line = index.mark_at(record)
        assert (number, line) == (record, 2 + 2 * record)
        assert data[offset:].startswith(f'{record},"x'.encode())


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 5, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_blank_lines_of_an_index_are_counted_apart(
    monkeypatch: pytest.MonkeyPatch, chunk_size: int, end: bytes
) -> None:
    monkeypatch.setattr("assay.tasks.ingest.record_scanner._CHUNK", chunk_size)
    data = end.join([b"", b"1,a", b"", b"", b'2,"b', b"", b'c"', b"3,d", b"", b""])
    index = index_records(io.BytesIO(data), ",")
    assert index.records - index.blank == len(records_in(data, ",")[0]) == 3


def test_index_of_nothing_has_no_records() -> None:
    assert index_records(io.BytesIO(b""), ",").records == 0


def test_index_is_thinned_out_for_large_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.tasks.ingest.record_scanner._MARKS", 10)
    index = index_records(io.BytesIO(b"1\n" * 100_000), ",")
    assert index.records == 100_000
    assert len(index.marks) <= 22
    assert np.all(np.diff(index.marks[:, 0]) > 0)


def test_a_quote_that_never_closes_names_the_line_it_opens_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.tasks.ingest.record_scanner._CHUNK", 4)
    with pytest.raises(InputError, match="line 3"):
        index_records(io.BytesIO(b'1,a\n2,b\n3,"c\n4,d\n5,e\n'), ",")
