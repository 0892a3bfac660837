"""Write `infra/prefect/tables.sql` anew, after Prefect was upgraded: the tables that its migrations leave.

python tools/prefect_tables.py
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from assay.infra.prefect.server import TABLES


def migrated_tables() -> str:
    """The script of a database that Prefect made in a process of its own, from its first migration to its last."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "prefect.db"
        places = {"PREFECT_API_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{database}", "PREFECT_HOME": folder}
        upgrade = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]
        subprocess.run(upgrade, env=os.environ | places, check=True, capture_output=True)
        with closing(sqlite3.connect(database)) as connection:
            lines = "\n".join(connection.iterdump()).splitlines()
    tables = "\n".join(line.rstrip() for line in lines)
    return f"-- Of Prefect {version('prefect')} (Apache License 2.0), by tools/prefect_tables.py\n{tables}\n"


if __name__ == "__main__":
    TABLES.write_text(migrated_tables(), encoding="utf-8")
