"""A trial of rules as a person reads it in a terminal: a table, and per rule the samples that show what it does."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from assay.flows.commands.answers import columns
from assay.flows.trying.trial import WHYS, Trial
from assay.tasks.labeling.written import WrittenRules
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.proportions import wilson

LONGEST = 100
_SHOWN_COLUMNS = 4
_UNSHOWN = ("id", "gold", "image", "height", "width", "channels", "labels")

HEADINGS = ("rule", "votes for", "coverage", "overlaps", "conflicts", "right by gold")


def table_of_rules(trial: Trial) -> str:
    """A line per rule, and what they come to together."""
    counts, n = trial.counts, max(trial.counts.samples, 1)
    cast = counts.votes.sum(axis=1)
    rows = []
    for at, name in enumerate(counts.functions):
        voted = ", ".join(trial.classes[code] for code in counts.votes[at].nonzero()[0]) or "nothing"
        shares = [f"{int(count) / n:.1%}" for count in (cast[at], counts.overlaps[at], counts.conflicts[at])]
        rows.append([name, voted, *shares, _right(int(counts.gold_hits[at]), int(counts.gold_votes[at]))])
    together = (
        f"Of {plural(counts.samples, 'sample')} {counts.covered / n:.1%} have a vote, {counts.overlapped / n:.1%} "
        f"several, {counts.conflicted / n:.1%} votes that conflict."
    )
    raised = [f"{name} raised on {example}" for name, example in sorted(trial.faults.items())]
    return "\n".join([columns(HEADINGS, rows), together, *raised])


def _right(hits: int, votes: int) -> str:
    """The share of right votes with Wilson's interval.

    >>> _right(9, 10), _right(0, 0)
    ('90% [60, 98] of 10', '–')
    """
    if not votes:
        return "–"
    low, high = wilson([hits], [votes])
    return f"{hits / votes:.0%} [{100 * low[0]:.0f}, {100 * high[0]:.0f}] of {votes:,}"


def samples_of_rules(trial: Trial, samples: pa.Table, written: WrittenRules | None, most: int, masked: bool) -> str:
    """Per rule the samples that it votes on, misses, and stands alone on."""
    looked_at = {} if written is None else {rule.called: rule.column for rule in written.rules}
    return "\n".join(
        line
        for at, name in enumerate(trial.counts.functions)
        for line in _samples_of(trial, samples, at, looked_at.get(name), most, masked)
    )


def _samples_of(
    trial: Trial, samples: pa.Table, rule: int, column: str | None, most: int, masked: bool
) -> Iterator[str]:
    yield f"\n{trial.counts.functions[rule]}"
    for why in WHYS:
        count, rows = len(trial.rows(rule, why)), trial.shown(rule, why, most)
        yield f"  {why} {count:,}" + (f", {len(rows)} of them:" if len(rows) < count else ":" if count else "")
        for row in rows.tolist():
            gold = "" if trial.gold[row] < 0 else f"  (gold: {trial.classes[trial.gold[row]]})"
            yield f"    {samples['id'][row].as_py()}{gold}  {in_words(samples, row, column, masked)}".rstrip()


def in_words(samples: pa.Table, row: int, column: str | None, masked: bool) -> str:
    """What a person judges a sample by: the column that the rule looks at, else the first ones. A picture's id is its
    path.

    >>> in_words(pa.table({"id": ["a"], "age": [61], "note": ["fell  ill"]}), 0, None, False)
    'age 61 · note fell ill'
    """
    if masked:
        return "(masked)"
    chosen = [name for name in samples.column_names if name not in _UNSHOWN][:_SHOWN_COLUMNS]
    if column is not None and column in samples.column_names:
        chosen = [column]
    cells = [(name, " ".join(str(samples[name][row].as_py()).split())) for name in chosen]
    text = " · ".join(f"{name} {cell}" for name, cell in cells)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
