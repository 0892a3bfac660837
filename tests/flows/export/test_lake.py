"""What a run knows of single samples goes back to the lake: tidy tables that engines read, and that say where from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from direct_nights import latest, perform_night

from assay.flows.export.lake import export_to_lake
from assay.flows.export.samples_to_review import samples_to_review
from assay.flows.report.records import artifacts_of, labelled_by, read_table, samples_of_run, tables_of
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store

N, FUNCTIONS = 90, 3
PIPELINES = """
compute: {partitions: 4}
pipelines:
  night:
    source: {csv: patients.csv, id: patient, label: label, classes: [ill, well]}
    labeling:
      classes: [ill, well]
      rules: [{name: hot, when: {column: temperature, above: 38.0}, vote: ill},
              {name: cool, when: {column: temperature, below: 37.2}, vote: well},
              {name: old, when: {column: age, above: 60}, vote: ill}]
    weak_labels: {labelers: [majority, snorkel]}
    ordering: {datasets: 3}
    subject: {model: logistic, features: [temperature, age]}
    hardness: {}
  bare:
    source: {csv: patients.csv, id: patient, label: label, classes: [ill, well]}
    subject: {model: logistic, features: [temperature, age]}
"""


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, RunRecord]:
    folder = tmp_path_factory.mktemp("lake")
    draw = np.random.default_rng(1)
    ill = draw.random(N) < 0.5
    columns = {
        "patient": [f"p{at:03d}" for at in range(N)],
        "temperature": draw.normal(np.where(ill, 38.4, 37.0), 0.6).round(1),
        "age": draw.integers(20, 90, N),
        "label": np.where(ill, "ill", "well"),
    }
    pd.DataFrame(columns).to_csv(folder / "patients.csv", index=False)
    (folder / "pipelines.yaml").write_text(PIPELINES)
    perform_night(folder, "night")
    return latest(folder, "night")


@pytest.fixture
def copied(night: tuple[Store, RunRecord], tmp_path: Path) -> tuple[Store, RunRecord]:
    """The night, with a record that a test may change."""
    store, record = night
    return store, RunRecord.from_json(json.loads(record.to_text()))


@pytest.mark.slow
def test_votes_weak_labels_intervals_order_and_hardness_are_there_to_the_last_row(
    night: tuple[Store, RunRecord], tmp_path: Path
) -> None:
    store, record = night
    said = export_to_lake(store, record, str(tmp_path / "lake"))
    lake = {
        name: ds.dataset(tmp_path / "lake" / name, partitioning="hive").to_table() for name in ("votes", "weak_labels")
    }
    assert f"votes ({N * FUNCTIONS} rows)" in said

    [votes] = tables_of(store, record, "Votes")
    wide = lake["votes"].to_pandas().pivot(index="id", columns="function", values="vote").fillna(-1).astype(int)
    for name in ("hot", "cool", "old"):
        assert wide[name].loc[votes["id"].to_pylist()].tolist() == votes[name].to_pylist()
    named = lake["votes"].to_pandas().dropna(subset="vote")
    assert set(zip(named["vote"], named["vote_name"], strict=True)) == {(0, "ill"), (1, "well")}
    assert set(lake["votes"]["run"].to_pylist()) == {record.id}

    assert lake["weak_labels"].num_rows == 2 * N
    labelled = labelled_by(store, record)
    assert list(labelled) == ["majority", "snorkel"]
    for labeler, made in labelled.items():
        mine = lake["weak_labels"].filter(pa.compute.equal(lake["weak_labels"]["labeler"], labeler))
        truth = read_table(store, made.labels)
        for column in ("id", "label", "confidence", "share", "undecided"):
            assert mine[column].to_pylist() == truth[column].to_pylist()
        assert made.intervals is not None
        intervals = pq.read_table(tmp_path / "lake" / "intervals").to_pandas().query("labeler == @labeler")
        assert intervals["lower"].tolist() == read_table(store, made.intervals)["lower"].to_pylist()
    order = pq.read_table(tmp_path / "lake" / "adversarial_order").to_pandas().query("labeler == 'majority'")
    assert sorted(order["rank"]) == list(range(N))
    assert order["gold_name"].isin(["ill", "well"]).all()
    hardness = pq.read_table(tmp_path / "lake" / "hardness").to_pandas()
    assert {"theta_l", "confidence"} <= set(hardness["measure"])
    assert set(hardness.query("measure == 'confidence'")["id"]) == set(order["id"])


def test_the_note_says_run_seed_digests_columns_and_their_meaning(
    night: tuple[Store, RunRecord], tmp_path: Path
) -> None:
    store, record = night
    export_to_lake(store, record, str(tmp_path / "lake"))
    note = json.loads((tmp_path / "lake" / "_assay" / f"{record.id}.json").read_text())
    assert (note["run"], note["seed"], note["classes"]) == (record.id, record.seed, {"0": "ill", "1": "well"})
    assert note["samples"]["digest"] == samples_of_run(record).digest
    [votes] = note["tables"]["votes"]["made_of"]
    assert votes["digest"] in {one["digest"] for stage in record.stages for one in stage.outputs.values()}
    readme = (tmp_path / "lake" / "README.md").read_text().replace("\\", "")
    for name, table in note["tables"].items():
        file = next((tmp_path / "lake" / name).rglob("part-00000.parquet"))
        assert {field.name: str(field.type) for field in pq.read_schema(file)} == {
            column: one["type"] for column, one in table["columns"].items()
        }
        assert all(one["is"] and f"| {column} | {one['type']} |" in readme for column, one in table["columns"].items())
        files = len(list((tmp_path / "lake" / name).rglob("*.parquet")))
        assert files == 4 * len(table["made_of"])  # a file per partition of the run
    assert record.id in readme


def test_nights_lie_side_by_side_and_none_is_written_twice(copied: tuple[Store, RunRecord], tmp_path: Path) -> None:
    store, record = copied
    export_to_lake(store, record, str(tmp_path / "lake"))
    first = {path: path.stat().st_mtime_ns for path in (tmp_path / "lake").rglob("*.parquet")}
    assert "is there already; nothing was written" in export_to_lake(store, record, str(tmp_path / "lake"))
    record.id = "2026-11-23-0200-next"
    export_to_lake(store, record, str(tmp_path / "lake"))
    assert {path: path.stat().st_mtime_ns for path in first} == first
    votes = ds.dataset(tmp_path / "lake" / "votes", partitioning="hive").to_table()
    assert votes.num_rows == 2 * N * FUNCTIONS
    assert len(set(votes["run"].to_pylist())) == 2
    # What a broken attempt left has no note: the next one writes over it.
    (tmp_path / "lake" / "_assay" / f"{record.id}.json").unlink()
    export_to_lake(store, record, str(tmp_path / "lake"))
    assert ds.dataset(tmp_path / "lake" / "votes", partitioning="hive").count_rows() == 2 * N * FUNCTIONS


@pytest.mark.slow
def test_any_file_system_will_do(night: tuple[Store, RunRecord]) -> None:
    store, record = night
    export_to_lake(store, record, "memory://lake/night")
    memory = fsspec.filesystem("memory")
    votes = pq.read_table("/lake/night/votes", filesystem=memory)
    assert votes.num_rows == N * FUNCTIONS
    assert memory.exists(f"/lake/night/_assay/{record.id}.json")


@pytest.fixture
def deltalake() -> object:
    return pytest.importorskip("deltalake", reason="the extra `delta` is not installed")


def test_delta_tables_take_run_after_run(deltalake: object, copied: tuple[Store, RunRecord], tmp_path: Path) -> None:
    from deltalake import DeltaTable

    store, record = copied
    plain, delta = str(tmp_path / "plain"), str(tmp_path / "delta")
    export_to_lake(store, record, plain)
    export_to_lake(store, record, delta, delta=True)
    for name in ("votes", "weak_labels", "intervals", "adversarial_order", "hardness"):
        table = DeltaTable(f"{delta}/{name}")
        assert table.metadata().partition_columns == ["pipeline", "run"]
        theirs = pa.table(table.to_pyarrow_table())
        ours = pq.read_table(f"{plain}/{name}")
        names = [one for one in ours.column_names if one not in ("pipeline", "run")]
        keys = [(one, "ascending") for one in names if ours[one].type == pa.string()]
        assert (
            theirs.select(names).cast(ours.select(names).schema).sort_by(keys).equals(ours.select(names).sort_by(keys))
        )
    first = DeltaTable(f"{delta}/votes").version()
    record.id = "2026-11-23-0200-next"
    export_to_lake(store, record, delta, delta=True)
    (tmp_path / "delta" / "_assay" / f"{record.id}.json").unlink()  # as if that had broken off before its note
    export_to_lake(store, record, delta, delta=True)
    table = DeltaTable(f"{delta}/votes")
    assert table.version() == first + 2
    assert table.to_pyarrow_table().num_rows == 2 * N * FUNCTIONS
    with pytest.raises(InputError, match="holds Delta tables already, and a lake is of one format"):
        export_to_lake(store, record, delta)


def test_what_has_no_rows_or_no_place_is_one_sentence(copied: tuple[Store, RunRecord], tmp_path: Path) -> None:
    store, record = copied
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"Cannot write to the lake at .*file \(.*\); name a folder, or a URL"):
        export_to_lake(store, record, str(tmp_path / "file"))
    with pytest.raises(InputError, match="Cannot write to the lake at nowhere://x"):
        export_to_lake(store, record, "nowhere://x")
    record.stages = [one for one in record.stages if one.stage == "ingest"]
    with pytest.raises(InputError, match="says nothing of single samples"):
        export_to_lake(store, record, str(tmp_path / "lake"))
    record.status = "crashed"
    with pytest.raises(InputError, match="is crashed: only a whole run goes to a lake"):
        export_to_lake(store, record, str(tmp_path / "lake"))
    assert not (tmp_path / "lake").exists()


def test_a_path_stands_beside_its_sample_and_none_where_none_was_kept(
    night: tuple[Store, RunRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, record = night
    some = read_table(store, artifacts_of(record, "SampleHardness")[0])["id"][3].as_py()
    monkeypatch.setattr("assay.flows.export.lake.original_paths", lambda *_: {some: "scans/a.png"})
    export_to_lake(store, record, str(tmp_path / "lake"))
    rows = pq.read_table(tmp_path / "lake" / "hardness").to_pandas()
    assert set(rows[rows["path"].notna()]["id"]) == {some}
    assert set(rows["path"].dropna()) == {"scans/a.png"}


def test_a_person_may_be_asked_by_any_measure_of_hardness(night: tuple[Store, RunRecord]) -> None:
    store, record = night
    rows = pa.concat_tables(tables_of(store, record, "SampleHardness")).to_pandas()
    unsure = rows.query("measure == 'confidence'").sort_values(["value", "id"], ascending=[False, True])
    found = samples_to_review(store, record, 7, by="confidence", subject="subject")
    assert list(found.ids) == unsure["id"].tolist()[:7]
    assert found.why[0] == f"1 − confidence {unsure['value'].iloc[0]:.3g}"
    assert (found.labeler, set(found.labels)) == ("majority", set(found.ids))
    theirs = samples_to_review(store, record, N, labeler="snorkel")
    assert theirs.labeler == "snorkel"
    assert len(theirs.ids) == N
    with pytest.raises(InputError, match=r"has no confidence of the subject 'subjekt'; did you mean subject"):
        samples_to_review(store, record, 7, by="confidence", subject="subjekt")
    with pytest.raises(InputError, match=r"No sample of run .* is left to look at"):
        samples_to_review(store, record, 7, without_gold=True)


def test_a_lake_can_be_moved(night: tuple[Store, RunRecord], tmp_path: Path) -> None:
    store, record = night
    export_to_lake(store, record, str(tmp_path / "lake"))
    shutil.move(tmp_path / "lake", tmp_path / "elsewhere")
    note = (tmp_path / "elsewhere" / "_assay" / f"{record.id}.json").read_text()
    assert str(tmp_path) not in (tmp_path / "elsewhere" / "README.md").read_text() + note
