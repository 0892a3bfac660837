"""What is said of blame: what changed, the one sentence for the message, and the shares as a table or as JSON."""

from __future__ import annotations

import math

from assay.flows.blame.changes import Changes
from assay.flows.blame.sharing import Blame, Share
from assay.flows.commands.answers import columns
from assay.flows.report.comparison import value
from assay.infra.terminal import json_text
from assay.tasks.statistics.resampling import Interval

_MINUS = "\N{MINUS SIGN}"
_SHARE = "share"


def changed_in_words(changes: Changes) -> list[str]:
    """One line per thing that is not the same in the two runs."""
    lines = []
    for change in changes.parts:
        lines.append(f"{change.part:<9} {change.words}")
        lines += [f"{'':<9} {detail}" for detail in change.details]
    if changes.libraries:
        lines.append(f"{'versions':<9} {', '.join(changes.libraries)}")
    if not lines:
        return ["Nothing that a run knows of changed: the same samples, rules, models, settings and seed."]
    return [*lines, *lost_in_words(changes)]


def lost_in_words(changes: Changes) -> list[str]:
    """Why parts are not shared out: one sentence for those that have the same reason."""
    reasons = dict.fromkeys(one.lost for one in changes.lost)
    return [
        f"Not swapped: {' and '.join(one.part for one in changes.lost if one.lost == why)}, since {why}."
        for why in reasons
    ]


def sentence(blame: Blame) -> str:
    """The sentence for the message: a share counts as the whole does, so that what pulled the other way is below 0."""
    unit = _unit(blame)
    whole = _number(blame.total.value, unit)
    ends = _bounds_text(blame.total, unit)
    if not blame.shares:
        return f"{_named(blame)}: nothing to share out of {whole}."
    ordered = sorted(blame.shares, key=lambda one: -_signed_share(blame, one).value)
    parts = [f"{_with_interval(_signed_share(blame, one), unit)} come from {one.words}" for one in ordered[:1]]
    parts += [f"{_with_interval(_signed_share(blame, one), unit)} from {one.words}" for one in ordered[1:]]
    points = " points" if unit == _SHARE else ""
    return f"{_named(blame)}: of {whole}{points}{ends}, {', '.join(parts)}."


def table(blame: Blame) -> str:
    """The shares as they are, with the sum that they add up to."""
    rows = [[one.words, _signed(one.interval.value), *_ends(one.interval)] for one in blame.shares]
    rows.append(["together", _signed(sum(one.interval.value for one in blame.shares)), *_ends(blame.total)])
    return columns(["from", "change", "low", "high"], rows)


def as_json(blame: Blame) -> str:
    """Everything as one JSON object."""
    question, metric = blame.question, blame.question.key
    return json_text(
        {
            "run": question.later.id,
            "against": question.earlier.id,
            "sentence": sentence(blame),
            "finding": dict(zip(("metric", "of", "group", "subject"), metric, strict=True)),
            "before": question.before.value,
            "after": question.after.value,
            "change": _plain(blame.total),
            "changed": [
                {"part": one.part, "what": one.words, "details": list(one.details), "lost": one.lost}
                for one in blame.changes.parts
            ],
            "samples": vars(blame.changes.samples),
            "versions": list(blame.changes.libraries),
            "shares": [{"part": one.part, "what": one.words} | _plain(one.interval) for one in blame.shares],
            "computed_stages": blame.computed,
        }
    )


def before_and_after(blame: Blame) -> str:
    """The finding in both runs."""
    question = blame.question
    return f"{question.earlier.id} → {question.later.id}: {value(question.before)} → {value(question.after)}"


def _named(blame: Blame) -> str:
    metric, of, group, subject = blame.question.key
    about = ", ".join(part for part in (subject, of, group) if part)
    return f"{metric}{f' ({about})' if about else ''}"


def _unit(blame: Blame) -> str:
    return blame.question.after.unit or blame.question.before.unit


def _signed_share(blame: Blame, share: Share) -> Interval:
    """The share, counted in the direction of the whole."""
    interval = share.interval
    return Interval(-interval.value, -interval.high, -interval.low) if blame.total.value < 0 else interval


def _with_interval(interval: Interval, unit: str) -> str:
    return _number(interval.value, unit) + _bounds_text(interval, unit)


def _bounds_text(interval: Interval, unit: str) -> str:
    return "" if math.isnan(interval.low) else f" [{_number(interval.low, unit)}, {_number(interval.high, unit)}]"


def _number(number: float, unit: str) -> str:
    text = f"{number * 100:.1f}" if unit == _SHARE else f"{number:.3g}"
    text = text.lstrip("-") if float(text) == 0 else text
    return text.replace("-", _MINUS)


def _signed(number: float) -> str:
    return f"{round(number, 4) + 0.0:+.4f}"


def _ends(interval: Interval) -> list[str]:
    return ["", ""] if math.isnan(interval.low) else [_signed(interval.low), _signed(interval.high)]


def _plain(interval: Interval) -> dict[str, float | None]:
    return {name: number if math.isfinite(number) else None for name, number in interval._asdict().items()}
