"""The audit that a newcomer runs: real workers, a real Prefect server, no network, and the numbers it must give."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import ASSAY, Command, digests, environment, records
from playwright.sync_api import sync_playwright
from published_results import disagreements
from quiet_browser import QUIET, browser_here
from repository import ROOT

from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding, findings_from

pytestmark = pytest.mark.xdist_group("first-audit")

PANEL = [
    "mean concave points",
    "mean symmetry",
    "mean texture",
    "smoothness error",
    "symmetry error",
    "texture error",
    "worst fractal dimension",
]


def folder_of(command: Command) -> Path:
    return command.said.parent


def store_of(command: Command) -> Path:
    return folder_of(command) / "artifacts"


def finding(command: Command, metric: str) -> Finding:
    rows = findings_from(pq.read_table(command.answer["findings"]))
    return next(one for one in rows if (one.metric, one.of, one.group) == (metric, "ours", "majority"))


def test_it_is_done_without_a_network(newcomer: Command) -> None:
    assert newcomer.process.returncode == 0, newcomer.err
    assert len(newcomer.out.splitlines()) == 1
    answer = newcomer.answer
    assert set(answer) == {"run", "status", "report", "findings", "seconds"}
    assert answer["status"] == "done"
    assert Path(answer["report"]).is_file()
    assert Path(answer["report"]).is_relative_to(store_of(newcomer) / "reports")


def test_it_says_what_it_does_and_nothing_else(newcomer: Command) -> None:
    lines = newcomer.err.splitlines()
    [record] = records(store_of(newcomer))
    assert lines[0].startswith("breast-cancer · run ")
    assert re.fullmatch(r"breast-cancer comes with Assay: .*/site-packages/assay/pipelines\.yaml", lines.pop(1))
    titles = [stage["title"] for stage in record["stages"]]
    longest_first = sorted(set(titles), key=len, reverse=True)
    told = [
        next(title for title in longest_first if line.startswith(f"  {title} ")) for line in lines[1:][: len(titles)]
    ]
    assert sorted(told) == sorted(titles)  # a line is written when its stage is over, and labelers work at once
    rest = lines[1 + len(titles) :]
    assert rest[0].startswith("Verdict   The rules' labels get worse along the order: ")
    assert rest[-2].strip() == "1 of 1 gates passed"
    assert rest[-1] == f"Report    {newcomer.answer['report']}"
    for noise in ("warning", "traceback", "deprecat", "exception"):
        assert noise not in newcomer.err.lower()


def test_it_measures_what_is_published(newcomer: Command) -> None:
    store = Store(str(store_of(newcomer))).open()
    assert disagreements(store, store.run(newcomer.answer["run"])) == []


def test_the_panel_is_the_seven_rules_of_the_golden_numbers(newcomer: Command) -> None:
    [record] = records(store_of(newcomer))
    [pruned] = [stage for stage in record["stages"] if stage["stage"] == "prune_labeling_functions"]
    [file] = Path(pruned["outputs"]["panel"]["uri"]).glob("*.parquet")
    rows = pq.read_table(file).to_pylist()
    assert sorted(row["function"] for row in rows if row["kept"]) == PANEL


def test_the_order_is_adverse(newcomer: Command) -> None:
    tie_free = finding(newcomer, "ordering.spearman_tie_free").value
    trend = finding(newcomer, "ordering.trend_p")
    assert tie_free is not None
    assert tie_free <= -0.9
    assert trend.verdict == "adverse"
    assert (trend.unit, trend.p_adjusted) == ("p, primary", None)  # a primary claim is not paid for by side tests
    assert trend.p_value <= 0.01


def test_it_leaves_no_lease_and_no_draft_behind(newcomer: Command) -> None:
    files = [file for file in store_of(newcomer).rglob("*") if file.is_file()]
    assert [file for file in files if "leases" in file.parts or ".tmp-" in file.name or "marks" in file.parts] == []


@pytest.fixture
def says(installed: Path, home: Path, tmp_path: Path, without_network: Sequence[str]) -> Callable[..., str]:
    """What a command of the installed wheel prints, without a network, in a folder that was empty."""

    def run(*arguments: str) -> str:
        env, program = environment(home), str(installed)
        command = Command.start(arguments, folder=tmp_path, env=env, within=without_network, program=program)
        assert command.wait(600) == 0, command.err
        return command.out

    return run


def test_what_comes_with_the_wheel_is_listed_reproduced_and_begun(
    says: Callable[..., str], installed: Path, tmp_path: Path
) -> None:
    listed = says("list")
    assert "first-night" in listed
    assert f"They come with Assay ({installed.parents[1]}" in listed
    assert "published run" in says("reproduce", "xu-1")
    rows = [f"{n},{n % 7},{n % 2}" for n in range(60)]
    (tmp_path / "patients.csv").write_text("\n".join(["id,dose,ill", *rows]) + "\n")
    says("init", "--data", "patients.csv", "--label", "ill", "--yes")
    assert "more come with Assay" in says("list")
    assert "patients.csv" in says("check")


@pytest.mark.slow
def test_the_first_night_is_run_from_the_wheel_in_an_empty_folder(says: Callable[..., str], tmp_path: Path) -> None:
    assert "2 of 2 gates passed" in says("run", "first-night")
    [record] = records(tmp_path / "artifacts")
    assert record["status"] == "done"
    page = tmp_path / "artifacts" / "reports" / record["id"] / "index.html"
    assert page.stat().st_size <= 1_000_000
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser_here(), args=list(QUIET))
        for width, tallest in ((1280, 9_000), (390, 14_000)):
            opened = chromium.new_page(viewport={"width": width, "height": 900})
            opened.goto(page.as_uri(), wait_until="load")
            assert opened.evaluate("document.documentElement.scrollHeight") <= tallest
            assert opened.evaluate("document.documentElement.scrollWidth") <= width
        chromium.close()


@pytest.mark.slow
def test_one_worker_and_seven_partitions_give_the_same_digests(newcomer: Command, home: Path) -> None:
    folder = folder_of(newcomer)
    cut = ["--set", "compute.workers=1", "--set", "compute.partitions=7", "--store", "cut"]
    other = Command.start(["run", "breast-cancer", *cut], folder=folder, env=environment(home))
    assert other.wait() == 0, other.err
    [first], [second] = records(store_of(newcomer)), records(folder / "cut")
    ingested = second["stages"][0]["outputs"]["samples"]
    assert (ingested["rows"], ingested["partitions"]) == (569, 7)
    assert digests(second) == digests(first)
    assert "1 CPU worker," in other.out.splitlines()[0]


def test_make_audit_runs_the_first_night() -> None:
    recipe = (ROOT / "Makefile").read_text().split("\naudit:")[1].splitlines()[1].strip()
    assert recipe == "$(BIN)/assay run first-night"
    assert Path(ASSAY).is_file()
