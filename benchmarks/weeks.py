"""Weeks in which data and models change: whether a gate on change is red where three points are lost, and nowhere else.

A baseline night of 3,000 samples, 88 % right, is followed by two nights after one kind of change: files added, mended,
mislabelled, drifted or removed, weights changed, or all of it at once; each with a loss of three points over all
samples, and without one. Gates allow no loss, or one point, at the level of one alarm a quarter. Run it:
`python -m benchmarks.weeks` (a few minutes), or with `--quick`; `--write` puts the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.flows.report.gates import Budget
from assay.tasks.statistics.between_runs import On, difference, right_or_wrong
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gates import look
from assay.tasks.statistics.settings import Gate

N, RIGHT, LOSS, CHURN = 3000, 0.88, 0.03, 0.005
"""Samples of the baseline, how many are right, what is lost over all, and how many answers change for nothing."""
NIGHTS = 2
PARTS = 2.39
"""Into so many a loss is cut for three changes at once: samples that are replaced take with them what they lost."""
LEVEL = Budget(1, "quarter", 91, 1).level
GATE = Gate(finding="subject.accuracy", against="last-passed", drop_at_most=0.0)
PAGE, BEGIN, END = Path("docs/benchmarks.md"), "<!-- weeks -->", "<!-- /weeks -->"


@dataclass(frozen=True)
class Night:
    """Which samples are there, and which of them are right."""

    ids: npt.NDArray[np.int64]
    right: npt.NDArray[np.bool_]

    def only(self, kept: npt.NDArray[np.bool_]) -> Night:
        """Some of them."""
        return Night(self.ids[kept], self.right[kept])


Change = Callable[[Night, float, np.random.Generator], Night]
"""What a kind of change makes of a night, which loses so much over all samples (in expectation)."""


def added(night: Night, loss: float, rng: np.random.Generator, more: int = 600) -> Night:
    """A file of other samples, whose labels are right as often as before, or too seldom."""
    whole = len(night.ids) + more
    share = (whole * (RIGHT - loss) - len(night.ids) * RIGHT) / more
    ids = night.ids.max() + 1 + np.arange(more)
    return Night(np.append(night.ids, ids), np.append(night.right, rng.random(more) < share))


def mended(night: Night, loss: float, rng: np.random.Generator) -> Night:
    """Labels of a tenth of the samples are gone through: half of what was wrong is right, or right ones are wrong."""
    looked_at = rng.random(len(night.ids)) < 0.1
    if loss:
        return Night(night.ids, night.right & ~(looked_at & (rng.random(len(night.ids)) < loss / (0.1 * RIGHT))))
    return Night(night.ids, night.right | (looked_at & (rng.random(len(night.ids)) < 0.5)))


def drifted(night: Night, loss: float, rng: np.random.Generator, share: float = 0.2) -> Night:
    """A fifth of the samples is replaced by others, which are as easy, or harder."""
    gone = rng.random(len(night.ids)) < share
    new = added(night.only(~gone), 0.0, rng, int(gone.sum()))
    right = rng.random(len(new.ids)) < RIGHT - loss / share
    return Night(new.ids, np.where(np.arange(len(new.ids)) < (~gone).sum(), new.right, right))


def removed(night: Night, loss: float, rng: np.random.Generator) -> Night:
    """A fifth of the samples goes, drawn at random, or those that were easy."""
    gone = rng.choice(len(night.ids), len(night.ids) // 5, replace=False)
    if loss:  # so many right ones more than their share that the rest is `loss` less often right
        right, wrong = np.flatnonzero(night.right), np.flatnonzero(~night.right)
        hits = round(night.right.sum() - (night.right.mean() - loss) * (len(night.ids) - len(gone)))
        hits = min(hits, len(gone))  # all of them: 2.9 points
        gone = np.append(rng.choice(right, hits, replace=False), rng.choice(wrong, len(gone) - hits, replace=False))
    return night.only(~np.isin(np.arange(len(night.ids)), gone))


def retrained(night: Night, loss: float, rng: np.random.Generator) -> Night:
    """Other weights: two of a hundred answers are lost and as many gained, or more lost."""
    draws = rng.random(len(night.ids))
    lost, gained = draws < (0.02 + loss) / RIGHT, draws < 0.02 / (1 - RIGHT)
    return Night(night.ids, np.where(night.right, ~lost, gained))


def everything(night: Night, loss: float, rng: np.random.Generator) -> Night:
    """A file more, samples replaced and removed, other weights, and where nothing is lost labels mended: at once."""
    for change in (added, drifted, retrained):
        night = change(night, loss / PARTS, rng)
    return removed(night if loss else mended(night, 0.0, rng), 0.0, rng)


KINDS: dict[str, Change] = {
    "a file added": added,
    "labels mended": mended,
    "samples drifted": drifted,
    "samples removed": removed,
    "weights changed": retrained,
    "all at once": everything,
}


def is_red(before: Night, after: Night, rng: np.random.Generator, on: On = "all", bound: float = 0.0) -> bool:
    """Whether a gate fails the later night that allows so much of a loss."""
    nights = [right_or_wrong([str(name) for name in night.ids], night.right) for night in (before, after)]
    strict = difference(*nights, rng, 1 - 2 * LEVEL, on)
    if strict is None or -strict.high <= bound:  # most nights: no need of the other interval
        return False
    usual, gate = difference(*nights, rng, 0.95, on), GATE.model_copy(update={"drop_at_most": bound})
    assert usual is not None
    return look(gate, Finding("subject.accuracy"), usual, strict, "last", LEVEL).raw == "failed"


def week(change: Change, loss: float, rng: np.random.Generator, on: On = "all", bound: float = 0.0) -> bool:
    """Whether a night after the change is red, of two with the same samples, and answers that waver a little."""
    before = Night(np.arange(N), rng.random(N) < RIGHT)
    after = change(before, loss, rng)
    for _ in range(NIGHTS):
        if is_red(before, after, rng, on, bound):
            return True
        swap = rng.random(len(after.ids))
        after = Night(after.ids, np.where(after.right, swap >= CHURN / RIGHT, swap < CHURN / (1 - RIGHT)))
    return False


COLUMNS: tuple[tuple[str, float, On, float], ...] = (
    ("3 points lost, `drop_at_most: 0`", LOSS, "all", 0.0),
    ("3 points lost, `drop_at_most: 0.01`", LOSS, "all", 0.01),
    ("nothing lost, `drop_at_most: 0`", 0.0, "all", 0.0),
    ("3 points lost, 0.01, `on: shared`", LOSS, "shared", 0.01),
)


def table(weeks: int) -> list[str]:
    """Per kind which share of so many weeks is red, under each gate."""
    rows = [
        f"Red within two nights, of {weeks} weeks (n = {N:,}, {RIGHT:.0%} right, one-sided level {LEVEL:.4f}):",
        "",
        f"| what changed | {' | '.join(name for name, *_ in COLUMNS)} |",
        f"|---{'|---' * len(COLUMNS)}|",
    ]
    for name, change in KINDS.items():
        rng = np.random.default_rng(11)
        red = [np.mean([week(change, loss, rng, on, at) for _ in range(weeks)]) for _, loss, on, at in COLUMNS]
        rows.append(f"| {name} | {' | '.join(f'{share:.2f}' for share in red)} |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """The table, printed, or written into the document."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="five weeks a cell: whether it works")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    options = parser.parse_args()
    rows = table(5 if options.quick else 100)
    print("\n".join(rows))
    if options.write:
        page = PAGE.read_text()
        start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
        PAGE.write_text(f"{page[:start]}\n" + "\n".join(rows) + f"\n{page[end:]}")


if __name__ == "__main__":
    main()
