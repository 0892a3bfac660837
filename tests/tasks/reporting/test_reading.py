"""Heads of columns lead to what their numbers are, inside the one file, and the documents say the same at length."""

from __future__ import annotations

import re

import pytest
from repository import ROOT

from assay.tasks.reporting.layout import block_markup
from assay.tasks.reporting.parts import Column, DataTable, Estimate
from assay.tasks.reporting.tables import READINGS, reading_of, reading_section


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
