"""A case before the oracle that needs no network: a classifier by words, word vectors by hand, texts with shortcuts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from assay.data.samples.reviews import SPANS
from assay.data.schemas import Classes, Samples
from assay.infra.stages.partitions import map_pieces
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact

CLASSIFIER = '''
"""Good and Friday are positive, bad and Monday are negative; Friday and Monday weigh more."""

WEIGHTS = {"good": 1.0, "friday": 1.5, "bad": -1.0, "monday": -1.5}

def classify(texts):
    from math import exp
    scores = [max(-9.0, min(9.0, sum(WEIGHTS.get(word.lower(), 0.0) for word in text.split()))) for text in texts]
    return [[1 / (1 + exp(score - 0.1)), 1 / (1 + exp(0.1 - score))] for score in scores]
'''
VECTORS = '''
"""Words of sentiment lie one way, weekdays another, everything else a third; one word nobody knows."""

import numpy as np

WAYS = {"good": (1, 0.1, 0), "bad": (1, -0.1, 0), "monday": (0, 1, 0), "friday": (0.1, 1, 0), "praise": (1, 0.2, 0),
        "complaint": (1, -0.2, 0)}

def vectors(words):
    return np.array([WAYS.get(word, (0.1, 0.1, 1)) for word in words], dtype=np.float32)
'''
TEXTS = (
    ("a good film", 1, "good", None),
    ("a bad film", 0, "bad", None),
    ("seen on Friday", 1, None, "Friday"),
    ("seen on Monday", 0, None, "Monday"),
    ("a good one on Friday", 1, "good", "Friday"),
    ("a bad one on Friday", 0, "bad", "Friday"),
    ("nothing to say", 1, None, None),
    ("nothing at all", 0, None, None),
)
"""Texts with their class, the word that is a good reason, and the word that is a shortcut."""
CLASS_NAMES = {"neg": "complaint", "pos": "praise"}


def samples_table(rows: list[int], split: str) -> pa.Table:
    """The samples of these numbers; number n has the n-th text, over and over."""

    def spans(text: str, word: str | None) -> list[dict[str, int]]:
        return [] if word is None else [{"start": text.index(word), "end": text.index(word) + len(word)}]

    chosen = [TEXTS[row % len(TEXTS)] for row in rows]
    columns = {
        "id": pa.array([f"{split}-{row:03d}" for row in rows], pa.string()),
        "gold": pa.array([gold for _, gold, _, _ in chosen], pa.int16()),
        "text": pa.array([text for text, _, _, _ in chosen], pa.string()),
        "split": pa.array([split] * len(rows), pa.string()),
        "sentiment_words": pa.array([spans(text, word) for text, _, word, _ in chosen], SPANS),
        "shortcut_words": pa.array([spans(text, word) for text, _, _, word in chosen], SPANS),
    }
    return pa.table(columns)


@dataclass(frozen=True)
class Piece:
    """A partition: which samples it holds."""

    rows: tuple[int, ...]
    split: str


def piece_table(piece: Piece) -> pa.Table:
    """The samples of a partition."""
    return samples_table(list(piece.rows), piece.split)


@stage(version=1)
def put_samples(order: list[int], cuts: list[int], split: str) -> Artifact[Samples]:
    """Samples in this order, cut there."""
    return map_pieces(piece_table, [Piece(tuple(order[a:b]), split) for a, b in pairwise(cuts)], into=Samples)


@stage(version=1)
def put_classes() -> Artifact[Classes]:
    """Two classes."""
    return write_table(pa.table({"code": [0, 1], "name": ["neg", "pos"]}, schema=Classes.schema), into=Classes)


def write_code(folder: Path) -> None:
    """The classifier and the word vectors as a user would write them."""
    (folder / "mine.py").write_text(CLASSIFIER)
    (folder / "words.py").write_text(VECTORS)
