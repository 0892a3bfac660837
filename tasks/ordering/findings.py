"""What ordering found out, as findings: accuracies, the four tests of the order, and how much of it is ties."""

from __future__ import annotations

from dataclasses import replace

from assay.tasks.ordering.validity import Ordered, Trend, Validity
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share

_TESTS = ("spearman", "spearman_tie_free", "spearman_disjoint", "permutation_p", "permutation_p_violation")


def ordering_findings(
    ordered: Ordered, tested: Validity | None, significance: float, approach: str, labeler: str
) -> list[Finding]:
    """The findings of one order, each `of` the approach, its `group` the labeler; `n` counts samples with gold.

    They describe, as the paper does: ρ over N nested sets cannot conclude, since among ten even −1 has p = .0014. What
    is concluded is in `judging`. `ordering.permutation_p` is how often a random order falls as clearly. Verdicts of ρ
    are the paper's, `adverse`, `violation`, `no trend`, or `not measured` where gold is missing. The tie-free ρ comes
    with the range that ρ takes over random ways to break the ties, and without a p-value, for it has no honest one.
    """
    hits, known = ordered.hits, ordered.known
    found = [
        share("ordering.accuracy", int(hits.sum()), int(known.sum())),
        share("ordering.accuracy_easiest", int(hits[0]), int(known[0])),
        share("ordering.accuracy_hardest", int(hits[-1]), int(known[-1])),
        *_tests(tested, int(known.sum()), significance),
        Finding("ordering.largest_tie", value=ordered.largest_tie, n=ordered.samples, unit="samples"),
        Finding("ordering.distinct_scores", value=ordered.distinct_scores, n=ordered.samples, unit="scores"),
    ]
    return [replace(finding, of=approach, group=labeler) for finding in found]


def _tests(tested: Validity | None, n: int, significance: float) -> list[Finding]:
    if tested is None:
        return [Finding(f"ordering.{test}", n=n, verdict="not measured") for test in _TESTS]
    low, high = tested.tie_range
    permutation = tested.permutation
    return [
        _trend("spearman", tested.nested, n, significance),
        replace(
            _trend("spearman_tie_free", tested.tie_free, n, significance), p_value=None, verdict="", low=low, high=high
        ),
        _trend("spearman_disjoint", tested.disjoint, n, significance),
        Finding("ordering.permutation_p", value=permutation.p_adverse, n=n, unit="p"),
        Finding("ordering.permutation_p_violation", value=permutation.p_violation, n=n, unit="p"),
    ]


def _trend(name: str, trend: Trend, n: int, significance: float) -> Finding:
    return Finding(
        f"ordering.{name}", value=trend.rho, p_value=trend.p_value, n=n, verdict=trend.verdict(significance), unit="ρ"
    )


def undecided_finding(undecided: int, n: int, labeler: str) -> Finding:
    """The share of samples for which no class wins, so that they get the default label."""
    return share("weak_labels.undecided", undecided, n, group=labeler)
