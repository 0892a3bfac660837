"""A scorer in the making, on a worker: from pairs with scores to weights, a tokenizer, a card and the curve."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.subjects.curves import curve_table
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.cards import card_file
from assay.tasks.subjects.sequences.rows import pairs_of
from assay.tasks.subjects.sequences.score_network import Line, Scores, Towers, read_pairs
from assay.tasks.subjects.sequences.scoring import Pair
from assay.tasks.subjects.sequences.usual_training import options_of
from assay.tasks.subjects.texts.rows import origins_of
from assay.tasks.subjects.token_networks.blocks import IntArray
from assay.tasks.subjects.token_networks.computing import ids_of, make_ready, tokenizer_in
from assay.tasks.subjects.token_networks.epochs import Answer, Exercise, learn_here, padded, presence, validating
from assay.tasks.subjects.token_networks.hugging_face import pad_of
from assay.tasks.subjects.token_networks.starts import Start, start_from, start_small

if TYPE_CHECKING:
    from assay.tasks.subjects.learning_state import Checkpoints


@dataclass(frozen=True)
class TowerExercise:
    """Pairs as the pieces of either sentence; their cosine is to be their score, brought to 0 … 1."""

    encoder: Any
    first: list[IntArray]
    second: list[IntArray]
    shares: Scores
    pad: int

    @property
    def lengths(self) -> IntArray:
        """The pieces of the longer sentence of every pair."""
        return np.array([max(map(len, pair)) for pair in zip(self.first, self.second, strict=True)], dtype=np.int64)

    def answer(self, rows: IntArray, device: str) -> Answer:
        """The mean squared error of the cosines; nothing is right or wrong."""
        import torch

        batch = [side[row] for side in (self.first, self.second) for row in rows]
        ids, mask = padded(batch, self.pad, device), presence(batch, device)
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        means = (hidden * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
        cosines = torch.nn.functional.cosine_similarity(means[: len(rows)], means[len(rows) :])
        wanted = torch.from_numpy(self.shares[rows].astype(np.float32)).to(device)
        return Answer(((cosines - wanted) ** 2).mean(), 0, 0)


@dataclass(frozen=True)
class CrossExercise:
    """Pairs as the pieces of both sentences together; the network's number is to be their score, brought to 0 … 1."""

    network: Any
    ids: list[IntArray]
    types: list[IntArray]
    shares: Scores
    pad: int

    @property
    def lengths(self) -> IntArray:
        """The pieces of every pair."""
        return np.array([len(one) for one in self.ids], dtype=np.int64)

    def answer(self, rows: IntArray, device: str) -> Answer:
        """The mean squared error; nothing is right or wrong."""
        import torch

        batch = [self.ids[row] for row in rows]
        types = padded([self.types[row] for row in rows], 0, device)
        numbers = read_pairs(self.network, padded(batch, self.pad, device), presence(batch, device), types)
        wanted = torch.from_numpy(self.shares[rows].astype(np.float32)).to(device)
        return Answer(((numbers - wanted) ** 2).mean(), 0, 0)


def learn_scores(
    training: pa.Table, *, checkpoints: Checkpoints, subject: ResolvedSubject, seeds: Seeds
) -> tuple[dict[str, bytes], pa.Table]:
    """The subject's files and its curve: two towers from scratch or from MiniLM, or a transformer fine-tuned."""
    options = options_of(subject.settings)
    assert options is not None
    pairs, scores, origins = _lesson(training, subject)
    low, high = float(scores.min()), float(scores.max())
    shares = (scores - low) / (high - low)
    towers = subject.way != "hugging-face"
    start = _start(subject, pairs, towers, seeds)
    tokenizer = tokenizer_in(start.files)
    make_ready(start.network, tokenizer, start.limit)
    curve = learn_here(
        start.network,
        _exercise(start, tokenizer, pairs, shares, towers),
        validating(origins, options.validation),
        options,
        seeds=seeds,
        checkpoints=checkpoints,
    )
    line = Line(high - low, low, low, high)
    if towers:
        plain = Towers(start.network, tokenizer, Line(), pad_of(start.network.config), start.limit)
        line = fitted_line(plain.cosines(pairs), scores)
    about = start.about(options, len(pairs)) | {
        "line": asdict(line),
        "reads": "apart" if towers else "together",
        "sigmoid": False,
    }
    files = start.trained_files()
    return files | card_file(subject, files, about), curve_table(curve)


def fitted_line(numbers: Scores, scores: Scores) -> Line:
    """The straight line through numbers and scores with the least squares, kept in the range of the scores.

    >>> line = fitted_line(np.array([0.0, 0.5, 1.0]), np.array([1.0, 2.0, 3.0]))
    >>> round(line.slope, 6), round(line.intercept, 6), line.low, line.high
    (2.0, 1.0, 1.0, 3.0)
    """
    spread = numbers - numbers.mean()
    square = float((spread * spread).sum())
    slope = float((spread * (scores - scores.mean())).sum()) / square if square > 0 else 0.0
    return Line(slope, float(scores.mean() - slope * numbers.mean()), float(scores.min()), float(scores.max()))


def _lesson(training: pa.Table, subject: ResolvedSubject) -> tuple[list[Pair], Scores, list[str]]:
    """The pairs whose score is known, their scores, and the texts that they come from, in the order of their ids."""
    ordered = training.sort_by("id")
    columns = pairs_of(ordered, subject.settings)
    pairs = list(zip(columns.first, columns.second, strict=True))
    origins = origins_of(ordered, ["\0".join(pair) for pair in pairs])
    known = [place for place, score in enumerate(columns.scores) if score is not None]
    scores = np.array([columns.scores[place] for place in known], dtype=np.float64)
    if len(np.unique(scores)) < 2:
        extent = "no score at all" if not known else f"the score {scores[0]:g} only"
        raise InputError(
            f"The training pairs know {extent} ({subject.settings.score!r}): a scorer needs at least two different "
            "ones."
        )
    return [pairs[place] for place in known], scores, [origins[place] for place in known]


def _start(subject: ResolvedSubject, pairs: list[Pair], towers: bool, seeds: Seeds) -> Start:
    if subject.source is None:
        return start_small([text for pair in pairs for text in pair], "none", 1, seeds)
    who = f'The scorer "{subject.settings.scorer}"'
    return start_from(subject.source, who, "none" if towers else "score", 1, seeds)


def _exercise(start: Start, tokenizer: Any, pairs: list[Pair], shares: Scores, towers: bool) -> Exercise:
    pad = pad_of(start.network.config)
    if towers:
        first, second = ([ids_of(tokenizer, pair[side], pad) for pair in pairs] for side in (0, 1))
        return TowerExercise(start.network, first, second, shares, pad)
    encoded = [tokenizer.encode(*pair) for pair in pairs]
    ids = [np.array(one.ids, dtype=np.int64) for one in encoded]
    return CrossExercise(start.network, ids, [np.array(one.type_ids, dtype=np.int64) for one in encoded], shares, pad)
