"""What defences show in the report: what each leaves right under attack, what it costs on clean images, and flips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.tasks.attacks.page_findings import eps_text
from assay.tasks.defenses.answers import CLEAN
from assay.tasks.defenses.comparing import NONE
from assay.tasks.defenses.page_findings import DefenceFindings, family, variant
from assay.tasks.defenses.page_tables import changes_table, flips_table, layout_table, tests_table
from assay.tasks.reporting.estimates import series_of
from assay.tasks.reporting.numerals import integer, percent
from assay.tasks.reporting.parts import Block, LinePlot, Panels, Part, Series, Tone, Verdict
from assay.tasks.reporting.sentences import NAMED, share_text
from assay.tasks.statistics.findings import Finding, FindingIndex, measured
from assay.tasks.subjects.clean_page import learning

if TYPE_CHECKING:
    import pyarrow as pa

_CROWDED = 0.12  # of the axis: ticks nearer than that to the one before carry no name
_LEARNING = (
    "Training accuracy is that on the images as the defence attacked them; validation images are clean, were set aside "
    "from those that may train, and choose nothing."
)
_TRADE = "Further up withstands more, further right costs less. Whiskers are 95 % intervals (Wilson)."


def page(findings: FindingIndex, models: Mapping[str, Mapping[str, str]], curves: Mapping[str, pa.Table]) -> Part:
    """The part of the report about defences, from the findings `defense.*` and `corruption.flip_probability`.

    `models` are the names of the defended models by subject and defence, `curves` how each of them learned.
    """
    defence_findings = DefenceFindings(findings)
    blocks: list[Block] = []
    if defence_findings.group:
        blocks += [layout_table(defence_findings), *_trade_off(defence_findings)]
    if defence_findings.subjects:
        blocks += [tests_table(defence_findings)]
    blocks += [table for table in (flips_table(findings, models), changes_table(defence_findings)) if table is not None]
    learned = {name: curve for name, curve in curves.items() if curve.num_rows > 1}
    if learned:
        blocks.append(learning(learned, _LEARNING))
    constant = [
        f"{subject}+{defence} is {judgement}."
        for subject in defence_findings.subjects
        for defence in defence_findings.defences
        if (judgement := defence_findings.degenerate(subject, defence))
    ]
    sentences = [_sentence(defence_findings, subject) for subject in defence_findings.subjects] + constant
    judged = "red flag" if constant else ""
    sentence = " ".join(filter(None, sentences)) or "No defended model came through."
    return Part("Defences", sentence, blocks, "defences", "bad" if constant else "neutral", judged)


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about defences for the terminal and the head of the page; none where none was compared."""
    defence_findings = DefenceFindings(findings)
    lines = [line for subject in defence_findings.subjects if (line := _leaders_line(defence_findings, subject))]
    constant = [
        f"{subject}+{defence}"
        for subject in defence_findings.subjects
        for defence in defence_findings.defences
        if defence_findings.degenerate(subject, defence)
    ]
    rest = len(lines) - NAMED
    parts = [*lines[:NAMED], *([f"{rest} more below"] if rest > 0 else [])]
    parts += [f"degenerate: {', '.join(constant)}"] if constant else []
    if not parts:
        return ()
    where = f" at ε = {eps_text(defence_findings.group)}" if defence_findings.group else ""
    return (Verdict(f"Defences{where}: {'; '.join(parts)}", _tone(defence_findings, bool(constant))),)


def _tone(findings: DefenceFindings, constant: bool) -> Tone:
    if constant:
        return "bad"
    tests = [
        findings.test(subject, defence, attacked=True)
        for subject in findings.subjects
        for defence in findings.leaders(subject)
    ]
    return "good" if tests and all(one is not None and one.verdict == "better" for one in tests) else "neutral"


def _leaders_line(findings: DefenceFindings, subject: str) -> str:
    leaders = findings.leaders(subject)
    after, clean = (
        measured(findings.accuracy(subject, defence, group) for defence in leaders) for group in (findings.group, CLEAN)
    )
    best = findings.best_accuracy(subject)
    before, clean_before = (findings.accuracy(subject, NONE, group) for group in (findings.group, CLEAN))
    if best is None or not after or not clean or before is None or clean_before is None:
        return ""
    had = f"right where it had {percent(before.value, 0)}"
    cost = f"clean {_range_text(clean, 1)} where it had {percent(clean_before.value)}"
    if len(leaders) == 1:
        return f"{leaders[0]} leaves {subject} {share_text(best, 0)} {had}, and {cost}"
    return (
        f"{_names(leaders, len(findings.defences))} leave {subject} {_range_text(after, 0)} {had}, no paired test "
        f"tells them apart, and {cost}"
    )


def _sentence(findings: DefenceFindings, subject: str) -> str:
    leaders, best = findings.leaders(subject), findings.best_accuracy(subject)
    before = findings.accuracy(subject, NONE, findings.group)
    after = measured(findings.accuracy(subject, defence, findings.group) for defence in leaders)
    if best is None or not after or before is None:
        return ""
    opening = (
        f"{findings.against().capitalize()} at ε = {eps_text(findings.group)} leaves {share_text(before)} "
        f"of {integer(before.n)} samples right of {subject} as it is, and "
    )
    if len(leaders) == 1:
        return f"{opening}{share_text(best)} of {subject}+{leaders[0]}."
    return (
        f"{opening}{_range_text(after, 1)} with {_names(leaders, len(findings.defences))}, which no paired test tells "
        "apart (McNemar, Holm over all pairs)."
    )


def _range_text(shares: Sequence[Finding], digits: int) -> str:
    """A share, or from which to which several go."""
    low, high = (percent(end(share.value or 0.0 for share in shares), digits) for end in (min, max))
    return low if low == high else f"{low} to {high}"


def _names(leaders: Sequence[str], of: int) -> str:
    """The defences by name, or how many of them where these are many."""
    if len(leaders) > NAMED:
        return f"{len(leaders)} of {of} defences"
    return f"{', '.join(leaders[:-1])} and {leaders[-1]}"


def _trade_off(findings: DefenceFindings) -> list[Block]:
    """Accuracy under attack over clean accuracy: a mark per model, a colour per defence; several subjects in panels."""
    plots = [plot for subject in findings.subjects if (plot := _trade_plot(findings, subject, subject)) is not None]
    title = "What robustness costs"
    if len(plots) > 1:
        return [Panels(title, plots, _TRADE)]
    return [replace(plot, title=title) for plot in plots]


def _trade_plot(findings: DefenceFindings, subject: str, title: str) -> LinePlot | None:
    points: dict[str, list[tuple[Finding, Finding, str]]] = {}
    for defence in (NONE, *findings.defences):
        clean, attacked = (findings.accuracy(subject, defence, group) for group in (CLEAN, findings.group))
        if clean is not None and attacked is not None:
            name = "undefended" if defence == NONE else family(defence)
            points.setdefault(name, []).append((clean, attacked, "" if defence == NONE else variant(defence)))
    if not points:
        return None
    series = []
    for name, pairs in points.items():
        pairs.sort(key=lambda pair: pair[0].value or 0.0)
        clean_shares, attacked_shares, variants = zip(*pairs, strict=True)
        places = [share.value or 0.0 for share in clean_shares]
        series.append(series_of(name, places, attacked_shares, "points", list(variants)))
    ends = [f"{one.name} {percent(one.x[-1])} clean and {percent(one.y[-1])} attacked" for one in series]
    alt = f"Accuracy of {subject} under attack over its clean accuracy: {'; '.join(ends)}."
    label = f"Accuracy at ε = {eps_text(findings.group)}"
    return LinePlot(
        title, series, "Accuracy on clean images", label, alt, (0.0, 1.0), _ticks(series), _TRADE, "percent"
    )


def _ticks(series: Sequence[Series]) -> dict[float, str]:
    """The clean accuracies by name, without those that would stand on top of each other."""
    places = sorted({x for one in series for x in one.x})
    span, kept = places[-1] - places[0], dict[float, str]()
    for x in places:
        if not kept or x - max(kept) >= _CROWDED * span:
            kept[x] = percent(x)
    return kept
