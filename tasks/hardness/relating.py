"""The findings on hardness: which measures agree, beyond the subject's confidence too, and which rank true errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.tasks.hardness.association import Association, association, centred_ranks, partial_association
from assay.tasks.hardness.measures import CONFIDENCE, THETA
from assay.tasks.hardness.side_by_side import Columns, Floats
from assay.tasks.statistics.clusters import Integers, codes_of, effective_size
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import RELATED
from assay.tasks.statistics.order_findings import gain_finding
from assay.tasks.statistics.order_trend import area_difference, order_test, ranked_area

Bools = npt.NDArray[np.bool_]
_GROUPS = 10


@dataclass(frozen=True)
class Answers:
    """Per sample: whether the subject is right (1), wrong (0), or nobody knows (−1)."""

    right: npt.NDArray[np.int8]

    @property
    def known(self) -> Bools:
        """The samples whose truth is known."""
        return np.asarray(self.right >= 0)


def association_findings(columns: Columns, clusters: Integers, significance: float) -> Iterator[Finding]:
    """`hardness.association` of every pair, `hardness.partial` where the subject has a confidence to take away, and the
    p of each; pairs with the confidence itself have nothing left to take away."""
    measures = columns.all
    for of, group in columns.pairs:
        first, second = measures[of], measures[group]
        both = ~(np.isnan(first) | np.isnan(second))
        plain = association(first[both], second[both], clusters[both])
        yield from _findings("association", plain, of, group, significance)
        if columns.confidence is not None and CONFIDENCE not in (of, group):
            sure = both & ~np.isnan(columns.confidence)
            left = partial_association(first[sure], second[sure], columns.confidence[sure], clusters[sure])
            yield from _findings("partial", left, of, group, significance)


def _findings(name: str, tested: Association, of: str, group: str, significance: float) -> Iterator[Finding]:
    about = Finding(
        f"hardness.{name}",
        of=of,
        group=group,
        value=tested.value,
        low=tested.low,
        high=tested.high,
        n=tested.n,
        verdict=tested.verdict(significance),
        unit="ρ",
    )
    yield about
    p = replace(about, metric=f"hardness.{name}_p", value=tested.p_value, low=None, high=None, unit=RELATED)
    yield replace(p, p_value=tested.p_value)


def area_findings(columns: Columns, answers: Answers, clusters: Integers) -> Iterator[Finding]:
    """`hardness.auc` of every measure: how often an error of the subject is harder than what it gets right; and
    `hardness.auc_gain`, the difference from ours (from the confidence, without an order), paired by cluster (DeLong
    1988). A measure that speaks of right answers only cannot rank errors, and has none."""
    codes, areas = codes_of(clusters), {}
    for name, values in columns.all.items():
        kept = answers.known & ~np.isnan(values)
        tested = order_test(-values[kept], answers.right[kept], codes[kept])
        if tested.area is not None:
            areas[name] = kept
            area = tested.area
            yield Finding("hardness.auc", name, value=area.value, low=area.low, high=area.high, n=tested.n)
    ours = next((name for name in (THETA, CONFIDENCE) if name in areas), None)
    for name in areas:
        if ours is not None and name != ours:
            kept = areas[name] & areas[ours]
            yield replace(_gain(columns, name, ours, kept, answers, codes), of=name, group=ours)


def _gain(columns: Columns, name: str, ours: str, kept: Bools, answers: Answers, codes: Integers) -> Finding:
    right, groups = answers.right[kept], int(codes.max()) + 1
    if not 0 < int(right.sum()) < len(right):
        return gain_finding("hardness.auc_gain", None, len(right))
    first, second = (ranked_area(-columns.all[one][kept], right, codes[kept], groups) for one in (name, ours))
    return gain_finding("hardness.auc_gain", area_difference(first, second), len(right))


def pair_rows(columns: Columns, subject: str, clusters: Integers) -> Iterator[dict[str, object]]:
    """For every pair, up to ten groups of samples by the first measure, and how hard they are by the second."""
    measures = columns.all
    for first, second in columns.pairs:
        both = ~(np.isnan(measures[first]) | np.isnan(measures[second]))
        x, y = (_places(measures[name][both]) for name in (first, second))
        group = np.minimum((x * _GROUPS).astype(np.int64), _GROUPS - 1)
        for tenth in np.unique(group):
            here = group == tenth
            low, high = _mean_interval(y[here], clusters[both][here])
            yield {
                "subject": subject,
                "first": first,
                "second": second,
                "n": int(here.sum()),
                "x": float(x[here].mean()),
                "y": float(y[here].mean()),
                "low": low,
                "high": high,
            }


def _places(values: Floats) -> Floats:
    """The midrank of each value as a share: 0 for the easiest, 1 for the hardest, 1/2 where all are equal."""
    return (centred_ranks(values) + len(values) - 1) / max(2 * (len(values) - 1), 1)


def _mean_interval(values: Floats, clusters: Integers) -> tuple[float, float]:
    """The mean with twice its standard error, as many samples counted as their clusters leave; within [0, 1]."""
    counted = effective_size(values, clusters).counted()
    half = 1.96 * float(values.std()) / np.sqrt(counted) if counted else 1.0
    return max(0.0, float(values.mean()) - half), min(1.0, float(values.mean()) + half)
