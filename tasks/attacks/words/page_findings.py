"""What the page about attacks on texts is made of: its findings, and the tables of one attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from assay.tasks.attacks.words.space_findings import BLIND
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, highest, measured

WRONG_ALREADY = "the prediction is wrong already"
"""Why a text is skipped whose prediction needs no attack to be wrong."""


@dataclass(frozen=True)
class AttackedTexts:
    """One attack on one subject: its examples, and (of word attacks) what became of every text."""

    subject: str
    attack: str
    classes: Sequence[str]
    examples: pa.Table | None = None
    attacked: pa.Table | None = None
    masked: bool = False


class WordFindings:
    """The findings on word attacks, as the page asks for them."""

    def __init__(self, findings: FindingIndex) -> None:
        self.all = findings
        rates = findings.select("attack.success_rate", group="")
        self.subjects = distinct(one.subject for one in rates)
        self.attacks = distinct(one.of for one in rates)
        self.pairs = distinct((one.subject, one.of) for one in findings.select("attack.success_difference"))
        self.tried = distinct((one.subject, one.of) for one in rates)
        """Which subject was under which attack, whether this could try anything or not."""

    def get(self, metric: str, subject: str, attack: str, group: str = "") -> Finding | None:
        """The finding `attack.metric`, if it has a value."""
        return self.all.get(f"attack.{metric}", subject, attack, group)

    def entry(self, metric: str, subject: str, attack: str) -> Finding | None:
        """The finding `attack.metric`, also where it has no value and its verdict says why."""
        return self.all.entry(f"attack.{metric}", subject, attack)

    def constant(self, subject: str) -> str:
        """What a subject (almost) always says, so that no attack on it means anything; empty of others."""
        flag = self.entry("red_flag", subject, "majority-predictor")
        return flag.verdict.partition(": ")[2] if flag is not None and flag.value == 1.0 else ""

    def nothing_tried(self, subject: str, attack: str) -> bool:
        """Whether the attack had no text that it could try anything on: that says nothing about the subject."""
        return (subject, attack) in self.tried and self.get("success_rate", subject, attack) is None

    def blind(self, subject: str, attack: str) -> bool:
        """Whether the attack's vectors cannot tell synonyms from chance, so that it has no rate."""
        rate = self.entry("success_rate", subject, attack)
        return rate is not None and rate.verdict == BLIND

    def told_apart(self, subject: str, attack: str) -> list[Finding]:
        """How well each source of vectors tells synonyms from random pairs; of lists nothing is known."""
        return measured(self.all.select("attack.synonym_auc", subject=subject, of=attack))

    def all_known(self, subject: str, attack: str) -> bool:
        """Whether the true class of every text is known, so that another answer is a wrong one."""
        accuracy, texts = self.entry("accuracy", subject, attack), self.get("skipped", subject, attack)
        return accuracy is not None and bool(accuracy.n) and (texts is None or accuracy.n == texts.n)

    def right_before(self, subject: str, attack: str) -> tuple[int, int] | None:
        """How many of the texts under attack were right before it, and how many there are; None where nobody knows."""
        texts = self.get("skipped", subject, attack)
        if texts is None or not texts.n or not self.all_known(subject, attack):
            return None
        wrong = self.get("skipped", subject, attack, WRONG_ALREADY)
        return texts.n - (0 if wrong is None else round((wrong.value or 0.0) * texts.n)), texts.n

    def limits(self, subject: str, attack: str) -> dict[str, float]:
        """The least cosines of a replacement, by source of word vectors; of neighbour lists none is known."""
        limits = self.all.select("attack.limit", subject=subject, of=attack)
        return {limit.group: limit.value for limit in limits if limit.value is not None}

    def groups(self, metric: str, subject: str, attack: str) -> list[str]:
        """The groups in which a metric was measured, in their order."""
        return [one.group for one in measured(self.all.select(f"attack.{metric}", subject=subject, of=attack))]

    def skipped(self, subject: str, attack: str) -> list[Finding]:
        """The share of the texts that were not attacked, in all and for each reason, which is the group."""
        return measured(self.all.select("attack.skipped", subject=subject, of=attack))

    def worst(self, subject: str) -> Finding | None:
        """The attack that succeeds most often."""
        return highest(self.get("success_rate", subject, attack) for attack in self.attacks)


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
