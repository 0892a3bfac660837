"""The text file for Prometheus' node exporter."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from nights_on_record import night
from prometheus_client import generate_latest

from assay.flows.configuration.loading import Project
from assay.flows.nights.after_run import gauges_of, leave_traces, write_prometheus
from assay.flows.pipeline import ProjectFile
from assay.infra.storage.store import Store
from assay.tasks.reporting.report import Headline, RunEntry

LINE = re.compile(r'[a-z_]+\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\} \S+')


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "artifacts")).open()


def reported(store: Store, number: int, value: float, name: str = "Accuracy (plain)") -> None:
    record = night(store, number)
    record.judged = {"passed": 2, "failed": number}
    store.save_run(record)
    entry = RunEntry(
        run=record.id,
        pipeline=record.pipeline,
        started=record.started,
        seconds=60,
        status="done",
        link=f"{record.id}/index.html",
        flags=("one-step (plain)",),
        headlines=(Headline(name=name, value=value, low=value - 0.1, high=value + 0.1, n=500),),
    )
    store.folder.write(f"reports/{record.id}/entry.json", entry.model_dump_json().encode())


def test_it_holds_the_last_night_of_every_pipeline(store: Store, tmp_path: Path) -> None:
    reported(store, 0, 0.9)
    reported(store, 1, 0.5)
    night(store, 2, status="broken", accuracy=None)
    night(store, 3, "reviews", status="gate failed")
    night(store, 4, "reviews", overrides=["x"])
    write_prometheus(store, tmp_path / "assay.prom")
    lines = (tmp_path / "assay.prom").read_text().splitlines()
    for line in (
        'assay_run_status{pipeline="digits",status="broken"} 1.0',
        'assay_run_status{pipeline="digits",status="done"} 0.0',
        'assay_run_status{pipeline="reviews",status="gate failed"} 1.0',
        'assay_gates{pipeline="digits",result="failed"} 1.0',
        'assay_finding{finding="Accuracy (plain)",pipeline="digits"} 0.5',
        'assay_finding_low{finding="Accuracy (plain)",pipeline="digits"} 0.4',
        'assay_red_flags{pipeline="digits"} 1.0',
        'assay_run_started_timestamp_seconds{pipeline="digits"} 1.7953128e+09',
    ):
        assert line in lines, line
    assert all(line.startswith("# ") or LINE.fullmatch(line) for line in lines)
    types = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))


def test_labels_are_escaped(store: Store, tmp_path: Path) -> None:
    reported(store, 0, 0.9, name='a "quoted" \\ back\nline')
    write_prometheus(store, tmp_path / "assay.prom")
    text = (tmp_path / "assay.prom").read_text()
    assert 'finding="a \\"quoted\\" \\\\ back\\nline"' in text
    assert all(line.startswith("# ") or LINE.fullmatch(line) for line in text.splitlines())


def test_numbers_that_are_none_are_written_as_prometheus_has_them() -> None:
    values = (("nan", float("nan")), ("inf", float("inf")), ("minus", float("-inf")))
    samples = (("assay_run_seconds", {"pipeline": name}, value) for name, value in values)
    text = generate_latest(gauges_of(samples)).decode()
    assert [line.split()[-1] for line in text.splitlines()[2:]] == ["NaN", "+Inf", "-Inf"]


def test_it_is_replaced_whole_and_others_may_read_it(store: Store, tmp_path: Path) -> None:
    night(store, 0)
    place = tmp_path / "metrics" / "assay.prom"
    before = os.umask(0o022)
    try:
        write_prometheus(store, place)
        held = place.open()
        write_prometheus(store, place)
    finally:
        os.umask(before)
    assert held.read() == place.read_text()
    assert place.stat().st_mode & 0o044 == 0o044
    assert os.listdir(place.parent) == ["assay.prom"]


def test_a_place_that_cannot_be_written_changes_nothing_and_is_said(store: Store, tmp_path: Path) -> None:
    record = night(store, 0)
    (tmp_path / "file").touch()
    heard: list[str] = []
    settings = ProjectFile(prometheus="file/assay.prom", pipelines={})
    project = Project(tmp_path / "pipelines.yaml", store.url, {}, settings)
    leave_traces(project, store, record, heard.append)
    [sentence] = heard
    assert sentence.startswith("The run is kept, the metrics could not be written: ")
    assert list(Path(store.url).glob("history/*/*/*.parquet"))
