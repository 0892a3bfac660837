"""What subjects of images and texts show before anything is done to them: how good they are, and how they learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from assay.tasks.reporting.numerals import integer, interval, percent
from assay.tasks.reporting.parts import (
    Block,
    Cell,
    Column,
    DataTable,
    Estimate,
    LinePlot,
    Mark,
    Panels,
    Part,
    Series,
    Verdict,
)
from assay.tasks.statistics.findings import Finding

if TYPE_CHECKING:
    import pyarrow as pa

CLEAN = "clean"
_NAMED = 3
_ASIDE = "Validation samples were set aside from those that may train; they choose nothing."
_FEW = 6  # classes: more are folded away, since attacks list them again


def page(findings: Sequence[Finding], curves: Mapping[str, pa.Table]) -> Part:
    """The part of the report about subjects on clean samples; `curves` are those that learned here, by name."""
    clean = [one for one in findings if one.stage == "subject" and one.of == CLEAN]
    subjects = list(dict.fromkeys(one.subject for one in clean))
    constant = [one for one in clean if one.metric == "subject.degenerate" and one.verdict.startswith("degenerate")]
    blocks: list[Block] = [_figures(clean, subjects), _recalls(clean, subjects)]
    if any(one.metric == "subject.class_auc" for one in clean):
        blocks.append(_areas(clean, subjects))
    learned = {name: curve for name, curve in curves.items() if curve.num_rows > 1}
    if learned:
        blocks.append(learning(learned))
    said = [_sentence(clean, subject) for subject in subjects]
    said += [f"{one.subject} is {one.verdict}." for one in constant]
    judged = "red flag" if constant else ""
    return Part("Subjects on clean samples", " ".join(said), blocks, "clean", "bad" if constant else "neutral", judged)


def verdict(findings: Sequence[Finding]) -> Verdict | None:
    """The line about clean accuracy, where nothing else says it; None where no subject looks at images or texts."""
    clean = [one for one in findings if one.metric == "subject.accuracy" and one.of == CLEAN and one.value is not None]
    if not clean or any(one.stage == "attack" for one in findings):
        return None
    constant = {
        one.subject: one.verdict for one in findings
        if one.metric == "subject.degenerate" and one.of == CLEAN and one.verdict.startswith("degenerate")
    }  # fmt: skip
    said = [
        f"{one.subject} is right on {_share(one)} of {integer(one.n)} samples"
        + (f", and is {constant[one.subject]}" if one.subject in constant else "")
        for one in clean[:_NAMED]
    ]
    rest = len(clean) - _NAMED
    text = "; ".join(said) + (f"; {rest} more subjects below" if rest > 0 else "")
    return Verdict(text, "bad" if constant else "neutral")


def _figures(clean: Sequence[Finding], subjects: Sequence[str]) -> DataTable:
    columns = [
        Column("Subject"), Column("Accuracy", "percent"),
        Column("AUC", "number", "From probabilities; the mean over classes or labels"),
        Column("Majority", "percent", "What the most frequent class alone would get"),
        Column("Entropy", "number", "Of the predicted classes, in bits: 0 means that one answer is all there is"),
        Column("Answers"),
    ]  # fmt: skip
    rows = [[subject, *(_estimate(clean, subject, metric) for metric in
                        ("accuracy", "auc", "majority_rate", "prediction_entropy")), _answers(clean, subject)]
            for subject in subjects]  # fmt: skip
    return DataTable("As they are", columns, rows, "Intervals are 95 %: Wilson for shares, DeLong for AUC.")


def _recalls(clean: Sequence[Finding], subjects: Sequence[str]) -> DataTable:
    note = "The share of a class's samples that are recognised as such."
    return _per_class(clean, subjects, "recall", "Recall per class", note, "percent")


def _areas(clean: Sequence[Finding], subjects: Sequence[str]) -> DataTable:
    note = "Of each class against the rest, or of each label, from probabilities."
    return _per_class(clean, subjects, "class_auc", "AUC per class", note, "number")


def _per_class(
    clean: Sequence[Finding], subjects: Sequence[str], metric: str, title: str, note: str,
    kind: Literal["number", "percent"],
) -> DataTable:  # fmt: skip
    found = {(one.subject, one.group): one for one in clean if one.metric == f"subject.{metric}"}
    classes = list(dict.fromkeys(group for _, group in found))
    columns = [Column("Class"), *(Column(subject, kind) for subject in subjects)]
    rows: list[list[Cell]] = [
        [name, *(_cell(found.get((subject, name))) for subject in subjects)] for name in classes
    ]  # fmt: skip
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


def _sentence(clean: Sequence[Finding], subject: str) -> str:
    one = _find(clean, subject, "accuracy")
    if one is None or one.value is None:
        return f"{subject} has no gold labels to be measured by."
    return f"{subject} is right on {percent(one.value)} {interval(one.low, one.high)} of {integer(one.n)} samples."


def _share(one: Finding) -> str:
    return f"{percent(one.value, 0)} {interval(one.low, one.high, digits=0)}"


def _answers(clean: Sequence[Finding], subject: str) -> Cell:
    one = _find(clean, subject, "degenerate")
    if one is None:
        return None
    return Mark(one.verdict, "bad" if one.verdict.startswith("degenerate") else "neutral")


def _estimate(clean: Sequence[Finding], subject: str, metric: str) -> Cell:
    return _cell(_find(clean, subject, metric))


def _cell(one: Finding | None) -> Cell:
    return None if one is None or one.value is None else Estimate(one.value, one.low, one.high, one.n)


def _find(clean: Sequence[Finding], subject: str, metric: str) -> Finding | None:
    return next((one for one in clean if one.subject == subject and one.metric == f"subject.{metric}"), None)
