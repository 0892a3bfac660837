"""Figures 5 and 6 of Werpachowski et al.: what the paper says in words stands beside our numbers, and judges them."""

from __future__ import annotations

from pathlib import Path

import pytest
from finished_runs import leave_run

from assay.flows.reproduce.tables import reproduce
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store")).open()


def experiment(dependent_p: float) -> list[Finding]:
    return [
        Finding("overfitting.p_value", "independent", "eps=10", value=0.97, low=0.9, high=1.0, n=10),
        Finding("overfitting.p_value", "dependent", "eps=10", value=dependent_p, low=0.0, high=0.4, n=10),
        Finding("overfitting.rejected", "dependent", "eps=10", value=0.9, low=0.6, high=0.98, n=10),
        Finding("overfitting.error", "dependent", "eps=10", value=0.12, low=0.1, high=0.14, n=10),
        Finding("overfitting.p_value", "dependent", "eps=6", value=0.4, low=0.1, high=0.9, n=10),
        Finding("overfitting.p_value", "dependent", "eps=6, N=25", value=0.5, low=0.45, high=0.55, n=4),
    ]


def line(text: str, *starts: str) -> list[str]:
    [found] = [line.split() for line in text.splitlines() if line.split()[: len(starts)] == list(starts)]
    return found[len(starts) :]


def test_figure_5_has_a_line_per_eps_with_the_papers_words(store: Store) -> None:
    settings = {"source": {"dataset": "sample/half-spaces"}, "overfitting": {"synthetic": {"steps": 5000}}}
    run = leave_run(store, "overfitting-synthetic-quick", experiment(0.02), settings=settings)
    text = reproduce("werpachowski-5", store)
    assert line(text, "independent", "10")[:2] == ["0.970", "p"]
    assert line(text, "dependent", "10")[:5] == ["0.020", "90.0%", "[60.0,", "98.0]", "12.0%"]
    assert line(text, "dependent", "6") == ["0.400", "in", "between"]
    origin = f"  the experiment: run {run} of overfitting-synthetic-quick, n = 10\n    10 models of 5000 steps each"
    assert origin in text
    assert "agrees with the paper wherever it gives a number (3)" in text


def test_a_mean_p_that_contradicts_the_papers_words_is_counted(store: Store) -> None:
    leave_run(store, "overfitting-synthetic", experiment(0.3))
    assert "the experiment: 1 of 3 differ from the paper" in reproduce("werpachowski-5", store)


def test_figure_6_has_the_models_that_the_paper_has(store: Store) -> None:
    leave_run(store, "overfitting-synthetic", experiment(0.02))
    text = reproduce("werpachowski-6", store)
    assert line(text, "dependent", "6", "25")[:2] == ["4", "0.500"]
    assert line(text, "dependent", "6", "1")[:2] == ["10", "0.400"]
    assert "most overfitting.p_value dependent eps=6, N=25 (theirs 0.185 or 0.160 or 0.066 or 0.194, ours 0.500)" in (
        " ".join(text.split())
    )
