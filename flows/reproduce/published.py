"""A published result: a folder with the findings of a run as CSV, and what the run was."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.flows.reproduce.seeds import OverSeeds, from_csv
from assay.infra.errors import InputError
from assay.tasks.statistics.findings import Finding

FINDINGS, ABOUT, SEEDS = "findings.csv", "run.json", "seeds.csv"
COLUMNS = ("metric", "of", "group", "subject", "value", "low", "high", "n", "p_value", "p_adjusted", "verdict", "unit")


def published_result(folder: Path) -> tuple[dict[str, Any], Sequence[Finding]]:
    """What a published run was, and its findings."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        with (folder / FINDINGS).open(encoding="utf-8", newline="") as lines:
            findings = [_finding(row) for row in csv.DictReader(lines)]
        return {"run": str(about["run"]), **about, "settings": dict(about["settings"])}, findings
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _no_result(folder, error) from None


def published_over_seeds(folder: Path) -> Sequence[OverSeeds]:
    """What runs with other seeds measured beside the published one; none where it was published alone."""
    try:
        with (folder / SEEDS).open(encoding="utf-8", newline="") as lines:
            return from_csv(lines)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _no_result(folder, error) from None


def _no_result(folder: Path, error: Exception) -> InputError:
    return InputError(
        f"{folder} is no published result ({type(error).__name__}: {error}); write it again with "
        f"assay export RUN --results {folder.parent}"
    )


def _finding(row: dict[str, str]) -> Finding:
    return Finding(
        row["metric"],
        row["of"],
        row["group"],
        row["subject"],
        _number(row["value"]),
        _number(row["low"]),
        _number(row["high"]),
        int(row["n"]) if row["n"] else None,
        _number(row["p_value"]),
        _number(row["p_adjusted"]),
        row["verdict"],
        row["unit"],
    )


def _number(text: str) -> float | None:
    return float(text) if text else None
