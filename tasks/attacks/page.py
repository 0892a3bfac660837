"""What attacks show in the report: how the accuracy falls with ε, the numbers behind it, and images to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.tasks.attacks.page_findings import Attacked, eps_text, eps_value
from assay.tasks.attacks.page_pictures import Shown, gallery
from assay.tasks.attacks.page_tables import (
    answers_table,
    figures_table,
    flag_blocks,
    raised_flags,
    recall_table,
    transfer_tables,
)
from assay.tasks.attacks.red_flags import FLAGS
from assay.tasks.attacks.settings import eps_name
from assay.tasks.attacks.worst import WORST
from assay.tasks.reporting.numerals import integer, interval, percent, plural
from assay.tasks.reporting.parts import Block, LinePlot, Panels, Part, Series, Verdict
from assay.tasks.statistics.findings import Finding

_NAMED = 3
_CROWDED, _CROWDED_PANEL = 0.09, 0.25  # of the axis: ticks nearer than that to the one before carry no name
_X, _Y = "ε: how far any pixel may move, of [0, 1]", "Accuracy"


def page(findings: Sequence[Finding], shown: Sequence[Shown] = ()) -> Part:
    """The part of the report about attacks, from the findings `attack.*` and the images that were kept."""
    found = Attacked(findings)
    telling = {subject: lowest.group for subject, lowest in found.at_common().items()}
    blocks: list[Block] = [*_curves(found), *flag_blocks(found)]
    if found.subjects:
        blocks.append(figures_table(found))
    blocks += _galleries(shown, telling)
    blocks += [recall_table(found, subject, group) for subject, group in telling.items()]
    if telling:
        blocks.append(answers_table(found, telling))
    blocks += transfer_tables(found)
    sentence = _said(found)
    raised = raised_flags(findings)
    judged = plural(len(raised), "red flag") if raised else ""
    return Part(
        "Attacks", sentence or "Nothing was attacked.", blocks, "attacks", "bad" if raised else "neutral", judged
    )


def verdict(findings: Sequence[Finding]) -> Verdict | None:
    """The line about attacks for the terminal and the head of the page; None where nothing was attacked."""
    found = Attacked(findings)
    lowest = list(found.at_common().values())
    if not lowest:
        return None
    rest = len(lowest) - _NAMED
    more = f"; {plural(rest, 'more subject')} below" if rest > 0 else ""
    if len({(one.of, one.group) for one in lowest}) > 1:
        text = "; ".join(_leaves(one) + _of_clean(found, one) for one in lowest[:_NAMED])
    else:
        text = _leaves(lowest[0]) + ", ".join(_of_clean(found, one) for one in lowest[:_NAMED])
    return Verdict(f"{_capital(text)} right on clean images{more}")


def flag_verdict(findings: Sequence[Finding]) -> Verdict | None:
    """The line about red flags: which were raised, or that none was; None where none was looked for."""
    looked = [one for one in findings if one.metric == "attack.red_flag" and one.n]
    if not looked:
        return None
    raised = raised_flags(findings)
    if not raised and {one.of for one in looked} == {"majority-predictor"}:
        return None  # all that is looked for in attacks on texts, and no news where it did not show
    if not raised:
        return Verdict(f"No red flag among {plural(len(looked), 'check')} of the attacks", "good")
    subjects: dict[str, list[str]] = {}
    for one in raised:
        subjects.setdefault(one.subject, []).append(_lower(FLAGS.get(one.of, (one.of, ""))[0]))
    said = "; ".join(f"{subject}: {', '.join(titles)}" for subject, titles in subjects.items())
    return Verdict(f"Red flags, so do not trust the robustness: {said}", "bad")


def _curves(found: Attacked) -> list[Block]:
    """Accuracy over ε: with one subject a line per attack, with several a panel per attack and a line per subject."""
    tried = [one for one in found.attacks() if any(len(found.grid(s, one)) > 1 for s in found.subjects)]
    if not tried:
        return []
    if len(found.subjects) == 1:
        worst_first = sorted(tried, key=lambda attack: attack != WORST)  # drawn last, as dashes over another line
        series = [_series(found, found.subjects[0], attack, attack) for attack in worst_first]
        return [_plot("Accuracy under attack", series, _alt(found, found.subjects[0], tried))]
    panels = [
        _plot(attack, [_series(found, subject, attack, subject) for subject in found.subjects
                       if found.grid(subject, attack)],
              f"Accuracy of {plural(len(found.subjects), 'subject')} over ε under {attack}.", "ε", _CROWDED_PANEL)
        for attack in tried
    ]  # fmt: skip
    return [Panels("Accuracy under attack", panels, "Bands are 95 % intervals (Wilson); ε = 0 is the clean image.")]


def _plot(title: str, series: Sequence[Series], alt: str, x_label: str = _X, crowded: float = _CROWDED) -> LinePlot:
    note = "Bands are 95 % intervals (Wilson); ε = 0 is the clean image."
    names = {x: eps_text(eps_name(x)) for one in series for x in one.x}
    return LinePlot(title, series, x_label, _Y, alt, (0.0, 1.0), _ticks(series, crowded), note, "percent", names)


def _series(found: Attacked, subject: str, attack: str, name: str) -> Series:
    grid = found.grid(subject, attack)
    points = [found.get("accuracy", subject, attack, group) for group in grid]
    value, low, high = ([getattr(one, end, None) for one in points] for end in ("value", "low", "high"))
    style: Literal["points", "dashed", "line"] = "line" if name != WORST else "dashed"
    if len(grid) <= 2:
        style = "points"  # between two points nothing was tried: no line to be drawn
    return Series(name, [eps_value(group) for group in grid], value, low, high, style)


def _ticks(series: Sequence[Series], crowded: float) -> dict[float, str]:
    """Names of the ε that were tried, without those that would stand on top of each other."""
    places = sorted({x for one in series for x in one.x})
    kept: dict[float, str] = {}
    for x in places:
        if not kept or x - max(kept) >= crowded * places[-1]:
            kept[x] = eps_text(eps_name(x))
    return kept


def _alt(found: Attacked, subject: str, attacks: Sequence[str]) -> str:
    ends = []
    for attack in attacks:
        last = found.get("accuracy", subject, attack, found.grid(subject, attack)[-1])
        if last is not None and last.value is not None:
            ends.append(f"{attack} ends at {percent(last.value)} with ε = {eps_text(last.group)}")
    return f"Accuracy of {subject} falling with ε: {'; '.join(ends)}."


def _galleries(shown: Sequence[Shown], telling: dict[str, str]) -> list[Block]:
    """The pictures of every attack on every subject: the first of each subject open, the others to be unfolded."""
    found: list[Block] = []
    opened: set[str] = set()
    for one in shown:
        pictures = _pictures(one, telling, collapsed=one.subject in opened)
        if pictures is not None:
            found.append(pictures)
            opened.add(one.subject)
    return found


def _pictures(shown: Shown, telling: dict[str, str], *, collapsed: bool) -> Block | None:
    """The gallery at the subject's telling ε, or at the largest that the attack has images for."""
    groups = sorted({eps_name(eps) for eps in shown.images["eps"].to_pylist() if eps > 0}, key=eps_value)
    if not groups:
        return None
    wanted = telling.get(shown.subject, "")
    return gallery(shown, wanted if wanted in groups else groups[-1], collapsed=collapsed)


def _said(found: Attacked) -> str:
    """What is left of each subject, in one sentence where all were attacked alike."""
    lowest = list(found.at_common().values())
    if len(lowest) < 2 or len({(one.of, one.group, one.n) for one in lowest}) > 1:
        return " ".join(_sentence(found, one) for one in lowest)
    left = [
        f"{one.subject} {percent(one.value)} {interval(one.low, one.high)} of its {_right_when_clean(found, one)}"
        for one in lowest
    ]
    said = (
        f"{_leaves(lowest[0])}right, of what was right on clean images: {', '.join(left)} (n = {integer(lowest[0].n)})."
    )
    return _capital(said)


def _right_when_clean(found: Attacked, lowest: Finding) -> str:
    clean = found.clean(lowest.subject)
    return percent(clean.value if clean else None)


def _sentence(found: Attacked, lowest: Finding) -> str:
    left = f"{percent(lowest.value)} {interval(lowest.low, lowest.high)} (n = {integer(lowest.n)})"
    clean = f"{_right_when_clean(found, lowest)} that {lowest.subject} gets right on clean images"
    return f"{_capital(_leaves(lowest))}{left} right of the {clean}."


def _leaves(lowest: Finding) -> str:
    return f"at ε = {eps_text(lowest.group)} {_attack(lowest.of)} leaves "


def _of_clean(found: Attacked, lowest: Finding) -> str:
    """What is left of what, and of whom where there are several."""
    clean, whom = found.clean(lowest.subject), f"{lowest.subject} " if len(found.subjects) > 1 else ""
    left = f"{percent(lowest.value, 0)} {interval(lowest.low, lowest.high, digits=0)}"
    return f"{whom}{left} of the {percent(clean.value if clean else None, 0)}"


def _attack(name: str) -> str:
    return "the worst case over all attacks" if name == WORST else name


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
