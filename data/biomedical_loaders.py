"""From biomedical corpora to tables of samples: tagged sentences (`tokens`, `tags`), pairs of sentences (`score`)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from assay.data.catalogue_files import unpacked, with_classes
from assay.data.schemas import WORDS
from assay.infra.errors import InputError

_SPLITS = {"train": "train", "devel": "valid", "test": "test"}


def bc5cdr_chemical(folder: Path) -> pa.Table:
    """The 13938 sentences of BC5CDR with their chemicals tagged, in the official parts train, valid and test."""
    return _bc5cdr(folder, "chem")


def bc5cdr_disease(folder: Path) -> pa.Table:
    """The 13938 sentences of BC5CDR with their diseases tagged, in the official parts train, valid and test."""
    return _bc5cdr(folder, "disease")


def biosses(folder: Path) -> pa.Table:
    """100 pairs of sentences and the mean of five annotators' scores, from 0 (another topic) to 4 (the same)."""
    text = unpacked(folder / "biosses.tsv").decode("utf-8")
    rows = [
        {
            "id": f"pair-{int(row['pair_id']):03d}",
            "first": row["sentence1"],
            "second": row["sentence2"],
            "score": float(row["mean_score"]),
        }
        for row in csv.DictReader(io.StringIO(text, newline=""), delimiter="\t", quoting=csv.QUOTE_NONE)
    ]
    schema = pa.schema([("id", pa.string()), ("first", pa.string()), ("second", pa.string()), ("score", pa.float64())])
    return without_classes(pa.Table.from_pylist(rows, schema=schema))


def without_classes(table: pa.Table) -> pa.Table:
    """The table, said to have no classes: what is true of its samples is tags or a score, and no `gold` is known."""
    return with_classes(table.add_column(1, "gold", pa.nulls(table.num_rows, pa.int16())), [])


def _bc5cdr(folder: Path, part: str) -> pa.Table:
    rows = []
    for name, split in _SPLITS.items():
        sentences = _sentences(folder / f"BC5CDR-{part}-IOB_{name}.tsv.gz")
        for number, (tokens, tags) in enumerate(sentences, start=1):
            rows.append({"id": f"{split}-{number:04d}", "tokens": tokens, "tags": tags, "split": split})
    schema = pa.schema([("id", pa.string()), ("tokens", WORDS), ("tags", WORDS), ("split", pa.string())])
    return without_classes(pa.Table.from_pylist(rows, schema=schema))


def _sentences(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    for block in unpacked(path).decode("utf-8").split("\n\n"):
        cells = [line.split("\t") for line in block.split("\n") if line]
        if any(len(row) != 2 for row in cells):
            raise InputError(f"{path} has a line that is not a word and its tag, with a tab between them.")
        if cells:
            yield [word for word, _ in cells], [tag for _, tag in cells]
