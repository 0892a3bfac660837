"""What attacks on texts show in the report: how often words fool the subject, by how little, and what noise does."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.attacks.noise.page_blocks import Noised, noise_blocks, noise_sentence
from assay.tasks.attacks.words.page_examples import carriers_table, examples_block
from assay.tasks.attacks.words.page_numbers import compared, differences, figures
from assay.tasks.attacks.words.page_shown import Shown, WordFindings, estimate, limits_in_short
from assay.tasks.reporting.numerals import integer, interval, percent, plural
from assay.tasks.reporting.parts import BarPlot, Block, Cell, Column, DataTable, Part, Tone, Verdict
from assay.tasks.statistics.findings import Finding

_NAMED = 3


def page(findings: Sequence[Finding], shown: Sequence[Shown] = ()) -> Part:
    """The part of the report about attacks on texts, from the findings `attack.*` and what the attacks made."""
    found = WordFindings(findings)
    blocks: list[Block] = []
    if found.subjects:
        blocks += [*_rates_plot(found), *figures(found), *differences(found)]
    blocks += [texts for one in shown if one.attacked is not None and (texts := examples_block(one)) is not None]
    blocks += [table for one in shown if (table := carriers_table(one)) is not None]
    blocks += noise_blocks(findings)
    blocks += [texts for one in shown if one.attacked is None and (texts := examples_block(one)) is not None]
    if found.subjects:
        blocks.append(_skipped(found))
    subjects = list(dict.fromkeys([*found.subjects, *Noised(findings).subjects]))
    sentences = [_sentence(found, findings, subject) for subject in subjects[:_NAMED]]
    said = " ".join(one[:1].upper() + one[1:] for one in sentences if one)
    flagged = sum(bool(found.constant(subject)) for subject in subjects)
    judged = plural(flagged, "red flag") if flagged else ""
    tone: Tone = "bad" if flagged else "neutral"
    return Part("Attacks on texts", said or "Nothing was attacked.", blocks, "text-attacks", tone, judged)


def verdict(findings: Sequence[Finding]) -> Verdict | None:
    """The line about attacks on texts for the terminal and the head of the page; None where there was none."""
    found, noised = WordFindings(findings), Noised(findings)
    lines = []
    for subject in dict.fromkeys([*found.subjects, *noised.subjects]):
        if found.constant(subject):
            lines.append(_says_nothing(found, subject))
            continue
        hardest = noised.hardest(subject)
        parts = [_fooled(found, subject)] if subject in found.subjects else []
        if hardest is not None:
            noise = hardest.group.replace(", severity=", " at severity ")
            parts.append(f"with {noise} {subject} gets {percent(hardest.value, 0)} right")
        lines += [" and ".join(parts)] if parts else []
    if not lines:
        return None
    rest = len(lines) - _NAMED
    more = f"; {plural(rest, 'more subject')} below" if rest > 0 else ""
    text = "; ".join(lines[:_NAMED]) + more
    flagged = any(found.constant(subject) for subject in (*found.subjects, *noised.subjects))
    return Verdict(text[:1].upper() + text[1:], "bad" if flagged else "neutral")


def _says_nothing(found: WordFindings, subject: str) -> str:
    return (
        f"attacks say nothing about {subject}, which is degenerate: {found.constant(subject)}, and what always answers "
        "alike withstands everything"
    )


def _fooled(found: WordFindings, subject: str) -> str:
    """How often each attack succeeds, the most successful first, each with how similar its words had to be."""
    worst = found.worst(subject)
    nothing = [attack for whose, attack in found.made if whose == subject and found.nothing_tried(subject, attack)]
    tried_nothing = f"{' and '.join(nothing)} could try nothing on {subject}" if nothing else ""
    if worst is None:
        return tried_nothing
    said = f"{worst.of} changes the answer of {subject} on {_rate(worst)} of the texts it attacks"
    said += _limited(found, worst)
    others = [
        one for attack in found.attacks if (one := found.get("success_rate", subject, attack)) not in (None, worst)
    ]
    others.sort(key=lambda one: -(one.value or 0.0) if one is not None else 0.0)
    beside = [f"{one.of} on {_rate(one)}{_limited(found, one)}" for one in others if one is not None]
    return ", ".join(filter(None, (said, *beside, tried_nothing)))


def _rate(rate: Finding) -> str:
    return f"{percent(rate.value, 0)} {interval(rate.low, rate.high, digits=0)}"


def _limited(found: WordFindings, rate: Finding) -> str:
    short = limits_in_short(found.limits(rate.subject, rate.of))
    return f" ({short})" if short else ""


def _sentence(found: WordFindings, findings: Sequence[Finding], subject: str) -> str:
    if found.constant(subject):
        nothing = _says_nothing(found, subject)
        return f"{nothing[:1].upper()}{nothing[1:]}."
    worst = found.worst(subject)
    said: list[str] = []
    if worst is not None:
        words = found.get("perturbed_words", subject, worst.of)
        said.append(
            f"{worst.of} changes the answer of {subject} on {percent(worst.value)} {interval(worst.low, worst.high)} "
            f"of the {integer(worst.n)} texts that it attacked"
            + ("." if words is None else f", by {words.value:.1f} words each on average.")
        )
    said += [_tried_nothing(found, subject, attack) for whose, attack in found.made if whose == subject]
    said += [compared(found, subject, pair, limits_in_short) for whose, pair in found.pairs if whose == subject]
    noise = noise_sentence(findings, subject)
    said = [one[:1].upper() + one[1:] for one in said if one]
    return " ".join([*said, *([noise if said else f"{subject}: {noise}"] if noise else [])])


def _tried_nothing(found: WordFindings, subject: str, attack: str) -> str:
    """That an attack had nothing to try, and most often why; empty where it had."""
    if not found.nothing_tried(subject, attack):
        return ""
    reasons = [
        (round((one.value or 0.0) * (one.n or 0)), reason)
        for reason in found.groups("skipped", subject, attack)
        if reason and (one := found.get("skipped", subject, attack, reason)) is not None
    ]
    texts = found.get("skipped", subject, attack)
    why = "; ".join(f"{count}: {reason}" for count, reason in sorted(reasons, key=lambda one: (-one[0], one[1])))
    number = "" if texts is None else f" of {integer(texts.n)} texts"
    because = f" ({why})" if why else ""
    return f"{attack} could try nothing on any{number}{because}, which says nothing about {subject}."


def _rates_plot(found: WordFindings) -> list[Block]:
    """How often each attack succeeds on each subject, if any could try anything."""
    rates = [
        one for subject in found.subjects for attack in found.attacks
        if (one := found.get("success_rate", subject, attack)) is not None
    ]  # fmt: skip
    if not rates:
        return []
    names = [f"{one.of} on {one.subject}" for one in rates]
    said = "; ".join(f"{name} {percent(one.value)}" for name, one in zip(names, rates, strict=True))
    return [BarPlot(
        "How often an attack on words succeeds", names, [one.value for one in rates], "Success rate",
        f"Success rate of word attacks: {said}.", [one.low for one in rates], [one.high for one in rates],
        "Of the texts that were not wrong before and could be attacked. Whiskers are 95 % intervals (Wilson).",
        "percent",
    )]  # fmt: skip


def _skipped(found: WordFindings) -> DataTable:
    """The texts that were not attacked, and why."""
    rows: list[list[Cell]] = []
    for subject, attack in found.made:
        if found.nothing_tried(subject, attack):
            rows.append([subject, attack, "the attack could try nothing", None, None])
        for reason in found.groups("skipped", subject, attack):
            one = found.get("skipped", subject, attack, reason)
            if one is not None and (reason or not one.value):
                count = round((one.value or 0.0) * (one.n or 0))
                rows.append([subject, attack, reason or "none was skipped", count, estimate(one)])
    columns = [Column("Subject"), Column("Attack"), Column("Why"), Column("Texts", "integer")]
    columns.append(Column("Of all", "percent"))
    return DataTable("Texts that were not attacked", columns, rows, collapsed=True)
