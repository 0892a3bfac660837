"""Probes of a model before anybody believes an attack on it: its logits, its gradients, its repeatability, ε = 1.

Per sample a row (`probe_samples`), from the rows the flags (`flags_of_probes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Probed
from assay.tasks.attacks.measures import matrix
from assay.tasks.attacks.pgd import PGD
from assay.tasks.attacks.red_flags import PROBES, Reading
from assay.tasks.attacks.running import run_attack
from assay.tasks.reporting.numerals import percent
from assay.tasks.statistics.classification import Truth, one_answer, proportion
from assay.tasks.subjects.images.model import ImageModel, said

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.attacks.batch import Batch, Draws

START = 4 / 255
"""How far from the image gradients are looked at a second time, as an attack with a random start would."""
REPAINT = PGD(eps=(1.0,), steps=40, random_start=False)
"""The attack that may change everything. From the image itself: a random start at ε = 1 is noise, which would fool a
model without any gradient."""
REPEATS = 3
_STILL = 1e-5  # how much a logit may differ between two calls, relative to its size: rounding of the same sums
_STAYING = 0.05  # the share of what was right that may withstand an attack which may change everything
_MANY = 0.05  # the share of samples without a gradient that raises the flag


def probe_samples(model: ImageModel, images: Tensor, truth: Tensor, draws: Draws) -> pa.Table:
    """One row per sample: what its logits look like, its largest gradients, how far repeated answers lie apart, and
    the probabilities before and after an attack with ε = 1."""
    import torch

    from assay.tasks.attacks.batch import ask, pose

    batch = pose(PGD(), model, images.to(model.device), truth, START, draws)
    answers = torch.stack([ask(model, batch.images) for _ in range(REPEATS)])
    logits, spread = answers[0], (answers.amax(dim=0) - answers.amin(dim=0)) / (1 + answers[0].abs())
    repainted = run_attack(REPAINT, model, images, truth, 1.0, draws)
    before, after = (
        answer if model.softmaxed else answer.sigmoid() if model.multilabel else answer.softmax(dim=1)
        for answer in (logits.double(), ask(model, repainted.images.to(model.device)).double())
    )
    numbers = {
        "smallest_logit": logits.amin(dim=1),
        "largest_logit": logits.amax(dim=1),
        "sum_of_logits": logits.double().sum(dim=1),
        "gradient": _largest_slope(batch, batch.images),
        "gradient_nearby": _largest_slope(batch, batch.start("probe")),
        "spread": spread.amax(dim=1),
    }
    columns = {
        "id": list(draws.ids),
        **{name: values.double().cpu().numpy() for name, values in numbers.items()},
        "clean": before.tolist(),
        "repainted": after.tolist(),
    }
    return pa.table(columns, schema=Probed.schema)


def flags_of_probes(rows: pa.Table, truth: Truth, *, softmaxed: bool = False) -> list[Reading]:
    """The four flags that probes raise; `truth` holds codes [n], or labels [n, k].

    `softmaxed` is what the subject's card says: it was asked about images of noise as well, when it was made. The
    probed images alone cannot tell a sigmoid from logits that happen to lie between 0 and 1.
    """
    columns = {name: rows[name].to_numpy() for name in rows.column_names if pa.types.is_floating(rows[name].type)}
    n = rows.num_rows
    if n == 0:
        return [Reading(name, False, 0, "there are no samples") for name in PROBES]
    clean, repainted = (matrix(rows[name], np.float64) for name in ("clean", "repainted"))
    ends = "a sigmoid's do" if truth.ndim == 2 else "a softmax's do, and they add up to 1"
    moved = int((columns["spread"] > _STILL).sum())
    again = f"{moved} of {n} images got other logits when asked {REPEATS} times" if moved else ""
    return [
        Reading("softmax-output", softmaxed, n, f"every output lies between 0 and 1, as {ends}" if softmaxed else ""),
        _zero_gradients(columns, n),
        Reading("randomised-output", moved > 0, n, again),
        _eps_one(clean, repainted, truth),
    ]


def _zero_gradients(columns: dict[str, npt.NDArray[np.float64]], n: int) -> Reading:
    for name, where in (("gradient", "at the image"), ("gradient_nearby", "next to the image")):
        flat = int((columns[name] == 0).sum())
        if flat / n >= _MANY:
            return Reading("zero-gradients", True, n, f"{flat} of {n} samples have none {where}")
    return Reading("zero-gradients", False, n)


def _eps_one(clean: npt.NDArray[np.float64], repainted: npt.NDArray[np.float64], truth: Truth) -> Reading:
    """Raised where more than 5 % (Wilson's lower end) of what was right stays right, unless the subject always answers
    alike: that, no attack can change. With several labels an image is right where all that are known of it are."""
    name, known, multilabel = "eps-1-above-chance", truth >= 0, truth.ndim == 2
    if not known.any():
        return Reading(name, False, 0, "no sample's class is known")
    before, after = (said(probabilities, multilabel) for probabilities in (clean, repainted))
    right, still = ((answers == truth) | ~known for answers in (before, after))
    if multilabel:
        right, still, known = map(np.asarray, (right.all(axis=1), still.all(axis=1), known.any(axis=1)))
    stays = proportion(still, known & right)
    if stays.value is None or stays.low is None:
        return Reading(name, False, 0, "no sample was right before")
    alone = one_answer(before, truth, clean.shape[1])
    if stays.low <= _STAYING or alone.verdict == "degenerate":
        return Reading(name, False, stays.n)
    why = f"{percent(stays.value, 0)} of the {stays.n} samples that were right stay right at ε = 1"
    return Reading(name, True, stays.n, why)


def _largest_slope(batch: Batch, images: Tensor) -> Tensor:
    gradient, _, _ = batch.slope(images)
    return gradient.abs().flatten(1).amax(dim=1)


def chosen(ids: Sequence[str], limit: int, generator: np.random.Generator) -> list[str]:
    """At most so many of the ids, in their order: the samples that are probed."""
    if len(ids) <= limit:
        return list(ids)
    return [ids[row] for row in sorted(generator.choice(len(ids), limit, replace=False))]
