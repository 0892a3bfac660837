"""What smoothing shows in the report: how many samples are right for certain, over the radius of certainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from assay.tasks.attacks.page import AttackFindings, eps_text
from assay.tasks.reporting.estimates import NAMED, share_text
from assay.tasks.reporting.numerals import integer, percent
from assay.tasks.reporting.parts import LinePlot, Part, Series
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.multiplicity import adjusted
from assay.tasks.statistics.paired import mcnemar
from assay.tasks.statistics.proportions import wilson

_METRIC = "defense.certified_accuracy"
_WRITTEN = {"as-it-is": "as it is", "under-noise": "trained under noise"}
_PLACES = 60
_LEVEL = 0.05


def page(findings: FindingIndex, certified: Mapping[tuple[str, str], pa.Table], alpha: float) -> Part:
    """The part of the report about certificates; `certified` are the tables by subject and way of training.

    `alpha` is how likely each certificate may be wrong.
    """
    blocks = [plot for plot in (_curve(certified),) if plot is not None]
    sentence = _sentence(findings.select(_METRIC), certified, alpha, AttackFindings(findings, "l2"))
    return Part("Certified robustness", sentence, blocks, "certified")


def _sentence(
    shares: Sequence[Finding], certified: Mapping[tuple[str, str], pa.Table], alpha: float, attacks: AttackFindings
) -> str:
    """What the most robust model is certain of at the largest radius where anything is certain; with it are named
    those that no paired test tells apart from it."""
    certain = [share for share in shares if share.value]
    if not certain:
        return "Nothing could be certified: no audited sample with a known class is right for certain."
    radius = max(_radius(share) for share in certain)
    at = sorted((share for share in certain if _radius(share) == radius), key=lambda share: -(share.value or 0.0))
    p = adjusted([_paired_p(at[0], other, certified, radius) for other in at[1:]])
    near = [at[0], *(other for other, corrected in zip(at[1:], p, strict=True) if corrected > _LEVEL)]
    right = [
        f"{share.subject} ({_WRITTEN.get(share.of, share.of)}) is right on {share_text(share)}"
        for share in near[:NAMED]
    ]
    alike = "; no paired test tells them apart" if len(near) > 1 else ""
    more = f" (as do {len(near) - NAMED} more)" if len(near) > NAMED else ""
    return (
        f"Smoothed, {', '.join(right)} (n = {integer(at[0].n)}){more}, and stays so under any perturbation of L2 norm "
        f"up to {radius:g}, whatever the attack{alike}. Each image's certificate is wrong with probability "
        f"{alpha:g} at most.{_attacked_beside(attacks)}"
    )


def _attacked_beside(attacks: AttackFindings) -> str:
    """What attacks in L2 leave of the networks themselves, at the ε that tells most."""
    lowest = list(attacks.at_common().values())[:NAMED]
    left = ", ".join(f"{one.subject} right on {share_text(one)} at ε = {eps_text(one.group)}" for one in lowest)
    return f" Without the noise no certificate holds, and attacks leave {left}." if left else ""


def _paired_p(best: Finding, other: Finding, certified: Mapping[tuple[str, str], pa.Table], radius: float) -> float:
    """McNemar's p of two models on the images that both were asked about; 1 where there are none."""

    def right(finding: Finding) -> dict[str, bool]:
        table = certified.get((finding.subject, finding.of))
        known = [] if table is None else [row for row in table.to_pylist() if row["gold"] is not None]
        return {row["id"]: row["predicted"] == row["gold"] and row["radius"] >= radius for row in known}

    first, second = right(best), right(other)
    both = sorted(first.keys() & second.keys())
    return mcnemar([first[sample] for sample in both], [second[sample] for sample in both]) if both else 1.0


def _curve(certified: Mapping[tuple[str, str], pa.Table]) -> LinePlot | None:
    """The certified accuracy over all radii."""
    reach = max((max(table["radius"].to_pylist(), default=0.0) for table in certified.values()), default=0.0)
    if reach <= 0:
        return None
    places = np.linspace(0.0, reach, _PLACES)
    series = []
    for (subject, how), table in certified.items():
        rows = [row for row in table.to_pylist() if row["gold"] is not None]
        radii = np.array([row["radius"] if row["predicted"] == row["gold"] else -1.0 for row in rows])
        hits = (radii[:, None] >= places).sum(axis=0)
        low, high = wilson(hits, np.full(len(places), len(rows)))
        share = hits / max(1, len(rows))
        name = f"{subject}, {_WRITTEN.get(how, how)}"
        series.append(Series(name, places.tolist(), share.tolist(), low.tolist(), high.tolist(), "steps"))
    ends = "; ".join(f"{line.name} starts at {percent(line.y[0])}" for line in series)
    note = (
        "Bands are 95 % intervals (Wilson). Each certificate is wrong with probability α at most; see the settings. "
        "The curve ends at the largest radius that so many draws can show: more of them, or more noise, reach further."
    )
    title, along, up = "Certified accuracy", "L2 radius, over all pixel values of an image", "Right for certain"
    alt = f"{title} falling with the radius up to {reach:.2f}: {ends}."
    return LinePlot(title, series, along, up, alt, (0.0, 1.0), note=note, scale="percent")


def _radius(share: Finding) -> float:
    return share.slice.radius or 0.0
