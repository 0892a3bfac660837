"""Do intervals hold the truth as often as they say, and do tests alarm no oftener? A simulation per kind and setting.

Run it: `python -m benchmarks.inference` (minutes), or with `--quick`; `--write` puts the worst of each kind
into docs/benchmarks.md.
It fails where what is promised lies more than three standard errors off in the harmful direction: an interval that
holds the truth too seldom, a test that alarms too often. Another kind is a line in `SIMULATIONS`. With `--runs STORE …`
labels are drawn of the runs in these stores whose gold is known, and it is counted how many random ones they are worth.
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
import pyarrow as pa
from scipy.special import betaln
from scipy.stats import norm

from assay.tasks.hardness.association import Association, association
from assay.tasks.slices.search import _lower_p
from assay.tasks.statistics.calibration import calibration_error
from assay.tasks.statistics.classification import proportion
from assay.tasks.statistics.clusters import clustered_wilson
from assay.tasks.statistics.e_process import NewSamples, evidence, paired_evidence
from assay.tasks.statistics.order_test import area_interval, area_sums, order_test, pattern_totals, permuted_trend
from assay.tasks.statistics.resampling import Interval
from assay.tasks.statistics.stratified_ppi import Drawn, Ratio, draw_strata, labelled_share, strata_by_expectation

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


def seldom_wrong_held(groups: int, size: int, share: float) -> Draw:
    """Whether the interval of a share of few errors holds it; samples of a group are alike (ICC .3)."""
    strength = 0.7 / 0.3
    codes = np.repeat(np.arange(groups), size)

    def draw(rng: np.random.Generator) -> bool:
        right = rng.random(len(codes)) < rng.beta(share * strength, (1 - share) * strength, groups)[codes]
        low, high = clustered_wilson(right, codes)
        return low <= share <= high

    return draw


def rare_area_held(rare: int, others: int, area: float) -> Draw:
    """Whether the interval of an area holds it where a few samples of one kind stand beside many of the other."""
    right = np.arange(rare + others) < rare
    shift = float(norm.ppf(area)) * math.sqrt(2)

    def draw(rng: np.random.Generator) -> bool:
        scores = rng.normal(size=len(right)) + shift * right
        drawn = area_interval(area_sums(scores, right, np.arange(len(right))))
        return drawn.low <= area <= drawn.high

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


def attacked_held(groups: Groups, attacks: int) -> Draw:
    """Whether the interval of the accuracy under so many attacks of five random starts, all of which an image has to
    withstand, holds what it is over images and starts. The chance that a start breaks an image is its group's."""

    def draw(rng: np.random.Generator) -> bool:
        codes = groups(rng)
        broken = rng.beta(0.3, 2.0, int(codes.max()) + 1)[codes]
        right = (rng.random((5 * attacks, len(codes))) >= broken).all(axis=0)
        measured = proportion(right, groups=codes)
        truth = math.exp(betaln(0.3, 2.0 + 5 * attacks) - betaln(0.3, 2.0))
        return measured.low is not None and measured.high is not None and measured.low <= truth <= measured.high

    return draw


def new_samples_alarm(n: int, alarm: float) -> Draw:
    """Whether new samples of a quarter in which nothing is lost come to an alarm on some night."""

    def draw(rng: np.random.Generator) -> bool:
        return max(evidence([NewSamples(int(right), n) for right in rng.binomial(n, 0.9, 91)], 91)) >= alarm

    return draw


def pairs_alarm(n: int, lost: float, nights: int, alarm: float, bound: float = 0.0) -> Draw:
    """Whether pairs of so many nights, so many a night, of which so many are lost and one in a hundred is gained, come
    to an alarm on some night."""

    def draw(rng: np.random.Generator) -> bool:
        so_far = np.cumsum(rng.multinomial(n, [lost, 0.01, 0.99 - lost], nights), axis=0)
        return any(paired_evidence(*map(int, night), bound) >= alarm for night in so_far)

    return draw


def calibration_held(n: int, too_sure: float) -> Draw:
    """Whether the interval of the calibration error of a score that is so much too sure holds it."""

    def draw(rng: np.random.Generator) -> bool:
        confidence = rng.uniform(0.55, 1, n)
        right = rng.random(n) < confidence - too_sure
        error = calibration_error(confidence, right, np.arange(n), rng)
        return error.low <= too_sure <= error.high

    return draw


@dataclass(frozen=True)
class Labels:
    """What many draws of labels came to: how often both estimates held the truth, and the labels they were worth."""

    held: float
    classical_held: float
    said: float
    worth: float


def draw_labels(expected: Floats, right: Floats, n: int, draws: int, rng: np.random.Generator) -> Labels:
    """So many draws of n labels of samples that are right, or not, and were expected to be."""
    strata, truth, ones = strata_by_expectation(expected, n), float(right.mean()), np.ones(len(right))
    shares = []
    for _ in range(draws):
        drawn = Drawn(strata, draw_strata(strata, n, rng))
        ratio = Ratio(right[drawn.at], ones[drawn.at], expected, ones)
        shares.append([labelled_share([ratio], drawn, tuned=tuned) for tuned in (True, False)])
    held = [np.mean([each.low - 1e-9 <= truth <= each.high + 1e-9 for each in of]) for of in zip(*shares, strict=True)]
    off = float(np.mean([(share.value - truth) ** 2 for share, _ in shares])) / max(truth * (1 - truth), 1e-12)
    return Labels(*held, float(np.mean([share.worth for share, _ in shares])), 1 / (off + 1 / len(right)))


def labels_held(n: int, helpful: bool) -> Draw:
    """Whether the interval from n labels of 500 samples holds how many are right."""

    def draw(rng: np.random.Generator) -> bool:
        expected = rng.beta(4, 0.5, 500)
        right = (rng.random(500) < (expected if helpful else 0.9)).astype(np.float64)
        return draw_labels(expected, right, n, 1, rng).held == 1

    return draw


SIMULATIONS = (
    Simulation("people's labels", "60 of 500, chances are true", "held", 0.95, labels_held(60, True)),
    Simulation("people's labels", "60 of 500, chances say nothing", "held", 0.95, labels_held(60, False)),
    Simulation("people's labels", "20 of 500, chances are true", "held", 0.95, labels_held(20, True)),
    *(Simulation("share", name, "held", 0.95, share_held(groups)) for name, groups in GROUPED.items()),
    Simulation("share", "30 groups of 10, ICC .3, one in fifty wrong", "held", 0.95, seldom_wrong_held(30, 10, 0.98)),
    *(Simulation("AUC", name, "held", 0.95, area_held(groups)) for name, groups in GROUPED.items()),
    Simulation("AUC", "10 samples beside 100, area .95", "held", 0.95, rare_area_held(10, 100, 0.95)),
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
    *(
        Simulation("accuracy under attack", f"{name}, {attacks} × 5 starts", "held", 0.95, attacked_held(each, attacks))
        for name, each in {"300 images": alone(300), "100 groups of 4 images": equal(100, 4)}.items()
        for attacks in (1, 2)
    ),
    Simulation("new samples, 91 nights", "500 a night, alarm at 24", "alarmed", 0.0417, new_samples_alarm(500, 24)),
    Simulation("new samples, 91 nights", "50 a night, alarm at 10", "alarmed", 0.1, new_samples_alarm(50, 10)),
    Simulation("pairs, 91 nights", "50 a night, alarm at 10", "alarmed", 0.1, pairs_alarm(50, 0.01, 91, 10)),
    Simulation("pairs, 91 nights", "the bound is lost", "alarmed", 0.1, pairs_alarm(50, 0.03, 91, 10, 0.02)),
    Simulation("pairs, a week", "150 a night, 2 points lost", "found", 0.8, pairs_alarm(150, 0.03, 7, 6), 1000),
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
    def harm(self) -> float:
        """How far the promise is missed in the harmful direction, in standard errors; below zero where it is kept."""
        off = self.share - self.of.nominal
        return (off if self.of.promised == "alarmed" else -off) / self.error

    @property
    def kept(self) -> bool:
        """Whether the promise is within three standard errors, or missed on the harmless side."""
        return self.harm <= 3


def simulate(simulation: Simulation, quick: bool) -> Measured:
    """One simulation, seeded by what it is."""
    draws = max(20, simulation.draws // 50) if quick else simulation.draws
    seed = list(f"{simulation.kind}, {simulation.setting}, {simulation.promised}".encode())
    rng = np.random.default_rng(seed)
    return Measured(simulation, sum(simulation.draw(rng) for _ in range(draws)) / draws, draws)


def row(each: Measured) -> str:
    """A simulation as a line of a table."""
    name = f"{each.of.kind} | {each.of.setting} | {each.of.promised}"
    limit = {"held": "≥", "alarmed": "≤", "found": "≥"}[each.of.promised]
    return f"| {name} | {limit} {each.of.nominal:g} | {each.share:.3f} | {each.draws:,} | {each.error:.4f} |"


def table(measured: list[Measured]) -> str:
    """The worst setting of every interval and test, as docs/benchmarks.md has it."""
    worst: dict[tuple[str, str], Measured] = {}
    for each in sorted(measured, key=lambda each: -each.harm):
        worst.setdefault((each.of.kind, each.of.promised), each)
    lines = [row(each) for each in measured if each in worst.values()]
    return "\n".join(["| | worst setting | | promised | measured | draws | standard error |", "|---" * 7 + "|", *lines])


LABELS_BEGIN, LABELS_END = "<!-- labels: begin -->", "<!-- labels: end -->"


def label_rows(store: str, draws: int) -> dict[tuple[str, str], tuple[str, bool]]:
    """The row of the first subject and the first labeler of each pipeline with gold, and whether its interval held."""
    from assay.data.schemas import class_names
    from assay.flows.export.labels import answers_of_run
    from assay.flows.report.records import ingested, read_table, samples_of_run
    from assay.infra.storage.store import Store
    from assay.tasks.agreement.drawn_labels import answerer_of, expected_right

    opened, rows = Store(store).look(), {}
    for run in {run.pipeline: run for run in opened.runs() if run.is_complete}.values():
        tables, classes = answers_of_run(opened, run), class_names(read_table(opened, ingested(run)["classes"]))
        samples = read_table(opened, samples_of_run(run)).select(["id", "gold"])
        known = samples.filter(samples["gold"].is_valid())
        gold = dict(zip(known["id"].to_pylist(), known["gold"].to_pylist(), strict=True))
        firsts = {("undecided" in table.column_names): name for name, table in reversed(tables.items())}
        for is_labeler, name in firsts.items():
            rows_of = tables[name].to_pylist()
            kept = [row["id"] for row in rows_of if row["id"] in gold and not row.get("undecided")]
            ids = pa.array(kept, pa.string())
            every = [answerer_of(who, table, ids, len(classes)) for who, table in tables.items()]
            among = [each for each in every if each is not None]
            own = next(each for each in among if each.name == name)
            right = (own.answers == np.array([gold[sample] for sample in kept])).astype(np.float64)
            n = min(200, 3 * len(ids) // 10)
            rng = np.random.default_rng(list(f"{run.pipeline}, {name}".encode()))
            came = draw_labels(expected_right(own, among), right, n, draws, rng)
            who = f"labels of {name}" if is_labeler else name
            error = math.sqrt(0.95 * 0.05 / draws)
            cells = [
                f"{run.pipeline}: {who}",
                f"{100 * right.mean():.0f} %",
                f"{n} of {len(ids)}",
                f"{came.worth:.0f} ({came.said:.0f})",
                f"{came.held:.3f} ({came.classical_held:.3f})",
            ]
            row = f"| {' | '.join(cells)} |"
            rows[run.pipeline, name] = (row, came.held >= 0.95 - 3 * error)
            print(row, flush=True)
    return rows


def put(begin: str, text: str, end: str) -> None:
    """Puts a table between its marks into docs/benchmarks.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    PAGE.write_text(f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def main() -> int:
    """Simulate, print, and say whether every promise is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few draws: whether it works")
    parser.add_argument("--write", action="store_true", help="put the worst of each kind into docs/benchmarks.md")
    parser.add_argument("--runs", nargs="*", metavar="STORE", help="draw labels of the runs in these stores instead")
    options = parser.parse_args()
    if options.runs:
        rows: dict[tuple[str, str], tuple[str, bool]] = {}
        for store in options.runs:
            rows = label_rows(store, 40 if options.quick else 1000) | rows
        head = "| pipeline: who | right | labels | worth (said) | held (by labels alone) |"
        if options.write:
            lines = [head, f"|{'---|' * 5}", *(row for row, _ in sorted(rows.values()))]
            put(LABELS_BEGIN, "\n".join(lines), LABELS_END)
        return 0 if all(held for _, held in rows.values()) else 1
    measured = []
    for simulation in SIMULATIONS:
        measured.append(simulate(simulation, options.quick))
        print(row(measured[-1]), "" if measured[-1].kept else "  BROKEN", flush=True)
    if options.write:
        put(BEGIN, table(measured), END)
    return 0 if all(each.kept for each in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
