"""Texts in partitions as a test cuts them, where worker processes find the functions too."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa

from assay.data.schemas import Samples
from assay.infra.stages.partitions import map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact


@dataclass(frozen=True)
class Piece:
    """A partition: its ids, golds and texts."""

    rows: tuple[tuple[str, int | None, str], ...]


def piece_table(piece: Piece) -> pa.Table:
    """The samples of a partition."""
    ids, golds, texts = zip(*piece.rows, strict=True) if piece.rows else ((), (), ())
    columns = {
        "id": pa.array(ids, pa.string()),
        "gold": pa.array(golds, pa.int16()),
        "text": pa.array(texts, pa.string()),
    }
    return pa.table(columns)


@stage(version=1)
def put_texts(rows: list[list[Any]], cuts: list[int]) -> Artifact[Samples]:
    """Samples of these ids, golds and texts, cut there."""
    return map_pieces(piece_table, [Piece(tuple(map(tuple, rows[a:b]))) for a, b in pairwise(cuts)], into=Samples)
