"""What subjects of images and texts show before anything is done to them: how good they are, and how they learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from assay.tasks.reporting.chances import CHANCES, chance_cells
from assay.tasks.reporting.estimates import estimate
from assay.tasks.reporting.numerals import integer, percent
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, LinePlot, Mark, Panels, Part, Series, Verdict
from assay.tasks.reporting.sentences import counted_by, first_few, share_text
from assay.tasks.statistics.findings import FindingIndex, measured

if TYPE_CHECKING:
    import pyarrow as pa

CLEAN = "clean"
_ASIDE = "Validation samples were set aside from those that may train; they choose nothing."
_FEW = 6  # classes: more are folded away, since attacks list them again


def page(findings: FindingIndex, curves: Mapping[str, pa.Table], groups: int | None = None) -> Part:
    """The part of the report about subjects on clean samples; `curves` are those that learned here, by name, and
    `groups` how many the audited samples stand in."""
    subjects = findings.distinct("subject", "subject", of=CLEAN)
    constant = _degenerate(findings)
    blocks: list[Block] = [_figures(findings, subjects), _recalls(findings, subjects)]
    if findings.select("subject.class_auc", of=CLEAN):
        blocks.append(_areas(findings, subjects))
    if measured(findings.select("subject.ece", of=CLEAN)):
        blocks.append(_chances(findings, subjects))
    learned = {name: curve for name, curve in curves.items() if curve.num_rows > 1}
    if learned:
        blocks.append(learning(learned))
    lines = [_sentence(findings, subject) for subject in subjects]
    lines += _lessons(findings)
    if groups is not None:
        lines.append(counted_by(groups))
    lines += [f"{subject} is {verdict}." for subject, verdict in constant.items()]
    lines += [f"{line}." for line in _no_better_than_one_answer(findings)]
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


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about clean accuracy, where nothing else says it; none where no subject looks at images or texts.

    Beside attacks it says of whom they tell little: what always answers alike withstands everything.
    """
    shares = measured(findings.select("subject.accuracy", of=CLEAN))
    if findings.select("attack") or findings.select("corruption"):
        return tuple(Verdict(line) for line in _no_better_than_one_answer(findings))
    if not shares:
        return ()
    constant = _degenerate(findings)
    lines = [
        f"{share.subject} is right on {share_text(share, 0)} of {integer(share.n)} samples"
        + (f", and is {constant[share.subject]}" if share.subject in constant else "")
        for share in shares
    ]
    return (Verdict(first_few(lines), "bad" if constant else "neutral"),)


def _no_better_than_one_answer(findings: FindingIndex) -> list[str]:
    """A line on the subjects whose accuracy reaches down to that of one answer for all, if there are any."""
    constant, unsure = _degenerate(findings), []
    for share in measured(findings.select("subject.accuracy", of=CLEAN)):
        most = findings.get("subject.majority_rate", share.subject, CLEAN)
        if most is None or most.value is None or share.low is None or share.subject in constant:
            continue
        if share.low <= most.value:
            unsure.append(f"{share.subject} ({percent(share.value, 0)}, one answer for all {percent(most.value, 0)})")
    if not unsure:
        return []
    return [
        "Not shown to be right more often than one answer for all samples, which would withstand everything: "
        f"{first_few(unsure, ', ')}"
    ]


def _degenerate(findings: FindingIndex) -> dict[str, str]:
    """The subjects that (almost) always answer alike, each with what it answers."""
    return {one.subject: one.verdict for one in findings.select("subject.degenerate", of=CLEAN) if one.degenerate}


def _figures(findings: FindingIndex, subjects: Sequence[str]) -> DataTable:
    columns = [
        Column("Subject"),
        Column("Accuracy", "percent"),
        Column("AUC", "number", "From probabilities; the mean over classes or labels"),
        Column("Majority", "percent", "What the most frequent class alone would get"),
        Column("Entropy", "number", "Of the predicted classes, in bits: 0 means that one answer is all there is"),
        Column("Answers"),
    ]
    metrics = ("accuracy", "auc", "majority_rate", "prediction_entropy")
    rows = [
        [
            subject,
            *(estimate(findings.entry(f"subject.{metric}", subject, CLEAN)) for metric in metrics),
            _answers(findings, subject),
        ]
        for subject in subjects
    ]
    return DataTable("As they are", columns, rows, "Intervals are 95 %: Wilson for shares, DeLong for AUC.")


def _recalls(findings: FindingIndex, subjects: Sequence[str]) -> DataTable:
    note = "The share of a class's samples that are recognised as such."
    return _per_class(findings, subjects, "recall", "Recall per class", note, "percent")


def _areas(findings: FindingIndex, subjects: Sequence[str]) -> DataTable:
    note = "Of each class against the rest, or of each label, from probabilities."
    return _per_class(findings, subjects, "class_auc", "AUC per class", note, "number")


def _chances(findings: FindingIndex, subjects: Sequence[str]) -> DataTable:
    rows: list[list[Cell]] = [[subject, *chance_cells(findings, "subject", subject, CLEAN)] for subject in subjects]
    note = "A confidence of 80 % is a chance only where 80 in 100 such answers are right. Intervals are 95 %."
    return DataTable("Are its confidences chances?", [Column("Subject"), *CHANCES], rows, note)


def _per_class(
    findings: FindingIndex,
    subjects: Sequence[str],
    metric: str,
    title: str,
    note: str,
    kind: Literal["number", "percent"],
) -> DataTable:
    classes = findings.distinct("group", f"subject.{metric}", of=CLEAN)
    columns = [Column("Class"), *(Column(subject, kind) for subject in subjects)]
    rows: list[list[Cell]] = [
        [name, *(estimate(findings.get(f"subject.{metric}", subject, CLEAN, name)) for subject in subjects)]
        for name in classes
    ]
    return DataTable(title, columns, rows, note, collapsed=len(rows) > _FEW)


def learning(curves: Mapping[str, pa.Table], note: str = _ASIDE) -> Block:
    """How models learned, by name: one drawn large, several in panels."""
    if len(curves) == 1:
        [(name, curve)] = curves.items()
        return _curve(name, f"How {name} learned", curve, note)
    return Panels("How they learned", [_curve(name, name, curve) for name, curve in curves.items()], note)


def _curve(name: str, title: str, curve: pa.Table, note: str = "") -> LinePlot:
    ordered = curve.sort_by("epoch")
    epochs = [float(epoch) for epoch in ordered["epoch"].to_pylist()]
    series = [
        Series(label, epochs, ordered[column].to_pylist())
        for label, column in (("training", "train_accuracy"), ("validation", "validation_accuracy"))
        if ordered[column].null_count < ordered.num_rows
    ]
    ends = [f"{one.name} {percent(one.y[-1])}" for one in series]
    last = ordered["loss"][-1].as_py()
    alt = f"Accuracy of {name} over {len(epochs)} epochs: at the end {', '.join(ends)}; the loss ends at {last:.3g}."
    ticks = {epoch: f"{epoch:.0f}" for epoch in (epochs[0], epochs[len(epochs) // 2], epochs[-1])}
    return LinePlot(title, series, "Epoch", "Accuracy", alt, (0.0, 1.0), ticks, note, "percent")


def _sentence(findings: FindingIndex, subject: str) -> str:
    share = findings.get("subject.accuracy", subject, CLEAN)
    if share is None:
        return f"{subject} has no gold labels to be measured by."
    return f"{subject} is right on {share_text(share)} of {integer(share.n)} samples."


def _answers(findings: FindingIndex, subject: str) -> Cell:
    share = findings.entry("subject.degenerate", subject, CLEAN)
    return None if share is None else Mark(share.verdict, "bad" if share.degenerate else "neutral")
