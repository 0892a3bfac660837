"""The tables of Prefect's database as Prefect's own migrations leave them.

There are eighty migrations, which take seven seconds: each first run on a machine, and so each night in a fresh
container, would wait for them. `tools/prefect_tables.py` writes `tables.sql`.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

TABLES = Path(__file__).with_name("tables.sql")
_REVISION = re.compile(r"""INSERT INTO "alembic_version" VALUES\('(\w+)'\)""")


def make_tables(database: Path) -> None:
    """A new database with these tables; where it is there, or Prefect does not know them, Prefect migrates it itself.

    A later Prefect adds to them what came since.
    """
    script = TABLES.read_text(encoding="utf-8")
    revision = _REVISION.search(script)
    assert revision is not None
    migrations = files("prefect") / "server/database/_migrations/versions/sqlite"
    known = any(f"_{revision[1]}_" in migration.name for migration in migrations.iterdir())
    if known and not database.exists():
        with closing(sqlite3.connect(database)) as connection:
            connection.executescript(script)  # one transaction
