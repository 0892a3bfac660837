"""What attacks on texts show in the report: how often words fool the subject, by how little, and what noise does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.tasks.attacks.noise.page_blocks import Noised, noise_blocks, noise_sentence
from assay.tasks.attacks.words.page_examples import carriers_table, examples_block
from assay.tasks.attacks.words.page_shown import Shown, WordFindings, estimate
from assay.tasks.reporting.numerals import integer, interval, p_equals, percent, plural
from assay.tasks.reporting.parts import BarPlot, Block, Cell, Column, DataTable, Part, Verdict
from assay.tasks.statistics.findings import Finding

_NAMED = 3
_DIFFERENCES: tuple[tuple[str, str, Literal["percent", "number"]], ...] = (
    ("success_difference", "Success rate", "percent"), ("perturbed_words_difference", "Words changed", "number"),
    ("queries_difference", "Queries", "number"),
)  # fmt: skip
"""The paired differences: what each is called, and how it is written."""


def page(findings: Sequence[Finding], shown: Sequence[Shown] = ()) -> Part:
    """The part of the report about attacks on texts, from the findings `attack.*` and what the attacks made."""
    found = WordFindings(findings)
    blocks: list[Block] = []
    if found.subjects:
        blocks += [_rates_plot(found), _figures(found), *_differences(found)]
    blocks += [texts for one in shown if one.attacked is not None and (texts := examples_block(one)) is not None]
    blocks += [table for one in shown if (table := carriers_table(one)) is not None]
    blocks += noise_blocks(findings)
    blocks += [texts for one in shown if one.attacked is None and (texts := examples_block(one)) is not None]
    if found.subjects:
        blocks.append(_skipped(found))
    subjects = list(dict.fromkeys([*found.subjects, *Noised(findings).subjects]))
    sentences = [_sentence(found, findings, subject) for subject in subjects[:_NAMED]]
    said = " ".join(one[:1].upper() + one[1:] for one in sentences if one)
    return Part("Attacks on texts", said or "Nothing was attacked.", blocks, "text-attacks")


def verdict(findings: Sequence[Finding]) -> Verdict | None:
    """The line about attacks on texts for the terminal and the head of the page; None where there was none."""
    found, noised = WordFindings(findings), Noised(findings)
    lines = []
    for subject in dict.fromkeys([*found.subjects, *noised.subjects]):
        worst, hardest = found.worst(subject), noised.hardest(subject)
        parts = []
        if worst is not None:
            rate = f"{percent(worst.value, 0)} {interval(worst.low, worst.high, digits=0)}"
            parts.append(f"{worst.of} fools {subject} on {rate} of the texts it attacks")
        if hardest is not None:
            noise = hardest.group.replace(", severity=", " at severity ")
            parts.append(f"with {noise} {subject} gets {percent(hardest.value, 0)} right")
        lines += [" and ".join(parts)] if parts else []
    if not lines:
        return None
    rest = len(lines) - _NAMED
    more = f"; {plural(rest, 'more subject')} below" if rest > 0 else ""
    text = "; ".join(lines[:_NAMED]) + more
    return Verdict(text[:1].upper() + text[1:])


def _sentence(found: WordFindings, findings: Sequence[Finding], subject: str) -> str:
    worst = found.worst(subject)
    said = ""
    if worst is not None:
        said = (
            f"{worst.of} makes {subject} wrong on {percent(worst.value)} {interval(worst.low, worst.high)} of the "
            f"{integer(worst.n)} texts that it attacked"
        )
        words = found.get("perturbed_words", subject, worst.of)
        said += "." if words is None else f", by {words.value:.1f} words each on average."
    noise = noise_sentence(findings, subject)
    return " ".join(filter(None, (said, noise if said or not noise else f"{subject}: {noise}")))


def _rates_plot(found: WordFindings) -> BarPlot:
    """How often each attack succeeds on each subject."""
    rates = [
        one for subject in found.subjects for attack in found.attacks
        if (one := found.get("success_rate", subject, attack)) is not None
    ]  # fmt: skip
    names = [f"{one.of} on {one.subject}" for one in rates]
    said = "; ".join(f"{name} {percent(one.value)}" for name, one in zip(names, rates, strict=True))
    return BarPlot(
        "How often an attack on words succeeds", names, [one.value for one in rates], "Success rate",
        f"Success rate of word attacks: {said}.", [one.low for one in rates], [one.high for one in rates],
        "Of the texts that were right before and could be attacked. Whiskers are 95 % intervals (Wilson).", "percent",
    )  # fmt: skip


def _figures(found: WordFindings) -> DataTable:
    """The paper's Table 4 for these attacks, with intervals, queries and what is still right."""
    alike = "Of the attacked text and the original, cosine"
    encoders = list(dict.fromkeys(
        group for subject in found.subjects for attack in found.attacks
        for group in found.groups("similarity", subject, attack)
    ))  # fmt: skip
    columns = [
        Column("Subject"), Column("Attack"), Column("Success rate", "percent", "Of the texts that it attacked"),
        Column("Words changed", "number", "Mean over successful attacks"),
        *(Column(f"Similarity, {name}", "number", alike) for name in encoders),
        Column("Queries", "number", "Mean number of texts that the subject was asked about"),
        Column("Still right", "percent", "Accuracy over all texts after the attack"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for subject in found.subjects:
        for attack in found.attacks:
            if found.get("success_rate", subject, attack) is None:
                continue
            similar = [estimate(found.get("similarity", subject, attack, name)) for name in encoders]
            names = ("success_rate", "perturbed_words", "queries", "accuracy")
            rate, words, queries, right = (estimate(found.get(name, subject, attack)) for name in names)
            rows.append([subject, attack, rate, words, *similar, queries, right])
    note = "Intervals are 95 %: Wilson's for shares, Student's for means. The first encoder is the attack's own limit."
    return DataTable("Attacks on words in numbers", columns, rows, note)


def _differences(found: WordFindings) -> list[Block]:
    """Two attacks on the same texts, less one another."""
    if not found.pairs:
        return []
    columns = [Column("Subject"), Column("Attacks")]
    for _, name, kind in _DIFFERENCES:
        columns += [Column(name, kind, "First less second, on the same texts"), Column("p", "p")]
    rows: list[list[Cell]] = []
    for subject, pair in found.pairs:
        row: list[Cell] = [subject, pair]
        for metric, _, _ in _DIFFERENCES:
            one = found.get(metric, subject, pair)
            row += [estimate(one), None if one is None else one.p_value]
        rows.append(row)
    said = " ".join(_compared(found, subject, pair) for subject, pair in found.pairs)
    note = (
        f"{said} First less second, every text its own control: success on texts that both attacked (McNemar's exact "
        "test), words and queries where both succeed (Wilcoxon's). Intervals are 95 % (bootstrap)."
    )
    return [DataTable("One attack beside another", columns, rows, note)]


def _compared(found: WordFindings, subject: str, pair: str) -> str:
    one = found.get("success_difference", subject, pair)
    if one is None or one.value is None:
        return ""
    points = f"{abs(100 * one.value):.1f} points {'more' if one.value > 0 else 'less'} often than"
    often = points if one.value else "as often as"
    return f"{pair} on {subject}: the first succeeds {often} the second ({p_equals(one.p_value)})."


def _skipped(found: WordFindings) -> DataTable:
    """The texts that were not attacked, and why."""
    rows: list[list[Cell]] = []
    for subject in found.subjects:
        for attack in found.attacks:
            for reason in found.groups("skipped", subject, attack):
                one = found.get("skipped", subject, attack, reason)
                if one is not None and (reason or not one.value):
                    count = round((one.value or 0.0) * (one.n or 0))
                    rows.append([subject, attack, reason or "none was skipped", count, estimate(one)])
    columns = [Column("Subject"), Column("Attack"), Column("Why"), Column("Texts", "integer")]
    columns.append(Column("Of all", "percent"))
    return DataTable("Texts that were not attacked", columns, rows, collapsed=True)
