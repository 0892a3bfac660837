"""Many tests in one run: p-values corrected for their number, and verdicts that do not survive it marked as such.

A finding whose unit is `p` is a test of the run. What is tested only to be compared with it (`COMPARED`: the orders
beside the one that is handed out) is a family of its own, so that it costs the run's tests nothing, and so are pairs of
measures that are held against each other (`RELATED`). A test that keeps a level of its own (`OWN_LEVEL`: looks at a
test set, over the nights) has been corrected where it was made. A p-value beside another number (the paper's t-test
beside its ρ) describes that number and takes no part in any correction.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from assay.tasks.statistics.findings import Finding

Correction = Literal["holm", "none"]
CONCLUDED, COMPARED, RELATED, OWN_LEVEL = "p", "p, compared", "p, related", "p, own level"


def not_shown(significance: float) -> str:
    """The verdict of a test that shows nothing, with what it would have needed: never that there is no difference."""
    return f"not shown: p ≤ {significance:g} needed"


def family_size(findings: Sequence[Finding]) -> int:
    """How many of the findings are tests: the size of the family that is corrected together."""
    return sum(is_test(finding) for finding in findings)


def adjusted(p_values: Sequence[float], correction: Correction = "holm") -> list[float]:
    """Holm's step-down p-values of a family, in the given order; unchanged under `none`.

    >>> [round(p, 3) for p in adjusted([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    from statsmodels.stats.multitest import multipletests

    if not p_values or correction == "none":
        return [float(p) for p in p_values]
    gc.freeze()  # multipletests collects garbage, which takes most of a second where much is in memory
    try:
        return [float(p) for p in multipletests(p_values, method=correction)[1]]
    finally:
        gc.unfreeze()


def corrected(findings: Sequence[Finding], significance: float, correction: Correction = "holm") -> list[Finding]:
    """The findings with `p_adjusted` filled in for every test, and within the families beside them.

    A verdict that rested on p ≤ `significance` and loses it to the correction is not shown. Under `none` nothing is
    filled in, so that no page calls a plain p corrected.

    >>> both = [Finding("a.b", p_value=0.009, verdict="adverse", unit="p"), Finding("c.d", p_value=0.5, unit="p")]
    >>> corrected(both, 0.01)[0].verdict
    'not shown: p ≤ 0.01 needed'
    """
    done = [replace(finding, p_adjusted=None) for finding in findings]
    for unit in (CONCLUDED, COMPARED, RELATED) if correction != "none" else ():
        places = [at for at, finding in enumerate(findings) if is_test(finding, unit)]
        fresh = adjusted([findings[at].p_value or 0.0 for at in places], correction)
        for at, p in zip(places, fresh, strict=True):
            done[at] = _adjusted_finding(findings[at], p, significance)
    return done


def is_test(finding: Finding, unit: str = CONCLUDED) -> bool:
    """Whether the run draws a conclusion from a finding's p-value; with another `unit`, whether it is such a test."""
    return finding.unit == unit and finding.p_value is not None and not math.isnan(finding.p_value)


def _adjusted_finding(finding: Finding, p_adjusted: float, significance: float) -> Finding:
    lost = finding.p_value is not None and finding.p_value <= significance < p_adjusted
    verdict = not_shown(significance) if lost and finding.verdict else finding.verdict
    return replace(finding, p_adjusted=p_adjusted, verdict=verdict)
