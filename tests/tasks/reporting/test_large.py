"""A report over 10⁵ samples, 10³ rules and 10⁴ classes stays a page that a browser opens."""

from dataclasses import replace

import pyarrow as pa

from assay.data.schemas import LabelingTable, Panel
from assay.tasks.labeling.page import page as labeling_page
from assay.tasks.pruning.page import page as pruning_page
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.subjects.page import clean_page

SAMPLES, RULES, CLASSES = 100_000, 1_000, 10_000
ABOUT = {"n": SAMPLES, "subject": "net", "of": "clean"}


def large_report() -> Report:
    rules = [f"rule {at}" for at in range(RULES)]
    labeling = [
        {
            "function": name,
            "position": at,
            "polarity": "class 1",
            "coverage": 0.4,
            "overlaps": 0.3,
            "conflicts": 0.1,
            "votes": 40_000,
            "gold_votes": 40_000,
            "gold_hits": 30_000 - at,
            "empirical_accuracy": 0.75,
            "faults": 0,
            "fault_example": None,
            "samples": SAMPLES,
        }
        for at, name in enumerate(rules)
    ]
    panel = [
        {
            "function": name,
            "position": at,
            "kept": at % 3 == 0,
            "rank": at,
            "cliques": 1,
            "degree": at % 6,
            "coverage": 0.4,
            "constant": False,
            "pruned_by": None if at % 3 == 0 else rules[at - 1],
            "correlation": None if at % 3 == 0 else 0.6,
        }
        for at, name in enumerate(rules)
    ]
    findings = [
        Finding("subject.accuracy", value=0.8, low=0.79, high=0.81, **ABOUT),
        Finding("subject.worst_recall", value=0.1, low=0.0, high=0.4, verdict="class 7", **ABOUT),
        *(
            Finding(f"subject.{metric}", value=0.8123, low=0.7123, high=0.9123, group=f"class {at}", **ABOUT)
            for metric in ("recall", "class_auc")
            for at in range(CLASSES)
        ),
        *(Finding("labeling.accuracy", value=0.75, low=0.7, high=0.8, n=40_000, of=name) for name in rules),
    ]
    index = FindingIndex(findings)
    parts = (
        labeling_page(
            index, pa.Table.from_pylist(labeling, LabelingTable.schema), pa.Table.from_pylist(panel, Panel.schema)
        ),
        pruning_page(pa.Table.from_pylist(panel, Panel.schema), 0.5),
        replace(clean_page(index, {}), findings="subject."),
    )
    return Report("r", "large", "2026-11-22T02:00:00+00:00", 60.0, 0, "done", (), parts, findings=findings)


def test_its_page_has_less_than_ten_megabytes():
    page = render_report(large_report())
    assert "class 9999" in page, "every finding is in the page"
    assert len(page.encode()) < 10_000_000
    assert page.count("</") < 1_000, "a browser has few elements to lay out"
