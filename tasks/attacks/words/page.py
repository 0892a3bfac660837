"""What attacks on texts show in the report: how often words fool the subject, by how little, and what noise does."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.attacks.noise.page_blocks import NoiseFindings, noise_blocks, noise_sentence
from assay.tasks.attacks.words.page_examples import carriers_table, examples_block
from assay.tasks.attacks.words.page_findings import AttackedTexts, WordFindings, limits_in_short
from assay.tasks.attacks.words.page_numbers import compared, differences, figures
from assay.tasks.attacks.words.space_findings import BLIND
from assay.tasks.reporting.estimates import estimate
from assay.tasks.reporting.numerals import integer, interval, percent, plural
from assay.tasks.reporting.parts import BarPlot, Block, Cell, Column, DataTable, Part, Tone, Verdict
from assay.tasks.reporting.sentences import NAMED, capital, first_few, share_text
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured
from assay.tasks.statistics.slices import slice_of


def page(findings: FindingIndex, shown: Sequence[AttackedTexts] = ()) -> Part:
    """The part of the report about attacks on texts, from the findings `attack.*` and what the attacks made."""
    word_findings, noise_findings = WordFindings(findings), NoiseFindings(findings)
    blocks: list[Block] = []
    if word_findings.subjects:
        blocks += [*_rates_plot(word_findings), *figures(word_findings), *differences(word_findings)]
    blocks += [texts for one in shown if one.attacked is not None and (texts := examples_block(one)) is not None]
    blocks += [table for one in shown if (table := carriers_table(one)) is not None]
    blocks += noise_blocks(noise_findings)
    blocks += [texts for one in shown if one.attacked is None and (texts := examples_block(one)) is not None]
    if word_findings.subjects:
        blocks.append(_skipped(word_findings))
    subjects = distinct([*word_findings.subjects, *noise_findings.subjects])
    sentences = filter(None, (_sentence(word_findings, noise_findings, subject) for subject in subjects[:NAMED]))
    sentence = " ".join(capital(text) for text in sentences)
    flagged = sum(bool(word_findings.constant(subject)) for subject in subjects)
    judged = plural(flagged, "red flag") if flagged else ""
    tone: Tone = "bad" if flagged else "neutral"
    return Part("Attacks on texts", sentence or "Nothing was attacked.", blocks, "text-attacks", tone, judged)


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about attacks on texts for the terminal and the head of the page; none where there was none."""
    word_findings, noise_findings = WordFindings(findings), NoiseFindings(findings)
    lines = []
    subjects = distinct([*word_findings.subjects, *noise_findings.subjects])
    for subject in subjects:
        if word_findings.constant(subject):
            lines.append(_says_nothing(word_findings, subject))
            continue
        hardest = noise_findings.hardest(subject)
        parts = [_success_text(word_findings, subject)] if subject in word_findings.subjects else []
        if hardest is not None:
            cell = slice_of(hardest.verdict)
            parts.append(
                f"with {cell.name} at severity {cell.severity} {subject} gets {percent(hardest.value, 0)} right"
            )
        lines += [" and ".join(parts)] if parts else []
    if not lines:
        return ()
    flagged = any(word_findings.constant(subject) for subject in subjects)
    return (Verdict(capital(first_few(lines)), "bad" if flagged else "neutral"),)


def _says_nothing(findings: WordFindings, subject: str) -> str:
    return (
        f"attacks say nothing about {subject}, which is degenerate: {findings.constant(subject)}, and what always "
        "answers alike withstands everything"
    )


def _success_text(findings: WordFindings, subject: str) -> str:
    """How often each attack succeeds, the most successful first, each with how similar its words had to be."""
    worst = findings.worst(subject)
    nothing = [
        attack for whose, attack in findings.tried if whose == subject and findings.nothing_tried(subject, attack)
    ]
    blind = [attack for attack in nothing if findings.blind(subject, attack)]
    idle = [attack for attack in nothing if attack not in blind]
    tried_nothing = ", ".join(
        f"{' and '.join(some)} {why}"
        for some, why in ((idle, f"could try nothing on {subject}"), (blind, f"says nothing: {BLIND}"))
        if some
    )
    if worst is None:
        return tried_nothing
    first = f"{worst.of} changes the answer of {subject} on {share_text(worst, 0)} of the texts it attacks"
    rates = measured(findings.get("success_rate", subject, attack) for attack in findings.attacks)
    others = sorted((rate for rate in rates if rate != worst), key=lambda rate: -(rate.value or 0.0))
    beside = [f"{rate.of} on {share_text(rate, 0)}{_limits_text(findings, rate)}" for rate in others]
    return ", ".join(filter(None, (first + _limits_text(findings, worst), *beside, tried_nothing)))


def _limits_text(findings: WordFindings, rate: Finding) -> str:
    short = limits_in_short(findings.limits(rate.subject, rate.of))
    return f" ({short})" if short else ""


def _sentence(findings: WordFindings, noise_findings: NoiseFindings, subject: str) -> str:
    if findings.constant(subject):
        return f"{_says_nothing(findings, subject)}."
    worst = findings.worst(subject)
    lines: list[str] = []
    if worst is not None:
        words = findings.get("perturbed_words", subject, worst.of)
        lines.append(
            f"{worst.of} changes the answer of {subject} on {share_text(worst)} of the {integer(worst.n)} texts that "
            "it attacked" + ("." if words is None else f", by {words.value:.1f} words each on average.")
        )
    lines += [_tried_nothing(findings, subject, attack) for whose, attack in findings.tried if whose == subject]
    lines += [compared(findings, subject, pair, limits_in_short) for whose, pair in findings.pairs if whose == subject]
    noise = noise_sentence(noise_findings, subject)
    lines = [capital(line) for line in lines if line]
    return " ".join([*lines, *([noise if lines else f"{subject}: {noise}"] if noise else [])])


def _tried_nothing(findings: WordFindings, subject: str, attack: str) -> str:
    """That an attack had nothing to try, and most often why; empty where it had."""
    if not findings.nothing_tried(subject, attack):
        return ""
    if findings.blind(subject, attack):
        return _blind_text(findings, subject, attack)
    reasons = [(round((one.value or 0.0) * (one.n or 0)), one.group) for one in findings.skipped(subject, attack)]
    texts = findings.get("skipped", subject, attack)
    most_first = sorted((-count, reason) for count, reason in reasons if reason)
    why = "; ".join(f"{-count}: {reason}" for count, reason in most_first)
    number = "" if texts is None else f" of {integer(texts.n)} texts"
    because = f" ({why})" if why else ""
    return f"{attack} could try nothing on any{number}{because}, which says nothing about {subject}."


def _blind_text(findings: WordFindings, subject: str, attack: str) -> str:
    """That an attack has no rate since its vectors know no synonyms, by how much, and what to do."""
    spaces = findings.told_apart(subject, attack)
    areas = "; ".join(f"{one.group}: AUC {one.value:.2f} {interval(one.low, one.high, 'number', 2)}" for one in spaces)
    pairs = max((one.n or 0 for one in spaces), default=0)
    return (
        f"{attack} has no rate on {subject}: {BLIND} ({areas}, by {integer(pairs)} pairs; 0.5 is chance), so its words "
        "would be any words. Give it vectors that know synonyms (vectors: counterfitted-neighbors, a file, or MiniLM)."
    )


def _rates_plot(findings: WordFindings) -> list[Block]:
    """How often each attack succeeds on each subject, if any could try anything."""
    rates = measured(
        findings.get("success_rate", subject, attack) for subject in findings.subjects for attack in findings.attacks
    )
    if not rates:
        return []
    names = [f"{rate.of} on {rate.subject}" for rate in rates]
    rates_text = "; ".join(f"{name} {percent(rate.value)}" for name, rate in zip(names, rates, strict=True))
    return [
        BarPlot(
            "How often an attack on words succeeds",
            names,
            [rate.value for rate in rates],
            "Success rate",
            f"Success rate of word attacks: {rates_text}.",
            [rate.low for rate in rates],
            [rate.high for rate in rates],
            "Of the texts that were not wrong before and could be attacked. Whiskers are 95 % intervals (Wilson).",
            "percent",
        )
    ]


def _skipped(findings: WordFindings) -> DataTable:
    """The texts that were not attacked, and why."""
    rows: list[list[Cell]] = []
    for subject, attack in findings.tried:
        if findings.nothing_tried(subject, attack):
            rows.append([subject, attack, "the attack could try nothing", None, None])
        for skipped in findings.skipped(subject, attack):
            if skipped.group or not skipped.value:
                count = round((skipped.value or 0.0) * (skipped.n or 0))
                rows.append([subject, attack, skipped.group or "none was skipped", count, estimate(skipped)])
    columns = [Column("Subject"), Column("Attack"), Column("Why"), Column("Texts", "integer")]
    columns.append(Column("Of all", "percent"))
    return DataTable("Texts that were not attacked", columns, rows, collapsed=True)
