"""The findings on word attacks as the page asks for them, and their tables: how often attacks succeed, how similar
texts stay, and one attack beside another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from assay.tasks.attacks.texts.measures import BLIND
from assay.tasks.reporting.estimates import (
    CHANCES,
    About,
    capital,
    chance_cells,
    class_columns,
    column,
    estimate,
    share_estimate,
    table_of,
)
from assay.tasks.reporting.numerals import integer, interval, p_concluded
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, highest, measured

WRONG_ALREADY = "the prediction is wrong already"
"""Why a text is skipped whose prediction needs no attack to be wrong."""


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
        wrong = self.get("skipped", subject, attack, WRONG_ALREADY)
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


_SAME_COSINE = 0.005
_TESTED = "success_difference"
_DIFFERENCES: tuple[tuple[str, str, Literal["percent", "number"]], ...] = (
    (_TESTED, "Success, difference", "percent"),
    ("perturbed_words_difference", "Words changed, difference", "number"),
    ("queries_difference", "Queries, difference", "number"),
)
"""The paired differences: what each is called, and how it is written."""


def figures(findings: WordFindings) -> list[DataTable]:
    """The paper's Table 4 for these attacks, with intervals and what is still right; and how alike the texts stay."""
    rows = [About(subject, attack) for subject, attack in findings.tried]
    tables = [_success(findings), *class_table(findings.all, rows), _similarity_table(findings)]
    return [*tables, *_probabilities_table(findings)]


def _success(findings: WordFindings) -> DataTable:
    columns = [
        Column("Subject"),
        Column("Attack"),
        Column("Success rate", "percent", "Of the texts that it attacked"),
        Column("Right before", "percent", "Accuracy on the texts under attack, as they are"),
        Column("Still right", "percent", "Accuracy on the texts under attack, after it"),
        Column("Words changed", "number", "Mean over successful attacks"),
        Column("Queries", "number", "Mean number of texts that the subject was asked about"),
    ]
    rows: list[list[Cell]] = []
    for subject, attack in findings.tried:
        names = ("success_rate", "accuracy", "perturbed_words", "queries")
        rate, *rest = (estimate(findings.get(name, subject, attack)) for name in names)
        idle = "no rate" if findings.blind(subject, attack) else "nothing to try"
        success: Cell = idle if findings.nothing_tried(subject, attack) else rate
        counted = findings.right_before(subject, attack)
        before = None if counted is None else share_estimate(*counted)
        rows.append([subject, attack, success, before, *rest])
    note = (
        f"A success is another answer. {_opposites(findings)}Intervals are 95 %: Wilson's for shares, for means a "
        "bootstrap over the texts, from ten on that are not all alike. Both accuracies are of the texts under attack, "
        "which may be fewer than those of the audit."
    )
    return DataTable("Attacks on words in numbers", columns, rows, note)


def class_table(findings: FindingIndex, rows: Sequence[About]) -> list[DataTable]:
    """What every class gets under word attacks and noise; nothing where no class is known."""
    known = [row for row in rows if findings.get("attack.balanced_accuracy", *row) is not None]
    columns = [
        column("Subject", "subject"),
        column("Attack", "of"),
        column("Noise", "group"),
        *class_columns("attack", findings),
    ]
    title, many = "What every class gets under attack", len(known) > MANY
    return [table_of(title, known, columns, findings=findings, collapsed=many)] if known else []


MANY = 12
"""Rows from which a table is folded."""


def _similarity_table(findings: WordFindings) -> DataTable:
    alike = "Of the attacked text and the original, cosine; mean over successful attacks"
    encoders = distinct(
        group
        for subject in findings.subjects
        for attack in findings.attacks
        for group in findings.groups("similarity", subject, attack)
    )
    columns = [
        Column("Subject"),
        Column("Attack"),
        Column("Least cosine", "text", "How similar a replacement had to be, by source of word vectors"),
        Column("Synonyms told apart", "text", "The chance that a synonym pair is nearer than a random one (AUC)"),
        Column("Refused as opposites", "text", "Replacements of the texts' words that were left out"),
        *(Column(f"Similarity, {name}", "number", alike) for name in encoders),
    ]
    rows: list[list[Cell]] = []
    for subject, attack in findings.tried:
        similar = [estimate(findings.get("similarity", subject, attack, name)) for name in encoders]
        limits = limits_in_words(findings.limits(subject, attack))
        rows.append(
            [
                subject,
                attack,
                limits,
                _told_apart(findings, subject, attack),
                _refused(findings, subject, attack),
                *similar,
            ]
        )
    note = "The first encoder is the attack's own limit. Intervals are 95 % (bootstrap over the texts, from ten on)."
    return DataTable("How alike attacked texts are", columns, rows, note)


def _told_apart(findings: WordFindings, subject: str, attack: str) -> Cell:
    spaces = findings.told_apart(subject, attack)
    areas = (f"{space.value:.2f} {interval(space.low, space.high, 'number', 2)} ({space.group})" for space in spaces)
    return ", ".join(areas) or None


def _probabilities_table(findings: WordFindings) -> list[DataTable]:
    """What the probabilities are worth once the words are swapped; nothing where no truth is known."""
    rows: list[list[Cell]] = []
    for subject, attack in findings.tried:
        if findings.get("ece", subject, attack) is None:
            continue
        chances = chance_cells(findings.all, "attack", subject, attack)
        rows.append([subject, attack, "", estimate(findings.get("auc", subject, attack)), *chances])
        rows += [
            [subject, attack, name, estimate(findings.get("class_auc", subject, attack, name)), None, None, None]
            for name in findings.groups("class_auc", subject, attack)
        ]
    columns = [
        Column("Subject"),
        Column("Attack"),
        Column("Class"),
        Column("AUC", "number", "From probabilities; the mean over classes, and each class against the rest"),
        *CHANCES,
    ]
    note = "Of all texts of a known class after the attack, those that it skipped as they are."
    return [DataTable("What probabilities are worth after the attack", columns, rows, note)] if rows else []


def _opposites(findings: WordFindings) -> str:
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


def _refused(findings: WordFindings, subject: str, attack: str) -> Cell:
    refused = findings.entry("refused", subject, attack)
    if refused is None:
        return None
    return "allowed" if refused.value is None else integer(round(refused.value))


def differences(findings: WordFindings) -> list[Block]:
    """Two attacks on the same texts, less one another."""
    if not findings.pairs:
        return []
    columns = [Column("Subject"), Column("Attacks")]
    for metric, name, kind in _DIFFERENCES:
        columns.append(Column(name, kind, "First less second, on the same texts"))
        columns += [Column("p, corrected", "p")] if metric == _TESTED else []
    rows: list[list[Cell]] = []
    for subject, pair in findings.pairs:
        tested, *rest = (estimate(findings.get(metric, subject, pair)) for metric, *_ in _DIFFERENCES)
        rows.append([subject, pair, tested, _p_of(findings, subject, pair), *rest])
    concluded = [compared(findings, subject, pair, limits_in_words) for subject, pair in findings.pairs]
    conclusions = "".join(f"{capital(text)} " for text in concluded if text)
    note = (
        "First less second, every text its own control: success on texts that both attacked (McNemar's mid-p test, "
        "corrected with the other tests of the run by Holm, unless it asks for none), words and queries where both "
        "succeed (nothing is concluded from these). Intervals are 95 % (of success "
        "Tango's, else bootstrap over at least ten texts)."
    )
    return [DataTable("One attack beside another", columns, rows, conclusions + note)]


def compared(findings: WordFindings, subject: str, pair: str, written: Callable[[Mapping[str, float]], str]) -> str:
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
    one_limit, other_limit = (written(limit) or "any cosine" for limit in limits)
    both = f"{first} may take words at {one_limit}, {second} at {other_limit}"
    if _same_limits(limits[0], limits[1]):
        return f"{conclusion}; {both}."
    return f"{conclusion}; {both}: these limits are unlike, and this compares them as much as the attacks."


def _same_limits(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    """Whether two attacks ask the same cosine of every source of vectors that both have."""
    shared = first.keys() & second.keys()
    return bool(shared) and all(abs(first[name] - second[name]) < _SAME_COSINE for name in shared)


def _p_of(findings: WordFindings, subject: str, pair: str) -> float | None:
    """McNemar's p after Holm, where the run has corrected it."""
    test = findings.get("mcnemar_p", subject, pair)
    if test is not None:
        return test.concluded_p
    difference = findings.get("success_difference", subject, pair)
    return None if difference is None else difference.p_value
