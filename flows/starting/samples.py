"""Samples as a run would read them, a seeded part of them where there are many: what rules are tried and found on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.ingest.classes import require_repeated
from assay.tasks.ingest.people.answers import require_classes
from assay.tasks.ingest.people.files import find_answers
from assay.tasks.ingest.people.settling import settled_samples
from assay.tasks.ingest.pieces import Piece, Reading, index_table, plan_pieces
from assay.tasks.ingest.reading import found_classes, known_classes, prepare, read_piece, survey_piece
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import ResolvedSource, resolve
from assay.tasks.ingest.spans import FileIndex

MOST_ROWS = 20_000
MOST_IMAGES = 600
"""Of more rows, or images, about so many are drawn with seed 0."""
_BLOCK = 500


@dataclass(frozen=True)
class Seen:
    """Samples as they enter: id, gold class and features; those turned away, the classes by name, of how many rows."""

    samples: pa.Table
    rejects: pa.Table
    classes: tuple[str, ...]
    rows: int

    @property
    def in_words(self) -> str:
        """How much of the data was looked at.

        >>> table = pa.table({"id": ["a"]})
        >>> Seen(table, table.slice(1), (), 1).in_words, Seen(table, table.slice(1), (), 9).in_words
        ('all 1 rows', '1 of 9 rows, drawn with seed 0')
        """
        looked = self.samples.num_rows + self.rejects.num_rows
        return (
            f"all {self.rows:,} rows" if looked == self.rows else f"{looked:,} of {self.rows:,} rows, drawn with seed 0"
        )


def samples_of(source: Source, base: Path, most: int | None = None) -> Seen:
    """The samples of a source, paths counted from `base`; refused where a run would refuse them."""
    resolved = resolve(source, base)
    reading, files = prepare(resolved)
    rows = sum(file.rows for file in files)
    reading, pieces = _drawn(reading, files, rows, most or (MOST_ROWS if reading.layout.image is None else MOST_IMAGES))
    classes = _classes(resolved, source, reading, pieces, rows)
    parts = [read_piece(piece, reading, classes) for piece in pieces]
    samples = _with_peoples_gold(pa.concat_tables([samples for samples, _ in parts]), source, base, classes)
    seen = Seen(samples, pa.concat_tables([out for _, out in parts]), classes, rows)
    _require_few_rejects(seen, source, resolved.label)
    return seen


def _with_peoples_gold(samples: pa.Table, source: Source, base: Path, classes: tuple[str, ...]) -> pa.Table:
    """The samples with people's answers as their gold, where the source names them."""
    if source.gold is None:
        return samples
    answers = find_answers(source.gold, base)
    judged = answers.read()
    require_classes(judged, classes, answers.label)
    return settled_samples(samples, judged, classes)[0]


def _drawn(reading: Reading, files: list[FileIndex], rows: int, most: int) -> tuple[Reading, list[Piece]]:
    """About so many rows: of a listing of images single ones, of files blocks, so that sorted rows are seen too."""
    draw = Seeds(0, "first look").generator()
    if rows > most and reading.table is not None:
        table = reading.table.take(pa.array(np.sort(draw.choice(rows, most, replace=False))))
        return replace(reading, table=table), plan_pieces([index_table(table, files[0].name)], None, _BLOCK)
    pieces = plan_pieces(files, math.ceil(rows / _BLOCK) if rows > most else None, reading.most_rows)
    wanted = max(1, math.floor(len(pieces) * most / rows)) if rows > most else len(pieces)
    return reading, [pieces[at] for at in np.sort(draw.permutation(len(pieces))[:wanted])]


def _classes(
    resolved: ResolvedSource, source: Source, reading: Reading, pieces: Sequence[Piece], rows: int
) -> tuple[str, ...]:
    known = known_classes(reading.layout, source, resolved.label)
    if known is not None:
        return known
    surveys = [survey_piece(piece, reading) for piece in pieces]
    names = frozenset[str]().union(*(survey["names"] for survey in surveys))
    votes = frozenset[str]().union(*(survey["votes"] for survey in surveys))
    if reading.layout.label is not None:
        require_repeated(names, rows, resolved.label)
    return found_classes(reading.layout, names, votes, resolved.label)


def _require_few_rejects(seen: Seen, source: Source, label: str) -> None:
    total = seen.samples.num_rows + seen.rejects.num_rows
    if seen.samples.num_rows and seen.rejects.num_rows <= source.max_rejects * total:
        return
    first = seen.rejects.slice(0, 1).to_pylist()[0]
    raise InputError(
        f"{seen.rejects.num_rows} of {total} rows of {label} do not fit, the first in {first['file']} row "
        f"{first['row']} ({first['reason']}): correct the rows, or say what they are."
    )
