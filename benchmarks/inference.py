"""Do intervals hold the truth as often as they say, and do tests alarm no oftener? A simulation per kind and setting.

Run it: `python -m benchmarks.inference` (minutes), or with `--quick`; `--write` puts the table into docs/benchmarks.md.
It fails where what is promised lies more than three standard errors off in the harmful direction: an interval that
holds the truth too seldom, a test that alarms too often. Another kind is a line in `SIMULATIONS`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from assay.tasks.hardness.association import Association, association
from assay.tasks.slices.search import _lower_p
from assay.tasks.statistics.calibration import calibration_error
from assay.tasks.statistics.clusters import clustered_wilson
from assay.tasks.statistics.order_test import area_interval, area_sums, order_test, pattern_totals, permuted_trend
from assay.tasks.statistics.resampling import Interval

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Draw = Callable[[np.random.Generator], bool]
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- inference: begin -->", "<!-- inference: end -->"
LEVEL = 0.01


@dataclass(frozen=True)
class Simulation:
    """One kind of interval or test in one setting: how often it should hold the truth, or alarm, and one draw of it."""

    kind: str
    setting: str
    promised: Literal["held", "alarmed", "found"]
    """An interval holds the truth at least, a test without an effect alarms at most, one with an effect at least."""
    nominal: float
    draw: Draw
    draws: int = 2000


def unequal(rng: np.random.Generator) -> Codes:
    """The group of each sample of 30 unequal groups, of which about a third count."""
    return np.repeat(np.arange(30), np.maximum(1, np.round(np.exp(rng.normal(1.5, 1.0, 30)))).astype(np.int64))


def equal(groups: int, size: int) -> Callable[[np.random.Generator], Codes]:
    """So many groups of one size."""
    return lambda _: np.repeat(np.arange(groups), size)


def alone(n: int) -> Callable[[np.random.Generator], Codes]:
    """So many samples, each by itself."""
    return lambda _: np.arange(n)


Groups = Callable[[np.random.Generator], Codes]
GROUPED: dict[str, Groups] = {
    "30 unequal groups, ICC .5": unequal,
    "10 groups of 10, ICC .5": equal(10, 10),
    "100 groups of 4, ICC .5": equal(100, 4),
    "300 samples, no groups": alone(300),
}


def together(rng: np.random.Generator, codes: Codes) -> Floats:
    """Normal numbers, half of whose variance is their group's."""
    return (rng.normal(size=int(codes.max()) + 1)[codes] + rng.normal(size=len(codes))) / math.sqrt(2)


def share_held(groups: Groups) -> Draw:
    """Whether the interval of a share of .75 holds it."""

    def draw(rng: np.random.Generator) -> bool:
        codes = groups(rng)
        low, high = clustered_wilson(together(rng, codes) < 0.6745, codes)
        return low <= 0.75 <= high

    return draw


def area_of(groups: Groups, shift: float) -> Callable[[np.random.Generator], Interval]:
    """The area of scores that are higher by so much where labels are right; groups have both."""

    def draw(rng: np.random.Generator) -> Interval:
        codes = groups(rng)
        right = (rng.random(len(codes)) < 0.6).astype(np.int64)
        return area_interval(area_sums(together(rng, codes) + shift * right, right, codes))

    return draw


def area_held(groups: Groups) -> Draw:
    """Whether the interval of an area of .76 holds it."""
    area = area_of(groups, 1.0)
    return lambda rng: (drawn := area(rng)).low <= 0.76025 <= drawn.high


def group_alarm(groups: Groups) -> Draw:
    """Whether scores and labels, both of which go by groups but not with each other, are called an order."""

    def draw(rng: np.random.Generator) -> bool:
        codes = groups(rng)
        right = (together(rng, codes) < 0.4).astype(np.int64)
        p = order_test(together(rng, codes), right, None, codes, rng).p_value
        return p is not None and p <= LEVEL

    return draw


def pattern_alarm(effect: float, by_size: float) -> Draw:
    """Whether an order over 133 unequal patterns is seen; `by_size` of its score is the pattern's size."""

    def draw(rng: np.random.Generator) -> bool:
        sizes, rates = rng.geometric(0.05, 133), rng.beta(2, 1, 133)
        codes = np.repeat(np.arange(133), sizes)
        scores = rng.normal(size=133) + by_size * np.log(sizes) + effect * rates
        right = (rng.random(len(codes)) < rates[codes]).astype(np.int64)
        return permuted_trend(pattern_totals(scores[codes], right, codes), rng, 499).p_value <= LEVEL

    return draw


def correlated(groups: Groups, rho: float) -> Callable[[np.random.Generator], Association]:
    """The rank correlation of two measures of which groups and samples correlate by so much."""

    def draw(rng: np.random.Generator) -> Association:
        codes = groups(rng)
        first, second = together(rng, codes), together(rng, codes)
        return association(first, rho * first + math.sqrt(1 - rho * rho) * second, codes)

    return draw


def correlation_held(groups: Groups, rho: float) -> Draw:
    """Whether its interval holds the truth."""
    drawn, truth = correlated(groups, rho), 6 / math.pi * math.asin(rho / 2)

    def draw(rng: np.random.Generator) -> bool:
        found = drawn(rng)
        return found.low is not None and found.high is not None and found.low <= truth <= found.high

    return draw


def correlation_alarm(groups: Groups, rho: float = 0.0) -> Draw:
    """Whether a correlation is concluded."""
    drawn = correlated(groups, rho)
    return lambda rng: (p := drawn(rng).p_value) is not None and p <= LEVEL


def slice_alarm(groups: Groups, fall: float = 0.0) -> Draw:
    """Whether a slice of a quarter of the groups that is right so much less often is called worse."""

    def draw(rng: np.random.Generator) -> bool:
        codes = groups(rng)
        members = codes < (int(codes.max()) + 1) / 4
        level = np.where(members, 0.8 - fall, 0.8)
        hits = (norm.cdf(together(rng, codes)) < level).astype(np.int64)
        return _lower_p(hits, members, ~members, codes) <= LEVEL

    return draw


def calibration_held(n: int, too_sure: float) -> Draw:
    """Whether the interval of the calibration error of a score that is so much too sure holds it."""

    def draw(rng: np.random.Generator) -> bool:
        confidence = rng.uniform(0.55, 1, n)
        right = rng.random(n) < confidence - too_sure
        error = calibration_error(confidence, right, np.arange(n), rng)
        return error.low <= too_sure <= error.high

    return draw


SIMULATIONS = (
    *(Simulation("share", name, "held", 0.95, share_held(groups)) for name, groups in GROUPED.items()),
    *(Simulation("AUC", name, "held", 0.95, area_held(groups)) for name, groups in GROUPED.items()),
    Simulation("order, permuted", "133 unequal patterns, nothing there", "alarmed", LEVEL, pattern_alarm(0, 0)),
    Simulation("order, permuted", "the same, scores that go by size", "alarmed", LEVEL, pattern_alarm(0, 1)),
    Simulation("order, permuted", "the same, an effect", "found", 0.75, pattern_alarm(2, 0), 400),
    *(
        Simulation("order, by group", name, "alarmed", LEVEL, group_alarm(groups))
        for name, groups in GROUPED.items()
        if "no groups" not in name
    ),
    *(
        Simulation("rank correlation", f"{name}, ρ = {rho}", "held", 0.95, correlation_held(groups, rho))
        for name, groups in GROUPED.items()
        for rho in (0, 0.5)
    ),
    *(
        Simulation("rank correlation", name, "alarmed", LEVEL, correlation_alarm(each))
        for name, each in GROUPED.items()
    ),
    Simulation("rank correlation", "92 samples, ρ = .74", "found", 0.99, correlation_alarm(alone(92), 0.76), 400),
    *(Simulation("slice", name, "alarmed", LEVEL, slice_alarm(groups)) for name, groups in GROUPED.items()),
    Simulation("slice", "300 samples, 25 points less", "found", 0.9, slice_alarm(alone(300), 0.25), 1000),
    Simulation("calibration error", "180 samples, calibrated", "held", 0.95, calibration_held(180, 0.0), 200),
    Simulation("calibration error", "600 samples, 5 points too sure", "held", 0.95, calibration_held(600, 0.05), 200),
)


@dataclass(frozen=True)
class Measured:
    """What came of a simulation."""

    of: Simulation
    share: float
    draws: int

    @property
    def error(self) -> float:
        """The standard error of a share that is as promised."""
        return math.sqrt(self.of.nominal * (1 - self.of.nominal) / self.draws)

    @property
    def kept(self) -> bool:
        """Whether the promise is within three standard errors, or missed on the harmless side."""
        off = self.share - self.of.nominal
        return (off if self.of.promised == "alarmed" else -off) <= 3 * self.error


def simulate(simulation: Simulation, quick: bool) -> Measured:
    """One simulation, seeded by what it is."""
    draws = max(20, simulation.draws // 50) if quick else simulation.draws
    seed = list(f"{simulation.kind}, {simulation.setting}, {simulation.promised}".encode())
    rng = np.random.default_rng(seed)
    return Measured(simulation, sum(simulation.draw(rng) for _ in range(draws)) / draws, draws)


def table(measured: list[Measured]) -> str:
    """What was measured, as docs/benchmarks.md has it."""
    rows = ["| | setting | | promised | measured | draws | standard error |", "|---|---|---|---|---|---|---|"]
    for each in measured:
        name = f"{each.of.kind} | {each.of.setting} | {each.of.promised}"
        limit = {"held": "≥", "alarmed": "≤", "found": "≥"}[each.of.promised]
        rows.append(f"| {name} | {limit} {each.of.nominal:g} | {each.share:.3f} | {each.draws:,} | {each.error:.4f} |")
    return "\n".join(rows)


def main() -> int:
    """Simulate, print, and say whether every promise is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few draws: whether it works")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    measured = []
    for simulation in SIMULATIONS:
        measured.append(simulate(simulation, options.quick))
        print(table(measured[-1:]).splitlines()[-1], "" if measured[-1].kept else "  BROKEN", flush=True)
    if options.write:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table(measured)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0 if all(each.kept for each in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
