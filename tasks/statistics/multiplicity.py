"""Many tests in one run: what a run concludes first, families of tests that are each corrected for their number, and
verdicts that do not survive it marked as such.

Side tests must not cost the main claim: ten kinds of noise moved the p of an order from .013 to .294. So a pipeline's
primary claims (`PRIMARY`), fixed by its settings, are tested one after the other, each at the whole level, until one is
not shown (Maurer, Hothorn and Lehmacher 1995). What the sequence does not reach, and every other finding whose unit is
`p`, is corrected together by Holm's method, in a family in which all of them are counted. What is tested only to be
compared (`COMPARED`: the orders beside the one that is handed out) is a family of its own, and so are pairs of measures
that are held against each other (`RELATED`). A test that keeps a level of its own (`OWN_LEVEL`: looks at a test set,
over the nights) has been corrected where it was made. Each family keeps the chance of even one false alarm in it at the
level; over several families that chance is larger. A p-value beside another number (the paper's t-test beside its ρ)
describes that number and takes no part in any correction.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.settings import Claim

Correction = Literal["holm", "none"]
PRIMARY, CONCLUDED, COMPARED, RELATED, OWN_LEVEL = "p, primary", "p", "p, compared", "p, related", "p, own level"


def not_shown(significance: float) -> str:
    """The verdict of a test that shows nothing, with what it would have needed: never that there is no difference."""
    return f"not shown: p ≤ {significance:g} needed"


def level_needed(verdict: str) -> str:
    """The level that a test which shows nothing needed, from its verdict; empty for any other verdict.

    >>> level_needed(not_shown(0.01)), level_needed("adverse")
    ('0.01', '')
    """
    return verdict.partition("not shown: p ≤ ")[2].removesuffix(" needed")


def verdict_in_words(test: Finding) -> str:
    """A verdict with its p and, where nothing is shown, the level that it needed.

    >>> verdict_in_words(Finding("a.b", p_value=0.02, verdict=not_shown(0.01)))
    'not shown (p = 0.02, level 0.01)'
    >>> verdict_in_words(Finding("a.b", p_value=0.0001, verdict="adverse"))
    'adverse (p = 0.0001)'
    """
    stem, _, why = test.verdict.partition(": ")
    if test.p_value is None:
        return stem
    level = level_needed(test.verdict)
    because = f", level {level}" if level else f"; {why}" if why else ""
    return f"{stem} (p = {test.p_value:.2g}{because})"


def family_size(findings: Sequence[Finding]) -> int:
    """How many of the findings are tests that are counted together, the primary claims among them."""
    return sum(is_test(finding) or is_test(finding, PRIMARY) for finding in findings)


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down p-values of a family, in the given order.

    >>> [round(p, 3) for p in adjusted([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    if not p_values:
        return []
    from statsmodels.stats.multitest import multipletests

    gc.freeze()  # multipletests collects garbage, which takes most of a second where much is in memory
    try:
        return [float(p) for p in multipletests(p_values, method="holm")[1]]
    finally:
        gc.unfreeze()


def corrected(
    findings: Sequence[Finding], significance: float, correction: Correction = "holm", claims: Sequence[Claim] = ()
) -> list[Finding]:
    """The findings with the primary claims that the sequence shows marked so (`PRIMARY`), and with `p_adjusted` filled
    in for every other test, and within the families beside them.

    A verdict that rested on p ≤ `significance` and loses it to the correction is not shown. Under `none` nothing is
    filled in, so that no page calls a plain p corrected.

    >>> both = [Finding("a.b", p_value=0.009, verdict="adverse", unit="p"), Finding("c.d", p_value=0.5, unit="p")]
    >>> corrected(both, 0.01)[0].verdict
    'not shown: p ≤ 0.01 needed'
    >>> corrected(both, 0.01, claims=[Claim(finding="a.b", verdict="adverse")])[0].verdict
    'adverse'
    """
    done = [
        replace(finding, p_adjusted=None, unit=CONCLUDED if finding.unit == PRIMARY else finding.unit)
        for finding in findings
    ]
    shown = claimed(done, claims, significance)
    for unit in (CONCLUDED, COMPARED, RELATED) if correction != "none" else ():
        places = [at for at, finding in enumerate(done) if is_test(finding, unit)]
        fresh = adjusted([done[at].p_value or 0.0 for at in places])
        for at, p in zip(places, fresh, strict=True):
            lost = bool(done[at].verdict) and (done[at].p_value or 0.0) <= significance < p
            done[at] = replace(done[at], p_adjusted=p, verdict=not_shown(significance) if lost else done[at].verdict)
    for at in shown if correction != "none" else ():
        done[at] = replace(findings[at], unit=PRIMARY, p_adjusted=None)
    return [
        replace(finding, verdict=not_shown(significance))
        if is_test(finding) and finding.verdict in _DECIDED and (finding.concluded_p or 0.0) > significance
        else finding
        for finding in done
    ]


_DECIDED = ("better", "worse")
"""Verdicts that name a direction, whoever measured it without knowing the level."""


def claimed(findings: Sequence[Finding], claims: Sequence[Claim], significance: float) -> list[int]:
    """The places of the findings that show a claim, in the order of the claims, up to the first that shows none."""
    shown: list[int] = []
    for claim in claims:
        for at, finding in enumerate(findings):
            if is_test(finding) and claim.matches(finding):
                if finding.verdict != claim.verdict or (finding.p_value or 0.0) > significance:
                    return shown
                shown.append(at)
    return shown


def is_test(finding: Finding, unit: str = CONCLUDED) -> bool:
    """Whether the run draws a conclusion from a finding's p-value; with another `unit`, whether it is such a test."""
    return finding.unit == unit and finding.p_value is not None and not math.isnan(finding.p_value)
