"""The page of subjects on clean samples says how good they are, who says but one thing, and how they learned."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from assay.data.image_schemas import TrainingCurve
from assay.tasks.reporting.parts import Block, DataTable, Estimate, LinePlot, Mark, Panels
from assay.tasks.statistics.classification_findings import (
    About,
    above_constant_of,
    chance_findings,
    class_areas,
    constant_findings,
    prediction_findings,
)
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.subjects.page import clean_page as page_of
from assay.tasks.subjects.page import clean_verdict as verdict_of

CLASSES = ["benign", "malignant"]
TRUTH = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def verdict(findings):
    return next(iter(verdict_of(FindingIndex(findings))), None)


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


def block(blocks: list[Block], title: str) -> Block:
    return next(one for one in blocks if one.title == title)


def values(table: DataTable) -> list[list[object]]:
    return [[cell.value if isinstance(cell, Estimate) else cell for cell in row] for row in table.rows]


def test_the_sentence_has_the_number_its_interval_and_n() -> None:
    part = page(GOOD, {})
    beside = (
        "benign 83\u202f% [39, 98], the worst class; balanced accuracy 92\u202f%; one constant answer gets 60\u202f%"
    )
    said = f"net is right on 90.0\u202f% [59.6, 98.2] of 10 samples, of {beside}."
    assert part.sentence.endswith(said)
    assert part.sentence.startswith("Not shown to be right more often than one constant answer")
    assert (part.verdict, part.judged, part.anchor) == ("neutral", "", "clean")


def test_a_subject_that_says_one_thing_only_makes_the_part_bad() -> None:
    part = page([*GOOD, *CONSTANT], {})
    assert part.sentence.endswith("flat is degenerate: every sample is called benign.")
    assert (part.verdict, part.judged) == ("bad", "red flag")
    line = verdict([*GOOD, *CONSTANT])
    assert line is not None
    assert line.text.endswith(", and is degenerate: every sample is called benign")
    assert line.tone == "bad"
    table = block(part.blocks, "As they are")
    assert isinstance(table, DataTable)
    assert [row[-1] for row in table.rows] == [Mark("varied"), Mark("degenerate: every sample is called benign", "bad")]
    assert values(table)[1][1] == values(table)[1][5] == 0.6  # right as often as one constant answer
    assert values(table)[1][2:5] == [0.5, "malignant", 0.0]


def test_recall_stands_by_class_and_subject() -> None:
    table = block(page([*GOOD, *CONSTANT], {}).blocks, "Recall per class")
    assert isinstance(table, DataTable)
    assert [column.name for column in table.columns] == ["Class", "net", "flat"]
    assert values(table) == [["benign", pytest.approx(5 / 6), 1.0], ["malignant", 1.0, 0.0]]
    assert not table.collapsed


def test_many_classes_are_folded_away() -> None:
    names = [f"class {code}" for code in range(7)]
    truth = np.arange(7)
    found = prediction_findings(About("subject", "clean", subject="net"), truth, np.eye(7), truth, names)
    table = block(page(found, {}).blocks, "Recall per class")
    assert isinstance(table, DataTable)
    assert table.collapsed
    assert [row[0] for row in table.rows] == names


def test_samples_without_gold_are_said_to_be_none_to_measure_by() -> None:
    unknown = findings("net", [0, 1] * 5, np.full(10, -1))
    assert page(unknown, {}).sentence == "net has no gold labels to be measured by."
    assert verdict(unknown) is None


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
    assert not any(isinstance(one, LinePlot | Panels) for one in page(GOOD, {"given": curve(0)}).blocks)


def test_epochs_are_drawn_in_their_order_however_the_table_lies() -> None:
    plot = page(GOOD, {"net": curve(5).take([4, 2, 0, 1, 3])}).blocks[-1]
    assert isinstance(plot, LinePlot)
    assert list(plot.series[0].x) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert list(plot.series[0].y) == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_the_head_of_the_report_names_three_and_counts_the_rest() -> None:
    many = [one for name in "abcde" for one in findings(name, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1] * 4, np.tile(TRUTH, 4))]
    said = verdict(many)
    assert said is not None
    one = "is right on 90\u202f% [77, 96] of 40 samples (benign, its worst class, 83\u202f% [61, 94])"
    assert said.text == f"a {one}; b {one}; c {one}; 2 more subjects below"


def test_the_head_leaves_it_to_the_attacks_where_there_are_any() -> None:
    attacked = Finding("attack.accuracy", of="pgd", group="eps=0.1", subject="net", value=0.1, n=10)
    sure = findings("net", [0] * 60 + [1] * 40, np.repeat([0, 1], [60, 40]))
    assert verdict([*sure, attacked]) is None
    assert verdict([Finding("subject.accuracy", of="gold", subject="curated", value=0.9, n=10)]) is None


def test_every_class_has_its_own_area_where_there_are_more_than_two() -> None:
    names = ["mass", "nodule", "edema"]
    scores = np.array([[0.9, 0.2, 0.1], [0.1, 0.3, 0.1], [0.8, 0.4, 0.1]])
    labels = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 0]])
    areas = class_areas(About("subject", "clean", subject="net"), scores, labels, names)
    shown = block(page([*GOOD, *areas], {}).blocks, "AUC per class")
    assert isinstance(shown, DataTable)
    assert values(shown) == [["mass", 1.0], ["nodule", 0.5], ["edema", None]]
    assert not [one for one in page(GOOD, {}).blocks if one.title == "AUC per class"]


def test_the_page_says_how_many_groups_intervals_count():
    assert "stand in 75 groups, and these are what intervals" in page(GOOD, {}, 75).sentence
    assert "groups" not in page(GOOD, {}).sentence


def test_confidences_have_their_calibration_error_beside_each_other() -> None:
    chances = np.where(TRUTH[:, None] == np.arange(2), 0.7, 0.3)
    found = chance_findings(About("subject", "clean", subject="net"), chances, TRUTH)
    shown = block(page([*GOOD, *found], {}).blocks, "Are its confidences chances?")
    assert isinstance(shown, DataTable)
    assert values(shown) == [["net", pytest.approx(0.3), pytest.approx(0.18), 0.0]]  # always right, and 70 % sure of it
    assert not [one for one in page(GOOD, {}).blocks if one.title == "Are its confidences chances?"]


def test_whom_attacks_tell_little_of_is_said_where_there_are_any() -> None:
    truth = np.repeat([0, 1], [70, 30])
    unsure = findings("unsure", [0] * 65 + [1] * 5 + [0] * 22 + [1] * 8, truth)  # 73 % right, and 70 % for nothing
    sure = findings("sure", [0] * 66 + [1] * 4 + [0] * 4 + [1] * 26, truth)
    attack = Finding("attack.robust_accuracy", subject="unsure", value=0.7)
    line = verdict([*unsure, *sure, attack])
    assert line is not None
    assert line.text.endswith("withstand everything: unsure (73\u202f%, one constant answer 70\u202f%)")
    assert "unsure (73" in page([*unsure, *sure], {}).sentence
    assert verdict([*sure, attack]) is None
    assert "Not shown" not in page(sure, {}).sentence
    assert verdict([*findings("flat", [0] * 100, truth), attack]) is None  # degenerate, which is said elsewhere
