"""Folders that say columns (`year=2026/`): read as one table, here or at an address of fsspec."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import pandas as pd
import pytest

from assay.infra.errors import InputError
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve
from assay.tasks.statistics.groups import GROUP

WRITERS: dict[str, Callable[[pd.DataFrame, Any], None]] = {
    "parquet": lambda table, file: table.to_parquet(file, index=False),
    "csv": lambda table, file: table.to_csv(file, index=False),
    "jsonl": lambda table, file: table.to_json(file, orient="records", lines=True),
}
PLACES = [(2025, "north"), (2025, "St%20Mary"), (2026, "__HIVE_DEFAULT_PARTITION__")]
WANTED = [
    *[(f"c{at}", 2025, "north") for at in range(10)],
    *[(f"c{at}", 2025, "St Mary") for at in range(10, 20)],
    *[(f"c{at}", 2026, None) for at in range(20, 30)],
]


def fill(place: str, kind: str) -> None:
    """Three files of ten rows in folders by year and site, beside what Spark leaves there."""
    for number, (year, site) in enumerate(PLACES):
        first = number * 10
        table = pd.DataFrame(
            {"key": [f"c{at}" for at in range(first, first + 10)], "dose": range(10), "right": [0, 1] * 5}
        )
        with fsspec.open(f"{place}/year={year}/site={site}/part-0.{kind}", "wb", auto_mkdir=True) as file:
            WRITERS[kind](table, file)
    with fsspec.open(f"{place}/_SUCCESS.{kind}", "wb") as mark:
        mark.write(b"done")


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_folders_are_columns_in_any_cut_and_anywhere(read: Any, tmp_path: Path, kind: str, elsewhere: bool) -> None:
    place = f"memory://{uuid.uuid4().hex}/lake" if elsewhere else str(tmp_path / "lake")
    fill(place, kind)
    given = {kind: place, "id": "key", "label": "right", "group": "site"}
    tables = [read(cut, **given).samples for cut in (1, 7)]
    assert tables[0].equals(tables[1])
    found = tables[0]
    assert str(found.schema.field("year").type) == "int64"
    by_id = {row["id"]: (row["id"], row["year"], row[GROUP]) for row in found.to_pylist()}
    assert [by_id[key][:2] for key, _, _ in WANTED] == [(key, year) for key, year, _ in WANTED]
    assert [by_id[key][2] for key, _, site in WANTED if site] == [site for _, _, site in WANTED if site]


@pytest.mark.parametrize("kind", WRITERS)
def test_a_folder_says_the_class(read: Any, tmp_path: Path, kind: str) -> None:
    fill(str(tmp_path / "lake"), kind)
    given = {kind: "lake", "id": "key", "label": "site", "features": ["dose"]}
    found = read(2, **given)
    assert found.classes == ("St Mary", "north")
    by_id = {row["id"]: row["gold"] for row in found.samples.to_pylist()}
    assert by_id == {key: found.classes.index(site) if site else None for key, _, site in WANTED}


def test_a_pattern_finds_what_duckdb_wrote(read: Any, tmp_path: Path) -> None:
    duckdb.sql(
        f"copy (select i as key, i % 2 as answer, 2020 + i % 3 as year from range(30) t(i)) to '{tmp_path}/lake' "
        "(format parquet, partition_by (year))"
    )
    found = read(parquet="lake/year=202[12]/*.parquet", id="key", label="answer").samples
    assert sorted((int(row["id"]), row["year"]) for row in found.to_pylist()) == [
        (i, 2020 + i % 3) for i in range(30) if i % 3
    ]


def test_rows_that_move_to_another_folder_are_another_source(tmp_path: Path) -> None:
    fill(str(tmp_path / "one"), "csv")
    fill(str(tmp_path / "two"), "csv")
    one, two = (resolve(Source(csv=name), tmp_path).fingerprint for name in ("one", "two"))
    assert one == two
    (tmp_path / "two" / "year=2025").rename(tmp_path / "two" / "year=2024")
    assert resolve(Source(csv="two"), tmp_path).fingerprint != one


def test_declared_types_hold_for_folders(read: Any, tmp_path: Path) -> None:
    fill(str(tmp_path / "lake"), "csv")
    typed = {"year": "text", "dose": "float"}
    found = read(csv="lake", id="key", label="right", columns=typed, features=["year"]).samples
    assert set(found["year"].to_pylist()) == {"2025", "2026"}


def test_folders_that_do_not_fit_are_one_sentence(tmp_path: Path) -> None:
    from assay.tasks.ingest.sources import first_look

    fill(str(tmp_path / "lake"), "csv")
    (tmp_path / "lake" / "more.csv").write_text("key,dose,right\na,1,0\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "delta" / "_delta_log").mkdir(parents=True)
    (tmp_path / "delta" / "_delta_log" / "00.json").write_text("{}")
    wrong: list[tuple[dict[str, Any], str]] = [
        (
            {"csv": "lake"},
            r"part-0\.csv lies in folders that say year and site, and more\.csv in such that say nothing",
        ),
        ({"csv": "lake/*/*/*.csv", "columns": {"site": "int"}}, "A folder says site=St Mary, and `columns` says"),
        ({"csv": "empty"}, r"empty \(csv\) is a folder; name the files in it"),
        ({"parquet": "delta"}, r"delta \(parquet\) is a Delta table whose log cannot be read \("),
        ({"parquet": "."}, r"\. \(parquet\) is or holds a Delta table, whose folder also holds rows that were deleted"),
    ]
    for given, sentence in wrong:
        with pytest.raises(InputError, match=sentence) as caught:
            first_look(resolve(Source.model_validate(given), tmp_path), None)
        assert "\n" not in str(caught.value)
        assert str(caught.value).endswith(".")


def test_a_check_shows_what_was_found(tmp_path: Path) -> None:
    from assay.flows.check import check

    fill(str(tmp_path / "lake"), "csv")
    (tmp_path / "pipelines.yaml").write_text("pipelines:\n  night:\n    source: {csv: lake, id: key, label: right}\n")
    told = check(str(tmp_path / "pipelines.yaml"), str(tmp_path / "store"))
    assert not told.complaint
    line = next(line for line in told.text.splitlines() if "3 files" in line)
    assert "3 files, of year 2025 to 2026 and site" in line
    assert "key (string), right (int64), dose (int64), year (int64), site (string)" in " ".join(told.text.split())
