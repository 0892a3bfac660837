"""Cells are written by the kind of their column and sorted by the number behind them.

And: heads of columns lead to what their numbers are, inside the one file, and the documents say the same at
length.
"""

from __future__ import annotations

import re

import pytest
from repository import ROOT

from assay.tasks.reporting.layout import block_markup
from assay.tasks.reporting.parts import Column, DataTable, Estimate, Mark
from assay.tasks.reporting.tables import READINGS, reading_of, reading_section, shown, sort_key, table_figure


@pytest.mark.parametrize(
    ("kind", "cell", "words"),
    [
        ("integer", 1234, "1\u202f234"),
        ("number", -0.5, "−0.500"),
        ("percent", 0.5, "50.0\u202f%"),
        ("p", 1e-9, "&lt; 0.001"),
        ("text", "<b>", "&lt;b&gt;"),
        ("flag", False, "✗</span> no"),
        ("bar", Estimate(0.5, 0.25, 0.75, 8), "50.0\u202f%"),
        ("percent", Estimate(0.5, 0.25, 0.75, 8), "[25.0, 75.0] of 8"),
        ("number", float("nan"), "–"),
        ("text", Mark("valid", "good", "below"), '<span class="mark-good">valid</span>'),
    ],
)
def test_cell_is_written_as_its_column_says(kind, cell, words):
    assert words in shown(cell, Column("c", kind))


def test_bar_is_as_long_as_its_share_and_never_longer_than_its_cell():
    assert "width:25.0%" in shown(Estimate(0.25), Column("c", "bar"))
    assert "width:100.0%" in shown(Estimate(1.7), Column("c", "bar"))
    assert "left:10.0%;width:30.0%" in shown(Estimate(0.25, 0.1, 0.4), Column("c", "bar"))


def test_what_was_not_measured_sorts_as_nothing():
    assert sort_key(None, Column("c", "p")) == ""
    assert float(sort_key(1e-12, Column("c", "p"))) == 1e-12


def test_row_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="2 cells does not fit under 1 columns"):
        table_figure(DataTable("t", [Column("a")], [["x", "y"]]))


def test_collapsed_table_is_complete():
    table = table_figure(DataTable("t", [Column("a")], [[f"row {i}"] for i in range(50)], collapsed=True))
    assert table.startswith("<details")
    assert all(f"row {i}<" in table for i in range(50))


def test_empty_table_says_so():
    assert "No rows." in table_figure(DataTable("t", [Column("a")], []))


def test_every_link_of_a_table_leads_to_a_section_of_the_report():
    columns = [Column("Subject"), Column("ACC", "percent"), Column("p, corrected", "p"), Column("Brier", "number")]
    shown = str(block_markup(DataTable("t", columns, [["a", Estimate(0.5, 0.4, 0.6), 0.01, 0.2]]), "x"))
    links = re.findall(r'href="#(reading-[a-z]+)"', shown)
    assert links == ["reading-interval", "reading-p", "reading-chances"]
    there = set(re.findall(r'id="(reading-[a-z]+)"', str(reading_section())))
    assert set(links) <= there


@pytest.mark.parametrize("reading", READINGS, ids=lambda one: one.anchor)
def test_the_documents_have_a_section_of_the_same_name(reading):
    headings = re.findall(r"^## (.+)$", (ROOT / "docs" / "reading-the-numbers.md").read_text(), re.MULTILINE)
    assert reading.title in headings


def test_names_lead_nowhere_and_heads_come_before_kinds():
    assert reading_of(Column("Attack")) is None
    assert reading_of(Column("Steps", "number")) is None
    assert reading_of(Column("Risk", "percent")).anchor == "chances"
    assert reading_of(Column("Share", "percent")).anchor == "interval"
    assert [reading_of(Column("AUC", kind)).anchor for kind in ("percent", "number")] == ["order", "auc"]
