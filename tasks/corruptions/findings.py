"""What corruptions come to: flip probabilities, relative ones, and accuracy, per perturbation and severity."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import cast

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.corruptions.estimates import (
    Counts,
    Gram,
    Share,
    clustered_ratio,
    clustered_share,
    covariances,
    gram,
    likeness,
)
from assay.tasks.corruptions.kinds import strongest_frames
from assay.tasks.corruptions.settings import Corruptions
from assay.tasks.corruptions.table import CORRUPTIONS
from assay.tasks.statistics.extremes import joint_level
from assay.tasks.statistics.findings import Finding

MEAN, ALL, EVERY = "mean", "all", "every"
_COLUMNS = ("flips", "comparisons", "correct", "judged")
_WORST: Mapping[str, tuple[str, Callable[..., tuple[str, str]]]] = {
    "right": ("worst_accuracy", min),
    "flips": ("worst_flip_probability", max),
}
_OWN, _REFERENCE = (1, 2), (3, 4)  # the places of hits and trials in a Gram matrix, after the 1


def severity_group(severity: int) -> str:
    """The group of findings at one severity.

    >>> severity_group(3)
    'severity=3'
    """
    return f"severity={severity}"


def sum_flips(flips: pa.Table, *, reference: str, settings: Corruptions) -> dict[str, object]:
    """The Gram matrices of every subject, perturbation and severity in a partition, and of their means.

    Beside each sample's flips stand those of the reference, so that ratios know how the two go together.
    """
    if flips.num_rows == 0:
        return {}
    cube, subjects, perturbations, severities = _cube(flips)
    # Perturbations have 1, 2 or n - 1 frames at full strength; weighed, each counts the same in the mean accuracy.
    frames, kinds = settings.frames, [CORRUPTIONS.named(one, settings).kind for one in perturbations]
    weights = np.array([(frames - 1) // len(strongest_frames(kind, frames)) for kind in kinds])
    cube[..., 2:] *= weights[None, None, :, None, None]
    beside = cube[:, _place(reference, subjects), ..., :2]
    every, levels = [[at] for at in range(len(perturbations))], [[at] for at in range(len(severities))]
    of = [*zip(perturbations, every, strict=True), (MEAN, list(range(len(perturbations))))]
    groups = [*zip(map(severity_group, severities), levels, strict=True), (ALL, list(range(len(severities))))]
    sums: dict[str, object] = {}
    for at, subject in enumerate(subjects):
        counts = np.concatenate([cube[:, at], beside], axis=-1)  # [samples, perturbations, severities, 6]
        for (perturbation, places), (group, grades) in product(of, groups):
            cell = counts[:, places][:, :, grades].sum(axis=(1, 2))
            sums[_key(subject, perturbation, group, "flips")] = gram(cell[:, [0, 1, 4, 5]])
            sums[_key(subject, perturbation, group, "right")] = gram(cell[cell[:, 3] > 0][:, [2, 3]])
        for counted, columns in (("flips", [0, 1]), ("right", [2, 3])):
            sums[_key(subject, EVERY, ALL, counted)] = gram(cube[:, at][..., columns].reshape(len(cube), -1))
    return sums


def corruption_findings(sums: Mapping[str, Gram], reference: str) -> list[Finding]:
    """Flip probability, accuracy and (but for the reference itself) relative flip probability of each cell.

    `of` is a perturbation or `mean`, `group` a severity or `all`. Beside them the worst cell of each subject, whose
    interval allows for its having been named after looking, and whose verdict says which it is.
    """
    findings = []
    for key, matrix in sums.items():
        subject, of, group, counted = json.loads(key)
        if of == EVERY:
            findings += _worst(sums, subject, counted, joint_level(covariances(matrix)))
            continue
        tell = _teller(subject, of, group)
        own = _likeness(sums, subject, of, counted)
        share = clustered_share(matrix, *_OWN, own)
        if counted == "right":
            findings.append(tell("corruption.accuracy", share, "share"))
            continue
        findings.append(tell("corruption.flip_probability", share, "share"))
        if subject != reference:
            alike = (own, _likeness(sums, reference, of, counted))
            relative = clustered_ratio(matrix, _OWN, _REFERENCE, alike)
            # Among the many cells some intervals leave 1 out by chance; the overall mean is one question, asked before.
            said = _against(relative) if (of, group) == (MEAN, ALL) else ""
            findings.append(tell("corruption.relative_flip_probability", relative, "ratio", said))
    return findings


def _worst(sums: Mapping[str, Gram], subject: str, counted: str, level: float) -> list[Finding]:
    """`corruption.worst_accuracy`, or `corruption.worst_flip_probability`: of one perturbation at one severity."""
    cells = [one for key in sums if (one := json.loads(key))[0] == subject and one[3] == counted]
    single = [(of, group) for _, of, group, _ in cells if of not in (MEAN, EVERY) and group != ALL]
    shares = {
        (of, group): share
        for of, group in single
        if (share := clustered_share(sums[_key(subject, of, group, counted)], *_OWN, level=level)) is not None
    }
    name, pick = _WORST[counted]
    if not shares:
        return [Finding(f"corruption.{name}", subject=subject, n=0, verdict="not measured", unit="share")]
    of, group = pick(shares, key=lambda cell: shares[cell].value)
    own = _likeness(sums, subject, of, counted)
    share = clustered_share(sums[_key(subject, of, group, counted)], *_OWN, own, level)
    return [_teller(subject, "", "")(f"corruption.{name}", share, "share", f"{of}, {group}")]


def _likeness(sums: Mapping[str, Gram], subject: str, of: str, counted: str) -> float | None:
    """How far one image's frames go together: over all severities of a perturbation, or over all there is."""
    wider = (sums[_key(subject, name, ALL, counted)] for name in (of, MEAN))
    return next((found for one in wider if (found := likeness(one, *_OWN)) is not None), None)


def _teller(subject: str, of: str, group: str) -> Callable[..., Finding]:
    def tell(metric: str, share: Share | None, unit: str, verdict: str = "") -> Finding:
        if share is None:
            return Finding(metric, of, group, subject, n=0, verdict="not measured", unit=unit)
        return Finding(
            metric, of, group, subject, share.value, share.low, share.high, share.samples, verdict=verdict, unit=unit
        )

    return tell


def _against(relative: Share | None) -> str:
    if relative is None or relative.low <= 1 <= relative.high:
        return ""
    return "flips more" if relative.low > 1 else "flips less"


def _cube(flips: pa.Table) -> tuple[Counts, list[str], list[str], list[int]]:
    """The counts as [samples, subjects, perturbations, severities, 4], and the names along its sides."""
    names, codes = [], []
    for column in ("id", "subject", "perturbation", "severity"):
        encoded = flips[column].combine_chunks().dictionary_encode()
        names.append(encoded.dictionary.to_pylist())
        codes.append(encoded.indices.to_numpy())
    cube = np.zeros((*map(len, names), len(_COLUMNS)), np.int64)
    cube[tuple(codes)] = np.column_stack([flips[column].to_numpy() for column in _COLUMNS])
    return cube, cast(list[str], names[1]), cast(list[str], names[2]), cast(list[int], names[3])


def _place(reference: str, subjects: Sequence[str]) -> int:
    if reference not in subjects:
        raise InputError(
            f"`corruptions.reference` is {reference!r}, but those corrupted are {', '.join(subjects)}: "
            "name one of them."
        )
    return subjects.index(reference)


def _key(subject: str, of: str, group: str, counted: str) -> str:
    return json.dumps([subject, of, group, counted], ensure_ascii=False)
