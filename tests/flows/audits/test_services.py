"""How often a service was asked in a run, and what that cost, is measured, shown and can be gated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from direct_nights import latest, perform_night
from model_server import ModelServer, model_server

from assay.flows.configuration.loading import load_project
from assay.infra.errors import InputError
from assay.infra.storage.folders import Folder
from assay.infra.storage.store import AskedCounts, asked_in
from assay.tasks.statistics.findings import findings_of

PIPELINES = """
pipelines:
  night:
    source: {{csv: rows.csv, id: id, label: answer, columns: {{links: int, begs: int}}}}
    labeling: {{functions: rules.py}}
    weak_labels: {{labelers: [majority]}}
    ordering: {{datasets: 3}}
    subjects:
      - name: flaky
        model: "{url}/flaky/v2/models/spam"
        features: [links, begs]
        asking: {{batch: 3, price: 0.25}}
      - {{name: plain, model: "{url}/ok/predict?tenant=secret", features: [links, begs]}}
    gates:
      - {{finding: services.cost, at_most: 2}}
"""
RULES = """
CLASSES = ("ham", "spam")
def links(x): return 1 if x.links else -1
def neither(x): return 0 if not x.links else -1
RULES = [links, neither]
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ModelServer]:
    with model_server(tmp_path / "served") as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path, server: ModelServer) -> Path:
    rows = [f"r{at},{at % 2},{at // 2 % 2},{('ham', 'spam')[at % 2]}" for at in range(24)]
    (tmp_path / "rows.csv").write_text("\n".join(["id,links,begs,answer", *rows]))
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "pipelines.yaml").write_text(PIPELINES.format(url=server.url))
    return tmp_path


def measured(folder: Path) -> dict[tuple[str, str], float | None]:
    services = [one for one in findings_of(*latest(folder, "night")) if one.stage == "services"]
    return {(one.of.rsplit("/", 1)[-1], one.metric.removeprefix("services.")): one.value for one in services}


def test_requests_retries_and_cost_are_those_that_the_service_saw(folder: Path, server: ModelServer) -> None:
    result = perform_night(folder, "night")
    first, posts = measured(folder), server.asked()
    flaky = [one for one in posts if one["path"].startswith("/flaky")]
    # Four different rows in batches of three; of three requests two are refused. One more asks what the model is.
    assert len(flaky) == 6
    assert (first["spam", "questions"], first["spam", "stored"]) == (4, 0.0)
    assert (first["spam", "requests"], first["spam", "retries"]) == (len(flaky) + 1, 4)
    assert first["spam", "cost"] == 0.25 * 7
    plain = [one for one in posts if one["path"].startswith("/ok")]
    assert (first["predict", "requests"], first["predict", "retries"]) == (len(plain), 0)
    assert ("predict", "cost") not in first
    assert result.exit_code == 0
    _, record = latest(folder, "night")
    page = Path(str(record.report)).read_text()
    assert "2 services got 8 requests in this run, which cost 1.75." in page
    assert {one.of for one in findings_of(*latest(folder, "night")) if one.stage == "services"} == {
        f"{server.url}/flaky/v2/models/spam",
        f"{server.url}/ok/predict",  # what comes after the question mark may be a secret
    }

    perform_night(folder, "night")  # the version is the same: a few are asked again, the rest is in the store
    again = measured(folder)
    assert again["spam", "requests"] == len([one for one in server.asked() if one["path"].startswith("/flaky")]) - 6 + 1


def test_a_gate_on_cost_fails_when_it_is_exceeded_and_needs_a_price(folder: Path) -> None:
    text = (folder / "pipelines.yaml").read_text()
    (folder / "pipelines.yaml").write_text(text.replace("at_most: 2", "at_most: 1"))
    assert perform_night(folder, "night").exit_code == 1
    (folder / "pipelines.yaml").write_text(text.replace(", price: 0.25", ""))
    with pytest.raises(InputError, match="nothing will measure it: say the `price` of a request under `asking`"):
        load_project(folder / "pipelines.yaml")
    (folder / "pipelines.yaml").write_text(
        "pipelines:\n  night:\n    source: {csv: rows.csv, label: answer}\n    subject: {model: logistic}\n"
        "    gates: [{finding: services.requests, at_most: 5}]\n"
    )
    with pytest.raises(InputError, match="nothing will measure it: no subject is a service"):
        load_project(folder / "pipelines.yaml")


def test_counts_of_all_processes_are_added_up(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    each = [AskedCounts(folder, "turns/run/service/asked") for _ in range(3)]
    for one in each:
        one.leave()  # nobody has asked yet: nothing lies there
    assert asked_in(folder, "turns/run/service/asked") == {}
    for number, one in enumerate(each):
        one.add(requests=1, questions=number)
        one.leave()
        one.add(requests=2)
        one.leave()
    assert asked_in(folder, "turns/run/service/asked") == {"requests": 9, "questions": 3}
