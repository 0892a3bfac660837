"""What the report shows of subjects: how good they are on clean samples, how they learned, and how they fare on
D1…DN.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from assay.data.arrays import Integers
from assay.tasks.reporting.estimates import (
    About,
    answer_tone,
    capital,
    class_text,
    counted_by,
    first_few,
    seen_text,
    series_of,
    share_text,
)
from assay.tasks.reporting.numerals import integer, interval, p_concluded, percent, plural
from assay.tasks.reporting.parts import Block, LinePlot, Mark, Panels, Paragraph, Part, Series, Tone
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.statistics.multiplicity import level_needed
from assay.tasks.subjects.predictions import THRESHOLD

CLEAN = "clean"
_ASIDE = "Validation samples were set aside from those that may train; they choose nothing."


def clean_page(findings: FindingIndex, curves: Mapping[str, pa.Table], groups: Integers | None = None) -> Part:
    """The part of the report about subjects on clean samples; `curves` are those that learned here, by name, and
    `groups` the sizes of those that the audited samples stand in."""
    subjects = findings.distinct("subject", "subject", of=CLEAN)
    constant = _degenerate(findings)
    blocks: list[Block] = [recalls] if (recalls := _recall_plot(findings, subjects)) is not None else []
    blocks += learning(curves)
    lines = _no_better_than_one_answer(findings)
    lines += [_clean_sentence(findings, subject) for subject in subjects]
    lines += _lessons(findings)
    if groups is not None:
        lines.append(counted_by(groups))
    lines += [f"{subject} is {verdict}." for subject, verdict in constant.items()]
    judged = "red flag" if constant else ""
    return Part("Subjects on clean samples", " ".join(lines), blocks, "clean", "bad" if constant else "neutral", judged)


def _lessons(findings: FindingIndex) -> list[str]:
    """What weak labels taught, in a sentence per subject that learned from them."""
    sentences = []
    for taught in measured(findings.select("subject.taught")):
        right = findings.get("subject.lessons_right", taught.subject, taught.of)
        by_gold = "" if right is None else f", of which gold confirms {share_text(right)}"
        sentences.append(
            f"{taught.subject} learned from the weak labels of {share_text(taught)} of the {integer(taught.n)} samples "
            f"that may train, those that were decided{by_gold}."
        )
    return sentences


def is_shown_worse(above: Finding | None, test: Finding | None) -> bool:
    """Whether one constant answer is shown to get more, by the gain over it and the gain's test."""
    return bool(above and test and (above.high or 0.0) < 0 and test.verdict == "worse")


def _no_better_than_one_answer(findings: FindingIndex) -> list[str]:
    """A sentence on the subjects that are shown to be right less often than one constant answer, and one on those that
    are not shown to be right oftener, if there are any."""
    constant, outcomes = _degenerate(findings), defaultdict[str, list[str]](list)
    for above in measured(findings.select("subject.above_constant", of=CLEAN)):
        if above.subject in constant:
            continue
        metrics = ("accuracy", "constant_accuracy", "above_constant_p")
        share, always, test = (findings.get(f"subject.{name}", *above.about) for name in metrics)
        if (above.low or 0.0) > 0 and (test is None or test.verdict == "better"):
            continue
        shares = [percent(getattr(finding, "value", None), 0) for finding in (share, always)]
        outcome = "Right less often" if is_shown_worse(above, test) else "Not shown to be right more often"
        outcomes[outcome].append(f"{above.subject} ({shares[0]}, one constant answer {shares[1]})")
    than = "than one constant answer, which would withstand everything"
    return [f"{outcome} {than}: {first_few(names)}." for outcome, names in sorted(outcomes.items(), reverse=True)]


def _degenerate(findings: FindingIndex) -> dict[str, str]:
    """The subjects that (almost) always answer alike, each with what it answers."""
    return {flag.subject: flag.verdict for flag in findings.select("subject.degenerate", of=CLEAN) if flag.degenerate}


def _recall_plot(findings: FindingIndex, subjects: Sequence[str]) -> LinePlot | None:
    """How many samples of each class every subject recognises; None without gold."""
    classes = findings.distinct("group", "subject.recall", of=CLEAN)
    series = []
    for at, subject in enumerate(subjects):
        recalls = [findings.get("subject.recall", subject, CLEAN, name) for name in classes]
        if measured(recalls):
            aside = [place + at * 0.5 / len(subjects) for place in range(len(classes))]
            series.append(series_of(subject, aside, recalls, "points"))
    if not series:
        return None
    lowest_of = [f"{line.name} {percent(min(y for y in line.y if y is not None))}" for line in series]
    return LinePlot(
        "Recall per class",
        series,
        "class",
        "share of the class's samples that are recognised",
        f"Recall of {plural(len(classes), 'class', 'classes')}; that of the worst: {', '.join(lowest_of)}.",
        (0.0, 1.0),
        {float(place): name for place, name in enumerate(classes)},
        "Each interval by itself, 95 % (Wilson); that of the worst class allows for its having been named.",
        "percent",
        {place: name for line in series for place, name in zip(line.x, classes, strict=True)},
    )


def learning(curves: Mapping[str, pa.Table], note: str = _ASIDE) -> list[Block]:
    """How models learned over more than one epoch, by name: one drawn large, several in panels."""
    learned = {name: curve for name, curve in curves.items() if curve.num_rows > 1}
    if len(learned) == 1:
        [(name, curve)] = learned.items()
        return [_curve(name, f"How {name} learned", curve, note)]
    panels = [_curve(name, name, curve) for name, curve in learned.items()]
    return [Panels("How they learned", panels, note)] if panels else []


def _curve(name: str, title: str, curve: pa.Table, note: str = "") -> LinePlot:
    ordered = curve.sort_by("epoch")
    epochs = [float(epoch) for epoch in ordered["epoch"].to_pylist()]
    series = [
        Series(label, epochs, ordered[column].to_pylist())
        for label, column in (("training", "train_accuracy"), ("validation", "validation_accuracy"))
        if ordered[column].null_count < ordered.num_rows
    ]
    ends = [f"{line.name} {percent(line.y[-1])}" for line in series]
    last = ordered["loss"][-1].as_py()
    alt = f"Accuracy of {name} over {len(epochs)} epochs: at the end {', '.join(ends)}; the loss ends at {last:.3g}."
    ticks = {epoch: f"{epoch:.0f}" for epoch in (epochs[0], epochs[len(epochs) // 2], epochs[-1])}
    return LinePlot(title, series, "Epoch", "Accuracy", alt, (0.0, 1.0), ticks, note, "percent")


def _clean_sentence(findings: FindingIndex, subject: str) -> str:
    share = findings.get("subject.accuracy", subject, CLEAN)
    if share is None:
        return f"{subject} has no gold labels to be measured by."
    classes = class_text("subject", findings, About(subject, CLEAN))
    beside = f", of {classes}" if classes else ""
    error = findings.get("subject.ece", subject, CLEAN)
    off = "" if error is None else f"; its confidence is {share_text(error)} off on average (calibration error)"
    none = findings.get("subject.unanswered", subject, CLEAN)
    silent = "" if none is None else f"; on {share_text(none)} it gives no answer, which counts as wrong"
    return f"{subject} is right on {share_text(share)} of {integer(share.n)} samples{beside}{off}{silent}."


_MEANT = {"weak": "agreement with the weak label", "gold": "accuracy by gold"}
_LINES = {"weak": "with the weak label", "gold": "with gold"}
_SHOWN = {
    ("agreement", "adverse"): "its agreement falls along the order",
    ("agreement", "violation"): "its agreement rises along the order",
    ("hard", "adverse"): "the hard end is hard for it",
    ("hard", "violation"): "the hard end is easier for it",
}
_NOT_SHOWN = {"agreement": "that its agreement falls along the order", "hard": "that the hard end is hard for it"}
_WHY = (
    "Where the weak labels themselves get worse along the order, a robust model does not follow them, so its agreement "
    "with them falls, down to the accuracy of the labels; what tells a robust model from a fragile one is its accuracy "
    "by gold, which should fall less."
)


def page(findings: FindingIndex) -> Part:
    """The part of the report about the subjects, from their findings `subject.*`."""
    subjects = names(findings)
    blocks: list[Block] = [plot for subject in subjects if (plot := _plot(findings, subject)) is not None]
    if blocks:
        blocks.append(Paragraph(_WHY))
    flags = [flag for flag in findings.select("subject.degenerate") if flag.degenerate]
    sentences = [_sentence(findings, subject) for subject in subjects]
    sentences += [f"Red flag: {flag.subject} is {flag.verdict} ({integer(flag.n)} samples)." for flag in flags]
    title = "Subject" if len(subjects) == 1 else "Subjects"
    sentence = " ".join(sentences) or "No subject was measured."
    judged: tuple[Tone, str] = ("bad", "red flag") if flags else ("neutral", "")
    return Part(title, sentence, blocks, "subjects", *judged)


def names(findings: FindingIndex) -> list[str]:
    """The subjects that were held against D1 … DN, in their order."""
    return distinct(each.subject for each in findings.select("subject.accuracy") if each.of in _MEANT and each.subject)


def accuracies(
    findings: FindingIndex, subject: str, yardstick: str, cut: Literal["dataset", "stratum"] = "dataset"
) -> list[Finding]:
    """A subject's accuracy on D1, D2, … (or on their strata) by one yardstick, those that were measured.

    >>> found = [Finding("subject.accuracy", of="gold", group=f"D{i}", subject="s", value=0.5) for i in (10, 2)]
    >>> [share.group for share in accuracies(FindingIndex(found), "s", "gold")]
    ['D2', 'D10']
    """
    shares = measured(findings.select("subject.accuracy", subject=subject, of=yardstick))
    numbered = [(number, share) for share in shares if (number := getattr(share.slice, cut)) is not None]
    return [share for _, share in sorted(numbered, key=lambda pair: pair[0])]


def _sentence(findings: FindingIndex, subject: str) -> str:
    lines = [line for yardstick in ("gold", "weak") if (line := _along(findings, subject, yardstick))]
    if not lines:
        return f"{capital(_the(subject))} was not measured along the order."
    by_gold = findings.first("subject.balanced_accuracy", of="gold", subject=subject)
    classes = class_text("subject", findings, About(subject, CLEAN) if by_gold is None else About(*by_gold.about))
    lines += [f"of all samples, by true labels: {classes}"] if classes else []
    own = findings.get("subject.auc_gain", subject, "gold", "confidence")
    if own is not None:
        points = f"{percent(own.value, sign=False)} points {interval(own.low, own.high)}"
        lines.append(f"its confidence ranks its right answers above its wrong ones {points} better than our order does")
    return " ".join(f"{capital(line)}." for line in lines)


def _along(findings: FindingIndex, subject: str, yardstick: str) -> str:
    """How often a subject is right in the first and in the last tenth of the order, by which labels, and what that
    shows; empty where it was not measured."""
    first, last = (findings.get(f"subject.{end}_tenth", subject, yardstick) for end in ("first", "last"))
    test = findings.get("subject.trend_p", subject, yardstick)
    if first is None or last is None or test is None:
        return ""
    ends = f"{share_text(first)} of the first tenth and {share_text(last)} of the last"
    if yardstick == "weak":
        return f"{_the(subject)} agrees with the rules' labels on {ends}: {_shown(findings, test, 'agreement')}"
    return f"by true labels {_the(subject)} is right on {ends}: {_shown(findings, test, 'hard')}"


def _shown(findings: FindingIndex, test: Finding, about: str) -> str:
    """What the test of the order shows, with its p; what was needed, where it shows nothing."""
    p = p_concluded(test.p_value, test.p_adjusted)
    if test.verdict in ("adverse", "violation"):
        return f"{_SHOWN[about, test.verdict]} ({p})"
    area = findings.get("subject.auc", test.subject, test.of)
    if about == "hard" and area is not None and (area.value or 0.0) <= 0.5:
        return f"no sign that the hard end is hard for it ({p})"
    level = level_needed(test.verdict)
    needed = f", level {level}" if level else f"; {test.verdict.partition(': ')[2]}"
    seen = seen_text(findings.get("subject.auc_seen_from", test.subject, test.of))
    return f"{_NOT_SHOWN[about]} is not shown ({p}{needed}{seen})"


def _the(subject: str) -> str:
    return "the subject" if subject == "subject" else f"the subject {subject}"


def _plot(findings: FindingIndex, subject: str) -> LinePlot | None:
    series, descriptions = [], []
    for yardstick, name in _MEANT.items():
        along = accuracies(findings, subject, yardstick)
        if along:
            series.append(series_of(_LINES[yardstick], [float(share.slice.dataset or 0) for share in along], along))
            descriptions.append(f"{name} goes from {_share_with_n(along[0])} to {_share_with_n(along[-1])}")
    if not series:
        return None
    most = max(len(line.x) for line in series)
    title = f"{capital(_the(subject))} along the order"
    ticks = {float(i): f"D{i}" for i in range(1, most + 1)} if most <= 12 else None
    share, alt = "share of samples on which it agrees", f"Line plot. {'; '.join(descriptions)}."
    note = "Bands are Wilson's 95 % intervals."
    return LinePlot(title, series, "data set", share, alt, x_ticks=ticks, scale="percent", note=note)


def _share_with_n(share: Finding) -> str:
    return f"{share_text(share)} of {share.group} (n = {integer(share.n)})"


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject its accuracy on the last of D1 … DN, which holds all samples."""
    titles = {"weak": "Agreement with the weak labels", "gold": "Accuracy against gold"}
    for yardstick, title in titles.items():
        for subject in names(findings):
            for last in accuracies(findings, subject, yardstick)[-1:]:
                yield from headline_of(metrics_of("subject"), last, subject, last.group, title=title)


_NAMED = 3  # labels in a caption


def answer_marks(
    code: int, probabilities: Sequence[float], row: Mapping[str, Any], classes: Sequence[str]
) -> list[Mark]:
    """What the subject said of one image: its class with its probability, or the labels it named."""
    if row["labels"] is None:
        return [Mark(f"{classes[code]} · {percent(probabilities[code], 0)}", answer_tone(code, row["gold"]))]
    marks = []
    for name, p, label in zip(classes, probabilities, row["labels"], strict=True):
        wrong = label >= 0 and (p >= THRESHOLD) != (label == 1)
        if p >= THRESHOLD or wrong:
            judged: Tone = "bad" if wrong else "good" if label >= 0 else "neutral"
            marks.append(Mark(f"{name} · {percent(p, 0)}", judged, order=abs(p - THRESHOLD)))
    marks.sort(key=lambda mark: (mark.tone != "bad", -(mark.order or 0.0)))
    more = [Mark(f"and {len(marks) - _NAMED} more")] if len(marks) > _NAMED else []
    return [*marks[:_NAMED], *more] or [Mark("none of the labels")]
