"""What a person asks after the night: which runs, their reports, gates, differences, and the paper's table."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from assay.data.published import PUGH_APPROACHES, PUGH_TABLE_1
from assay.flows.cli import answer
from assay.flows.reproduce.tables import reproduce
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding, findings_table

GATES = "    gates:\n      - {finding: ordering.trend_p, of: ours, group: majority, at_most: %s}\n"
CONFIG = """\
store: store
pipelines:
  alarms-spo2-low:
    source: {dataset: sample/alarms-spo2-low}
    labeling: {functions: alarms}
    weak_labels: {labelers: [majority]}
    ordering: {datasets: 10}
"""


def findings(p: float) -> list[Finding]:
    ours = {"of": "ours", "group": "majority", "n": 100}
    return [
        Finding("ordering.trend_p", value=p, verdict="adverse", **ours),
        Finding("ordering.permutation_p", value=p, **ours),
        Finding("ordering.spearman", value=-0.5, p_value=0.1, **ours),
        Finding("ordering.spearman_tie_free", value=-0.75, **ours),
    ]


@pytest.fixture
def nights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two finished runs of one pipeline, the second with another p, and a third that still runs."""
    monkeypatch.chdir(tmp_path)
    Path("pipelines.yaml").write_text(CONFIG + GATES % "0.01")
    store, names = Store(str(tmp_path / "store")).open(), []
    for night, p in enumerate((0.004, 0.2)):
        name = f"2026-11-2{night}-0200-a{night}b2"
        with store.folder.writing(f"runs/{name}/findings.parquet") as sink:
            pq.write_table(findings_table(findings(p)), sink)
        store.folder.write(f"reports/{name}/index.html", b"<title>A night</title>")
        store.save_run(
            RunRecord(
                name,
                "alarms-spo2-low",
                "2026-11-20T02:00:00+00:00",
                0,
                "host",
                1,
                status="done",
                seconds=12.34,
                report=f"{store.url}/reports/{name}/index.html",
                findings=f"{store.url}/runs/{name}/findings.parquet",
                verdicts=["The order is adverse"],
            )
        )
        names.append(name)
    store.save_run(RunRecord("2026-11-22-0200-a2b2", "alarms-spo2-low", "2026-11-22T02:00:00+00:00", 0, "host", 1))
    return names


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert answer(list(arguments)) == code
    return capsys.readouterr().out


def test_runs_are_listed_newest_first(nights: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "runs").splitlines()
    assert [line.split()[0] for line in lines] == ["run", "2026-11-22-0200-a2b2", nights[1], nights[0]]
    assert "The order is adverse" in lines[2]
    assert len(said(capsys, "runs", "--last", "1").splitlines()) == 2
    assert "There is no run of other" in said(capsys, "runs", "--pipeline", "other")


@pytest.mark.parametrize(
    ("name", "which"), [("latest", 1), ("alarms-spo2-low", 1), ("a0b2", 0), ("2026-11-20-0200-a0b2", 0)]
)
def test_a_run_goes_by_several_names(
    nights: list[str], name: str, which: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "report", name).strip().endswith(f"reports/{nights[which]}/index.html")


@pytest.mark.parametrize("said_by_the_record", ["https://evil.example/", "/bin/sh", "../../elsewhere.html", "--help"])
def test_the_page_that_is_opened_lies_in_the_store(
    nights: list[str], said_by_the_record: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("click.launch", opened.append)
    record = Path("store") / "runs" / f"{nights[1]}.json"
    changed = json.loads(record.read_text()) | {"report": said_by_the_record}
    record.write_text(json.dumps(changed))
    page = said(capsys, "report", "latest", "--open").strip()
    assert opened == [page]
    assert page.endswith(f"store/reports/{nights[1]}/index.html")
    record.write_text(json.dumps(changed | {"id": "../../outside"}))
    Path("outside").mkdir()
    Path("outside/index.html").touch()
    assert said(capsys, "report", "../../outside", "--open", code=2) == ""
    assert opened == [page]


def test_gates_are_those_of_the_pipelines_file(nights: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "1 of 1 gates passed" in said(capsys, "gate", "a0b2")
    assert "FAILED" in said(capsys, "gate", "latest", code=1)
    Path("pipelines.yaml").write_text(CONFIG + GATES % "0.5")
    assert "1 of 1 gates passed" in said(capsys, "gate", "latest")


@pytest.mark.parametrize(("status", "code"), [("refused", 2), ("broken", 3), ("crashed", 3)])
def test_a_run_of_which_a_part_failed_does_not_end_as_passed(
    nights: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], status: str, code: int
) -> None:
    kept = tmp_path / "store" / "runs" / f"{nights[1]}.json"
    kept.write_text(json.dumps(json.loads(kept.read_text()) | {"status": status, "failures": ["The model fell ill."]}))
    assert "FAILED" in said(capsys, "gate", "latest", code=1)
    Path("pipelines.yaml").write_text(CONFIG + GATES % "0.5")
    assert answer(["gate", "latest"]) == code
    out, err = capsys.readouterr()
    assert "1 of 1 gates passed" in out
    assert f"Run {nights[1]} is {status}: The model fell ill." in err


def test_gates_speak_junit_and_json(nights: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(said(capsys, "gate", "latest", "--junit", "ci/gates.xml", "--json", code=1))
    assert (found["run"], found["passed"], len(found["gates"])) == (nights[1], False, 1)
    suite = ElementTree.parse("ci/gates.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")


def test_gates_of_a_run_without_its_file_are_those_it_was_started_with(
    nights: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pipelines.yaml").unlink()
    record = json.loads((tmp_path / "store" / "runs" / f"{nights[1]}.json").read_text())
    record["settings"] = {"gates": [{"finding": "ordering.spearman", "at_most": -0.4}]}
    (tmp_path / "store" / "runs" / f"{nights[1]}.json").write_text(json.dumps(record))
    assert "1 of 1 gates passed" in said(capsys, "gate", "latest", "--store", "store")


def test_compare_shows_what_changed(nights: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "compare", "a0b2", "a1b2")
    assert "0.004 n=100" in found
    assert "+0.196" in found
    assert "2 findings differ, 2 are the same." in found
    assert "ordering.spearman_tie_free" not in found
    assert "ordering.spearman_tie_free" in said(capsys, "compare", "a0b2", "a1b2", "--all")


def test_reproduce_sets_the_paper_beside_the_latest_run(nights: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys, "reproduce", "pugh-1")
    [row] = [line for line in found.splitlines() if line.split()[:4] == ["SpO2", "Low", "majority", "ours"]]
    assert row.split()[4:] == ["+0.188", "(0.603)", "-0.500", "(0.100)", "-0.750", "0.2000", "adverse"]
    assert f"SpO2 Low: run {nights[1]}, n = 100" in found
    assert "Spam: no run yet; make one with  assay run youtube-spam" in found
    assert "SpO2 Low: 1 of 1 differ from the paper by more than our interval (1 of ours have none)" in found
    assert "simulated cohort" in found


def test_a_findings_file_that_is_damaged_is_one_sentence(
    nights: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "store" / "runs" / nights[1] / "findings.parquet").write_bytes(b"PAR1 not really PAR1")
    assert answer(["gate", "latest"]) == 2
    assert f"The findings of run {nights[1]} are damaged" in capsys.readouterr().err


def test_store_info_and_clean(nights: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "3 of 1 pipeline" in said(capsys, "store", "info")
    assert "Would remove 2 runs" in said(capsys, "store", "clean", "--keep", "1", "--dry-run")
    assert "3 of 1 pipeline" in said(capsys, "store", "info")
    assert "Removed 2 runs" in said(capsys, "store", "clean", "--keep", "1")
    assert "1 of 1 pipeline" in said(capsys, "store", "info")


def test_what_a_clean_up_would_do_is_said_and_not_done(
    nights: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(str(tmp_path / "store"))
    killed = store.run(nights[0])
    killed.status = "running"
    store.save_run(killed)
    before = {file: file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file()}
    assert "Would remove 1 run and" in said(capsys, "store", "clean", "--keep", "2", "--dry-run")
    assert {file: file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file()} == before


def test_the_published_table_is_whole() -> None:
    assert len(PUGH_TABLE_1) == 9
    cells = [
        study.published(labeler, way)
        for study in PUGH_TABLE_1
        for labeler in ("majority", "snorkel")
        for way in PUGH_APPROACHES
    ]
    assert len(cells) == 72
    assert all(-1 <= rho <= 1 and 0 <= p <= 1 for rho, p in cells)
    # The text of the paper: ten of our approach's orders are adverse at γ = 0.01, and none is a violation.
    ours = [study.published(labeler, "ours") for study in PUGH_TABLE_1 for labeler in ("majority", "snorkel")]
    assert sum(rho < 0 and p <= 0.01 for rho, p in ours) == 10
    assert sum(rho > 0 and p <= 0.01 for rho, p in ours) == 0


def test_what_was_not_measured_is_said_and_not_invented(tmp_path: Path) -> None:
    table = reproduce("pugh-1", Store(str(tmp_path / "empty")).open(), tmp_path).partition("\n\nNot measured yet")[0]
    rows = table.splitlines()[3:]
    assert len(rows) == 72
    assert all(row.endswith(")  not measured") for row in rows)
