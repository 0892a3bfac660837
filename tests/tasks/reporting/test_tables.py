"""Cells are written by the kind of their column and sorted by the number behind them."""

import pytest

from assay.tasks.reporting.parts import Column, DataTable, Estimate, Mark
from assay.tasks.reporting.tables import shown, sort_key, table_figure


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
