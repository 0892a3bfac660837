"""From votes to weak labels: the class, the confidence in it, and the share of the votes' weight that it wins.

Every number of a row comes from elementwise arithmetic on that row, in an order that only the labeler fixes: rows with
the same votes get the same bits, whatever partition they lie in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import WeakLabels
from assay.infra.errors import InputError
from assay.tasks.weak_labels.models import Labeler

if TYPE_CHECKING:
    from assay.tasks.weak_labels.choice import LabelerChoice

Scores = npt.NDArray[np.float64]  # [q, n], one row per class
_NUMBERS = list(WeakLabels.schema)[1:]
_PATTERNS = 4096  # vote patterns of a few functions whose sums are looked up instead of added up
_NEARLY = 1e-6  # how far probabilities of a labeler's own may be from summing to one
_BLOCK = 65_536  # rows worked on at a time


def default_class(default: str | int, names: Sequence[str]) -> int:
    """The code of the default label, which may be given as a class's name or as its code.

    >>> default_class("benign", ["malignant", "benign"]), default_class(0, ["malignant", "benign"])
    (1, 0)
    """
    if isinstance(default, str) and default in names:
        return names.index(default)
    if isinstance(default, int) and 0 <= default < len(names):
        return default
    listed = ", ".join(f"{code} ({name})" for code, name in enumerate(names))
    raise InputError(f"weak_labels.default_label is {default!r}, which is no class; the classes are {listed}.")


def weak_labels(votes: pa.Table, labeler: Labeler, classes: int, default: int) -> pa.Table:
    """The WeakLabels of a partition of votes: per sample f̂(x), ĝ(x), n(x) and the share that s(x) = n(x)·share needs.

    f̂ is the class with the largest posterior score; of equal ones the default label if it is among them, else the
    first. ĝ = exp(score of f̂) / Σ_y exp(score of y). Where all classes are exactly equal the sample is undecided.
    """
    columns = [votes.column(name).to_numpy() for name in labeler.functions]
    tables = lookup_tables(labeler, classes)
    parts = [
        _label(
            class_sums([column[start : start + _BLOCK] for column in columns], tables, size),
            classes,
            default,
            labeler.balance,
        )
        for start, size in _blocks(votes.num_rows)
    ]
    numbers = {field.name: pa.chunked_array([part[field.name] for part in parts], field.type) for field in _NUMBERS}
    return pa.table({"id": votes.column("id"), **numbers}, schema=WeakLabels.schema)


def labels_by(choice: LabelerChoice, votes: pa.Table, functions: Sequence[str], classes: int, default: int) -> pa.Table:
    """The WeakLabels of a partition of votes by a labeler's own probabilities: the most probable class, how probable it
    is, and as the share of the votes' weight that it wins the same."""
    cast = np.stack([votes.column(name).to_numpy() for name in functions], axis=1).astype(np.int8)  # [n, m]
    probabilities = probabilities_of(choice, cast, classes)
    best = probabilities.max(axis=1)
    label = np.where(probabilities[:, default] == best, default, probabilities.argmax(axis=1)).astype(np.int16)
    numbers = [
        label,
        best,
        (cast >= 0).sum(axis=1).astype(np.int32),
        best,
        (probabilities == best[:, None]).all(axis=1),
    ]
    columns = [pa.array(values, field.type) for values, field in zip(numbers, _NUMBERS, strict=True)]
    return pa.table([votes.column("id"), *columns], schema=WeakLabels.schema)


def probabilities_of(choice: LabelerChoice, cast: npt.NDArray[np.int8], classes: int) -> npt.NDArray[np.float64]:
    """What a labeler's own function makes of votes [n, m], seen to be probabilities, [n, k]."""
    if choice.probabilities is None:
        raise InputError(f"The labeler {choice.word} has no probabilities of its own.")
    probabilities = np.asarray(choice.probabilities(cast.copy(), classes), dtype=np.float64)
    if probabilities.shape != (len(cast), classes):
        raise InputError(
            f"The labeler {choice.word} gave the shape {list(probabilities.shape)} for {len(cast)} samples, expected "
            f"{[len(cast), classes]}: the probability of every class for every sample."
        )
    wrong = np.flatnonzero(
        ~(np.isfinite(probabilities) & (probabilities >= 0)).all(axis=1)
        | (np.abs(probabilities.sum(axis=1) - 1) > _NEARLY)
    )
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"The labeler {choice.word} gave {probabilities[row].tolist()} for the votes {cast[row].tolist()}, "
            "expected probabilities: none below 0, together 1."
        )
    return probabilities


def lookup_tables(labeler: Labeler, classes: int) -> npt.NDArray[np.float64]:
    """What each vote of each function adds, [m, k + 1, q]: row 0 is abstaining and adds nothing.

    The first k columns add w_i to the class voted for, the next one counts the vote. Where the labeler has learned μ,
    k more columns add log μ[i, y, z] to the score of each class z: log P(votes | z), for a uniform class balance.
    """
    m, k = len(labeler.functions), classes
    tables = np.zeros((m, k + 1, 2 * k + 1 if labeler.mu is not None else k + 1))
    tables[:, 1:, :k] = labeler.weights[:, None, None] * np.eye(k)
    tables[:, 1:, k] = 1
    if labeler.mu is not None:
        tables[:, 1:, k + 1 :] = np.log(labeler.mu)  # in float32, as Snorkel does
    return tables


def class_sums(columns: Sequence[npt.NDArray[np.int8]], tables: npt.NDArray[np.float64], size: int) -> Scores:
    """Σ_i tables[i, vote_i + 1] for each row, [q, n]: functions are taken a few at a time, their patterns looked up."""
    m, outcomes, q = tables.shape
    together = max(1, int(np.log(_PATTERNS) / np.log(outcomes)))
    sums = np.zeros((q, size))
    pattern = np.empty(size, dtype=np.int16)  # fewer than _PATTERNS, so two bytes will do
    for start in range(0, m, together):
        group = range(start, min(start + together, m))
        lookup = np.zeros((1, q))
        pattern[:] = 0
        for i in group:
            pattern *= np.int16(outcomes)
            pattern += columns[i]
            lookup = (lookup[:, None, :] + tables[i][None, :, :]).reshape(-1, q)
        place = pattern.astype(np.intp) + sum(
            outcomes**digit for digit in range(len(group))
        )  # every vote counts from -1
        for row in range(q):
            sums[row] += np.ascontiguousarray(lookup[:, row]).take(place)
    return sums


def _label(sums: Scores, classes: int, default: int, balance: tuple[float, ...] | None = None) -> dict[str, pa.Array]:
    weights, cast = sums[:classes], sums[classes].astype(np.int32)
    scores = sums[classes + 1 :] if len(sums) > classes + 1 else weights
    if balance is not None:  # log P(class | votes) = log P(votes | class) + log P(class), up to what all share
        scores = scores + np.log(np.asarray(balance))[:, None]
    best = scores.max(axis=0)
    label = np.where(scores[default] == best, default, scores.argmax(axis=0)).astype(np.int16)
    undecided = (scores == best).all(axis=0)
    if balance is not None:  # where nobody voted, how frequent a class is decides nothing
        undecided |= cast == 0
        label = np.where(undecided, default, label).astype(np.int16)
    return {
        "label": pa.array(label),
        "confidence": pa.array(np.where(undecided, 1 / classes, softmax_at(scores, label))),
        "votes_cast": pa.array(cast),
        "share": pa.array(softmax_at(weights, label)),
        "undecided": pa.array(undecided),
    }


def softmax_at(scores: Scores, label: npt.NDArray[np.int16]) -> npt.NDArray[np.float64]:
    """exp(score of the label) / Σ_y exp(score of y) per column, shifted by the largest so that nothing overflows.

    >>> softmax_at(np.array([[1000.0, 0.0], [1000.0, -1000.0]]), np.array([0, 1], dtype=np.int16)).tolist()
    [0.5, 0.0]
    """
    powers = np.exp(scores - scores.max(axis=0))  # [k, n]
    total = powers[0].copy()
    for power in powers[1:]:
        total += power
    chosen: npt.NDArray[np.float64] = np.take_along_axis(powers, label[None, :].astype(np.int64), axis=0)[0] / total
    return chosen


def _blocks(rows: int) -> Iterator[tuple[int, int]]:
    for start in range(0, rows, _BLOCK):
        yield start, min(_BLOCK, rows - start)
