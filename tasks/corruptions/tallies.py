"""Flips along sequences of frames (Eq. 5 of Xu et al.) counted per block of samples: what every figure of the room is
made of.

As printed, Eq. 5 compares every frame with the one before it; the sentence below it, and Hendrycks' code, compare the
independent draws of a noise with the clean frame. That is the rule here. Where samples bear several labels, flips are
counted per label, and the sum is divided by the labels and by n - 1 (the authors' script forgot the n - 1).

A block is what is independent: a group of `source.group`, else a sample. Of very many, some are put together, which
is as good for an interval and costs no more. Whole numbers only, so that no cut of the samples shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.corruptions.choice import Kind, clean_frame, strongest_frames
from assay.tasks.corruptions.table import CORRUPTIONS, Corruptions
from assay.tasks.statistics.class_scores import ClassCounts
from assay.tasks.statistics.resampling import pooled

FrameAnswers = npt.NDArray[np.int16] | npt.NDArray[np.bool_]
"""[frames, n] classes, or [frames, n, k] whether a label holds."""
Counts = npt.NDArray[np.int64]  # [n]


def count_flips(answers: FrameAnswers, kind: Kind) -> Counts:
    """How often each sample's prediction flips along its sequence, summed over labels where there are several, [n].

    >>> answers = np.array([[1, 1], [2, 1], [2, 1], [1, 1]], np.int16)
    >>> count_flips(answers, "ramp").tolist(), count_flips(answers, "noise").tolist()
    ([2, 0], [2, 0])
    >>> count_flips(answers[:, :1][[0, 1, 0, 1]], "ramp").tolist(), count_flips(answers[[0, 1, 0, 1]], "noise").tolist()
    ([3], [2, 0])
    """
    if kind == "noise":
        changed = np.delete(answers, clean_frame(kind, len(answers)), axis=0) != answers[:1]
    else:
        changed = answers[1:] != answers[:-1]
    return _per_sample(changed)


def comparisons(answers: FrameAnswers) -> int:
    """Into how many comparisons one sample's flips are divided: n - 1 pairs of frames, times the labels.

    >>> comparisons(np.zeros((31, 4), np.int16)), comparisons(np.zeros((31, 4, 14), bool))
    (30, 420)
    """
    return (len(answers) - 1) * (answers.shape[2] if answers.ndim == 3 else 1)


def count_correct(answers: FrameAnswers, truth: npt.NDArray[np.int64], kind: Kind) -> tuple[Counts, Counts]:
    """How many predictions of the strongest frames are right, and of how many with a known truth, [n] each.

    `truth` is the class [n], or 1 and 0 per label [n, k]; -1 is unknown. The strongest frames bear the severity's full
    constant, so this is the accuracy that the -C benchmarks mean: all draws of a noise, the end of a ramp, both ends
    of a sweep.
    """
    strongest = answers[strongest_frames(kind, len(answers))]
    known = np.broadcast_to(truth >= 0, strongest.shape)
    return _per_sample((strongest == truth) & known), _per_sample(known)


def _per_sample(values: npt.NDArray[np.bool_]) -> Counts:
    """Counted over frames, and labels where there are any."""
    return np.asarray(values.sum(axis=(0, *range(2, values.ndim)), dtype=np.int64))


MEAN, ALL = "mean", "all"
CLEAN = "clean"
"""The perturbation of an image as it is."""

_COLUMNS = ("flips", "comparisons", "correct", "judged")
_MOST = 2000  # blocks


class Cell(NamedTuple):
    """What a finding is `of` (a perturbation or `mean`), its `group` (a severity or `all`), and their places."""

    of: str
    group: str
    perturbations: list[int]
    severities: list[int]


@dataclass(frozen=True)
class Blocks:
    """The block of each sample, by id, and how many units (groups, or samples) each block holds, [G]."""

    of_id: Mapping[str, int]
    units: Counts

    @classmethod
    def of(cls, ids: Sequence[str], groups: npt.NDArray[np.int64] | None) -> Blocks:
        """Of samples in their order, with the codes 0 … of their groups if these are known.

        >>> Blocks.of(["a", "b", "c"], np.array([1, 0, 1]))
        Blocks(of_id={'a': 1, 'b': 0, 'c': 1}, units=array([1, 1]))
        """
        codes = np.arange(len(ids)) if groups is None else groups
        blocks, (_, first) = pooled(codes, _MOST), np.unique(codes, return_index=True)
        return cls(dict(zip(ids, blocks.tolist(), strict=True)), np.bincount(blocks[first]).astype(np.int64))


@dataclass(frozen=True)
class Tally:
    """The counts of each block under every subject, perturbation and severity, [G, s, p, l, 4]."""

    counts: Counts
    subjects: Sequence[str]
    perturbations: Sequence[str]
    severities: Sequence[int]
    units: Counts
    samples: int
    judged: int
    """How many samples have a known truth."""
    answers: int
    """How often each answer is judged under one perturbation, over all severities."""
    right: Counts = field(default_factory=lambda: np.zeros((0, 0, 0, 0), np.int64))
    """How often samples of each class are right under each perturbation, over all severities, [G, k, s, p]; none where
    samples bear several labels."""
    of_class: Counts = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """How many samples of each class a block holds, [G, k]."""

    def cells(self) -> Iterator[Cell]:
        """Every perturbation and their mean, at every severity and over all."""
        every, levels = list(range(len(self.perturbations))), list(range(len(self.severities)))
        of = [*((name, [at]) for at, name in enumerate(self.perturbations)), (MEAN, every)]
        groups = [*((severity_group(severity), [at]) for at, severity in enumerate(self.severities)), (ALL, levels)]
        for (name, places), (group, grades) in product(of, groups):
            yield Cell(name, group, places, grades)

    def class_counts(self, subject: int, cell: Cell) -> ClassCounts:
        """Right answers class by class under these perturbations together, over all severities."""
        right = self.right[:, :, subject][:, :, cell.perturbations].sum(axis=2)
        return ClassCounts(right, self.of_class * self.answers * len(cell.perturbations), grouped=True)

    def counted(self, subject: int, what: Literal["flips", "right", "wrong"], severities: Sequence[int]) -> Counts:
        """Hits and trials of each block under every perturbation, over these severities, [G, p, 2]."""
        flips, comparisons, correct, judged = np.moveaxis(self.counts[:, subject][:, :, severities].sum(axis=2), -1, 0)
        hits, trials = {"flips": (flips, comparisons), "right": (correct, judged), "wrong": (judged - correct, judged)}[
            what
        ]
        return np.stack([hits, trials], axis=-1)


def severity_group(severity: int) -> str:
    """The group of findings at one severity.

    >>> severity_group(3)
    'severity=3'
    """
    return f"severity={severity}"


def sum_flips(
    flips: pa.Table, *, of_id: Mapping[str, int], settings: Corruptions, class_of: Mapping[str, int], classes: int
) -> dict[str, object]:
    """The counts of every block in a partition, the subjects, and how many samples there are and have a truth; by class
    (`class_of` an id, where it is known) how many samples a block holds and how often they are right.

    Perturbations have 1, 2 or n − 1 frames at full strength; weighed, each counts the same in the mean accuracy.
    """
    if flips.num_rows == 0:
        return {}
    cube, ids, subjects = _cube(flips, settings)
    cube[..., 2:] *= _frame_weights(settings)[:, None, None]
    blocks, at = np.unique(np.array([of_id[sample] for sample in ids]), return_inverse=True)
    added = np.zeros((len(blocks), *cube.shape[1:]), np.int64)
    np.add.at(added, at, cube)
    codes = np.array([class_of.get(sample, -1) for sample in ids], np.int64)
    known = np.flatnonzero((codes >= 0) & (cube[:, 0, 0, 0, 3] > 0))
    of_class = np.zeros((len(blocks), classes), np.int64)
    right = np.zeros((*of_class.shape, *cube.shape[1:3]), np.int64)
    np.add.at(of_class, (at[known], codes[known]), 1)
    np.add.at(right, (at[known], codes[known]), cube[known, ..., 2].sum(axis=3))
    return {
        **{
            name: {str(block): counts for block, counts in zip(blocks.tolist(), by_block, strict=True)}
            for name, by_block in (("blocks", added), ("right", right), ("of_class", of_class))
        },
        "subjects": frozenset(subjects),
        "samples": len(ids),
        "judged": int((cube[:, 0, 0, 0, 3] > 0).sum()),
    }


def tally_from(sums: Mapping[str, object], blocks: Blocks, settings: Corruptions) -> Tally:
    """The tally of all partitions together, from their merged sums."""
    there = sorted(int(block) for block in cast("Mapping[str, Counts]", sums["blocks"]))

    def stacked(name: str) -> Counts:
        return np.stack([cast("Mapping[str, Counts]", sums[name])[str(block)] for block in there])

    return Tally(
        stacked("blocks"),
        sorted(cast("frozenset[str]", sums["subjects"])),
        _words(settings),
        settings.severities,
        blocks.units[there],
        cast(int, sums["samples"]),
        cast(int, sums["judged"]),
        (settings.frames - 1) * len(settings.severities),
        stacked("right"),
        stacked("of_class"),
    )


def _frame_weights(settings: Corruptions) -> Counts:
    """What a frame at full strength counts under each perturbation, so that each comes to n − 1 of them."""
    kinds = [CORRUPTIONS.named(word, settings).kind for word in settings.perturbations]
    return np.array([(settings.frames - 1) // len(strongest_frames(kind, settings.frames)) for kind in kinds])


def _words(settings: Corruptions) -> list[str]:
    return [CORRUPTIONS.named(word, settings).word for word in settings.perturbations]


def _cube(flips: pa.Table, settings: Corruptions) -> tuple[Counts, list[str], list[str]]:
    """The counts as [samples, subjects, perturbations, severities, 4], the ids, and the subjects in their order."""
    ids = flips["id"].combine_chunks().dictionary_encode()
    subjects = sorted(flips["subject"].unique().to_pylist())
    sides: dict[str, list[str] | list[int]] = {
        "subject": subjects,
        "perturbation": _words(settings),
        "severity": list(settings.severities),
    }
    named = ((flips[column], names) for column, names in sides.items())
    places = [np.asarray(pc.index_in(column, pa.array(names, column.type)).to_numpy()) for column, names in named]
    cube = np.zeros((len(ids.dictionary), *map(len, sides.values()), len(_COLUMNS)), np.int64)
    cube[(ids.indices.to_numpy(), *places)] = np.column_stack([flips[column].to_numpy() for column in _COLUMNS])
    return cube, ids.dictionary.to_pylist(), subjects
