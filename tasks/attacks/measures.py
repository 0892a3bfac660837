"""The findings on attacks on images: their records as arrays, the worst case over several attacks, and what each
attack leaves of the accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from toolz import groupby

from assay.data.arrays import Bools, Floats
from assay.data.schemas import Attacked
from assay.tasks.attacks.settings import COUNTED, Goal, Norm, eps_name
from assay.tasks.statistics.classification import Groups, Proportion, Said, Truth, fooling_rate, proportion
from assay.tasks.statistics.classification_findings import About, chance_findings, class_areas, prediction_findings
from assay.tasks.statistics.clusters import half_width
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.metrics import metric_named, metrics_of
from assay.tasks.subjects.images.model import THRESHOLD, said


@dataclass(frozen=True)
class Trial:
    """What became of every sample, in the order of the ids."""

    subject: str
    attack: str
    eps: float
    ids: npt.NDArray[np.str_]  # [n], sorted
    truth: Truth  # [n] codes or [n, k] labels; −1 where unknown
    clean: Said  # [n] codes or [n, k] bool
    attacked: Said
    probabilities: Floats  # [n, k], of the attacked images
    success: Bools  # [n]
    measured: dict[str, Floats]  # distance, distance_l2, steps, queries: each [n]
    winner: npt.NDArray[np.str_] | None  # [n], in a table of the worst case or of several attacks in turn
    norm: Norm = "linf"

    def answered(self) -> Trial:
        """The trial without what only its own measures are taken of; flags that compare attacks read answers alone.

        Probabilities [n, k] of every attack and ε are most of an audit's records; nobody needs two of them at a time.
        """
        return replace(self, probabilities=np.empty((0, self.probabilities.shape[1])), measured={})

    @property
    def group(self) -> str:
        """How findings call its ε."""
        return eps_name(self.eps, self.norm)

    @property
    def robust(self) -> Said:
        """The answers that robust accuracy and recall are taken of: an image that was wrong before has fallen.

        With several labels those to the attacked images, since every label is attacked.
        """
        if self.truth.ndim == 2:
            return self.attacked
        lost = (self.truth >= 0) & (self.clean != self.truth)
        answers: Said = np.where(lost, self.clean, self.attacked)
        return answers

    def harm(self, goal: Goal, ids: npt.NDArray[np.str_]) -> npt.NDArray[np.int64]:
        """How much was done to some of the samples in the order given: 1 for a success.

        With several labels the number of known ones that are wrong, or that flipped where all were to flip: attacks
        climb a loss over all labels, so whether any one of them gave way says little about which attack is stronger.
        """
        at = np.searchsorted(self.ids, ids)
        if self.truth.ndim == 1 or goal == "targeted":
            return self.success[at].astype(np.int64)
        flipped = (self.attacked != self.clean)[at].sum(axis=1)
        known = (self.truth >= 0)[at]
        wrong = ((self.attacked != self.truth)[at] & known).sum(axis=1)
        counted: npt.NDArray[np.int64] = np.where(known.any(axis=1) & (goal == "untargeted"), wrong, flipped)
        return counted


MEASURED = ("distance", "distance_l2", "steps", "queries")
COLUMNS = tuple(Attacked.schema.names)
"""What `trials` reads of a table of attacked samples: all of it."""


def trials(tables: Iterable[pa.Table]) -> list[Trial]:
    """The trials that tables of attacked samples hold, by subject, attack and ε; ε = 0 is the clean image."""
    return list(trials_one_by_one(tables))


def trials_one_by_one(tables: Iterable[pa.Table]) -> Iterator[Trial]:
    """The same, one after the other: neither the next table nor the next trial is there before it is asked for."""
    for table in tables:
        keys = table.group_by(["subject", "attack", "eps"]).aggregate([]).to_pylist()
        for key in sorted(keys, key=lambda key: (key["subject"], key["attack"], key["eps"])):
            where = pc.and_(pc.equal(table["subject"], key["subject"]), pc.equal(table["attack"], key["attack"]))
            yield _trial(table.filter(pc.and_(where, pc.equal(table["eps"], key["eps"]))).sort_by("id"), **key)


def _trial(rows: pa.Table, subject: str, attack: str, eps: float) -> Trial:
    probabilities = matrix(rows["attacked_probabilities"], np.float64)
    if rows["labels"].null_count == rows.num_rows:
        truth = pc.fill_null(rows["gold"], -1).to_numpy()
        clean, attacked = rows["clean"].to_numpy(), rows["attacked"].to_numpy()
    else:
        truth = matrix(rows["labels"], np.int8)
        clean = said(matrix(rows["clean_probabilities"], np.float64), multilabel=True)
        attacked = said(probabilities, multilabel=True)
    winner = rows["winner"]
    winners = None
    if winner.null_count < len(winner):
        winners = np.array(pc.fill_null(winner, "").to_pylist(), dtype=np.str_)
    ids, success = np.array(rows["id"].to_pylist(), dtype=np.str_), rows["success"].to_numpy()
    made = {name: rows[name].to_numpy().astype(np.float64) for name in MEASURED}
    return Trial(subject, attack, eps, ids, truth, clean, attacked, probabilities, success, made, winners)


def matrix(column: pa.ChunkedArray, dtype: Any) -> npt.NDArray[Any]:
    """A column of lists of one length as [n, k].

    >>> matrix(pa.chunked_array([[[0.5, 0.5], [1.0, 0.0]]]), np.float64).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    values: npt.NDArray[Any] = pc.list_flatten(column).to_numpy().astype(dtype)
    return values.reshape(len(column), -1) if len(column) else values.reshape(0, 0)


WORST = "worst-case"


def worst_called(norm: str) -> str:
    """What findings call the worst case over the attacks of one norm.

    >>> worst_called("linf"), worst_called("l2")
    ('worst-case', 'worst-case-l2')
    """
    return WORST if norm == "linf" else f"{WORST}-{norm}"


def on_grid(records: pa.Table, *, grid: Sequence[float], known: Sequence[int] = ()) -> pa.Table:
    """The records of one attack at every ε of a grid: where it did not run, its best at a smaller ε.

    An image within a smaller ε is within this one too. So no attack looks better at a larger ε, and tables of attacks
    with different grids have the same rows. `known` as in `worst_of`.
    """
    filled = []
    for rows in groupby("id", records.to_pylist()).values():
        at = {row["eps"]: row for row in rows}
        best = at[min(at)]
        for eps in grid:
            if eps in at and _harm(at[eps], known) >= _harm(best, known):
                best = at[eps]
            filled.append(best | {"eps": eps})
    return pa.Table.from_pylist(filled, schema=Attacked.schema)


def worst_of(*tables: pa.Table, known: Sequence[int] = ()) -> pa.Table:
    """Per row the record of the attack that did most, called `worst-case`, with the name of that attack as winner.

    The one that leaves a wrong answer wins (with several labels, the most wrong ones), so that no attack alone leaves
    a lower accuracy; then one that reached its goal; among several, the one that leaves the truth the smallest
    probability; and the first of equals. The worst case is a success where any of the attacks was one.

    `known` are the samples, over all partitions, of which each label is known: the accuracy of several labels is the
    mean over the labels, so a label that few samples have weighs more in each of them.
    """
    rows = []
    for records in zip(*(table.to_pylist() for table in tables), strict=True):
        winner = max(records, key=lambda record: _harm(record, known))
        queries, success = sum(record["queries"] for record in records), any(record["success"] for record in records)
        rows.append(winner | {"attack": WORST, "winner": winner["attack"], "queries": queries, "success": success})
    return pa.Table.from_pylist(rows, schema=Attacked.schema)


def _harm(record: dict[str, Any], known: Sequence[int]) -> tuple[float, bool, float]:
    """How bad a record is for the subject: what is wrong, whether the goal is reached, how unlikely the truth is."""
    attacked = record["attacked_probabilities"]
    if record["labels"] is None:
        truth = record["clean"] if record["gold"] is None else record["gold"]
        return float(record["attacked"] != truth), record["success"], -attacked[truth]
    predicted = [int(p >= THRESHOLD) for p in record["clean_probabilities"]]
    truths = record["labels"] if any(label >= 0 for label in record["labels"]) else predicted
    weights = [1 / (known[at] or 1) if known else 1.0 for at in range(len(truths))]
    wrong = [
        w for w, p, label in zip(weights, attacked, truths, strict=True) if label >= 0 and (p >= THRESHOLD) != label
    ]
    lost = [w * abs(p - label) for w, p, label in zip(weights, attacked, truths, strict=True) if label >= 0]
    return math.fsum(wrong), record["success"], math.fsum(lost)


def attack_findings(
    trial: Trial, classes: Sequence[str], split: str = "", target: int | None = None, groups: Groups = None
) -> list[Finding]:
    """Everything measured about one attack at one ε: `attack.accuracy`, `.auc`, `.fooling_rate`, `.recall` and so on.

    Accuracy and recall count an image that is right before the attack and after it; AUC and fooling rate are of all
    attacked images, so the latter counts every sample whose prediction changes, also one that was wrong before. What
    the probabilities are worth (`.class_auc`, `.ece`, `.brier`, `.aurc`) is of all attacked images as well; of clean
    ones the subject's own findings say it. The success rate is of the images that were right before, as that of texts
    is (with several labels, where no image is simply right, it is the share of all images of which more labels are
    wrong than before). The distances and steps are means over the samples. `split` names a split that is not the
    audited one; `target` is the class that the attack aims at, whose own samples have no part in the success rate;
    `groups` are of its samples.
    """
    about = About("attack", trial.attack, ", ".join(filter(None, (trial.group, split))), trial.subject)
    findings = prediction_findings(
        about, trial.attacked, trial.probabilities, trial.truth, classes, robust=trial.robust, groups=groups
    )
    findings += [
        about.finding("fooling_rate", fooling_rate(trial.clean, trial.attacked, groups)),
        about.finding("success_rate", proportion(trial.success, _attackable(trial, target), groups=groups)),
    ]
    counted = {"distance": "changed_pixels"} if trial.norm in COUNTED else {}
    for column, values in sorted(trial.measured.items()):
        name = counted.get(column, column)
        unit = metric_named(metrics_of("attack"), f"attack.{name}").unit
        findings.append(about.finding(name, mean_of(values, groups), unit=unit))
    if trial.eps > 0 and not split:
        findings += class_areas(about, trial.probabilities, trial.truth, classes, groups)
        findings += chance_findings(about, trial.probabilities, trial.truth, groups)
    won = np.array([], np.str_) if trial.winner is None else trial.winner[trial.success & (trial.winner != "")]
    return findings + [about.finding("winner", proportion(won == name), part=str(name)) for name in np.unique(won)]


def mean_of(values: npt.NDArray[np.float64], groups: Groups = None) -> Proportion:
    """A mean with its 95 % interval by Student's t, over as many groups as count where samples stand in some; of one
    sample or group, which shows no spread, without one.

    >>> mean_of(np.array([1.0, 1.0, 1.0])).high
    1.0
    >>> [round(mean_of(np.array([1.0, 1.0, 3.0, 3.0]), of).high, 1) for of in (None, np.array([0, 0, 1, 1]))]
    [3.8, 14.7]
    """
    n = len(values)
    if not n:
        return Proportion(None, None, None, n)
    mean = float(values.mean())
    half = half_width(values - mean, groups)
    return Proportion(mean, None, None, n) if math.isnan(half) else Proportion(mean, mean - half, mean + half, n)


def _attackable(trial: Trial, target: int | None) -> npt.NDArray[np.bool_]:
    """The samples that an attack can succeed on: right before it, and not yet what a targeted one wants of them.

    Where nobody knows the truth, what was said is taken for it. With several labels all samples can be made worse.
    """
    truth = np.where(trial.truth >= 0, trial.truth, trial.clean)
    if truth.ndim == 1:
        return np.asarray((truth == trial.clean) & (True if target is None else truth != target))
    if target is None:
        return np.ones(len(truth), np.bool_)
    return np.asarray((truth != (np.arange(truth.shape[1]) == target)).any(axis=1))
