"""The contracts hold what is right, name what is wrong, and leave nothing behind."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from assay.data.expectations import bounded_sample, check_contract, check_curated_sets, require_contract, votes_extent
from assay.data.schemas import ContractResults, CuratedSets
from assay.infra.errors import InputError


def samples(ids: list[str | None], gold: list[int | None]) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.string()), "gold": pa.array(gold, pa.int16())})


def curated(n: int = 6) -> dict[str, object]:
    return {
        "id": [f"s{i}" for i in range(n)],
        "rank": list(range(n)),
        "dataset": [1 + i // 2 for i in range(n)],
        "label": [i % 2 for i in range(n)],
        "confidence": [0.9] * n,
        "lower": [0.8 - 0.1 * i for i in range(n)],
        "upper": [1.0] * n,
        "votes_cast": [3] * n,
        "gold": [None, *([1] * (n - 1))],
    }


def failed(results: pa.Table) -> list[tuple[str, str | None]]:
    return [(row["expectation"], row["column"]) for row in results.to_pylist() if not row["success"]]


def test_good_samples_meet_every_expectation() -> None:
    results = check_contract(samples(["a", "b", "c"], [0, None, 1]), "samples", {"last_class": 1})
    assert results.schema == ContractResults.schema
    assert results.num_rows == 6
    assert failed(results) == []
    assert require_contract(results, "a.csv") is results


def test_a_repeated_id_breaks_the_contract_and_is_named() -> None:
    results = check_contract(samples(["a", "b", "b"], [0, 0, 1]), "samples", {"last_class": 1})
    assert failed(results) == [("expect_column_values_to_be_unique", "id")]
    with pytest.raises(
        InputError, match=r"a\.csv breaks the contract 'samples': expect_column_values_to_be_unique of id.*b"
    ):
        require_contract(results, "a.csv")


def test_a_class_beyond_the_last_one_breaks_the_contract() -> None:
    results = check_contract(samples(["a", "b", "c"], [0, 2, 1]), "samples", {"last_class": 1})
    row = next(row for row in results.to_pylist() if not row["success"])
    assert (row["column"], row["unexpected"], row["checked"]) == ("gold", 1, 3)
    assert "2" in row["detail"]


def test_votes_are_judged_by_their_extent() -> None:
    votes = pa.table({"id": ["a", "b"], "f": pa.array([0, -1], pa.int8()), "g": pa.array([1, -1], pa.int8())})
    extent = votes_extent(votes, ("f", "g"))
    assert extent.to_pydict() == {"id": ["a", "b"], "lowest": [0, -1], "highest": [1, -1], "votes_cast": [2, 0]}
    assert failed(check_contract(extent, "votes", {"last_class": 1, "functions": 2})) == []
    assert failed(check_contract(extent, "votes", {"last_class": 0, "functions": 2})) == [
        ("expect_column_values_to_be_between", "highest")
    ]


def test_curated_sets_are_good_in_any_order_of_rows() -> None:
    table = pa.table(curated(), schema=CuratedSets.schema)
    shuffled = table.take(pa.array([3, 0, 5, 1, 4, 2]))
    assert failed(check_curated_sets(shuffled, classes=2, datasets=3, rows=shuffled.num_rows)) == []


@pytest.mark.parametrize(
    ("column", "value", "expectation"),
    [
        ("lower", [0.1, 0.2, 0.3, 0.2, 0.1, 0.0], "expect_column_values_to_be_decreasing"),
        ("dataset", [1, 2, 1, 2, 3, 3], "expect_column_values_to_be_increasing"),
        ("label", [0, 1, 2, 0, 1, 0], "expect_column_values_to_be_between"),
        ("upper", [0.1, 1, 1, 1, 1, 1], "expect_column_pair_values_a_to_be_greater_than_b"),
        ("rank", [0, 1, 1, 3, 4, 5], "expect_column_values_to_be_unique"),
        ("id", ["a", "a", "b", "c", "d", "e"], "expect_column_values_to_be_unique"),
    ],
)
def test_every_flaw_of_curated_sets_is_seen(column: str, value: list[object], expectation: str) -> None:
    table = pa.table(curated() | {column: value}, schema=CuratedSets.schema)
    assert expectation in [
        name for name, _ in failed(check_curated_sets(table, classes=2, datasets=3, rows=table.num_rows))
    ]


def test_a_huge_table_is_sampled_the_same_way_every_time() -> None:
    table = pa.table({"x": np.arange(10_000)})
    one, two = bounded_sample(table, 100), bounded_sample(table, 100)
    assert one.equals(two)
    assert one.num_rows == 100
    assert one.column("x").to_pylist() == sorted(one.column("x").to_pylist())
    assert bounded_sample(table, 10_000) is table


def test_a_check_writes_no_file_prints_nothing_and_opens_no_connection(tmp_path: Path) -> None:
    script = """
import socket
def refuse(*_args): raise AssertionError("a connection was opened")
socket.socket.connect = refuse
import pyarrow as pa
from assay.data.expectations import check_contract
check_contract(pa.table({"id": ["a"], "gold": pa.array([0], pa.int16())}), "samples", {"last_class": 1})
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
