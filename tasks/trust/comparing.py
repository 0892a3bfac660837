"""Two trust oracles on the same predictions: how much better one is, with paired intervals, whatever the sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.paired import compared_shares
from assay.tasks.trust.measures import RESAMPLES, g_mean

DECIDED = ("trustworthy", "untrustworthy")


def difference_findings(
    ours: Sequence[str],
    theirs: Sequence[str],
    truths: Sequence[str | None],
    *,
    of: str,
    group: str,
    subject: str,
    generator: np.random.Generator,
    groups: Groups = None,
) -> list[Finding]:
    """First − second in accuracy (with McNemar's exact p) and in G-mean, over the predictions that both decide.

    The interval of accuracy is Newcombe's paired one, that of G-mean of resampled predictions, the two labels of one
    kept together (95 %); where those are all alike, they know nothing of how far off it may be, and there is none.
    """
    places = [
        at
        for at, (a, b, truth) in enumerate(zip(ours, theirs, truths, strict=True))
        if truth is not None and a in DECIDED and b in DECIDED
    ]
    known = [(ours[at] == truths[at], theirs[at] == truths[at], truths[at] == "trustworthy") for at in places]
    together = None if groups is None else groups[places]
    names = "trust.accuracy_difference", "trust.g_mean_difference"
    if not known:
        return [Finding(name, of=of, group=group, subject=subject, n=0, verdict="not measured") for name in names]
    first, second, positive = np.array(known, dtype=np.bool_).T
    accuracy, p = compared_shares(first, second, together)
    findings = [
        Finding(
            names[0],
            of=of,
            group=group,
            subject=subject,
            value=accuracy.value,
            low=accuracy.low,
            high=accuracy.high,
            n=accuracy.n,
            p_value=p,
        )
    ]
    value, low, high = g_mean_difference(first, second, positive, generator, together)
    if np.isnan(value):
        return [*findings, Finding(names[1], of=of, group=group, subject=subject, n=len(known), verdict="not measured")]
    g_mean = Finding(names[1], of=of, group=group, subject=subject, value=value, n=len(known))
    return [*findings, replace(g_mean, low=low, high=high) if low < high else g_mean]


def g_mean_difference(
    first: npt.NDArray[np.bool_],
    second: npt.NDArray[np.bool_],
    positive: npt.NDArray[np.bool_],
    generator: np.random.Generator,
    groups: Groups = None,
) -> tuple[float, float, float]:
    """G-mean of the first less that of the second, from who is right about what, with its interval (by group).

    NaN where all predictions, or none, are trustworthy.

    >>> right, wrong = np.array([True, True]), np.array([False, True])
    >>> g_mean_difference(right, wrong, np.array([True, False]), np.random.default_rng(0))[0]
    1.0
    """
    n = len(first)
    kinds = first * 4 + second * 2 + positive
    cells = np.bincount(kinds, minlength=8)
    if groups is None:
        drawn = generator.multinomial(n, cells / n, size=RESAMPLES)
    else:
        codes = codes_of(groups)
        sums = np.bincount(codes * 8 + kinds, minlength=8 * (int(codes.max()) + 1)).reshape(-1, 8)
        drawn = generator.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=RESAMPLES) @ sums
    with_value = np.concatenate([cells[None], drawn])
    spread = g_mean(_counts(with_value, first=True)) - g_mean(_counts(with_value, first=False))
    low, high = (np.nan, np.nan) if np.isnan(spread).all() else np.nanquantile(spread[1:], [0.025, 0.975])
    return float(spread[0]), float(low), float(high)


def _counts(cells: npt.NDArray[np.int64], first: bool) -> npt.NDArray[np.float64]:
    """tp, fp, fn, tn [..., 4] of one of the two, from the counts of who is right about what [..., 8]."""
    right = np.array([bool(code & (4 if first else 2)) for code in range(8)])
    positive = np.array([bool(code & 1) for code in range(8)])
    kinds = right & positive, ~right & ~positive, ~right & positive, right & ~positive
    return np.stack([cells[..., kind].sum(axis=-1) for kind in kinds], axis=-1).astype(np.float64)
