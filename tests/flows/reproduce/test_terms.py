"""Tables 2-6 of Araujo et al.: the paper's numbers are the paper's, ours stand beneath, every subject by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from finished_runs import leave_run
from repository import ROOT

from assay.data import published
from assay.flows.configuration.loading import load_project
from assay.flows.reproduce.tables import TABLES, reproduce
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding

FIRST = "share=1, changes=1"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store")).open()


def tagger(subject: str, value: float) -> list[Finding]:
    def found(metric: str, of: str, group: str, number: float, who: str = subject, verdict: str = "") -> Finding:
        return Finding(f"ner.{metric}", of, group, who, number, number - 0.02, number + 0.02, 90, verdict=verdict)

    trained = f"{subject}+on-swap"
    return [
        *(found(metric, "clean", "", value) for metric in ("precision", "recall", "f1")),
        *(found(metric, "swap", FIRST, value - 0.3) for metric in ("precision", "recall", "f1")),
        found("drop", "swap", FIRST, 0.3, verdict="lower"),
        *(found(metric, "clean", "", value - 0.05, trained) for metric in ("precision", "recall", "f1")),
        *(found(metric, "swap", FIRST, value - 0.1, trained) for metric in ("precision", "recall", "f1")),
        found("gain", "swap", FIRST, 0.2, trained, "helps"),
        found("cost", "clean", "", 0.05, trained, "costs"),
    ]


def lines(text: str, subject: str) -> list[str]:
    table = text.partition("\n\nOurs come from")[0]
    return [" ".join(line.split()) for line in table.splitlines() if f" {subject} " in " ".join(line.split())]


def test_the_papers_numbers_are_those_that_it_discusses():
    rows = {(one.model, one.tested): one.f1 for one in published.ARAUJO_TABLES["araujo-2"][published.DISEASE]}
    assert [rows["BERT P+M", name] for name in published.ARAUJO_SETS] == [0.828, 0.345, 0.360, 0.467]
    after = {
        (one.trained, one.tested): one.f1
        for one in published.ARAUJO_TABLES["araujo-4"][published.CHEMICAL]
        if one.model == "BERT P+M"
    }
    assert after["swap", "swap"] == 0.638
    cost = {
        (one.trained, one.tested): one.f1
        for one in published.ARAUJO_TABLES["araujo-5"][published.DISEASE]
        if one.model == "BERT P+M"
    }
    assert round(rows["BERT P+M", "original"] - cost["synonym", "original"], 3) == 0.023
    sizes = {name: {len(rows) for rows in table.values()} for name, table in published.ARAUJO_TABLES.items()}
    assert sizes == {"araujo-2": {8}, "araujo-3": {8}, "araujo-4": {12}, "araujo-5": {12}, "araujo-6": {12}}


def test_subjects_stand_side_by_side_beneath_the_papers(store: Store):
    run = leave_run(store, "bc5cdr-chemical", tagger("uno", 0.8) + tagger("duo", 0.7))
    text = reproduce("araujo-2", store)
    assert "BC5CDR-Chemical BERT P+M (paper) original swap 0.764 0.698 0.728" in lines(text, "BERT P+M (paper)")
    assert lines(text, "uno") == [
        "bc5cdr-chemical uno original original 0.800 [0.780, 0.820] 0.800 [0.780, 0.820] 0.800 [0.780, 0.820]",
        "bc5cdr-chemical uno original swap 0.500 [0.480, 0.520] 0.500 [0.480, 0.520] 0.500 [0.480, 0.520] lower",
    ]
    assert len(lines(text, "duo")) == 2
    assert f"bc5cdr-chemical: run {run}" in text
    assert "bc5cdr-disease: no run yet; make one with  assay run bc5cdr-disease" in text


def test_tables_of_training_say_what_it_gains_and_costs(store: Store):
    leave_run(store, "bc5cdr-disease", tagger("uno", 0.8))
    ours = lines(reproduce("araujo-5", store), "uno")
    assert [line.rpartition(" ")[2] for line in ours] == ["costs", "helps"]


@pytest.mark.parametrize("table", [name for name in TABLES if name.startswith("araujo")])
def test_without_runs_the_paper_stands_alone_with_the_way_to_one(store: Store, table: str):
    text = reproduce(table, store)
    assert "Not measured" in text
    assert "Ours come from" not in text


def test_the_pipelines_that_are_named_exist():
    known = load_project(ROOT / "pipelines.yaml").pipelines
    assert {*published.ARAUJO_PIPELINES.values(), *published.ARAUJO_EMBEDDED.values()} <= set(known)
