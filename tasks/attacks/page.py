"""The part of the report about attacks on images: how the accuracy falls with ε, what the strongest attack leaves, red
flags, pictures, and the numbers that are followed over the nights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.infra.errors import all_named
from assay.tasks.attacks.chance.page import beyond_chance
from assay.tasks.attacks.gallery import MOST, AttackedImages, gallery
from assay.tasks.attacks.measures import WORST, worst_called
from assay.tasks.attacks.red_flags import FLAGS
from assay.tasks.attacks.settings import eps_name, norm_and_slice
from assay.tasks.reporting.estimates import (
    About,
    capital,
    class_columns,
    class_text,
    column,
    series_of,
    share_text,
    table_of,
)
from assay.tasks.reporting.numerals import integer, percent, plural
from assay.tasks.reporting.parts import (
    Block,
    DataTable,
    Gallery,
    LinePlot,
    Mark,
    Panels,
    Paragraph,
    Part,
    Series,
    SeriesStyle,
)
from assay.tasks.reporting.report import Headline, headline_of, red_flags
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, lowest, measured
from assay.tasks.statistics.metrics import metrics_of


def eps_value(group: str) -> float:
    """The ε of a group; 0, that of clean samples, where it names none.

    >>> eps_value("eps=4/255, melanoma"), eps_value("eps=0.1")
    (0.01568627450980392, 0.1)
    """
    return norm_and_slice(group)[1].eps or 0.0


def eps_text(group: str) -> str:
    """The ε of a group as a sentence has it.

    >>> eps_text("eps=4/255, melanoma")
    '4/255'
    """
    return norm_and_slice(group)[1].eps_text


def norms(findings: FindingIndex) -> list[str]:
    """The norms that images were attacked in, the one that bounds each pixel first; attacks on texts have none."""
    there = distinct(norm_and_slice(left.group)[0] for left in findings.select("attack.accuracy"))
    return sorted(filter(None, there), key=lambda norm: norm != "linf")


class AttackFindings:
    """What was measured under attacks of one norm, the first where none is named; ε goes by its name in the groups."""

    def __init__(self, findings: FindingIndex, norm: str = "") -> None:
        self.all = findings
        self.norm = norm or next(iter(norms(findings)), "linf")
        self._accuracies = [
            left for left in findings.select("attack.accuracy") if norm_and_slice(left.group)[0] == self.norm
        ]
        self._curves = [left for left in self._accuracies if "," not in left.group]
        self.subjects = distinct(accuracy.subject for accuracy in self._accuracies)

    def accuracy(self, subject: str, attack: str, group: str) -> Finding | None:
        """What is right under an attack at one ε."""
        return self.all.entry("attack.accuracy", subject, attack, group)

    def attacks(self, subject: str | None = None) -> list[str]:
        """The attacks on a subject, or on any, the worst case last."""
        names = distinct(curve.of for curve in self._curves if subject in (None, curve.subject))
        return sorted(names, key=lambda name: name == worst_called(self.norm))

    def grid(self, subject: str, attack: str | None = None) -> list[str]:
        """The ε that were tried by an attack, or by any, from small to large."""
        tried = [curve.group for curve in self._curves if curve.subject == subject and attack in (None, curve.of)]
        return sorted(distinct(tried), key=eps_value)

    def clean(self, subject: str) -> Finding | None:
        """The accuracy on clean images, as the attacks' own zero point says it."""
        at_zero = (self.accuracy(subject, attack, eps_name(0, self.norm)) for attack in self.attacks(subject))
        return next(filter(None, at_zero), None)

    def lowest(self, subject: str, group: str) -> Finding | None:
        """The lowest accuracy at an ε, of the worst case where several attacks leave the same."""
        return lowest(self.accuracy(subject, attack, group) for attack in reversed(self.attacks(subject)))

    def telling(self, subject: str) -> Finding | None:
        """The lowest accuracy at the smallest ε that costs half of what is right on clean images; else the largest."""
        positive = (group for group in self.grid(subject) if eps_value(group) > 0)
        left = [finding for group in positive if (finding := self.lowest(subject, group)) is not None]
        clean = self.clean(subject)
        half = 0.5 * (clean.value or 0.0) if clean is not None else 0.0
        return next((finding for finding in left if (finding.value or 0.0) <= half), left[-1] if left else None)

    def at_common(self) -> dict[str, Finding]:
        """The lowest accuracy of every subject at the ε that tells most about the first of them, or where it was not
        attacked there, at its own."""
        first = self.telling(self.subjects[0]) if self.subjects else None
        common = first.group if first is not None else ""
        left = [self.lowest(subject, common) or self.telling(subject) for subject in self.subjects]
        return {finding.subject: finding for finding in left if finding is not None}


def strongest(findings: FindingIndex) -> dict[str, Finding]:
    """Of every subject the lowest accuracy at the ε that tells most, in whichever norm leaves least of it."""
    left = [AttackFindings(findings, norm).at_common() for norm in norms(findings)]
    subjects = distinct(subject for of_norm in left for subject in of_norm)
    least = measured(lowest(of_norm.get(subject) for of_norm in left) for subject in subjects)
    return {finding.subject: finding for finding in least}


def without_gradient(left_out: Mapping[str, Sequence[str]]) -> str:
    """Which attacks were left out of which subjects, and what that means; nothing where none was.

    >>> without_gradient({"served": ["pgd"], "onnx": ["pgd"]})[:75]
    'served and onnx are only asked and have no gradient: pgd, which follows one'
    """
    sentences = []
    for attacks in dict.fromkeys(map(tuple, left_out.values())):
        alike = [name for name, missing in left_out.items() if tuple(missing) == attacks]
        are = "is only asked and has" if len(alike) == 1 else "are only asked and have"
        which = "which follows one, was" if len(attacks) == 1 else "which follow one, were"
        sentences.append(
            f"{all_named(alike)} {are} no gradient: {all_named(attacks)}, {which} left out, so what stays right is an "
            "upper bound of what a stronger attack would leave."
        )
    return " ".join(sentences)


_NONE_RAISED = "None of the {checked} signs of a misleading evaluation that were looked for showed itself."
_MANY_ROWS = 24


def strongest_table(by_norm: Sequence[AttackFindings]) -> DataTable:
    """What the strongest attack leaves of every subject and its worst class at each ε, beside one constant answer."""
    rows = [
        About(subject, left.of, group)
        for findings in by_norm
        for subject in findings.subjects
        for group in findings.grid(subject)
        if eps_value(group) > 0 or findings is by_norm[0]
        if (left := findings.lowest(subject, group)) is not None
    ]
    columns = [
        column("Subject", "subject"),
        column("ε", lambda row: Mark(eps_text(row.group), order=eps_value(row.group))),
        column("Attack", lambda row: row.of if eps_value(row.group) > 0 else "clean"),
        *class_columns("attack", by_norm[0].all),
    ]
    note = (
        "The attack that leaves the fewest images right; the worst case takes the strongest for each image. A robust "
        "accuracy that one constant answer gets as well says nothing about robustness."
    )
    many = len(rows) > _MANY_ROWS
    return table_of("The strongest attack at every ε", rows, columns, note, findings=by_norm[0].all, collapsed=many)


def flag_paragraphs(findings: FindingIndex) -> list[Paragraph]:
    """The red flags that were raised, in words, or that none of those looked for showed itself."""
    flags = findings.select("attack.red_flag")
    if raised := [flag for flag in flags if flag.value == 1.0]:
        return [Paragraph(_in_words(flag)) for flag in raised]
    checked = sum(flag.n not in (None, 0) for flag in flags)
    return [Paragraph(_NONE_RAISED.format(checked=checked))] if checked else []


def _in_words(flag: Finding) -> str:
    title, advice = FLAGS.get(flag.of, (flag.of, ""))
    _, _, why = flag.verdict.partition(": ")
    return f"{title} ({flag.subject}): {why}. {advice}"


_CROWDED, _CROWDED_PANEL = 0.09, 0.25  # of the axis: ticks nearer than that to the one before carry no name
_Y = "Accuracy"
_X = {
    "linf": "ε: how far any pixel may move, of [0, 1]",
    "l2": "ε: the L2 length of the change, over all pixel values",
    "l0": "ε: how many pixels may change",
    "patch": "ε: the share of the picture that a square covers",
}
_TITLE = {"linf": "", "l2": " in L2", "l0": " of few pixels (L0)", "patch": " by a patch"}


def page(
    findings: FindingIndex, shown: Sequence[AttackedImages] = (), left_out: Mapping[str, Sequence[str]] | None = None
) -> Part:
    """The part of the report about attacks, from the findings `attack.*` and the images that were kept; `left_out` are
    by subject the attacks that it was not put under."""
    by_norm = [AttackFindings(findings, norm) for norm in norms(findings)]
    telling = {(subject, one.norm): lowest.group for one in by_norm for subject, lowest in one.at_common().items()}
    blocks: list[Block] = [curve for one in by_norm for curve in _curves(one)]
    blocks += flag_paragraphs(findings)
    if by_norm:
        blocks.append(strongest_table(by_norm))
    blocks += _galleries(shown, telling)
    lines = map(_what_is_left if len(by_norm) == 1 else _in_short, by_norm)
    sentence = " ".join(filter(None, [*lines, without_gradient(left_out or {})]))
    raised = red_flags(findings)
    judged = plural(len(raised), "red flag") if raised else ""
    return Part(
        "Attacks", sentence or "Nothing was attacked.", blocks, "attacks", "bad" if raised else "neutral", judged
    )


def _curves(findings: AttackFindings) -> list[Block]:
    """Accuracy over ε: with one subject a line per attack, with several a panel per attack and a line per subject."""
    tried = [
        attack for attack in findings.attacks() if any(len(findings.grid(s, attack)) > 1 for s in findings.subjects)
    ]
    if not tried:
        return []
    title = f"Accuracy under attack{_TITLE[findings.norm]}"
    if len(findings.subjects) == 1:
        worst = worst_called(findings.norm)
        worst_first = sorted(tried, key=lambda attack: attack != worst)  # drawn last, as dashes over another line
        series = [_series(findings, findings.subjects[0], attack, attack) for attack in worst_first]
        return [_plot(title, series, _alt(findings, findings.subjects[0], tried), _X[findings.norm])]
    panels = []
    for attack in tried:
        under = [subject for subject in findings.subjects if findings.grid(subject, attack)]
        series = [_series(findings, subject, attack, subject) for subject in under]
        alt = f"Accuracy of {plural(len(findings.subjects), 'subject')} over ε under {attack}."
        panels.append(_plot(attack, series, alt, "ε", _CROWDED_PANEL))
    return [Panels(title, panels, "Bands are 95 % intervals (Wilson); ε = 0 is the clean image.")]


def _plot(title: str, series: Sequence[Series], alt: str, x_label: str, crowded: float = _CROWDED) -> LinePlot:
    note = "Bands are 95 % intervals (Wilson); ε = 0 is the clean image."
    names = {x: eps_name(x).removeprefix("eps=") for line in series for x in line.x}
    ticks = spaced_ticks(series, crowded, names.__getitem__)
    return LinePlot(title, series, x_label, _Y, alt, (0.0, 1.0), ticks, note, "percent", names)


def _series(findings: AttackFindings, subject: str, attack: str, name: str) -> Series:
    grid = findings.grid(subject, attack)
    points = [findings.accuracy(subject, attack, group) for group in grid]
    # Between two points nothing was tried: no line to be drawn.
    style: SeriesStyle = "points" if len(grid) <= 2 else "dashed" if name == worst_called(findings.norm) else "line"
    return series_of(name, [eps_value(group) for group in grid], points, style)


def spaced_ticks(series: Sequence[Series], crowded: float, write: Callable[[float], str]) -> dict[float, str]:
    """The places on the x axis by name, without those that would stand on top of each other: nearer to the one before
    than this share of the axis."""
    places = sorted({x for line in series for x in line.x})
    kept: dict[float, str] = {}
    for x in places:
        if not kept or x - max(kept) >= crowded * (places[-1] - places[0]):
            kept[x] = write(x)
    return kept


def _alt(findings: AttackFindings, subject: str, attacks: Sequence[str]) -> str:
    ends = []
    for attack in attacks:
        last = findings.accuracy(subject, attack, findings.grid(subject, attack)[-1])
        if last is not None and last.value is not None:
            ends.append(f"{attack} ends at {percent(last.value)} with ε = {eps_text(last.group)}")
    return f"Accuracy of {subject} falling with ε: {'; '.join(ends)}."


_BESIDE, _STEPPED = 3, 2
"""Strips of a subject or attack beside the first, and of the first at an ε beside the telling one."""


def _galleries(shown: Sequence[AttackedImages], telling: dict[tuple[str, str], str]) -> list[Block]:
    """The pictures of every attack on every subject: the first open, the others to be unfolded or stepped to."""
    galleries: list[Block] = []
    opened: set[str] = set()
    for images in shown:
        galleries += _pictures(images, telling, collapsed=bool(opened))
        opened.add(images.subject)
    return galleries


def _pictures(shown: AttackedImages, telling: dict[tuple[str, str], str], *, collapsed: bool) -> list[Gallery]:
    """The gallery at the subject's telling ε, or at the largest that the attack has images for; beside it the first
    strips at every other ε, to step through."""
    groups = sorted({shown.group(eps) for eps in shown.images["eps"].to_pylist() if eps > 0}, key=eps_value)
    wanted = telling.get((shown.subject, shown.norm), "")
    first = wanted if wanted in groups else next(reversed(groups), "")
    beside = [] if collapsed else [group for group in groups if group != first]
    most = {first: _BESIDE if collapsed else MOST, **dict.fromkeys(beside, _STEPPED)} if first else {}
    drawn = (gallery(shown, group, most[group], collapsed=collapsed or group != first) for group in most)
    return [pictures for pictures in drawn if pictures is not None]


def _what_is_left(findings: AttackFindings) -> str:
    """What is left of each subject, in one sentence where all were attacked alike."""
    lowest = list(findings.at_common().values())
    if len(lowest) < 2 or len({(finding.of, finding.group, finding.n) for finding in lowest}) > 1:
        return " ".join(_sentence(findings, finding) for finding in lowest)
    left = [
        f"{finding.subject} {share_text(finding)} of its {_right_when_clean(findings, finding)}"
        f"{_of_worst(findings, finding)}"
        for finding in lowest
    ]
    start = f"{capital(_attack_clause(lowest[0]))}right, of what was right on clean images"
    return f"{start}: {', '.join(left)} (n = {integer(lowest[0].n)})."


def _in_short(findings: AttackFindings) -> str:
    """Of several norms, the least and the most that is left of a subject in one; the table has the rest."""
    left = sorted(findings.at_common().values(), key=lambda finding: finding.value or 0.0)
    most = f", the least; {left[-1].subject} keeps most, {share_text(left[-1])}" if len(left) > 1 else ""
    start = f"{capital(_attack_clause(left[0]))}{left[0].subject} right on {share_text(left[0])}"
    return f"{start}{_of_worst(findings, left[0])}{most}."


def _right_when_clean(findings: AttackFindings, lowest: Finding) -> str:
    clean = findings.clean(lowest.subject)
    return percent(clean.value if clean else None)


def _sentence(findings: AttackFindings, lowest: Finding) -> str:
    left = f"{share_text(lowest)} (n = {integer(lowest.n)})"
    clean = f"{_right_when_clean(findings, lowest)} that {lowest.subject} gets right on clean images"
    classes = class_text("attack", findings.all, About(lowest.subject, lowest.of, lowest.group))
    of_classes = (f", of {classes}" if classes else "") + beyond_chance(findings.all, lowest)
    return f"{capital(_attack_clause(lowest))}{left} right of the {clean}{of_classes}.{_fell_to(findings, lowest)}"


def _fell_to(findings: AttackFindings, lowest: Finding) -> str:
    """Of several attacks in turn, how many of the images that fell there fell to which."""
    fallen = [
        share
        for share in findings.all.select("attack.winner", subject=lowest.subject, of=lowest.of)
        if eps_value(share.group) == eps_value(lowest.group) and not share.of.startswith(WORST)
    ]
    shares = ", ".join(f"{percent(share.value, 0)} to {norm_and_slice(share.group)[1].name}" for share in fallen)
    return f" Of what fell: {shares}." if shares else ""


def _attack_clause(lowest: Finding) -> str:
    worst = worst_called(norm_and_slice(lowest.group)[0])
    attack = "the worst case over all attacks" if lowest.of == worst else lowest.of
    return f"at ε = {eps_text(lowest.group)} {attack} leaves "


def _of_worst(findings: AttackFindings, lowest: Finding) -> str:
    """The class that is found least where so much is left, and what is beyond chance, behind what is left."""
    worst = findings.all.get("attack.worst_recall", lowest.subject, lowest.of, lowest.group)
    of_class = "" if worst is None else f" (class {worst.verdict}: {percent(worst.value, 0)})"
    return of_class + beyond_chance(findings.all, lowest)


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject the lowest accuracy at the ε that tells most; at every other ε too, but only to be looked back on.

    Which ε tells most may be another tomorrow; its trend then has its past.
    """
    for norm in norms(findings):
        attack_findings = AttackFindings(findings, norm)
        telling = attack_findings.at_common()
        for subject in attack_findings.subjects:
            for group in attack_findings.grid(subject):
                if eps_value(group) > 0:
                    spare = subject not in telling or group != telling[subject].group
                    lowest = attack_findings.lowest(subject, group)
                    yield from headline_of(metrics_of("attack"), lowest, subject, f"ε = {eps_text(group)}", spare=spare)
