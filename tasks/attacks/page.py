"""What attacks show in the report: how the accuracy falls with ε, the numbers behind it, and images to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.tasks.attacks.left_out import without_gradient
from assay.tasks.attacks.page_findings import AttackFindings, eps_text, eps_value
from assay.tasks.attacks.page_pictures import AttackedImages, gallery
from assay.tasks.attacks.page_tables import (
    answers_table,
    areas_table,
    chances_table,
    figures_table,
    flag_blocks,
    raised_flags,
    recall_table,
    transfer_tables,
)
from assay.tasks.attacks.red_flags import FLAGS
from assay.tasks.attacks.settings import eps_name
from assay.tasks.attacks.worst import WORST
from assay.tasks.reporting.estimates import series_of
from assay.tasks.reporting.numerals import integer, percent, plural
from assay.tasks.reporting.parts import Block, LinePlot, Panels, Part, Series, SeriesStyle, Verdict
from assay.tasks.reporting.sentences import NAMED, capital, more_below, share_text
from assay.tasks.statistics.findings import Finding, FindingIndex

_CROWDED, _CROWDED_PANEL = 0.09, 0.25  # of the axis: ticks nearer than that to the one before carry no name
_X, _Y = "ε: how far any pixel may move, of [0, 1]", "Accuracy"


def page(
    findings: FindingIndex, shown: Sequence[AttackedImages] = (), left_out: Mapping[str, Sequence[str]] | None = None
) -> Part:
    """The part of the report about attacks, from the findings `attack.*` and the images that were kept; `left_out` are
    by subject the attacks that it was not put under."""
    attack_findings = AttackFindings(findings)
    telling = {subject: lowest.group for subject, lowest in attack_findings.at_common().items()}
    blocks: list[Block] = [*_curves(attack_findings), *flag_blocks(attack_findings)]
    if attack_findings.subjects:
        blocks.append(figures_table(attack_findings))
    blocks += _galleries(shown, telling)
    blocks += [recall_table(attack_findings, subject, group) for subject, group in telling.items()]
    blocks += filter(None, (areas_table(attack_findings, subject, group) for subject, group in telling.items()))
    if telling:
        blocks.append(answers_table(attack_findings, telling))
        blocks += filter(None, [chances_table(attack_findings, telling)])
    blocks += transfer_tables(attack_findings)
    sentence = " ".join(filter(None, [_what_is_left(attack_findings), without_gradient(left_out or {})]))
    raised = raised_flags(findings)
    judged = plural(len(raised), "red flag") if raised else ""
    return Part(
        "Attacks", sentence or "Nothing was attacked.", blocks, "attacks", "bad" if raised else "neutral", judged
    )


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The lines about attacks and about red flags for the terminal and the head of the page."""
    return (*_attack_verdict(findings), *_flag_verdict(findings))


def _attack_verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """What the attacks leave right; nothing where nothing was attacked."""
    attack_findings = AttackFindings(findings)
    lowest = list(attack_findings.at_common().values())
    if not lowest:
        return ()
    if len({(one.of, one.group) for one in lowest}) > 1:
        text = "; ".join(_attack_clause(one) + _share_of_clean(attack_findings, one) for one in lowest[:NAMED])
    else:
        text = _attack_clause(lowest[0]) + ", ".join(_share_of_clean(attack_findings, one) for one in lowest[:NAMED])
    return (Verdict(f"{capital(text)} right on clean images{more_below(len(lowest))}"),)


def _flag_verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """Which red flags were raised, or that none was; nothing where none was looked for."""
    looked = [flag for flag in findings.select("attack.red_flag") if flag.n]
    raised = raised_flags(findings) if looked else []
    if not raised and {flag.of for flag in looked} <= {"majority-predictor"}:
        return ()  # all that is looked for in attacks on texts, and no news where it did not show
    if not raised:
        return (Verdict(f"No red flag among {plural(len(looked), 'check')} of the attacks", "good"),)
    subjects: dict[str, list[str]] = {}
    for flag in raised:
        subjects.setdefault(flag.subject, []).append(_uncapitalised(FLAGS.get(flag.of, (flag.of, ""))[0]))
    named = "; ".join(f"{subject}: {', '.join(titles)}" for subject, titles in subjects.items())
    return (Verdict(f"Red flags, so do not trust the robustness: {named}", "bad"),)


def _curves(findings: AttackFindings) -> list[Block]:
    """Accuracy over ε: with one subject a line per attack, with several a panel per attack and a line per subject."""
    tried = [one for one in findings.attacks() if any(len(findings.grid(s, one)) > 1 for s in findings.subjects)]
    if not tried:
        return []
    if len(findings.subjects) == 1:
        worst_first = sorted(tried, key=lambda attack: attack != WORST)  # drawn last, as dashes over another line
        series = [_series(findings, findings.subjects[0], attack, attack) for attack in worst_first]
        return [_plot("Accuracy under attack", series, _alt(findings, findings.subjects[0], tried))]
    panels = [
        _plot(
            attack,
            [
                _series(findings, subject, attack, subject)
                for subject in findings.subjects
                if findings.grid(subject, attack)
            ],
            f"Accuracy of {plural(len(findings.subjects), 'subject')} over ε under {attack}.",
            "ε",
            _CROWDED_PANEL,
        )
        for attack in tried
    ]
    return [Panels("Accuracy under attack", panels, "Bands are 95 % intervals (Wilson); ε = 0 is the clean image.")]


def _plot(title: str, series: Sequence[Series], alt: str, x_label: str = _X, crowded: float = _CROWDED) -> LinePlot:
    note = "Bands are 95 % intervals (Wilson); ε = 0 is the clean image."
    names = {x: eps_text(eps_name(x)) for one in series for x in one.x}
    return LinePlot(title, series, x_label, _Y, alt, (0.0, 1.0), _ticks(series, crowded), note, "percent", names)


def _series(findings: AttackFindings, subject: str, attack: str, name: str) -> Series:
    grid = findings.grid(subject, attack)
    points = [findings.get("accuracy", subject, attack, group) for group in grid]
    # Between two points nothing was tried: no line to be drawn.
    style: SeriesStyle = "points" if len(grid) <= 2 else "dashed" if name == WORST else "line"
    return series_of(name, [eps_value(group) for group in grid], points, style)


def _ticks(series: Sequence[Series], crowded: float) -> dict[float, str]:
    """Names of the ε that were tried, without those that would stand on top of each other."""
    places = sorted({x for one in series for x in one.x})
    kept: dict[float, str] = {}
    for x in places:
        if not kept or x - max(kept) >= crowded * places[-1]:
            kept[x] = eps_text(eps_name(x))
    return kept


def _alt(findings: AttackFindings, subject: str, attacks: Sequence[str]) -> str:
    ends = []
    for attack in attacks:
        last = findings.get("accuracy", subject, attack, findings.grid(subject, attack)[-1])
        if last is not None and last.value is not None:
            ends.append(f"{attack} ends at {percent(last.value)} with ε = {eps_text(last.group)}")
    return f"Accuracy of {subject} falling with ε: {'; '.join(ends)}."


def _galleries(shown: Sequence[AttackedImages], telling: dict[str, str]) -> list[Block]:
    """The pictures of every attack on every subject: the first of each subject open, the others to be unfolded."""
    galleries: list[Block] = []
    opened: set[str] = set()
    for images in shown:
        pictures = _pictures(images, telling, collapsed=images.subject in opened)
        if pictures is not None:
            galleries.append(pictures)
            opened.add(images.subject)
    return galleries


def _pictures(shown: AttackedImages, telling: dict[str, str], *, collapsed: bool) -> Block | None:
    """The gallery at the subject's telling ε, or at the largest that the attack has images for."""
    groups = sorted({eps_name(eps) for eps in shown.images["eps"].to_pylist() if eps > 0}, key=eps_value)
    if not groups:
        return None
    wanted = telling.get(shown.subject, "")
    return gallery(shown, wanted if wanted in groups else groups[-1], collapsed=collapsed)


def _what_is_left(findings: AttackFindings) -> str:
    """What is left of each subject, in one sentence where all were attacked alike."""
    lowest = list(findings.at_common().values())
    if len(lowest) < 2 or len({(one.of, one.group, one.n) for one in lowest}) > 1:
        return " ".join(_sentence(findings, one) for one in lowest)
    left = [f"{one.subject} {share_text(one)} of its {_right_when_clean(findings, one)}" for one in lowest]
    start = f"{capital(_attack_clause(lowest[0]))}right, of what was right on clean images"
    return f"{start}: {', '.join(left)} (n = {integer(lowest[0].n)})."


def _right_when_clean(findings: AttackFindings, lowest: Finding) -> str:
    clean = findings.clean(lowest.subject)
    return percent(clean.value if clean else None)


def _sentence(findings: AttackFindings, lowest: Finding) -> str:
    left = f"{share_text(lowest)} (n = {integer(lowest.n)})"
    clean = f"{_right_when_clean(findings, lowest)} that {lowest.subject} gets right on clean images"
    return f"{capital(_attack_clause(lowest))}{left} right of the {clean}."


def _attack_clause(lowest: Finding) -> str:
    return f"at ε = {eps_text(lowest.group)} {_attack_name(lowest.of)} leaves "


def _share_of_clean(findings: AttackFindings, lowest: Finding) -> str:
    """What is left of what, and of whom where there are several."""
    clean, whom = findings.clean(lowest.subject), f"{lowest.subject} " if len(findings.subjects) > 1 else ""
    return f"{whom}{share_text(lowest, 0)} of the {percent(clean.value if clean else None, 0)}"


def _attack_name(name: str) -> str:
    return "the worst case over all attacks" if name == WORST else name


def _uncapitalised(text: str) -> str:
    return text[:1].lower() + text[1:]
