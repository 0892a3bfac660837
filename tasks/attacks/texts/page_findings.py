"""The findings on word attacks as the page asks for them, and what is concluded of one attack beside another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from assay.tasks.attacks.texts.measures import BLIND
from assay.tasks.attacks.texts.rewriting import WRONG
from assay.tasks.reporting.numerals import integer, interval, p_concluded
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, highest, measured


@dataclass(frozen=True)
class ShownTexts:
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
        self.subjects = distinct(rate.subject for rate in rates)
        self.attacks = distinct(rate.of for rate in rates)
        self.pairs = distinct((finding.subject, finding.of) for finding in findings.select("attack.success_difference"))
        self.tried = distinct((rate.subject, rate.of) for rate in rates)
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
        wrong = self.get("skipped", subject, attack, WRONG)
        return texts.n - (0 if wrong is None else round((wrong.value or 0.0) * texts.n)), texts.n

    def limits(self, subject: str, attack: str) -> dict[str, float]:
        """The least cosines of a replacement, by source of word vectors; of neighbour lists none is known."""
        limits = self.all.select("attack.limit", subject=subject, of=attack)
        return {limit.group: limit.value for limit in limits if limit.value is not None}

    def groups(self, metric: str, subject: str, attack: str) -> list[str]:
        """The groups in which a metric was measured, in their order."""
        return [finding.group for finding in measured(self.all.select(f"attack.{metric}", subject=subject, of=attack))]

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


_SAME_COSINE = 0.005  # limits that lie no further apart are the same


def opposites(findings: WordFindings) -> str:
    """Whether replacements may say the opposite, once for all attacks; nothing of findings that do not say."""
    refused = [*filter(None, (findings.entry("refused", *pair) for pair in findings.tried))]
    if not refused:
        return ""
    allowed = [count.of for count in refused if count.value is None]
    count = round(sum(count.value or 0.0 for count in refused))
    if allowed:
        names = " and ".join(distinct(allowed))
        return (
            f"{names} may put in opposites (antonyms: allow), so part of {'its' if len(allowed) == 1 else 'their'} "
            "success may be that the text says the opposite. "
        )
    return (
        f"{integer(count)} {'replacement was' if count == 1 else 'replacements were'} refused as opposites of their "
        "words; the list is not complete, and nobody has checked that an attacked text still says the same. "
    )


def compared(findings: WordFindings, subject: str, pair: str) -> str:
    """What is concluded of two attacks, from the corrected test alone, and under which limits each chose its words."""
    difference, test = (findings.get(name, subject, pair) for name in ("success_difference", "mcnemar_p"))
    if difference is None or difference.value is None:
        return ""
    first, _, second = pair.partition(" - ")
    points = f"{100 * difference.value:+.1f} points {interval(difference.low, difference.high)}".replace(
        "-", "\u2212", 1
    )
    p = p_concluded(None, None) if test is None else p_concluded(test.p_value, test.p_adjusted)
    shown = test is not None and test.verdict in ("more often", "less often")
    if shown and test is not None:
        conclusion = f"{first} succeeds {test.verdict} than {second} on {subject} ({points}, {p})"
    else:
        conclusion = f"that {first} and {second} differ in success on {subject} is not shown ({points}, {p})"
    limits = [findings.limits(subject, attack) for attack in (first, second)]
    if not any(limits):
        return f"{conclusion}."
    one_limit, other_limit = (limits_in_short(limit) or "any cosine" for limit in limits)
    both = f"{first} may take words at {one_limit}, {second} at {other_limit}"
    if _same_limits(limits[0], limits[1]):
        return f"{conclusion}; {both}."
    return f"{conclusion}; {both}: these limits are unlike, and this compares them as much as the attacks."


def _same_limits(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    """Whether two attacks ask the same cosine of every source of vectors that both have."""
    shared = first.keys() & second.keys()
    return bool(shared) and all(abs(first[name] - second[name]) < _SAME_COSINE for name in shared)
