"""Several repeats of the oracle, each with draws of its own, as one set of findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.tasks.statistics.findings import Finding
from assay.tasks.trust.metrics import SPREAD


def averaged(repeats: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Every finding with the mean of its values over the repeats, followed by their standard deviation.

    The ends of the interval are means as well: they say what the samples leave open, the standard deviation (as
    `…_spread`, its n the repeats) says what the draws do. A finding that some repeat could not measure is averaged over
    the others. No p-value is averaged.

    >>> findings = averaged([[Finding("trust.g_mean", value=0.5)], [Finding("trust.g_mean", value=0.7)]])
    >>> [(one.metric, round(one.value, 3), one.n) for one in findings]
    [('trust.g_mean', 0.6, None), ('trust.g_mean_spread', 0.141, 2)]
    """
    together: dict[tuple[str, str, str, str], list[Finding]] = {}
    for findings in repeats:
        for finding in findings:
            together.setdefault((finding.metric, finding.of, finding.group, finding.subject), []).append(finding)
    return [mean for same in together.values() for mean in _average(same)]


def _average(same: Sequence[Finding]) -> list[Finding]:
    measured = [one for one in same if one.value is not None]
    if not measured:
        return [same[0]]
    values = [one.value for one in measured if one.value is not None]
    counts = [one.n for one in measured if one.n is not None]
    mean = replace(
        measured[0],
        value=float(np.mean(values)),
        low=_mean([one.low for one in measured]),
        high=_mean([one.high for one in measured]),
        n=round(float(np.mean(counts))) if counts else None,
        p_value=None,
    )
    if len(values) < 2:
        return [mean]
    spread = replace(
        mean,
        metric=mean.metric + SPREAD,
        value=float(np.std(values, ddof=1)),
        low=None,
        high=None,
        n=len(values),
        unit="",
    )
    return [mean, spread]


def _mean(ends: Sequence[float | None]) -> float | None:
    known = [end for end in ends if end is not None]
    return float(np.mean(known)) if known else None
