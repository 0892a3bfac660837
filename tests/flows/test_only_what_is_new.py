"""Nights over a folder that grows: what an earlier night computed is taken, and comes out as from scratch."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from growing_folder import digests, growing_folder, night, taken, write_day

from assay.flows.configuration.loading import load_project
from assay.flows.report.run_page import facts_of
from assay.infra.errors import RunError
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean

STAGES = ("ingest", "apply_labeling_functions", "find_clusters", "label_probabilistically", "bound_confidence")


@pytest.fixture(autouse=True)
def _a_file_is_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of 120 rows are as files of 100,000."""
    monkeypatch.setattr("assay.tasks.ingest.layout.PIECE_ROWS", 120)


@pytest.mark.parametrize(
    ("kind", "workers"), [("csv", 0), ("parquet", 0), pytest.param("parquet", 2, marks=pytest.mark.slow)]
)
def test_one_more_file_is_all_that_is_computed_and_digests_are_those_of_an_empty_store(tmp_path, kind, workers):
    folder = growing_folder(tmp_path / "team", 3, kind=kind, workers=workers)
    first, _ = night(folder)
    assert {taken(first)[stage] for stage in STAGES} == {(0, 3)}
    write_day(folder, 3, kind=kind)
    second, heard = night(folder, verify=1)
    assert {taken(second)[stage] for stage in STAGES} == {(3, 4)}
    assert {stage.partitions_verified for stage in second.stages if stage.partitions_taken} == {1}
    label = next(line for line in heard.stages if line.startswith("label:"))
    assert label.endswith("480 samples · 3 of 4 partitions taken from the store, 1 of them verified")
    assert f"1 file new since run {first.id}." in heard.notices
    assert "Verified  7 partitions computed again" in "\n".join(heard.notices)
    assert digests(second) == digests(night(folder, "empty")[0])


def test_late_changed_and_removed_files_are_computed_and_told(tmp_path):
    folder = growing_folder(tmp_path / "team", 5)
    (folder / "days" / "day-01.csv").rename(tmp_path / "late.csv")
    first, _ = night(folder)
    (tmp_path / "late.csv").rename(folder / "days" / "day-01.csv")
    write_day(folder, 2, seed=1)
    (folder / "days" / "day-03.csv").unlink()
    write_day(folder, 5)
    second, heard = night(folder)
    said = f"2 files new (1 of them late: day-01.csv), 1 changed (day-02.csv), 1 gone (day-03.csv) since run {first.id}"
    assert f"{said}." in heard.notices
    assert second.arrivals == said
    assert {taken(second)[stage] for stage in STAGES} == {(2, 5)}  # days 0 and 4
    assert digests(second) == digests(night(folder, "empty")[0])
    page = (folder / "store" / "reports" / second.id / "index.html").read_text()
    assert said in page
    assert "label: 2 of 5 partitions taken from the store" in page


def test_what_a_first_night_takes_from_itself_is_not_called_known(tmp_path):
    folder = growing_folder(tmp_path / "team", 2)
    first, _ = night(folder)
    pipeline = load_project(folder / "pipelines.yaml").pipeline(first.pipeline)
    ingest, *later, last = first.stages
    takes = replace(last, partitions_taken=1, partitions_of_known_content=2)
    assert "Only what is new was computed" not in facts_of(
        pipeline, replace(first, stages=[ingest, *later, takes]), None
    )
    known = replace(ingest, cached=True)
    facts = facts_of(pipeline, replace(first, stages=[known, *later, takes]), None)
    assert facts["Only what is new was computed"] == f"{last.title}: 1 of 2 partitions taken from the store"


def test_a_night_with_nothing_new_says_so(tmp_path):
    folder = growing_folder(tmp_path / "team", 2)
    first, heard = night(folder)
    assert not any("Nothing is new" in text for text in heard.notices)
    second, heard = night(folder, verify=2)
    assert f"Nothing is new since run {first.id}: all {len(second.stages)} results were in the store." in heard.notices
    assert any(text.startswith("Verified  nothing to compute again") for text in heard.notices)
    assert second.arrivals == f"no file new, changed or gone since run {first.id}"


def test_nothing_new_is_said_of_a_run_with_the_same_results_whatever_its_gates_said(tmp_path):
    """The night before last passed with other data; the one that failed is the one that this night repeats."""
    folder = growing_folder(tmp_path / "team", 2)
    pipelines = folder / "pipelines.yaml"
    gate = "    gates: [{finding: ordering.largest_tie, of: ours, at_most: 140}]\n"
    pipelines.write_text(pipelines.read_text() + gate)
    first, _ = night(folder)
    write_day(folder, 2)
    second, _ = night(folder)
    third, heard = night(folder)
    assert (first.status, second.status, third.status) == ("done", "gate failed", "gate failed")
    assert [text for text in heard.notices if text.startswith("Nothing is new")] == [
        f"Nothing is new since run {second.id}: all {len(third.stages)} results were in the store."
    ]


def test_changed_rules_vote_again_on_everything(tmp_path):
    folder = growing_folder(tmp_path / "team", 3)
    night(folder)
    rules = folder / "rules.py"
    rules.write_text(rules.read_text().replace("38.5", "38.4"))
    write_day(folder, 3)
    second, _ = night(folder)
    assert taken(second)["ingest"] == (3, 4)
    assert taken(second)["apply_labeling_functions"] == (0, 4)
    assert digests(second) == digests(night(folder, "empty")[0])


def test_files_are_read_again_where_they_are_read_otherwise(tmp_path):
    folder = growing_folder(tmp_path / "team", 3)
    night(folder)
    pipelines = folder / "pipelines.yaml"
    pipelines.write_text(pipelines.read_text().replace("label: label", "label: label, required: [pulse]"))
    second, _ = night(folder)
    assert taken(second)["ingest"] == (0, 3)


def test_fresh_takes_nothing(tmp_path):
    folder = growing_folder(tmp_path / "team", 2)
    night(folder)
    write_day(folder, 2)
    second, _ = night(folder, fresh=True)
    assert {taken(second)[stage] for stage in STAGES} == {(0, 3)}


def test_a_clean_up_leaves_what_the_next_night_takes(tmp_path):
    folder = growing_folder(tmp_path / "team", 2)
    for day in (2, 3):
        night(folder)
        write_day(folder, day)
    store = Store(str(folder / "store"))
    listed = len(store.folder.sizes("partitions"))
    clean(store, keep=1)
    assert 0 < len(store.folder.sizes("partitions")) < listed
    third, _ = night(folder)
    assert {taken(third)[stage] for stage in STAGES} == {(3, 4)}


def tampered(folder: Path) -> None:
    """Turn a vote of the first day around, in the file and in what is noted of its size."""
    manifest = next((folder / "store" / "stages" / "apply_labeling_functions").glob("*/manifest.json"))
    part = sorted((manifest.parent / "votes").glob("*.parquet"))[0]
    votes, size = pq.read_table(part), part.stat().st_size
    shutil.copy(part, part.with_suffix(".was"))
    hot = [0 if vote != 0 else -1 for vote in votes["hot"].to_pylist()]
    pq.write_table(votes.set_column(1, "hot", pa.array(hot, pa.int8())), part)
    part.with_suffix(".was").unlink()
    manifest.write_text(manifest.read_text().replace(f'"bytes": {size}', f'"bytes": {part.stat().st_size}'))


def test_verifying_catches_a_file_that_somebody_changed(tmp_path):
    folder = growing_folder(tmp_path / "team", 2)
    night(folder)
    tampered(folder)
    write_day(folder, 2)
    with pytest.raises(RunError, match=r"label: votes, partition 1 of 3, was taken from .* gives other Votes"):
        night(folder, verify=2)


def test_a_file_of_another_size_is_not_taken(tmp_path):
    folder = growing_folder(tmp_path / "team", 2)
    night(folder)
    part = sorted((folder / "store" / "stages" / "apply_labeling_functions").glob("*/votes/*.parquet"))[0]
    part.write_bytes(part.read_bytes()[:-1])
    write_day(folder, 2)
    second, _ = night(folder)
    assert taken(second)["apply_labeling_functions"] == (1, 3)
    assert digests(second) == digests(night(folder, "empty")[0])
