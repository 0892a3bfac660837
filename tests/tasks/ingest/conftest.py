"""A way to ingest in this process, without store or workers: plan, survey, read every piece, put them together."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from assay.tasks.ingest.entry import declared_classes, prepare, read_piece, survey_piece, surveyed_classes
from assay.tasks.ingest.layout import Piece, most_rows, plan_pieces
from assay.tasks.ingest.reader_choice import Reading
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve


@dataclass
class Read:
    samples: pa.Table
    rejects: pa.Table
    classes: tuple[str, ...]
    pieces: list[Piece]
    reading: Reading

    @property
    def reasons(self) -> list[tuple[str, int, str | None, str]]:
        return [(row["file"], row["row"], row["column"], row["reason"]) for row in self.rejects.to_pylist()]


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    def now(partitions: int | None = None, **settings: object) -> Read:
        source = resolve(Source.model_validate(settings), tmp_path)
        reading, files = prepare(source)
        pieces = plan_pieces(files, partitions, most_rows(reading.layout))
        classes = declared_classes(reading.layout, source.settings, source.label)
        if classes is None:
            surveys = [survey_piece(piece, reading) for piece in pieces]
            names = frozenset().union(*(survey["names"] for survey in surveys))
            votes = frozenset().union(*(survey["votes"] for survey in surveys))
            classes = surveyed_classes(reading.layout, names, votes, source.label)
        tables = [read_piece(piece, reading, classes) for piece in pieces]
        return Read(
            pa.concat_tables(samples for samples, _ in tables).combine_chunks(),
            pa.concat_tables(rejects for _, rejects in tables).combine_chunks(),
            classes,
            pieces,
            reading,
        )

    return now
