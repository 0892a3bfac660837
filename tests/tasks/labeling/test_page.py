"""The page's table of labelling functions says how often each is right, and what became of it."""

import pyarrow as pa
import pytest

from assay.data.schemas import LabelingTable, Panel
from assay.tasks.labeling.page import page as page_of
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.proportions import share, wilson

FINDINGS = [
    share("labeling.coverage", 66, 100),
    share("labeling.conflicts", 31, 100),
    Finding("labeling.coverage", of="long", value=0.1, n=100),
]


def page(findings, *rest, **named):
    return page_of(FindingIndex(findings), *rest, **named)


def table(*rows):
    known = {
        "position": 0,
        "polarity": "ham, spam",
        "coverage": 0.5,
        "overlaps": 0.25,
        "conflicts": 0.125,
        "votes": 50,
        "gold_votes": 0,
        "gold_hits": 0,
        "empirical_accuracy": None,
        "faults": 0,
        "fault_example": None,
        "samples": 100,
    }
    return pa.Table.from_pylist([known | row for row in rows], schema=LabelingTable.schema)


def test_sentence_has_numbers_interval_and_n():
    low, high = (100 * bound[0] for bound in wilson([66], [100]))
    sentence = page(FINDINGS, table({"function": "a"}, {"function": "b"})).sentence
    assert f"2 labelling functions vote on 66.0\u202f% [{low:.1f}, {high:.1f}] of 100 samples" in sentence
    assert "on 31.0\u202f%" in sentence


def test_accuracy_is_wilsons_where_gold_is_known_and_absent_elsewhere():
    rows = page(FINDINGS, table({"function": "a", "gold_votes": 10, "gold_hits": 9}, {"function": "b"})).blocks[0].rows
    low, high = wilson([9], [10])
    assert (rows[0][5].value, rows[0][5].n) == (0.9, 10)
    assert (rows[0][5].low, rows[0][5].high) == pytest.approx((float(low[0]), float(high[0])))
    assert rows[1][5] is None


def test_faults_are_counted_named_and_shown():
    part = page(FINDINGS, table({"function": "a", "faults": 3, "fault_example": "KeyError: 'x'"}, {"function": "b"}))
    assert "3 of 200 answers (1.50\u202f%) failed and count as abstentions." in part.sentence
    assert part.blocks[1].rows == [["a", 3, "KeyError: 'x'"]]


def test_panel_says_who_was_kept_and_who_was_pruned_by_whom():
    fate = {"position": 0, "cliques": 1, "degree": 1, "coverage": 0.5, "constant": False}
    panel = pa.Table.from_pylist(
        [
            fate | {"function": "a", "kept": True, "rank": 0, "pruned_by": None, "correlation": None},
            fate | {"function": "b", "kept": False, "rank": 1, "pruned_by": "a", "correlation": 0.9},
        ],
        schema=Panel.schema,
    )
    rows = page(FINDINGS, table({"function": "a"}, {"function": "b"}), panel).blocks[0].rows
    assert (rows[0][-1].text, rows[1][-1].text, rows[1][-1].below) == ("kept", "pruned", "by a, r = 0.90")


def test_without_findings_or_panel_there_is_still_a_table():
    part = page([], table({"function": "a"}))
    assert part.sentence == "1 labelling function voted."
    assert [column.name for column in part.blocks[0].columns][-1] == "Faults"
