"""An audit of a folder of images: a torn file, the report in a browser, and real workers, two of them killed."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import Command, digests, environment, records
from direct_nights import perform_night
from image_project import CLASSES, image_project, kill_when
from playwright.sync_api import Page, sync_playwright
from quiet_browser import QUIET, browser_here

from assay.flows.cli import answer
from assay.flows.running import RunResult
from assay.infra.prefect import server
from assay.tasks.statistics.findings import Finding, findings_from

pytestmark = pytest.mark.xdist_group("image-audit")


@dataclass
class Night:
    """A run that is over: its store, its record and its page."""

    folder: Path
    result: RunResult

    @property
    def record(self) -> dict[str, object]:
        return records(self.folder / "store")[-1]

    @property
    def findings(self) -> dict[tuple[str, str, str, str], Finding]:
        found = findings_from(pq.read_table(self.result.findings))
        return {(one.metric, one.of, one.group, one.subject): one for one in found}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return image_project(tmp_path_factory.mktemp("scans"))


@pytest.fixture(scope="module")
def night(team: Path) -> Night:
    """The night in one process, one partition after the other, that nothing happens to."""
    return Night(team, perform_night(team, "scans"))


@pytest.mark.slow
def test_neither_workers_nor_the_deaths_of_two_of_them_change_a_digest(night: Night, home: Path) -> None:
    """`assay run scans --json`, in which a worker dies while a network learns, and another in an attack."""
    team, store = night.folder, night.folder / "artifacts"
    kill_when(team, "training", store, "stages/train_network/*/marks/*/step-*.json")
    kill_when(team, "attack", store, "stages/train_network/*/manifest.json")
    marks = environment(home, TEAM_MARKS=str(team / "marks"))
    command = Command.start(["run", "scans", "--json"], folder=team, env=marks)
    assert command.wait() == 0, command.err
    assert {file.name for file in (team / "marks").iterdir()} == {"training.done", "attack.done"}
    assert command.answer["status"] == "done"
    assert "Traceback" not in command.err
    assert "1 of 1 gates passed" in command.err
    [struck] = records(store)
    assert digests(struck) == digests(night.record)
    assert left_behind(store) == []


def test_it_is_done_and_its_gate_passed(night: Night) -> None:
    assert (night.result.status, night.result.exit_code) == ("done", 0)


def test_a_network_of_ones_own_is_audited_beside_ours(night: Night) -> None:
    found = night.findings
    clean = {name: found["subject.accuracy", "clean", "", name] for name in ("ours", "theirs")}
    assert clean["theirs"].value == 1.0  # it was built to tell where the stripe is
    assert clean["ours"].n == clean["theirs"].n
    for name, one in clean.items():
        assert found["attack.accuracy", "pgd", "eps=0", name].value == one.value
    assert found["attack.accuracy", "pgd", "eps=0.3", "theirs"].value < 1.0
    made = {group.partition("made for ")[2] for metric, _, group, _ in found if metric == "attack.transfer"}
    assert made == {"ours", "theirs"}


def left_behind(store: Path) -> list[Path]:
    """Leases, drafts and checkpoints in a store."""
    files = [file for file in store.rglob("*") if file.is_file()]
    return [file for file in files if "leases" in file.parts or ".tmp-" in file.name or "marks" in file.parts]


def test_no_checkpoint_and_no_draft_is_left_behind(night: Night) -> None:
    assert left_behind(night.folder / "store") == []


@pytest.fixture
def page(night: Night) -> Iterator[Page]:
    """The report in Chromium; a complaint, or a question to anybody but the disk, fails the test."""
    complaints: list[str] = []
    requests: list[str] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser_here(), args=list(QUIET))
        opened = chromium.new_page()
        opened.on("console", lambda said: complaints.append(said.text) if said.type != "log" else None)
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("request", lambda request: requests.append(request.url))
        opened.goto(Path(str(night.result.report)).as_uri(), wait_until="load")
        yield opened
        chromium.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []


def test_the_report_shows_curves_and_adversarial_images(page: Page) -> None:
    assert page.get_by_text("right on clean images").first.is_visible()
    assert page.locator("#attacks svg").first.is_visible()
    assert page.locator("#corruptions svg").first.is_visible()
    page.locator("#attacks > details > summary").click()
    attacked = page.locator("#attacks img[alt^='The attacked image of ']")
    attacked.first.scroll_into_view_if_needed()
    assert attacked.first.is_visible()
    assert attacked.first.evaluate("image => image.complete && image.naturalWidth") == 16
    assert page.locator("img:not([alt]), img[alt='']").count() == 0
    folded = page.locator("#attacks details details.fold", has=page.locator("img"))
    assert folded.count() >= 3  # the first gallery is open, those of other attacks and subjects are folded
    assert not folded.first.locator("img").first.is_visible()
    folded.first.locator("summary").first.click()
    assert folded.first.locator("img").first.is_visible()


def test_the_torn_file_is_rejected_by_name_and_shown(night: Night, page: Page) -> None:
    ingested = night.record["stages"][0]
    [reject] = pq.read_table(ingested["outputs"]["rejects"]["uri"]).to_pylist()
    assert "torn.jpg" in reject["file"]
    assert ingested["outputs"]["samples"]["rows"] == 90
    page.locator("#ingest details").evaluate_all("all => all.forEach(one => one.open = true)")
    row = page.locator("#ingest tr", has_text="torn.jpg")
    assert row.first.is_visible()


class Spoilt:
    """The team's project with one thing wrong, and what `assay run` says to it."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capfd = image_project(folder), capfd

    def edit(self, old: str, new: str) -> None:
        text = (self.folder / "pipelines.yaml").read_text()
        assert old in text
        (self.folder / "pipelines.yaml").write_text(text.replace(old, new))

    def refused(self) -> str:
        self._capfd.readouterr()
        assert answer(["run", "scans"]) == 2
        said = self._capfd.readouterr().err
        assert len(said.splitlines()) == 1, said
        assert not (self.folder / "artifacts" / "stages").exists()
        return said


@pytest.fixture
def spoilt(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Spoilt:
    """The project, in the current folder; any attempt to start a Prefect server fails the test."""

    def launch(self: object) -> None:
        raise AssertionError("a Prefect server was started for input that is wrong")

    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setattr(server.PrefectServer, "launch", launch)
    made = Spoilt(tmp_path / "scans", capfd)
    monkeypatch.chdir(made.folder)
    return made


def test_an_eps_beyond_the_pixels_is_refused_with_its_line(spoilt: Spoilt) -> None:
    spoilt.edit("eps: [4/255, 0.3]", "eps: [4/255, 2]")
    said = spoilt.refused()
    assert said.startswith("pipelines.yaml:12: attacks.1.eps.1: 2 — pixel values lie in [0, 1]")
    assert said.strip().endswith("for 2 of 255 levels write 2/255")


class Payload:
    """What unpickling a stranger's weights would run."""

    def __reduce__(self) -> tuple[object, ...]:
        return (Path("was-run").touch, ())


def test_a_pickle_instead_of_weights_is_refused_and_never_opened(spoilt: Spoilt) -> None:
    Path("theirs.pt").write_bytes(pickle.dumps(Payload()))
    lines = [line for line in (spoilt.folder / "pipelines.yaml").read_text().splitlines() if "name: ours" not in line]
    alone = "\n".join(lines).replace(", transfer: true", "")
    Path("pipelines.yaml").write_text(alone.replace("theirs.safetensors", "theirs.pt"))
    said = spoilt.refused()
    assert "theirs.pt" in said
    assert "a pickle (.pt, .bin) can run code hidden in it" in said
    assert not Path("was-run").exists()


def test_the_classes_of_the_folders_are_those_of_the_report(night: Night) -> None:
    recall = [group for metric, _, group, name in night.findings if metric == "subject.recall" and name == "ours"]
    assert recall == list(CLASSES)
