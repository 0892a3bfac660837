"""The part on defences: Table 5's layout, what a defence costs, tests with their corrected p, and degenerate models."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from assay.data.schemas import TrainingCurve
from assay.tasks.defenses.class_page import losses
from assay.tasks.defenses.page import family
from assay.tasks.defenses.page import page as page_of
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.parts import DataTable, Estimate, LinePlot, Mark, Panels
from assay.tasks.reporting.plots import WIDE, line_drawing
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.multiplicity import corrected

NEEDED = "not shown: p ≤ 0.01 needed"

THIN = "\N{NARROW NO-BREAK SPACE}"


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def accuracy(defence: str, group: str, value: float, subject: str = "plain", said: str = "") -> Finding:
    return Finding(
        "defense.accuracy",
        defence,
        group,
        subject,
        value,
        value - 0.05,
        min(1.0, value + 0.05),
        450,
        verdict=said,
        unit="share",
    )


def compared(defence: str, group: str, gain: float, p: float, subject: str = "plain") -> list[Finding]:
    said = NEEDED if p > 0.01 else "better" if gain > 0 else "worse"
    about = {"of": defence, "group": group, "subject": subject, "n": 450, "p_value": p}
    return [
        Finding("defense.gain", value=gain, low=gain - 0.04, high=gain + 0.04, unit="share", **about),
        Finding("defense.mcnemar_p", value=p, verdict=said, unit="p", **about),
    ]


def of_subject(subject: str = "plain") -> list[Finding]:
    found = [accuracy("none", "clean", 0.98, subject), accuracy("none", "eps=0.1", 0.3, subject)]
    for defence, clean, left in (
        ("standard", 0.97, 0.78),
        ("maadvt-lambda=3", 0.96, 0.8),
        ("maadvt-lambda=6", 0.95, 0.84),
    ):
        found += [accuracy(defence, "clean", clean, subject), accuracy(defence, "eps=0.1", left, subject)]
        found += compared(defence, "clean", clean - 0.98, 0.2, subject)
        found += compared(defence, "eps=0.1, worst-case", left - 0.3, 1e-9, subject)
    for pair, p in {
        "standard - maadvt-lambda=3": 0.4,
        "standard - maadvt-lambda=6": 1e-6,
        "maadvt-lambda=3 - maadvt-lambda=6": 1e-4,
    }.items():
        about = {"of": pair, "group": "eps=0.1, worst-case", "subject": subject, "n": 450, "value": p, "p_value": p}
        said = NEEDED if p > 0.01 else "worse"
        found.append(Finding("defense.between_p", verdict=said, unit="p, compared", **about))
    return found


FINDINGS = corrected(of_subject(), 0.01)
TITLE = "What each defence keeps, gains and loses"


def curve() -> pa.Table:
    rows = [{"epoch": at, "loss": 1 / at, "train_accuracy": 0.3 * at, "validation_accuracy": 0.3} for at in (1, 2, 3)]
    return pa.Table.from_pylist(rows, schema=TrainingCurve.schema)


def tables(part) -> dict[str, DataTable]:
    return {block.title: block for block in part.blocks if isinstance(block, DataTable)}


def test_every_model_has_a_row_clean_and_attacked():
    table = tables(page(FINDINGS, {}))[TITLE]
    models = ["none", "standard", "maadvt-lambda=3", "maadvt-lambda=6"]
    assert [row[:2] for row in table.rows] == [[of, at] for at in ("clean", "ε = 0.1") for of in models]
    assert [row[2].value for row in table.rows] == [0.98, 0.97, 0.96, 0.95, 0.3, 0.78, 0.8, 0.84]
    assert isinstance(table.rows[0][2], Estimate)
    assert table.rows[0][2].n == 450


def changes(part) -> dict[tuple[str, str], Mark | str]:
    """What stands under "Concluded" of each defence, clean and attacked."""
    table = tables(part)[TITLE]
    at = [column.name for column in table.columns].index("Concluded")
    return {(row[0], row[1]): row[at] for row in table.rows}


def test_changes_stand_with_the_corrected_p_of_their_tests():
    cells = changes(page(FINDINGS, {}))
    clean, attacked = cells["standard", "clean"], cells["standard", "ε = 0.1"]
    assert cells["none", "clean"] == ""
    assert (clean.order, attacked.order) == (pytest.approx(-0.01), pytest.approx(0.48))
    assert (clean.text, clean.tone) == (NEEDED, "neutral")
    assert clean.below == "accuracy −1 points [−5, 3], p = 0.600 after Holm"  # of six tests
    assert (attacked.text, attacked.tone) == ("better", "good")
    assert attacked.below == "accuracy +48 points [44, 52], p < 0.001 after Holm"


def test_every_model_is_a_mark_in_the_plot_of_what_robustness_costs():
    (plot,) = (block for block in page(FINDINGS, {}).blocks if isinstance(block, LinePlot))
    assert {one.name: list(zip(one.x, one.y, strict=True)) for one in plot.series} == {
        "undefended": [(0.98, 0.3)],
        "standard": [(0.97, 0.78)],
        "maadvt": [(0.95, 0.84), (0.96, 0.8)],
    }
    assert all(one.style == "points" for one in plot.series)
    assert [one.names for one in plot.series if one.name == "maadvt"] == [["λ = 6", "λ = 3"]]
    assert "λ = 6" in line_drawing(plot, WIDE, "x")
    both = page([*FINDINGS, *of_subject("half")], {})
    assert [type(block) for block in both.blocks].count(Panels) == 1


def test_learning_is_shown_and_the_whole_part_can_be_laid_out():
    part = page(FINDINGS, dict.fromkeys(("plain+standard", "plain+maadvt-lambda=3"), curve()))
    report = Report("r", "p", "2026-11-21T02:00:00+00:00", 1.0, 0, "done", (), (part,))
    text = render_report(report)
    assert "How they learned" in text
    assert "NaN" not in text
    assert f"leaves 30.0{THIN}% [25.0, 35.0] of 450 samples right of plain" in part.sentence


def test_defences_that_no_test_tells_apart_are_named_together():
    alike = [one for one in FINDINGS if not (one.metric == "defense.between_p" and "lambda=3 - " in one.of)]
    sentence = page(alike, {}).sentence.replace(THIN, " ")
    assert "80.0 % to 84.0 % with maadvt-lambda=6 and maadvt-lambda=3, which no paired test tells apart" in sentence
    assert page(FINDINGS, {}).sentence.replace(THIN, " ").endswith("and 84.0 % [79.0, 89.0] of plain+maadvt-lambda=6.")


def test_a_degenerate_model_is_called_that_and_is_never_the_best():
    word = "degenerate: 100.0% of samples are called benign"
    constant = [accuracy("mpadvt", "clean", 0.9, said=word), accuracy("mpadvt", "eps=0.1", 0.9, said=word)]
    constant += [compared("mpadvt", group, 0.0, 1.0)[0] for group in ("clean", "eps=0.1, worst-case")]
    found = FINDINGS + constant
    part = page(found, {})
    assert "of plain+maadvt-lambda=6." in part.sentence
    assert (part.verdict, part.judged) == ("bad", "red flag")
    assert f"plain+mpadvt is {word}." in part.sentence
    cells = [changes(part)["mpadvt", place] for place in ("clean", "ε = 0.1")]
    assert [(mark.text, mark.tone, mark.below) for mark in cells] == [(word, "bad", "accuracy 0 points [−4, 4]")] * 2


def test_where_every_model_is_degenerate_the_sentence_says_just_that():
    word = "degenerate: 100.0% of samples are called benign"
    found = [one for one in FINDINGS if one.of == "none"]
    found += [accuracy("mpadvt", "clean", 0.9, said=word), accuracy("mpadvt", "eps=0.1", 0.9, said=word)]
    found += compared("mpadvt", "eps=0.1, pgd", 0.6, 0.001)
    assert page(found, {}).sentence == f"plain+mpadvt is {word}."


def test_without_attacks_only_the_cost_on_clean_images_is_shown():
    clean = [one for one in FINDINGS if one.group == "clean"]
    part = page(clean, {})
    assert set(tables(part)) == {TITLE}


def test_variants_belong_to_their_family():
    names = ("standard", "maadvt-scratch", "maadvt-eps=4/255-scratch-lambda=0.5", "own-name")
    assert [family(name) for name in names] == ["standard", "maadvt", "maadvt", "own-name"]


def class_findings(lost: bool) -> list[Finding]:
    """What two classes get without and with every defence; `lost`: the best of them finds a third less of one."""
    found = []
    for name, recalls in (("benign", (0.99, 0.99)), ("malignant", (17 / 36, 11 / 36 if lost else 18 / 36))):
        for defence, recall in zip(("none", "maadvt-lambda=6"), recalls, strict=True):
            about = {"of": defence, "group": f"clean, {name}", "subject": "plain", "n": 36}
            found.append(Finding("defense.recall", value=recall, **about))
        gain = recalls[1] - recalls[0]
        found.append(
            Finding("defense.recall_gain", value=gain, low=gain - 0.1, high=gain + 0.1, p_value=0.0156, **about)
        )
    return found


def test_no_tick_stands_beside_a_defence_that_loses_a_class_and_that_is_said_first():
    index = FindingIndex([*FINDINGS, *class_findings(lost=True)])
    both = losses(index, "plain", ["maadvt-lambda=6", "maadvt-lambda=6"], str)
    assert both.startswith("maadvt-lambda=6 lose malignant: 31")
    part = page_of(index, {})
    assert part.sentence.replace(THIN, " ").startswith(
        "maadvt-lambda=6 loses malignant: 31 % of 36 found where plain finds 47 % (clean, p = 0.016 uncorrected)."
    )
    assert (part.verdict, part.judged) == ("bad", "loses a class")
    marks = [changes(part)["maadvt-lambda=6", place] for place in ("clean", "ε = 0.1")]
    assert [(mark.text, mark.tone) for mark in marks] == [("loses malignant", "bad"), ("better", "neutral")]
    kept = changes(page([*FINDINGS, *class_findings(lost=False)], {}))["maadvt-lambda=6", "ε = 0.1"]
    assert (kept.text, kept.tone) == ("better", "good")


def test_nothing_is_lost_where_the_undefended_model_says_one_thing_of_all():
    found = [*FINDINGS, *class_findings(lost=True)]
    assert losses(FindingIndex(found), "plain", ["maadvt-lambda=6"], str)
    constant = [
        replace(each, verdict="degenerate: 99.0% of samples are called malignant")
        if each.about == ("plain", "none", "clean") and each.metric == "defense.accuracy"
        else each
        for each in found
    ]
    assert constant != found
    assert losses(FindingIndex(constant), "plain", ["maadvt-lambda=6"], str) == ""


def of_classes(defence: str, balanced: float, worst: float) -> list[Finding]:
    about = {"of": defence, "group": "eps=0.1", "subject": "plain", "n": 450, "unit": "share"}
    return [
        Finding("defense.balanced_accuracy", value=balanced, low=balanced - 0.05, high=balanced + 0.05, **about),
        Finding("defense.worst_recall", value=worst, low=worst - 0.1, high=worst + 0.1, verdict="8", **about),
    ]


def test_who_wins_is_said_by_balanced_accuracy_and_by_the_worst_class_with_its_price():
    found = [*of_subject(), *of_classes("standard", 0.7, 0.5), *of_classes("maadvt-lambda=6", 0.75, 0.4)]
    sentence = page(found, {}).sentence.replace(THIN, " ")
    assert (
        "balanced accuracy is highest with maadvt-lambda=6, 75.0 % [70.0, 80.0] (clean images change by −3" in sentence
    )
    assert "the worst class's recall is highest with standard, 50.0 % [40.0, 60.0]" in sentence
    assert "By value alone" not in page(of_subject(), {}).sentence


@pytest.mark.parametrize(("p", "verdict"), [(0.001, "robust overfitting"), (0.4, "no robust overfitting is shown")])
def test_best_and_last_epoch_show_robust_overfitting_where_a_test_does(p, verdict):
    found = [accuracy("none", "clean", 0.98), accuracy("none", "eps=0.1", 0.3)]
    for defence, left in (("trades-best-beta=6", 0.8), ("trades-last-beta=6", 0.7)):
        found += [accuracy(defence, "clean", 0.97), accuracy(defence, "eps=0.1", left)]
        found += compared(defence, "clean", -0.01, 0.2) + compared(defence, "eps=0.1, worst", left - 0.3, 0.001)
    between = Finding("defense.between_p", "trades-best-beta=6 - trades-last-beta=6", "eps=0.1, worst", "plain")
    found.append(replace(between, value=p, p_value=p, n=450, verdict="better" if p < 0.01 else NEEDED))
    sentence = page(found, {}).sentence.replace(THIN, " ")
    kept = "trades-best-beta=6 keeps 80.0 % [75.0, 85.0] and trades-last-beta=6 70.0 % [65.0, 75.0]"
    assert f"{kept}: {verdict}." in sentence
    assert family("trades-best-beta=6") == "trades"
