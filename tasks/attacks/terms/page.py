"""What attacks on terms show in the report: Tables 2-6 with intervals, the drop over severity, aligned examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.tasks.attacks.terms.estimates import (
    CLEAN,
    HELPS,
    HURTS,
    LOWER,
    NOT_ESTIMABLE,
    RANGE,
    TOO_FEW,
    Key,
    Stage,
)
from assay.tasks.attacks.terms.page_findings import ORIGINAL, TermFindings, severity_text
from assay.tasks.attacks.terms.page_plots import drop_plots
from assay.tasks.attacks.terms.page_tables import (
    figures_table,
    gains_table,
    matrix_table,
    set_name,
    severities_table,
    slices_table,
    trained_with,
)
from assay.tasks.reporting.numerals import integer, interval, number, plural
from assay.tasks.reporting.parts import Block, DataTable, Part, Tone, Verdict
from assay.tasks.reporting.sentences import first_few
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, highest, measured

_TITLES = {"ner": "Entities under attack", "sts": "Similarity of sentences under attack"}


def page(findings: FindingIndex, stage: Stage, examples: Sequence[Block] = (), counted: str = "") -> Part:
    """The part of the report about taggers (`ner`) or scorers (`sts`), from their findings and some examples; `counted`
    says what intervals count, where it is not samples."""
    term_findings = TermFindings(stage, findings)
    tables: list[DataTable | None] = [severities_table(term_findings)]
    for subject in term_findings.subjects:
        tables += [matrix_table(term_findings, subject), gains_table(term_findings, subject)]
    tables.append(slices_table(term_findings))
    blocks: list[Block] = [figures_table(term_findings), *drop_plots(term_findings), *filter(None, tables), *examples]
    lines = [
        tell(term_findings, subject)
        for tell in (_sentence, _over_control, _not_helped)
        for subject in term_findings.subjects
    ]
    constant = term_findings.degenerate
    lines += [f"{one.subject} is {one.verdict}." for one in constant if one.of == CLEAN]
    lines += [f"Under {_set_in_words(one)}, {one.subject} is {one.verdict}." for one in constant if one.of != CLEAN]
    lines += [*_notes(term_findings), counted]
    sentence = " ".join(filter(None, lines)) or "Nothing was measured."
    return Part(
        _TITLES[stage], sentence, blocks, stage, "bad" if constant else "neutral", "red flag" if constant else ""
    )


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about taggers and scorers for the terminal and the head of the page; none where there are none."""
    stages: tuple[Stage, ...] = ("ner", "sts")
    everything = [TermFindings(stage, findings) for stage in stages]
    lines = [
        line
        for term_findings in everything
        for subject in term_findings.subjects
        if (line := _line(term_findings, subject))
    ]
    if not lines:
        return ()
    lost = any(
        _lowered(term_findings, subject) or _collapsed(term_findings, subject)
        for term_findings in everything
        for subject in term_findings.subjects
    )
    tone: Tone = "bad" if lost else "neutral"
    return (Verdict(first_few(lines), tone),)


def _line(findings: TermFindings, subject: str) -> str:
    clean, worst = findings.get(findings.headline, subject, ORIGINAL), _worst(findings, subject)
    if clean is None:
        return ""
    reached = f"{subject}: {_measure(findings)} {_with_interval(clean)}"
    fallen = _collapsed(findings, subject)
    collapsed = f", collapsed under {', '.join(fallen)}" if fallen else ""
    if worst is None:
        return f"{reached}{collapsed} (n = {_counts_text(findings, clean)})"
    attacked = findings.get(findings.headline, subject, (worst.of, worst.group))
    under = f", {_with_interval(attacked)} under {worst.of}" if attacked is not None else ""
    helped = _helped(findings, subject)
    trained = f"; training on an attack helps against it for {helped[0]} of {helped[1]}" if helped[1] else ""
    beyond = _helped(findings, subject, "own_gain_over_control")
    trained += f" (for {beyond[0]} of {beyond[1]} more than equal steps do)" if beyond[1] else ""
    return (
        f"{reached}{under}; {_lower_under(findings, subject)}{collapsed} (n = {_counts_text(findings, clean)}){trained}"
    )


def _sentence(findings: TermFindings, subject: str) -> str:
    clean, worst = findings.get(findings.headline, subject, ORIGINAL), _worst(findings, subject)
    if clean is None:
        return ""
    reached = f"{subject} reaches {_measure(findings)} {_with_interval(clean)} on {_counts_text(findings, clean)}"
    if worst is None:
        return f"{reached}."
    lowered, tried = _lowered(findings, subject), [key[0] for key in findings.attacks]
    others = [name for name in tried if name not in (*lowered, *_unknown(findings, subject))]
    untouched = f" No drop is shown under {', '.join(others)}." if others else ""
    under = f"{worst.of} ({severity_text(worst.group)})"
    return f"{reached}, and {_drop_text(worst, under)}; {_lower_under(findings, subject)}.{untouched}"


def _lower_under(findings: TermFindings, subject: str) -> str:
    """Under how many attacks a subject is shown to be lower, of those of which that can be told."""
    drops = findings.drops(subject)
    few, unknown = (sum(drop.verdict == word for drop in drops) for word in (TOO_FEW, NOT_ESTIMABLE))
    judged = len(findings.attacks) - few - unknown
    what = "sentences" if findings.stage == "ner" else "pairs"
    parts = [f"lower under {len(_lowered(findings, subject))} of {plural(judged, 'attack')}"] if judged else []
    if few:
        parts.append(f"too few {what} to tell a drop from chance" + (f" under {few} more" if judged else ""))
    if unknown:
        parts.append(f"no interval tells a drop from chance under {unknown}")
    return ", ".join(parts)


def _counts_text(findings: TermFindings, clean: Finding) -> str:
    """What a subject was measured on, by what is counted: the entities of so many sentences, or pairs."""
    if findings.stage == "sts":
        return plural(clean.n or 0, "pair")
    sentences = findings.entry("cut", clean.subject, ORIGINAL)
    inside = "" if sentences is None else f" in {plural(sentences.n or 0, 'sentence')}"
    return f"{plural(clean.n or 0, 'entity', 'entities')}{inside}"


def _drop_text(worst: Finding, under: str) -> str:
    """What the worst attack does, in words that hold whichever way it goes."""
    if (worst.value or 0.0) > 0:
        return f"loses {_with_interval(worst)} under {under}"
    if worst.value == 0:
        return f"loses nothing even under {under}"
    risen = replace(worst, value=-(worst.value or 0.0), low=_negated(worst.high), high=_negated(worst.low))
    return f"loses nothing: even under {under} it gains {_with_interval(risen)}"


def _negated(end: float | None) -> float | None:
    return None if end is None else -end


def _set_in_words(finding: Finding) -> str:
    return f"{finding.of} ({severity_text(finding.group)})"


def _notes(findings: TermFindings) -> list[str]:
    """What a reader must know beside the numbers: samples that were cut, scores on another range, and no entities."""
    notes = []
    for model in findings.models:
        cut = [one for one in findings.cut(model) if one.value]
        if cut:
            what = "sentences" if findings.stage == "ner" else "pairs"
            sets = ", ".join(f"{integer(int(one.value or 0))} of {set_name((one.of, one.group))}" for one in cut)
            missed = ": entities beyond count as not found" if findings.stage == "ner" else ""
            notes.append(f"{model} does not read to their end {what} that are longer than its limit ({sets}){missed}.")
        error = findings.entry("mae", model, ORIGINAL)
        if error is not None and error.verdict.startswith(RANGE):
            notes.append(f"{model} is {error.verdict}; no MAE is given, and correlations hold on any range.")
        headline = findings.entry(findings.headline, model, ORIGINAL)
        if headline is not None and headline.value is None and not headline.degenerate:
            why = (
                "no sentence has an entity"
                if findings.stage == "ner"
                else "the pairs are too few, or their scores equal"
            )
            notes.append(f"{_measure(findings).removesuffix(' =')} of {model} is not measured: {why}.")
    return notes


def _not_helped(findings: TermFindings, subject: str) -> str:
    """For which attacks training on them shows no gain on them, in words."""
    failed = []
    for model, key in _own_attacks(findings, subject):
        gain = findings.get("gain", model, key)
        if gain is not None and gain.verdict != HELPS:
            word = "makes it worse" if gain.verdict == HURTS else "shows no gain"
            failed.append(f"{trained_with(model, subject)} {word} on {set_name(key)} ({_with_interval(gain)})")
    return f"Training {subject} on attacked copies does not always help: {'; '.join(failed)}." if failed else ""


def _helped(findings: TermFindings, subject: str, metric: str = "own_gain") -> tuple[int, int]:
    """For how many attacks training on the attack helps on it, of how many that were tried."""
    gains = measured(findings.get(metric, model, key) for model, key in _own_attacks(findings, subject))
    return sum(gain.verdict == HELPS for gain in gains), len(gains)


def _over_control(findings: TermFindings, subject: str) -> str:
    """What training on an attack gains on it over equal steps on unchanged copies, in words."""
    gains = []
    for model, key in _own_attacks(findings, subject):
        own, over = (findings.get(name, model, key) for name in ("own_gain", "own_gain_over_control"))
        if own is not None and over is not None:
            less = "" if over.verdict == HELPS else " (no gain of the attack's own is shown)"
            gains.append(
                f"{trained_with(model, subject)} gains {_with_interval(over)} on {set_name(key)}, "
                f"of {number(own.value)} in all{less}"
            )
    return f"Over equal steps on unchanged copies, {'; '.join(gains)}." if gains else ""


def _own_attacks(findings: TermFindings, subject: str) -> list[tuple[str, Key]]:
    """Each model with the attacks that it was trained on."""
    return [
        (model, key)
        for model in findings.trained(subject)
        for key in findings.attacks
        if findings.get("own_gain", model, key) is not None
    ]


def _worst(findings: TermFindings, subject: str) -> Finding | None:
    return highest(findings.drops(subject))


def _lowered(findings: TermFindings, subject: str) -> list[str]:
    return [drop.of for drop in findings.drops(subject) if drop.verdict == LOWER]


def _collapsed(findings: TermFindings, subject: str) -> list[str]:
    """The attacks under which a subject says the same of everything, and did not before."""
    return distinct(one.of for one in findings.degenerate if one.subject == subject and one.of != CLEAN)


def _unknown(findings: TermFindings, subject: str) -> list[str]:
    """The attacks of which nobody can say whether they do harm: collapses are told by themselves."""
    drops = {key[0]: findings.get("drop", subject, key) for key in findings.attacks}
    silent = [name for name, drop in drops.items() if drop is None or drop.verdict in (TOO_FEW, NOT_ESTIMABLE)]
    return [*silent, *_collapsed(findings, subject)]


def _measure(findings: TermFindings) -> str:
    return "F1" if findings.stage == "ner" else "Pearson's r ="


def _with_interval(finding: Finding) -> str:
    return f"{number(finding.value)} {interval(finding.low, finding.high, 'number', 3)}".rstrip()
