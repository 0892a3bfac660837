"""The page of subjects on clean samples says how good they are, who says but one thing, and how they learned."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import TrainingCurve
from assay.tasks.reporting.parts import LinePlot, Panels
from assay.tasks.statistics.classification_findings import (
    About,
    above_constant_of,
    chance_findings,
    constant_findings,
    prediction_findings,
)
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.subjects.page import clean_page as page_of

CLASSES = ["benign", "malignant"]
TRUTH = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def findings(subject: str, said: list[int], truth: np.ndarray = TRUTH) -> list[Finding]:
    codes = np.array(said)
    probabilities = np.where(codes[:, None] == np.arange(2), 0.9, 0.1)
    about = About("subject", "clean", subject=subject)
    above = constant_findings(about, above_constant_of(codes, truth, 2, None))
    return [*above, *prediction_findings(about, codes, probabilities, truth, CLASSES)]


def curve(epochs: int, validation: bool = True) -> pa.Table:
    at = list(range(1, epochs + 1))
    aside = [epoch / (epochs + 1) if validation else None for epoch in at]
    columns = [
        pa.array(at, pa.int32()),
        [1.0 / epoch for epoch in at],
        [epoch / epochs for epoch in at],
        pa.array(aside, pa.float64()),
    ]
    return pa.table(columns, schema=TrainingCurve.schema)


GOOD = findings("net", [0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
CONSTANT = findings("flat", [0] * 10)


def test_the_sentence_has_the_number_its_interval_and_n() -> None:
    part = page(GOOD, {})
    beside = (
        "benign 83\u202f% [39, 98], the worst class; balanced accuracy 92\u202f%; one constant answer gets 60\u202f%"
    )
    said = f"net is right on 90.0\u202f% [59.6, 98.2] of 10 samples, of {beside}."
    assert part.sentence.endswith(said)
    assert part.sentence.startswith("Not shown to be right more often than one constant answer")
    assert (part.verdict, part.judged, part.anchor) == ("neutral", "", "clean")


def test_answers_in_words_that_are_none_are_counted_in_the_sentence() -> None:
    none = Finding("subject.unanswered", "clean", "", "chat", 0.13, 0.08, 0.21, 10)
    said = page([*findings("chat", [0, 0, 0, 0, 0, 0, 1, 1, 0, 0]), none], {}).sentence
    assert "; on 13.0\u202f% [8.0, 21.0] it gives no answer, which counts as wrong." in said


def test_a_subject_that_says_one_thing_only_makes_the_part_bad() -> None:
    part = page([*GOOD, *CONSTANT], {})
    assert part.sentence.endswith("flat is degenerate: every sample is called benign.")
    assert (part.verdict, part.judged) == ("bad", "red flag")


def test_a_subject_that_is_worse_than_one_answer_is_said_to_be() -> None:
    assert page(findings("wrong", [1] * 6 + [0] * 4), {}).sentence.startswith("Right less often than one constant")


def test_recall_is_drawn_by_class_and_subject() -> None:
    (plot,) = page([*GOOD, *CONSTANT], {}).blocks
    assert isinstance(plot, LinePlot)
    assert plot.x_ticks == {0.0: "benign", 1.0: "malignant"}
    assert [(line.name, line.y) for line in plot.series] == [("net", [pytest.approx(5 / 6), 1.0]), ("flat", [1.0, 0.0])]
    assert plot.alt == "Recall of 2 classes; that of the worst: net 83.3\u202f%, flat 0\u202f%."


def test_samples_without_gold_are_said_to_be_none_to_measure_by() -> None:
    unknown = findings("net", [0, 1] * 5, np.full(10, -1))
    assert page(unknown, {}).sentence == "net has no gold labels to be measured by."


def test_one_subject_learns_in_a_plot_several_in_panels_and_none_where_weights_were_given() -> None:
    alone = page(GOOD, {"net": curve(4), "given": curve(0)}).blocks[-1]
    assert isinstance(alone, LinePlot)
    assert alone.title == "How net learned"
    assert [(one.name, list(one.x), one.y[-1]) for one in alone.series] == [
        ("training", [1.0, 2.0, 3.0, 4.0], 1.0),
        ("validation", [1.0, 2.0, 3.0, 4.0], 0.8),
    ]
    assert alone.alt == (
        "Accuracy of net over 4 epochs: at the end training 100\u202f%, validation 80.0\u202f%; the loss ends at 0.25."
    )
    several = page([*GOOD, *CONSTANT], {"net": curve(4), "flat": curve(3, validation=False)}).blocks[-1]
    assert isinstance(several, Panels)
    assert [(plot.title, [one.name for one in plot.series]) for plot in several.plots] == [
        ("net", ["training", "validation"]),
        ("flat", ["training"]),
    ]
    assert not any(isinstance(one, LinePlot | Panels) for one in page(GOOD, {"given": curve(0)}).blocks[1:])


def test_epochs_are_drawn_in_their_order_however_the_table_lies() -> None:
    plot = page(GOOD, {"net": curve(5).take([4, 2, 0, 1, 3])}).blocks[-1]
    assert isinstance(plot, LinePlot)
    assert list(plot.series[0].x) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert list(plot.series[0].y) == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_the_page_says_how_many_groups_intervals_count():
    assert "stand in 75 groups, and these are what intervals" in page(GOOD, {}, [4] * 75).sentence
    assert "groups" not in page(GOOD, {}).sentence


def test_how_far_a_confidence_is_off_is_said_where_it_was_measured() -> None:
    chances = np.where(TRUTH[:, None] == np.arange(2), 0.7, 0.3)
    error, *_ = chance_findings(About("subject", "clean", subject="net"), chances, TRUTH)
    assert error.value == pytest.approx(0.3)  # always right, and 70 % sure of it
    assert "; its confidence is 30.0\u202f%" in page([*GOOD, error], {}).sentence
    assert "calibration error" not in page(GOOD, {}).sentence


def test_who_is_not_shown_to_be_better_than_one_answer_is_named() -> None:
    truth = np.repeat([0, 1], [70, 30])
    unsure = findings("unsure", [0] * 65 + [1] * 5 + [0] * 22 + [1] * 8, truth)  # 73 % right, and 70 % for nothing
    sure = findings("sure", [0] * 66 + [1] * 4 + [0] * 4 + [1] * 26, truth)
    said = page([*unsure, *sure], {}).sentence
    assert "withstand everything: unsure (73\u202f%, one constant answer 70\u202f%)." in said
    assert "Not shown" not in page(sure, {}).sentence
    assert "Not shown" not in page(findings("flat", [0] * 100, truth), {}).sentence  # degenerate, which is said of it
