"""Images of pure noise with drawn classes: nobody can be better than chance on them but by knowing the pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.data.images import image_columns

SIDE = 16


@dataclass(frozen=True)
class Piece:
    """Some of the images."""

    start: int
    end: int
    unlabelled: int = 0
    several: bool = False


def noise(piece: Piece) -> pa.Table:
    """The samples of a piece, each drawn by its own number."""
    drawn = [np.random.default_rng([7, at]) for at in range(piece.start, piece.end)]
    pixels = np.array([one.integers(0, 256, (1, SIDE, SIDE)) for one in drawn], np.uint8).reshape(-1, 1, SIDE, SIDE)
    gold = [None if at < piece.unlabelled else int(one.integers(0, 3)) for at, one in enumerate(drawn)]
    columns = {
        "id": pa.array([f"n{at:04}" for at in range(piece.start, piece.end)], pa.string()),
        "gold": pa.array(gold, pa.int16()),
        "split": pa.array([("train", "test", "fresh")[at % 3] for at in range(piece.start, piece.end)], pa.string()),
        **image_columns(pixels),
    }
    if piece.several:
        columns["labels"] = pa.array([[1, 0, 1]] * len(drawn), pa.list_(pa.int8()))
    return pa.table(columns)
