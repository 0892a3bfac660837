"""The test by shifted windows: what an image model says when the window that it sees moves in the margin, a row
per sample and generator, and the tests of independence from these rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.images import Pixels, pixels_of
from assay.data.schemas import ShiftedWindows
from assay.infra.errors import InputError, RunError
from assay.tasks.overfitting import independence
from assay.tasks.overfitting.settings import Bound, Generator
from assay.tasks.overfitting.translations import Lattice, Look, Shifted, Whole, offsets_by_distance, shift, span
from assay.tasks.statistics.clusters import mean_within
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share
from assay.tasks.subjects.holding_out import drawn
from assay.tasks.subjects.images.dataset import LABELS, LabelledImages, require_one_shape, stored_images, targets_of
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.resolved import ResolvedSubject

SMALLEST = 4  # the least `crop` of a subject


def require_margin(height: int, width: int, crop: int | None, eps: int, name: str) -> int:
    """The side of the window; raises where the subject sees whole images, or the margin is smaller than 3ε.

    Whole images could only be shifted by padding them, and padded images are none of those that the density counts.
    """
    if crop is None:
        raise InputError(
            f"The overfitting test shifts the window that a subject sees, and {name} sees whole images, which could "
            "only be shifted by padding them: give the subject a `crop`, smaller than its images by 6 × eps at least, "
            "and train it on such crops."
        )
    margin = min(height - crop, width - crop) // 2
    if margin < 3 * eps:
        needed, fits = crop + 6 * eps, max(0, margin // 3)
        smaller = [f"eps: {fits}"] if fits else []
        smaller += [f"a `crop` of at most {most}"] if (most := min(height, width) - 6 * eps) >= SMALLEST else []
        otherwise = f"use {', '.join(smaller)}, or let" if smaller else "let"
        raise InputError(
            f"Shifts of up to {eps} pixels need images of {needed}×{needed} pixels around the {crop}×{crop} that "
            f"{name} sees (3 × eps on each side), and these have {height}×{width}: {otherwise} the source "
            "keep a `margin`."
        )
    return crop


def window_look(model: ImageModel, pixels: Pixels, truth: npt.NDArray[np.int64], crop: int) -> Look:
    """What the model says of these images [n, c, h, w] at any shift, in blocks of its one size.

    Moving an image down moves the window up: the pixels that come into view are the image's own.
    """
    import torch

    height, width = pixels.shape[2:]
    top, left = (height - crop) // 2, (width - crop) // 2
    views = np.lib.stride_tricks.sliding_window_view(pixels, (crop, crop), axis=(2, 3))  # [n, c, y, x, crop, crop]

    def look(rows: Whole, down: Whole, right: Whole) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        logits = np.empty((len(rows), model.classes))
        with torch.inference_mode():
            for start in range(0, len(rows), model.block):
                some = np.minimum(np.arange(start, start + model.block), len(rows) - 1)
                windows = views[rows[some], :, top - down[some], left - right[some]]
                block = model.logits(torch.from_numpy(np.ascontiguousarray(windows)).to(model.device))
                logits[start : start + model.block] = block[: len(rows) - start].double().cpu().numpy()
        if not np.isfinite(logits).all():
            raise InputError(
                f"The subject {model.name} returned something that is no finite number for a shifted image."
            )
        return exceeding(logits, truth[rows])

    return look


def exceeding(
    logits: npt.NDArray[np.float64], truth: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """l_exc, by how much the highest logit of another class exceeds that of the true one, and who is wrong [n] each.

    Of equal logits the first class is said, as everywhere.

    >>> exceeding(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([0, 1]))[1].tolist()
    [False, True]
    """
    others = logits.copy()
    others[np.arange(len(truth)), truth] = -np.inf
    return others.max(axis=1) - logits[np.arange(len(truth)), truth], logits.argmax(axis=1) != truth


def shift_partition(
    samples: pa.Table,
    *,
    files: Mapping[str, bytes],
    subject: ResolvedSubject,
    classes: Sequence[str],
    eps: int,
    generators: Sequence[Generator],
) -> pa.Table:
    """The `ShiftedWindows` of a partition; samples of unknown class are left out."""
    from assay.tasks.subjects.images.model import load_image_model, require_pixels

    name = subject.settings.name
    if LABELS in samples.column_names:
        raise InputError(
            f"The overfitting test is about one class per image, and the images that {name} sees bear several labels: "
            "leave `overfitting.translations` out."
        )
    truth = targets_of(samples, classes)
    known = np.flatnonzero(truth >= 0)
    if len(known) == 0:
        return ShiftedWindows.schema.empty_table()
    samples, truth = samples.take(pa.array(known)), truth[known]
    _, height, width = require_one_shape(samples)
    crop = require_margin(height, width, subject.settings.crop, eps, name)
    pixels = pixels_of(samples)
    require_pixels(pixels, samples["id"].to_pylist())
    model = load_image_model(subject, files)
    lattice, shifted = shift(len(truth), eps, generators, window_look(model, pixels, truth, crop))
    return _table(samples["id"], truth.tolist(), lattice, shifted)


def learned_rows(samples: pa.Table, *, share: float) -> pa.Table:
    """The rows of a partition that train where a share is set aside by content, as the training sets it aside."""
    if share == 0 or samples.num_rows == 0:
        return samples
    lessons = LabelledImages(
        tuple(samples["id"].to_pylist()), stored_images(samples), np.zeros(samples.num_rows, np.int64)
    )
    return samples.take(pa.array(np.flatnonzero(~drawn(lessons.contents(), share, "validation"))))


def _table(ids: pa.ChunkedArray, gold: list[int], lattice: Lattice, shifted: Mapping[Generator, Shifted]) -> pa.Table:
    """The rows of all generators, those of a sample together: so no cut of the samples shows."""
    n, wrong_at = len(gold), lattice.near_wrong.reshape(len(gold), -1).tolist()
    tables = []
    for generator, moved in shifted.items():
        columns = {
            "id": ids.to_pylist(),
            "gold": gold,
            "generator": [generator] * n,
            "wrong": moved.wrong,
            "attackable": moved.attackable,
            "adversarial": moved.adversarial,
            "weighted": moved.weighted,
            "wrong_at": wrong_at,
            "looks": lattice.looks,
        }
        tables.append(pa.Table.from_pydict(columns, schema=ShiftedWindows.schema))
    order = np.arange(n * len(tables)).reshape(len(tables), n).T.ravel()
    return pa.concat_tables(tables).combine_chunks().take(pa.array(order))


_WAYS_OUT = {"fresh": "`fresh`", "training": "the training samples (`training: false`)"}


@dataclass(frozen=True)
class WindowShifts:
    """What shifting the windows of one set of samples did to one model."""

    ids: tuple[str, ...]
    gold: tuple[int, ...]
    wrong: npt.NDArray[np.bool_]  # [n]
    attackable: npt.NDArray[np.bool_]  # [n]
    wrong_at: npt.NDArray[np.bool_]  # [n, (2ε + 1)²]
    looks: npt.NDArray[np.int64]  # [n]
    adversarial: Mapping[Generator, independence.Values]  # [n] each
    weighted: Mapping[Generator, independence.Values]  # [n] each

    def differences(self, generator: Generator) -> independence.Values:
        """T_i = L(f, g(X_i)) h(g(X_i)) − L(f, X_i) [n]."""
        return self.weighted[generator] - self.wrong

    @property
    def eps(self) -> int:
        """How far windows were shifted."""
        return (isqrt(self.wrong_at.shape[1]) - 1) // 2


def require_known(known: int, role: str) -> None:
    """Nothing, or that no sample of a set has a class that an answer could be held against."""
    if not known:
        raise InputError(
            f"Not one of the {role} samples has a known class, so there is nothing to test on them: look at "
            f"`source.label`, or leave {_WAYS_OUT.get(role, '`overfitting.translations`')} out."
        )


def window_shifts_from(table: pa.Table, generators: Sequence[Generator], role: str = "test") -> WindowShifts:
    """What a table of `ShiftedWindows` says of a set of samples, by id: whatever the order in which they came."""
    require_known(table.num_rows, role)
    table = table.sort_by("id")
    parts = {generator: table.filter(pc.equal(table["generator"], generator)) for generator in generators}
    first = parts[generators[0]]
    return WindowShifts(
        tuple(first["id"].to_pylist()),
        tuple(first["gold"].to_pylist()),
        first["wrong"].to_numpy(),
        first["attackable"].to_numpy(),
        np.array(first["wrong_at"].to_pylist(), bool).reshape(first.num_rows, -1),
        first["looks"].to_numpy().astype(np.int64),
        {generator: part["adversarial"].to_numpy() for generator, part in parts.items()},
        {generator: part["weighted"].to_numpy() for generator, part in parts.items()},
    )


def window_records(
    sets: Mapping[str, Sequence[WindowShifts]], name: str, generators: Sequence[Generator], bound: Bound, alpha: float
) -> list[independence.Record]:
    """One test per generator and set of samples, over all models that were tested on it (section 3.3)."""
    return [
        _record(looked, name, generator, cast(independence.Role, role), bound, alpha)
        for role, looked in sets.items()
        for generator in generators
    ]


def _record(
    looked: Sequence[WindowShifts], name: str, generator: Generator, role: independence.Role, bound: Bound, alpha: float
) -> independence.Record:
    first = looked[0]
    if any(model.ids != first.ids for model in looked):
        raise RunError(f"The models of {name} were not tested on the same samples; run again with --fresh.")
    values = np.stack([model.differences(generator) for model in looked])  # [N, n]
    errors = np.mean([model.wrong for model in looked], axis=0)
    weighted = np.mean([model.weighted[generator] for model in looked], axis=0)
    originals = np.concatenate([model.weighted[generator][model.wrong] for model in looked])
    fooled = [model.adversarial[generator][model.attackable].sum() for model in looked]
    shared = [model.weighted[generator][model.attackable].sum() for model in looked]
    return independence.Record(
        name,
        generator,
        independence.n_model_test(values, span(generator), bound, alpha),
        error=float(errors.mean()),
        estimate=float(weighted.mean()),
        test_set=independence.samples_fingerprint(first.ids, first.gold),
        model=independence.fingerprint(values.mean(axis=0)),
        role=role,
        models=len(looked),
        bound=bound,
        adversarial_error=float(np.mean([model.adversarial[generator] for model in looked])),
        h_original=independence.mean_or_none(originals),
        h_adversarial=float(sum(shared) / sum(fooled)) if sum(fooled) else None,
        moved=round(float(np.mean([model.attackable.sum() for model in looked]))),
        basic_p=independence.basic_p(errors, weighted),
    )


def window_findings(
    every: Mapping[str, Sequence[WindowShifts]], name: str, generators: Sequence[Generator], bound: Bound, alpha: float
) -> list[Finding]:
    """What is beside the tests: the error by offset, how many can be attacked, what it cost, and each seed's own p.

    `overfitting.error_by_offset` (of: the set of samples; group: `offset=1`, how far at most), `overfitting.attackable`
    and `overfitting.passes` per image (of: the set), `overfitting.density` (of: the generator; group: `original`,
    `adversarial`), `overfitting.seed_p_value`, `overfitting.seed_gap` and `overfitting.seed_error` (group: `seed=1`).
    """
    tested, sets = every["test"], {role: models[0] for role, models in every.items()}
    findings = [finding for role, looked in sets.items() for finding in _by_offset(looked, role, name)]
    for role, looked in sets.items():
        passes, whole = looked.looks.astype(float), (6 * looked.eps + 1) ** 2
        of_whole = f"of {whole} on the whole lattice"
        n, lost = len(looked.ids), int(looked.attackable.sum())
        findings.append(share("overfitting.attackable", lost, n, of=role, subject=name))
        about = Finding("overfitting.passes", role, "", name, verdict=of_whole, unit="passes per image")
        findings.append(_mean(about, passes, whole))
    findings += [finding for generator in generators for finding in _densities(tested, generator, name)]
    if len(tested) > 1:
        for number, model in enumerate(tested):
            findings += _seed(model, number, name, generators, bound, alpha)
    return findings


def _by_offset(looked: WindowShifts, role: str, name: str) -> Iterator[Finding]:
    n = len(looked.ids)
    yield share("overfitting.error_by_offset", int(looked.wrong.sum()), n, of=role, group="offset=0", subject=name)
    for distance, places in enumerate(offsets_by_distance(looked.eps)):
        if distance:
            errors = looked.wrong_at[:, places].mean(axis=1)
            about = Finding("overfitting.error_by_offset", role, f"offset={distance}", name, unit="share")
            yield _mean(about, errors)


def _densities(tested: Sequence[WindowShifts], generator: Generator, name: str) -> Iterator[Finding]:
    """The mean of h over samples that are wrong already, and over those that a chosen shift makes wrong.

    Under a random generator the latter is the mean of L(f, g) h(g) over that of L(f, g), all draws together.
    """
    originals = np.concatenate([model.weighted[generator][model.wrong] for model in tested])
    yield _mean(Finding("overfitting.density", generator, "original", name), originals)
    fooled = np.concatenate([model.adversarial[generator][model.attackable] for model in tested])
    shared = np.concatenate([model.weighted[generator][model.attackable] for model in tested])
    value = float(shared.sum() / fooled.sum()) if len(fooled) else None
    yield Finding("overfitting.density", generator, "adversarial", name, value=value, n=len(fooled))


def _seed(
    looked: WindowShifts, number: int, name: str, generators: Sequence[Generator], bound: Bound, alpha: float
) -> Iterator[Finding]:
    group, n = f"seed={number}", len(looked.ids)
    yield share("overfitting.seed_error", int(looked.wrong.sum()), n, of="test", group=group, subject=name)
    for generator in generators:
        tested = independence.n_model_test(looked.differences(generator)[None], span(generator), bound, alpha)
        yield Finding("overfitting.seed_p_value", generator, group, name, value=tested.p, n=n)
        yield Finding("overfitting.seed_gap", generator, group, name, value=tested.mean, n=n)


def _mean(about: Finding, values: independence.Values, most: float = 1.0) -> Finding:
    """The finding with a mean over samples of values from 0 to `most` and its interval, which takes a sample's shifts
    for the one thing that they are."""
    counted = replace(about, n=len(values))
    return counted.estimated(mean_within(values, most), verdict=about.verdict) if len(values) else counted
