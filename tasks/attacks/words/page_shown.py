"""What the page about attacks on texts is made of: findings to be asked for, and the tables of one attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from assay.tasks.reporting.parts import Cell, Estimate
from assay.tasks.statistics.findings import Finding

WRONG_ALREADY = "the prediction is wrong already"
"""Why a text is skipped whose prediction needs no attack to be wrong."""


@dataclass(frozen=True)
class Shown:
    """One attack on one subject: its examples, and (of word attacks) what became of every text."""

    subject: str
    attack: str
    classes: Sequence[str]
    examples: pa.Table | None = None
    attacked: pa.Table | None = None
    masked: bool = False


class WordFindings:
    """The findings on word attacks, to be asked for one by one."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        mine = [one for one in findings if one.stage == "attack"]
        self._known = {(one.metric, one.subject, one.of, one.group): one for one in mine}
        rates = [one for one in mine if one.metric == "attack.success_rate" and one.group == ""]
        compared = [one for one in mine if one.metric == "attack.success_difference"]
        self.subjects = list(dict.fromkeys(one.subject for one in rates))
        self.attacks = list(dict.fromkeys(one.of for one in rates))
        self.pairs = list(dict.fromkeys((one.subject, one.of) for one in compared))
        self.made = list(dict.fromkeys((one.subject, one.of) for one in rates))
        """Which subject was under which attack, whether this could try anything or not."""

    def get(self, metric: str, subject: str, attack: str, group: str = "") -> Finding | None:
        """The finding `attack.metric`, if it has a value."""
        found = self._known.get((f"attack.{metric}", subject, attack, group))
        return None if found is None or found.value is None else found

    def told(self, metric: str, subject: str, attack: str) -> Finding | None:
        """The finding `attack.metric`, also where it has no value and its verdict says why."""
        return self._known.get((f"attack.{metric}", subject, attack, ""))

    def constant(self, subject: str) -> str:
        """What a subject (almost) always says, so that no attack on it means anything; empty of others."""
        flag = self._known.get(("attack.red_flag", subject, "majority-predictor", ""))
        return flag.verdict.partition(": ")[2] if flag is not None and flag.value == 1.0 else ""

    def nothing_tried(self, subject: str, attack: str) -> bool:
        """Whether the attack had no text that it could try anything on: that says nothing about the subject."""
        return (subject, attack) in self.made and self.get("success_rate", subject, attack) is None

    def all_known(self, subject: str, attack: str) -> bool:
        """Whether the true class of every text is known, so that another answer is a wrong one."""
        measured = self._known.get(("attack.accuracy", subject, attack, ""))
        texts = self.get("skipped", subject, attack)
        return measured is not None and bool(measured.n) and (texts is None or measured.n == texts.n)

    def right_before(self, subject: str, attack: str) -> tuple[int, int] | None:
        """How many of the texts under attack were right before it, and how many there are; None where nobody knows."""
        texts = self.get("skipped", subject, attack)
        if texts is None or not texts.n or not self.all_known(subject, attack):
            return None
        wrong = self.get("skipped", subject, attack, WRONG_ALREADY)
        return texts.n - (0 if wrong is None else round((wrong.value or 0.0) * texts.n)), texts.n

    def limits(self, subject: str, attack: str) -> dict[str, float]:
        """The least cosines of a replacement, by source of word vectors; of neighbour lists none is known."""
        found = {group: self.get("limit", subject, attack, group) for group in self.groups("limit", subject, attack)}
        return {group: one.value for group, one in found.items() if one is not None and one.value is not None}

    def groups(self, metric: str, subject: str, attack: str) -> list[str]:
        """The groups in which a metric was measured, in their order."""
        return [
            group for (name, whose, of, group), one in self._known.items()
            if (name, whose, of) == (f"attack.{metric}", subject, attack) and one.value is not None
        ]  # fmt: skip

    def worst(self, subject: str) -> Finding | None:
        """The attack that succeeds most often."""
        rates = [one for attack in self.attacks if (one := self.get("success_rate", subject, attack)) is not None]
        return max(rates, key=lambda one: one.value or 0.0, default=None)


def limits_in_words(limits: Mapping[str, float]) -> str:
    """How similar a replacement had to be.

    >>> limits_in_words({"encoder": 0.546}), limits_in_words({})
    ('cosine ≥ 0.55 (encoder)', 'any cosine')
    >>> limits_in_words({"fasttext": 0.07, "encoder": 0.34, "ppmi": 0.26})
    'most of cosine ≥ 0.07 (fasttext), 0.34 (encoder), 0.26 (ppmi)'
    """
    if not limits:
        return "any cosine"
    each = ", ".join(f"{value:.2f} ({name})" for name, value in limits.items())
    return f"most of cosine ≥ {each}" if len(limits) > 1 else f"cosine ≥ {each}"


def limits_in_short(limits: Mapping[str, float]) -> str:
    """The same where there is little room; empty where no cosine was asked.

    >>> limits_in_short({"fasttext": 0.07, "encoder": 0.34}), limits_in_short({"encoder": 0.546})
    ('cosine ≥ 0.07 to 0.34 by 2 vector spaces', 'cosine ≥ 0.55')
    >>> limits_in_short({"fasttext": 0.3, "encoder": 0.302})
    'cosine ≥ 0.30 by 2 vector spaces'
    """
    if not limits:
        return ""
    low, high = f"{min(limits.values()):.2f}", f"{max(limits.values()):.2f}"
    least = f"cosine ≥ {low}" if low == high else f"cosine ≥ {low} to {high}"
    return least if len(limits) == 1 else f"{least} by {len(limits)} vector spaces"


def estimate(one: Finding | None) -> Cell:
    """A finding as a cell, with its interval and n."""
    return None if one is None or one.value is None else Estimate(one.value, one.low, one.high, one.n)
