"""Years of nights, thousands at a time: whether what is promised of gates and trends over many nights is kept.

A gate of twelve, 365 nights a year, 500 samples a night, 90 % right, at one false alarm a quarter over all gates. All
samples are new every night, or a tenth (and one answer in a hundred wavers), or none. There is no process per night:
all years go side by side, as counts, and are held against the functions that a night calls. Run it:
`python -m benchmarks.years` (some minutes), or with `--quick`; `--write` puts the tables into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaln, gammaln, ndtri

from assay.flows.report.gates import KNOWN_NIGHTS, Budget
from assay.tasks.statistics.between_runs import difference, right_or_wrong
from assay.tasks.statistics.e_process import NewSamples, confidence_sequence, evidence, paired_evidence
from assay.tasks.statistics.paired import counted_difference
from assay.tasks.statistics.proportions import wilson

N, RIGHT, CHURN, GATES, QUARTER, YEAR = 500, 0.9, 0.01, 12, 91, 365
BUDGET = Budget(1, "quarter", GATES * QUARTER, GATES)
TILTS = np.array([0.5, 1.0, 2.0])
PAGE, BEGIN, END = Path("docs/benchmarks.md"), "<!-- years -->", "<!-- /years -->"
Floats, Integers, Truths = npt.NDArray[np.float64], npt.NDArray[np.int64], npt.NDArray[np.bool_]


class Share(NamedTuple):
    """How often something was seen, with its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.error:.4f}"


def share_of(seen: npt.NDArray[Any]) -> Share:
    """The mean over the years with its standard error."""
    return Share(float(seen.mean()), float(seen.std() / len(seen) ** 0.5))


# ---- intervals that are looked at on every night


def sequences_ever_wrong(right: Integers, n: Integers, truth: Floats) -> tuple[Share, Share]:
    """In which share of years a confidence sequence leaves the truth out on some night, and a pooled 95 % interval."""
    against = betaln(right + 1, n - right + 1) - right * np.log(truth) - (n - right) * np.log1p(-truth)
    low, high = wilson(right, np.broadcast_to(n, right.shape))
    pooled = (truth < low) | (truth > high)
    return share_of((against > np.log(20)).any(axis=1)), share_of(pooled.any(axis=1))


def sequence_rows(years: int) -> Iterator[str]:
    """A row per kind of year; first the sequence of a night is held against what is counted here."""
    at_the_end = confidence_sequence(450, 500)
    for end in (at_the_end.low, at_the_end.high):
        assert abs(betaln(451, 51) - 450 * np.log(end) - 50 * np.log1p(-end) - np.log(20)) < 1e-6
    nights = np.arange(YEAR)
    kinds: dict[str, tuple[Floats, int]] = {
        "90 % right": (np.full(YEAR, 0.9), 500),
        "50 % right": (np.full(YEAR, 0.5), 500),
        "99 % right": (np.full(YEAR, 0.99), 500),
        "90 % right, 50 samples a night": (np.full(YEAR, 0.9), 50),
        "82 to 98 % right, by the season": (0.9 + 0.08 * np.sin(nights / 30), 500),
        "95 % right, 60 % from the 180th night on": (np.where(nights < 180, 0.95, 0.6), 500),
    }
    for name, (rates, samples) in kinds.items():
        rng, n = np.random.default_rng(5), samples * (nights + 1)
        right = np.cumsum(rng.binomial(samples, rates, size=(years, YEAR)), axis=1)
        sequence, pooled = sequences_ever_wrong(right, n, np.cumsum(rates) / (nights + 1))
        yield f"| {name} | {sequence} | {pooled} |"


# ---- what new samples say together, as `e_process.evidence` counts it


def hypergeometric_z(right: Integers, n: Integers, bag: Integers, known: Integers) -> Floats:
    """Φ⁻¹ of the hypergeometric distribution at so many right ones, of n drawn from bag + n, of which known + right
    are right."""
    whole, won = (each.astype(np.float64) for each in (bag + n, known + right))
    k, drawn = right.astype(np.float64), n.astype(np.float64)
    first = _log_choose(won, k) + _log_choose(whole - won, drawn - k) - _log_choose(whole, drawn)
    total, term = np.ones_like(first), np.ones_like(first)
    while term.max() > 1e-17:
        below = (won - k + 1) * (drawn - k + 1)
        term = term * np.where(k > 0, k * np.maximum(whole - won - drawn + k, 0) / np.maximum(below, 1), 0)
        total, k = total + term, k - 1
    return np.asarray(ndtri(np.clip(np.exp(first) * total, 1e-300, 1 - 1e-12)), dtype=np.float64)


def _log_choose(n: Floats, k: Floats) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), dtype=np.float64)


def evidence_by_night(right: Integers, n: Integers) -> Floats:
    """E after every night [years, nights], begun anew with every quarter."""
    by_night = np.ones(right.shape)
    for start in range(0, right.shape[1], QUARTER):
        first = max(0, start - KNOWN_NIGHTS)
        bets, unspent = np.zeros((len(right), len(TILTS))), np.ones(len(right))
        bag, known = n[:, first:start].sum(axis=1), right[:, first:start].sum(axis=1)
        for night in range(start, min(start + QUARTER, right.shape[1])):
            played = (n[:, night] > 0) & (bag > 0)
            stake = np.where(played, 2 / QUARTER * unspent, 0)
            unspent = unspent - stake
            z = hypergeometric_z(right[:, night], n[:, night], bag, known)[:, None]
            grown = (bets + stake[:, None]) * np.exp(-TILTS * z - TILTS**2 / 2)
            bets = np.where(played[:, None], grown, bets)
            by_night[:, night] = bets.mean(axis=1) + unspent
            bag, known = bag + n[:, night], known + right[:, night]
    return by_night


def paired_by_night(lost: Integers, gained: Integers) -> Floats:
    """E of the pairs so far after every night [years, nights], without a bound."""
    a, b = np.cumsum(lost, axis=1), np.cumsum(gained, axis=1)
    grown = (a + b + 1) * np.log(2) + betaln(a + 1, b + 1) + np.log(np.maximum(betainc(b + 1, a + 1, 0.5), 1e-300))
    return np.asarray(np.exp(np.minimum(grown, 700)))


# ---- looks, as `between_runs.difference` and `gates.look` judge them


class Joint(NamedTuple):
    """Samples of tonight by what the baseline has of them: right then and now, lost, gained, wrong both times; and
    those that it has not, right and wrong."""

    kept: Integers
    lost: Integers
    gained: Integers
    wrong: Integers
    new_right: Integers
    new_wrong: Integers

    @property
    def right(self) -> Integers:
        """How many are right tonight."""
        return self.kept + self.gained + self.new_right


def same(right: Integers) -> Joint:
    """A night beside itself."""
    none = np.zeros_like(right)
    return Joint(right, none, none, N - right, none, none)


def next_night(joint: Joint, fresh: float, rng: np.random.Generator) -> tuple[Joint, Integers, Integers]:
    """Some samples are replaced, and of the others some answers waver; and how many new ones there are, and right."""
    stay = [rng.binomial(count, 1 - fresh) for count in joint]
    churn = 0.0 if fresh == 1 else CHURN
    down = [rng.binomial(count, churn / RIGHT) for count in (stay[0], stay[2], stay[4])]
    up = [rng.binomial(count, churn / (1 - RIGHT)) for count in (stay[1], stay[3], stay[5])]
    kept, gained, new_right = stay[0] - down[0] + up[0], stay[2] - down[1] + up[1], stay[4] - down[2] + up[2]
    lost, wrong, new_wrong = stay[1] + down[0] - up[0], stay[3] + down[1] - up[1], stay[5] + down[2] - up[2]
    n = N - sum(stay)
    right = rng.binomial(n, RIGHT)
    return Joint(kept, lost, gained, wrong, new_right + right, new_wrong + n - right), n, right


def look_fails(joint: Joint, before: Integers, fresh: float, held: int = N) -> Truths:
    """Whether the whole interval of the drop lies beyond 0, at the level of the budget."""
    if fresh == 0:
        return np.array([_paired_fails(int(a), int(b)) for a, b in zip(joint.lost, joint.gained, strict=True)])
    was, now = before / held, joint.right / N
    shared = (
        joint.kept * (1 - was) * (1 - now)
        - joint.lost * (1 - was) * now
        - joint.gained * was * (1 - now)
        + joint.wrong * was * now
    )
    together = shared / np.sqrt(held * was * (1 - was) * N * now * (1 - now))
    above, below = wilson(joint.right, np.full_like(joint.right, N))[1] - now, was - wilson(before, held)[0]
    spread = np.sqrt(np.maximum(0, above**2 + below**2 - 2 * together * above * below))
    return np.asarray(now - was + ndtri(1 - BUDGET.level) / ndtri(0.975) * spread < 0)


@cache
def _paired_fails(lost: int, gained: int) -> bool:
    return lost > gained and counted_difference(gained, lost, N, 1 - 2 * BUDGET.level)[0].high < 0


def held_against_what_a_night_calls(rng: np.random.Generator) -> None:
    """Raises where the counts here do not say what the functions say that judge a night."""
    right = rng.binomial(N, RIGHT, size=(3, 60))
    right[:, 40:] -= 12
    by_night = evidence_by_night(right, np.full_like(right, N))
    for year, row in enumerate(right):
        expected = evidence([NewSamples(int(hits), N) for hits in row], QUARTER)
        assert np.allclose(by_night[year], expected, rtol=1e-6), (by_night[year], expected)
    for lost, gained in ((0, 0), (12, 3), (30, 24)):
        counted = float(paired_by_night(np.array([[lost]]), np.array([[gained]]))[0, 0])
        assert np.isclose(counted, paired_evidence(lost, gained, 100), rtol=1e-3)
    for fresh in (0.0, 0.1, 1.0):
        for _ in range(40):
            joint, _n, _right = next_night(same(np.array([rng.binomial(N, RIGHT + 0.03)])), fresh, rng)
            before = joint.kept + joint.lost + rng.binomial(joint.new_right + joint.new_wrong, RIGHT + 0.04)
            assert bool(look_fails(joint, before, fresh)[0]) == _looked(joint, int(before[0]), rng)


def _looked(joint: Joint, before: int, rng: np.random.Generator) -> bool:
    kept, lost, gained, wrong, new_right, new_wrong = (int(count[0]) for count in joint)
    shared, gone = kept + lost + gained + wrong, N - (kept + lost + gained + wrong)
    was = np.repeat([True, True, False, False], [kept, lost, gained, wrong])
    now = np.repeat([True, False, True, False], [kept, lost, gained, wrong])
    gone_right = np.arange(gone) < before - kept - lost
    news, ids = np.repeat([True, False], [new_right, new_wrong]), [f"shared {at}" for at in range(shared)]
    earlier = right_or_wrong(ids + [f"gone {at}" for at in range(gone)], np.append(was, gone_right))
    later = right_or_wrong(ids + [f"new {at}" for at in range(len(news))], np.append(now, news))
    changed = difference(earlier, later, rng, 1 - 2 * BUDGET.level)
    assert changed is not None
    return changed.high < 0


# ---- years in which nothing changes


def alarms_of(red: Truths) -> Share:
    """False alarms of all gates a quarter; nights in a row that are red are one."""
    begun = red & ~np.roll(red, 1, axis=1)
    begun[:, 0] = red[:, 0]
    seen = share_of(begun.sum(axis=1))
    return Share(*(GATES * QUARTER / red.shape[1] * each for each in seen))


def quiet_years(years: int, fresh: float, accepted: bool, rng: np.random.Generator) -> Truths:
    """Which nights are red, [years, nights]: by the look at the baseline, or by what new samples say together. Where
    all samples are new, these alone decide."""
    first = rng.binomial(N, RIGHT, size=years)
    joint, before = same(first), first
    new, right, looks = [np.full(years, N)], [first], np.zeros((years, YEAR), dtype=np.bool_)
    if fresh == 1:
        every = np.full((years, YEAR), N)
        return np.asarray(evidence_by_night(rng.binomial(N, RIGHT, size=every.shape), every) >= BUDGET.alarm)
    for night in range(1, YEAR):
        joint, n, hits = next_night(joint, fresh, rng)
        looks[:, night] = fails = look_fails(joint, before, fresh)
        new.append(n)
        right.append(hits)
        if not accepted:
            tonight = same(joint.right)
            joint = Joint(*(np.where(fails, old, moved) for old, moved in zip(joint, tonight, strict=True)))
            before = np.where(fails, before, tonight.right)
    if fresh == 0:
        return looks
    return looks | (evidence_by_night(np.stack(right, axis=1), np.stack(new, axis=1)) >= BUDGET.alarm)


def quiet_rows(years: int) -> Iterator[str]:
    """A row per kind of year."""
    for name, fresh in (("all samples new", 1.0), ("a tenth new", 0.1), ("none new", 0.0)):
        kinds = (False, True) if fresh < 1 else (False,)
        cells = [str(alarms_of(quiet_years(years, fresh, accepted, np.random.default_rng(7)))) for accepted in kinds]
        yield f"| {name} | {' | '.join([*cells, 'the same: new samples decide'][:2])} |"


# ---- a night that was chosen as the best of ten, and another model


def best_of_ten(years: int) -> Iterator[str]:
    """A row per way of holding later nights against it, where nothing is lost."""
    rng = np.random.default_rng(9)
    ten, later = rng.binomial(N, RIGHT, size=(years, 10)), rng.binomial(N, RIGHT, size=(years, YEAR))
    best, n = ten.max(axis=1), np.full_like(later, N)
    chosen, counted = np.column_stack([best, later]), np.full((years, YEAR + 1), N)
    together = evidence_by_night(chosen, counted)[:, 1:] >= BUDGET.alarm
    pool = _fresh_fails(later, ten.sum(axis=1)[:, None], 10 * N)
    anew = evidence_by_night(later, n) >= BUDGET.alarm
    yield f"| what new samples say together, the same model | {alarms_of(together)} |"
    yield f"| another model as good, beside all ten nights | {alarms_of(pool | anew)} |"


def _fresh_fails(right: Integers, before: Integers, held: int) -> Truths:
    none = np.zeros_like(right)
    return look_fails(Joint(none, none, none, none, right, N - right), np.broadcast_to(before, right.shape), 1.0, held)


def worse_model_rows(years: int) -> Iterator[str]:
    """How often another model that is worse is red within thirty nights, beside one night, and beside 31 like it."""
    for loss in (0.02, 0.03, 0.05):
        rng = np.random.default_rng(13)
        later = rng.binomial(N, RIGHT - loss, size=(years, 30))
        one, pool = (rng.binomial(N * nights, RIGHT, size=years)[:, None] for nights in (1, 31))
        cells = [share_of(_fresh_fails(later, each, held).any(axis=1)) for each, held in ((one, N), (pool, 31 * N))]
        yield f"| {100 * loss:.0f} points | {cells[0]} | {cells[1]} |"


def paired_rows(years: int) -> Iterator[str]:
    """Other models on new samples that an earlier one has answered as well: false alarms of the evidence where as much
    is lost as gained, with another model every thirty nights; and how often a loss of two points is found in a week."""
    for n in (150, 500):
        rng, alarms = np.random.default_rng(15), np.zeros((years, QUARTER), dtype=np.bool_)
        for at, start in enumerate(range(0, QUARTER, 30)):
            length = min(30, QUARTER - start)
            lost, gained = (rng.binomial(n, 0.01, size=(years, length)) for _ in range(2))
            pairs, share = paired_by_night(lost, gained), 0.5 ** (at + 1)
            right = rng.binomial(n, RIGHT, size=(years, length))
            alone = evidence_by_night(right, np.full_like(right, n))
            alarms[:, start : start + length] = share * pairs + (1 - share) * alone >= BUDGET.alarm
        lost, gained = (rng.binomial(n, rate, size=(years, 7)) for rate in (0.03, 0.01))
        cells = [share_of((share * paired_by_night(lost, gained) >= BUDGET.alarm).any(axis=1)) for share in (0.5, 0.25)]
        yield f"| {n} | {alarms_of(alarms)} | {cells[0]} | {cells[1]} |"


def new_level_rows(years: int) -> Iterator[str]:
    """A step on the thirtieth night that somebody accepts, as a baseline or as a new level: false alarms of the nights
    after it where nothing is lost since, and a loss of two points thirty nights later, found within thirty."""
    for name, step in (("three points down", -0.03), ("three points up", 0.03)):
        rng, level = np.random.default_rng(17), RIGHT + step
        before = rng.binomial(N, RIGHT, size=(years, 30))
        since = rng.binomial(N, level, size=(years, 61))
        fallen = np.concatenate([since[:, :30], rng.binomial(N, level - 0.02, size=(years, 30))], axis=1)
        cells = []
        for known in (before, before[:, :0]):
            quiet, lost = (np.concatenate([known, nights], axis=1) for nights in (since, fallen))
            red = [evidence_by_night(each, np.full_like(each, N)) >= BUDGET.alarm for each in (quiet, lost)]
            last = known.shape[1]
            cells += [alarms_of(red[0][:, last:]), share_of(red[1][:, last + 30 : last + 60].any(axis=1))]
            pool = known.sum(axis=1) + since[:, :10].sum(axis=1)
            other = rng.binomial(N, level, size=(years, 60))
            cells.append(alarms_of(_fresh_fails(other, pool[:, None], N * (last + 10))))
        for what, at in (("false alarms", 0), ("a later loss of two points found", 1), ("another model as good", 2)):
            yield f"| {name}: {what} | {cells[at]} | {cells[at + 3]} |"


# ---- a loss, with all samples new


def found(loss: float, starts: Callable[[np.random.Generator], Integers]) -> Share:
    """How often a loss is found within thirty nights of it."""
    rng, nights = np.random.default_rng(11), np.arange(YEAR)
    start = starts(rng)
    worse = nights >= start[:, None]
    last = int(start.max()) + 30
    right = rng.binomial(N, np.where(worse, RIGHT - loss, RIGHT))[:, :last]
    red = evidence_by_night(right, np.full_like(right, N)) >= BUDGET.alarm
    return share_of((red & (worse & (nights < start[:, None] + 30))[:, :last]).any(axis=1))


def loss_rows(years: int) -> Iterator[str]:
    """A row per night on which the loss begins."""
    when: dict[str, Callable[[np.random.Generator], Integers]] = {
        "14 nights": lambda _rng: np.full(years, 14),
        "21 nights": lambda _rng: np.full(years, 21),
        "30 nights": lambda _rng: np.full(years, 30),
        "60 nights": lambda _rng: np.full(years, 60),
        "85 nights (the budget's quarter ends)": lambda _rng: np.full(years, 85),
        "any from 14 to 334": lambda rng: rng.integers(14, 335, size=years),
    }
    for name, starts in when.items():
        yield f"| {name} | {' | '.join(str(found(loss, starts)) for loss in (0.01, 0.02, 0.03))} |"


def tables(years: int) -> Iterator[str]:
    """All of it, line by line."""
    held_against_what_a_night_calls(np.random.default_rng(3))
    yield f"{years:,} years of {YEAR} nights (± standard errors). The share of years in which an interval of all nights"
    yield "so far leaves the truth out at least once:"
    yield from ("", "| | confidence sequence, 0.05 allowed | pooled 95 % interval |", "|---|---|---|")
    yield from sequence_rows(years)
    yield ""
    yield f"False alarms a quarter of {GATES} gates where nothing changes, 1 allowed (n = {N}):"
    yield from ("", "| | `last-passed` | `accepted` |", "|---|---|---|")
    yield from quiet_rows(years)
    yield ""
    yield "The same where the accepted night was the best of ten, all samples new:"
    yield from ("", "| held against it | false alarms a quarter |", "|---|---|")
    yield from best_of_ten(years)
    yield ""
    yield f"Found within thirty nights, all samples new (n = {N}), by the nights before the loss:"
    yield from ("", "| nights before | 1 point | 2 points | 3 points |", "|---|---|---|---|")
    yield from loss_rows(years)
    yield ""
    yield "Another model that is worse, all samples new, red within thirty nights against `accepted`:"
    yield from ("", "| lost | beside the accepted night | beside 31 nights like it |", "|---|---|---|")
    yield from worse_model_rows(years)
    yield ""
    yield "Another model on new samples that an earlier one has answered as well, counted as pairs, each once: false"
    yield f"alarms a quarter of {GATES} gates (0.5 allowed) where 1 % is lost and 1 % gained and models change every"
    yield "thirty nights; and 3 % lost and 1 % gained, found in a week by pairs alone, of a quarter's first such model"
    yield "and of its second:"
    yield from ("", "| pairs a night | false alarms | first | second |", "|---|---|---|---|")
    yield from paired_rows(years)
    yield ""
    yield "A step that somebody accepts on the thirtieth night, all samples new; false alarms are a quarter's: of what"
    yield "new samples say together under `last-passed`, and of looks at a pool under `accepted` where models change:"
    yield from ("", "| | a baseline | a new level (`--new-level`) |", "|---|---|---|")
    yield from new_level_rows(years)


def main() -> None:
    """The tables, printed, or written into the document."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fifty years: whether it works")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    options = parser.parse_args()
    lines = []
    for line in tables(50 if options.quick else 10_000):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        page = PAGE.read_text()
        start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        PAGE.write_text(f"{page[:start]}\n" + "\n".join(lines) + f"\n{page[end:]}")


if __name__ == "__main__":
    main()
