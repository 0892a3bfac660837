"""Readers of one's own: files that Assay cannot read come in through the same stage, in any cut, with the source in
the key; what ours are called is what settings say."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.infra.storage.keys import key_part
from assay.tasks.ingest.entry import prepare
from assay.tasks.ingest.reader_choice import Reading
from assay.tasks.ingest.readers import READERS
from assay.tasks.ingest.settings import ORIGINS, Source
from assay.tasks.ingest.sources import resolve
from assay.tasks.ingest.task import ingest

FIXED = """
import pyarrow as pa
from assay.tasks.ingest.readers import table_reader

def lines(url):
    with open(url, encoding="utf-8") as file:
        return file.read().splitlines()

def types(url):
    return pa.schema([("name", pa.string()), ("dose", pa.int64()), ("right", pa.string())])

def read(url, start, stop):
    rows = [(line[:4].strip(), int(line[4:8]), line[8:].strip()) for line in lines(url)[start:stop]]
    return pa.table(dict(zip(types(url).names, map(list, zip(*rows)))), schema=types(url))

FIXED = table_reader("fixed-width", types=types, rows=lambda url: len(lines(url)), read=read)
"""
ROWS = [f"s{at:<3}{at:>4}{'yes' if at % 3 else 'no'}" for at in range(40)]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Files of a format of one's own."""
    (tmp_path / "mine.py").write_text(FIXED)
    (tmp_path / "one.dat").write_text("\n".join(ROWS[:25]) + "\n")
    (tmp_path / "two.dat").write_text("\n".join(ROWS[25:]) + "\n")
    return own(tmp_path)


def own(folder: Path) -> Source:
    wider = READERS.with_plugins(folder, ["mine.py:FIXED"]).settings_with(Source, "reader")
    return wider(files=("*.dat",), reader="mine.py:FIXED", id="name", label="right")


@pytest.mark.parametrize("partitions", [1, 7])
def test_files_of_ones_own_format_come_in_in_any_cut(make_run, tmp_path, source, partitions):
    with make_run(store=str(tmp_path / "store"), partitions=partitions):
        resolved = resolve(source, tmp_path)
        found = ingest(resolved, resolved.settings)
        table = collect(found.samples, None)
        assert table["id"].to_pylist() == [f"s{at}" for at in range(40)]
        assert table["dose"].to_pylist() == list(range(40))
        assert set(table["gold"].to_pylist()) == {0, 1}


def test_a_reader_travels_to_workers_and_its_source_is_in_the_key(tmp_path, source):
    reading: Reading = pickle.loads(pickle.dumps(prepare(resolve(source, tmp_path))[0]))
    assert READERS.named("fixed-width", reading.layout.source).word == "fixed-width"
    plugins = key_part(resolve(source, tmp_path).settings)["settings"]["plugins"]
    assert plugins["fixed-width"]["name"] == "mine.py:FIXED"


def test_one_that_gives_other_rows_than_asked_for_is_refused(tmp_path, source, make_run):
    (tmp_path / "mine.py").write_text(FIXED.replace("[start:stop]", "[start + 1:stop]"))
    resolved = resolve(own(tmp_path), tmp_path)
    with (
        make_run(store=str(tmp_path / "store")),
        pytest.raises(InputError, match="The reader fixed-width gave 24 rows"),
    ):
        ingest(resolved, resolved.settings)


@pytest.mark.parametrize(
    ("was", "broken", "of"),
    [
        ("return pa.schema(", "raise KeyError(url[:0])\n    return pa.schema(", "one.dat and 1 more"),
        ("int(line[4:8])", "line.dose", "one.dat"),
    ],
)
def test_one_that_raises_is_named_with_its_line_and_the_file_is_not_blamed(tmp_path, source, make_run, was, broken, of):
    (tmp_path / "mine.py").write_text(FIXED.replace(was, broken))
    resolved = resolve(own(tmp_path), tmp_path)
    said = rf'^The plug-in "mine.py:FIXED" raised (KeyError|AttributeError).*\(line \d+\) while it read .*{of}'
    with make_run(store=str(tmp_path / "store")), pytest.raises(InputError, match=said):
        ingest(resolved, resolved.settings)


def test_what_reads_files_is_a_reader_and_the_other_way_round():
    with pytest.raises(ValidationError, match="files and reader go together"):
        Source(files=("a.dat",))
    with pytest.raises(ValidationError, match="Input should be 'parquet', 'csv' or 'jsonl'"):
        Source(files=("a.dat",), reader="xslx")


def test_our_readers_are_what_settings_name():
    words = [word for part in get_args(Source.model_fields["reader"].annotation) for word in get_args(part)]
    assert words
    assert set(words) <= set(READERS.words) <= {*ORIGINS, *words}


def test_sources_that_name_no_reader_enter_keys_as_before():
    assert not {"files", "reader"} & set(Source(csv=("a.csv",)).model_dump(mode="json"))
