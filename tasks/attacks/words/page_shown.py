"""What the page about attacks on texts is made of: findings to be asked for, and the tables of one attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from assay.tasks.reporting.parts import Cell, Estimate
from assay.tasks.statistics.findings import Finding


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

    def get(self, metric: str, subject: str, attack: str, group: str = "") -> Finding | None:
        """The finding `attack.metric`, if it has a value."""
        found = self._known.get((f"attack.{metric}", subject, attack, group))
        return None if found is None or found.value is None else found

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


def estimate(one: Finding | None) -> Cell:
    """A finding as a cell, with its interval and n."""
    return None if one is None or one.value is None else Estimate(one.value, one.low, one.high, one.n)
