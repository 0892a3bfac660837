"""The tables that Prefect's server begins with are those that its own migrations make."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from prefect_tables import migrated_tables

from assay.infra.prefect import server
from assay.infra.prefect.server import TABLES, make_tables


def _names(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def test_they_are_those_of_the_migrations_of_the_installed_prefect() -> None:
    ours, migrated = (
        sorted(line.strip(" \t,") for line in script.splitlines())  # a table's constraints come in any order
        for script in (TABLES.read_text(encoding="utf-8"), migrated_tables())
    )
    assert ours == migrated, "run python tools/prefect_tables.py"


def test_a_new_database_has_them_and_one_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    make_tables(tmp_path / "new.db")
    assert {"flow_run", "task_run", "alembic_version"} <= set(_names(tmp_path / "new.db"))
    (tmp_path / "old.db").touch()
    make_tables(tmp_path / "old.db")
    assert _names(tmp_path / "old.db") == []


def test_tables_of_a_prefect_that_is_not_installed_are_left_to_its_migrations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = tmp_path / "tables.sql"
    later.write_text(TABLES.read_text(encoding="utf-8").replace("VALUES('", "VALUES('0"), encoding="utf-8")
    monkeypatch.setattr(server, "TABLES", later)
    make_tables(tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
