"""The part of the report about corruptions: the number in the sentence, every cell, the reference, the pictures."""

import numpy as np
import pyarrow as pa
import pytest

from assay.data.images import image_columns
from assay.data.schemas import CorruptedImages
from assay.tasks.corruptions.imagenet_c import IMAGENET_C
from assay.tasks.corruptions.page import page as page_of
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.numerals import THIN
from assay.tasks.reporting.parts import DataTable, Gallery, Panels
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.findings import Finding, FindingIndex

PERTURBATIONS = ("rotate", "gaussian-noise", "snow")


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def finding(metric, subject, of, group, value, verdict=""):
    return Finding(f"corruption.{metric}", of, group, subject, value, value * 0.8, value * 1.2, 100, verdict=verdict)


def findings(severities=(1, 5), subjects=("plain", "<b>hardened</b>")):
    found = []
    for at, subject in enumerate(sorted(subjects)):
        for place, of in enumerate((*PERTURBATIONS, "mean")):
            for group in (*(f"severity={severity}" for severity in severities), "all"):
                strong = 2 if group == "severity=5" else 1
                value = 0.01 * strong * (place + 1) / (1 + (subject != "plain"))
                found.append(finding("flip_probability", subject, of, group, value))
                found.append(finding("accuracy", subject, of, group, 0.9))
                if subject != "plain":
                    found.append(finding("relative_flip_probability", subject, of, group, 0.5, "flips less"))
        assert at < 2
    return found


def pictures(severities=(1, 3), ids=("a", "b")):
    rows = [(one, "clean", 0) for one in ids]
    rows += [(one, of, severity) for one in ids for of in PERTURBATIONS for severity in severities]
    pixels = np.zeros((len(rows), 3, 9, 12), np.uint8)
    named = dict(zip(("id", "perturbation", "severity"), zip(*rows, strict=True), strict=True))
    columns = named | image_columns(pixels)
    return pa.table([columns[name] for name in CorruptedImages.schema.names], schema=CorruptedImages.schema)


def blocks(part, kind):
    return [block for block in part.blocks if isinstance(block, kind)]


def test_the_sentence_has_the_mean_its_interval_and_the_worst_perturbation():
    worst = finding("worst_flip_probability", "plain", "", "", 0.06, "snow, severity=5")
    sentence = page([*findings(subjects=("plain",)), worst]).sentence.replace(THIN, " ")
    assert sentence.startswith("plain changes its answer in 4.00 % [3.20, 4.80] of the comparisons between frames")
    assert "(3 perturbations, n = 100 images), most often under snow, severity 5: 6.00 % [4.80, 7.20]." in sentence


def test_under_the_preset_the_page_says_what_is_missing_beside_a_published_mce():
    def under(words):
        return page([finding("flip_probability", "plain", of, "severity=1", 0.1) for of in (*words, "mean")])

    said = "14 of the 15 perturbations of ImageNet-C's mCE. Frost is not among them"
    assert said in under(IMAGENET_C).sentence
    assert said not in under(IMAGENET_C[1:]).sentence


def test_of_defended_copies_the_sentence_is_silent_and_the_panels_are_not():
    part = page(findings(subjects=("plain", "plain+maadvt")))
    assert "maadvt" not in part.sentence
    assert [series.name for series in blocks(part, Panels)[0].plots[0].series] == ["plain", "plain+maadvt"]


def test_the_reference_comes_first_and_the_others_are_divided_by_it():
    part = page(findings())
    assert [series.name for series in blocks(part, Panels)[0].plots[0].series] == ["plain", "<b>hardened</b>"]
    (beside,) = blocks(part, DataTable)
    ((subject, flips, *_),) = beside.rows
    assert (beside.title, subject) == ("Beside plain", "<b>hardened</b>")
    assert (flips.value, flips.low) == pytest.approx((0.5, 0.4))


def test_every_perturbation_has_a_panel_of_flips_and_one_of_accuracy_with_every_subject():
    flips, accuracy = blocks(page(findings()), Panels)
    for panels in (flips, accuracy):
        assert [plot.title for plot in panels.plots] == ["Mean", "Gaussian noise", "Snow", "Rotate"]
        assert all(len(plot.series) == 2 and plot.alt for plot in panels.plots)
    assert list(flips.plots[0].series[0].y) == pytest.approx([0.04, 0.08])
    assert list(flips.plots[2].series[0].y) == pytest.approx([0.03, 0.06])
    assert "n = 100 images" in flips.note


def test_at_one_severity_there_are_points_and_no_line_through_them():
    plots = [plot for panels in blocks(page(findings(severities=(3,))), Panels) for plot in panels.plots]
    assert {series.style for plot in plots for series in plot.series} == {"points"}


@pytest.mark.parametrize(("tried", "shown"), [((1, 3, 5), 3), ((1, 2), 2)])
def test_a_kept_image_is_shown_at_one_severity_beside_the_clean_one(tried, shown):
    galleries = blocks(page(findings(severities=tried), pictures(tried)), Gallery)
    assert [gallery.title for gallery in galleries] == ["a under every perturbation", "b under every perturbation"]
    for strip in galleries[0].strips:
        assert strip.pictures[0].name == "clean"
        assert all(f"at severity {shown}" in picture.alt for picture in strip.pictures[1:])
    named = {picture.name for strip in galleries[0].strips for picture in strip.pictures}
    assert named == {"clean", "Gaussian noise", "Snow", "Rotate"}


def test_corruption_errors_stand_beside_relative_flips_where_they_were_measured():
    found = findings()
    errors = [finding("error", "<b>hardened</b>", of, "all", 0.9) for of in (*PERTURBATIONS, "mean")]
    added = [finding("relative_error", "<b>hardened</b>", "mean", "all", 1.2)]
    (beside,) = blocks(page(found + errors + added), DataTable)
    assert [column.name for column in beside.columns[2:]] == ["Corruption error", "Relative corruption error"]
    assert [[cell.value for cell in row[1:]] for row in beside.rows] == [[0.5, 0.9, 1.2]]
    assert "plain has none to divide by" in beside.note


def test_nothing_corrupted_is_said_so():
    assert page([]).sentence == "Nothing was corrupted."
    silent = Finding("corruption.accuracy", "mean", "all", "plain", n=0, verdict="not measured")
    assert page([silent]).sentence == "Nothing was corrupted."


def test_the_page_is_laid_out_with_everything_escaped():
    part = page(findings(), pictures((1, 5)))
    html = render_report(Report("r", "p", "2026-11-22T02:00:00+00:00", 1.0, 0, "completed", [], [part]))
    assert "<b>hardened" not in html
    assert "&lt;b&gt;hardened" in html
    assert html.count("<use href=") == 2 * 4  # each is drawn, and kept once


def test_the_worst_cell_stands_in_the_sentence_with_the_interval_it_was_named_with():
    found = findings(subjects=("plain",))
    found.append(finding("worst_accuracy", "plain", "", "", 0.5, "snow, severity=5"))
    sentence = page(found).sentence.replace(THIN, " ")
    assert "The least that it has right is 50.00 % [40.00, 60.00], under snow, severity 5." in sentence
