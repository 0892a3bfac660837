"""The stage: what it commits, what it refuses, and that neither cuts nor folders change a digest."""

import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.ingest import task
from assay.tasks.ingest.entry import count_ids, count_suspects, hash_ids, ids_dealt, repeated_hashes, repeated_in_part
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve
from assay.tasks.ingest.task import Ingested, ingest
from tests.support.posted import opened

MakeRun = Callable[..., Any]

ROWS = [(f"s{i}", i % 7, "spam" if i % 3 else "ham") for i in range(100)]


def write(folder: Path, rows: list[tuple[str, int, str]] = ROWS, name: str = "a.csv", more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("id,x,kind\n" + "".join(f"{i},{x},{kind}\n" for i, x, kind in rows) + more)
    return folder


def take_in(folder: Path, **settings: object) -> Ingested:
    source = resolve(Source.model_validate({"csv": "*.csv", "id": "id", "label": "kind"} | settings), folder)
    return ingest(source, source.settings)


def test_the_four_artifacts_of_a_source(run: Any, tmp_path: Path) -> None:
    result = take_in(write(tmp_path / "d", more="late,many,ham\n"), columns={"x": "int"})
    assert (result.samples.rows, result.rejects.rows) == (100, 1)
    assert collect(result.classes, ["code", "name"]).to_pylist() == [
        {"code": 0, "name": "ham"},
        {"code": 1, "name": "spam"},
    ]
    assert Counter(collect(result.samples, ["gold"]).column("gold").to_pylist()) == {0: 34, 1: 66}
    reject = collect(result.rejects, ["file", "row", "id", "column", "reason"]).to_pylist()
    assert reject == [
        {"file": "a.csv", "row": 102, "id": "late", "column": "x", "reason": "'many' is not a whole number"}
    ]
    contract = collect(result.contract, ["success", "checked"]).to_pylist()
    assert len(contract) == 7
    assert all(row == {"success": True, "checked": 100} for row in contract)
    assert run.record.stages[-1].summary == "100 samples, 1 rejected"


@pytest.mark.parametrize("partitions", [1, 2, 9, 60])
def test_cuts_change_no_digest_and_no_key(make_run: MakeRun, tmp_path: Path, partitions: int) -> None:
    folder = write(tmp_path / "d", more="late,many,ham\n")
    with make_run(store=str(tmp_path / "whole")):
        whole = take_in(folder)
    with make_run(store=str(tmp_path / "cut"), partitions=partitions):
        cut = take_in(folder)
    assert cut.samples.partitions == partitions
    assert (cut.samples.digest, cut.rejects.digest) == (whole.samples.digest, whole.rejects.digest)
    assert (cut.classes.digest, cut.contract.digest) == (whole.classes.digest, whole.contract.digest)
    assert cut.samples.key == whole.samples.key


def test_a_moved_folder_is_not_read_again(make_run: MakeRun, tmp_path: Path) -> None:
    with make_run() as run:
        first = take_in(write(tmp_path / "here"))
        again = take_in(write(tmp_path / "there"))
        assert [stage.cached for stage in run.record.stages] == [False, True]
        assert again == first
        take_in(write(tmp_path / "there", ROWS[:-1]))
        assert [stage.cached for stage in run.record.stages] == [False, True, False]


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("at_once", [10_000_000, 30])
@pytest.mark.parametrize("same_file", [True, False])
def test_a_repeated_id_is_named_with_its_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same_file: bool, at_once: int
) -> None:
    monkeypatch.setattr("assay.tasks.ingest.task._AT_ONCE", at_once)
    monkeypatch.setattr("assay.tasks.ingest.task._PART", 30)  # four parts of a hundred hashes
    folder = write(tmp_path / "d", [*ROWS, ROWS[4]] if same_file else ROWS)
    if not same_file:
        write(folder, [("s4", 1, "ham"), ("other", 1, "ham")], name="b.csv")
    second = r"a\.csv row 102" if same_file else r"b\.csv row 2"
    with pytest.raises(InputError, match=rf"2 samples named 's4' \(a\.csv row 6, {second}\)"):
        take_in(folder)


def test_the_same_file_twice_is_seen_though_its_partitions_are_equal(make_run: MakeRun, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv", "c.csv"):
        write(tmp_path / "d", ROWS[:10], name=name)
    with make_run(partitions=3), pytest.raises(InputError, match="3 samples named 's0'"):
        take_in(tmp_path / "d")


def test_every_hash_is_dealt_to_one_part_and_equal_ones_to_the_same() -> None:
    sent = ids_dealt(pa.table({"id": [f"s{row % 70}" for row in range(100)]}), 3)
    parts = [repeated_in_part(part, {0: opened(sent, part)})["again"].values for part in range(3)]
    assert min(map(len, parts)) > 0
    hashes = hash_ids(pa.array([f"s{row}" for row in range(30)]), 64)
    assert sorted(hash_ for part in parts for hash_ in part) == sorted(hashes.tolist())


def test_hashes_of_equal_partitions_are_told_apart_from_their_sum() -> None:
    table = pa.table({"id": ["a", "b"]})
    once = count_ids(table)
    name = next(iter(once["hashes"]))
    assert len(repeated_hashes(once)) == 0
    thrice = {"hashes": {name: once["hashes"][name] * 3}, "times": {name: 3}}
    assert sorted(repeated_hashes(thrice)) == sorted(once["hashes"][name])
    assert count_suspects(table, once["hashes"][name][:1], 48) == {"a": 1}


@pytest.mark.usefixtures("run")
def test_too_many_rejects_stop_the_run_with_the_first_reason(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", more="x,y\n" * 20)
    with pytest.raises(InputError, match=r"20 of 120 rows of a\.csv do not fit, the first in a\.csv row 102 \(2 cells"):
        take_in(folder)
    assert take_in(folder, max_rejects=0.2).rejects.rows == 20


@pytest.mark.usefixtures("run")
def test_nothing_but_rejects_stops_the_run_whatever_is_allowed(tmp_path: Path) -> None:
    folder = write(tmp_path / "d", [("", 1, "ham")])
    with pytest.raises(InputError, match="1 of 1 rows"):
        take_in(folder, max_rejects=1.0, classes=["ham", "spam"])


@pytest.mark.usefixtures("run")
def test_a_huge_table_is_checked_by_a_sample_and_counted_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "CONTRACT_ROWS", 1000)
    pq.write_table(
        pa.table({"id": [f"p{i}" for i in range(20_000)], "y": np.arange(20_000) % 3}), tmp_path / "a.parquet"
    )
    source = resolve(Source(parquet="a.parquet", id="id", label="y"), tmp_path)
    rows = collect(ingest(source, source.settings).contract, ["expectation", "checked"]).to_pylist()
    assert 800 < rows[0]["checked"] < 1200
    assert rows[-1] == {"expectation": "ids are unique over all rows", "checked": 20_000}


@pytest.mark.usefixtures("run")
def test_votes_have_a_contract_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("id,f,g,y\na,0,1,0\nb,1,-1,1\n")
    source = resolve(Source(votes="v.csv", id="id", label="y"), tmp_path)
    result = ingest(source, source.settings)
    contracts = Counter(collect(result.contract, ["contract"]).column("contract").to_pylist())
    assert contracts == {"samples": 7, "votes": 7}


def test_what_is_sent_to_workers_can_be_sent(read: Callable[..., Any], tmp_path: Path) -> None:
    write(tmp_path)
    for settings in ({"csv": "a.csv", "id": "id", "label": "kind"}, {"dataset": "sample/breast-cancer"}):
        result = read(3, **settings)
        assert pickle.loads(pickle.dumps(result.pieces)) == result.pieces
        again = pickle.loads(pickle.dumps(result.reading))
        assert again.layout == result.reading.layout


def test_a_file_that_changes_while_it_is_read_is_not_kept_under_its_old_hash(run: Any, tmp_path: Path) -> None:
    folder = write(tmp_path / "d")
    source = resolve(Source.model_validate({"csv": "*.csv", "id": "id", "label": "kind"}), folder)
    assert source.fingerprint  # taken before the file is read, as a stage's key is
    write(folder, [(name, x + 1, kind) for name, x, kind in ROWS])
    with pytest.raises(InputError, match=r"a\.csv changed while being read"):
        ingest(source, source.settings)
    assert run.record.stages == []


def test_a_group_enters_as_one_column_and_is_no_feature(run: Any, tmp_path: Path) -> None:
    result = take_in(write(tmp_path / "d", more="late,,ham\n"), group="x")
    table = collect(result.samples, ["id", "independent_group"])
    assert "x" not in collect(result.samples, None).column_names
    assert table["independent_group"].to_pylist() == [str(i % 7) for i in range(100)] + [None]
    named = take_in(tmp_path / "d", group="x", features=["x"])
    assert {"x", "independent_group"} <= set(collect(named.samples, None).column_names)
    with pytest.raises(InputError, match="'patient'"):
        take_in(tmp_path / "d", group="patient")


def test_a_source_without_a_group_is_what_it_was() -> None:
    assert "group" not in Source(csv=("a.csv",)).model_dump()
    assert Source(csv=("a.csv",), group="x").model_dump()["group"] == "x"
    with pytest.raises(ValueError, match="both group and split"):
        Source(csv=("a.csv",), group="x", split="x")
    with pytest.raises(ValueError, match="a folder of images has none"):
        Source(images=("scans",), group="patient")


def test_a_group_that_is_missing_as_a_number_is_no_group(run: Any, tmp_path: Path) -> None:
    patients = pa.array(np.array([1.0, np.nan, 1.0, np.nan]), from_pandas=False)
    pq.write_table(pa.table({"id": list("abcd"), "kind": list("xyxy"), "patient": patients}), tmp_path / "a.parquet")
    source = resolve(
        Source.model_validate({"parquet": "a.parquet", "id": "id", "label": "kind", "group": "patient"}), tmp_path
    )
    samples = collect(ingest(source, source.settings).samples, ["independent_group"])
    assert samples["independent_group"].to_pylist() == ["1", None, "1", None]


def test_groups_of_more_digits_than_a_number_keeps_are_refused_unless_they_are_text(run: Any, tmp_path: Path) -> None:
    long = "98765432109876543210,x,98765432109876543211"
    (tmp_path / "a.csv").write_text("patient,kind,other\n" + f"{long}\n98765432109876543212,y,98765432109876543213\n")
    with pytest.raises(InputError, match=r"`source\.group` names has numbers of 16 digits and more"):
        take_in(tmp_path, id=None, group="patient")
    samples = collect(take_in(tmp_path, id=None, group="patient", columns={"patient": "text"}).samples, None)
    assert samples["independent_group"].to_pylist() == ["98765432109876543210", "98765432109876543212"]
