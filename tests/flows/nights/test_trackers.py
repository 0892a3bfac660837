"""Runs in MLflow and as OpenLineage events, by the real clients; a server that is not there touches no night."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from direct_nights import latest, perform_night
from planted_changes import plant

from assay.flows.cli import answer
from assay.flows.configuration.loading import load_project
from assay.flows.nights.after_run import leave_traces
from assay.flows.pipeline import Mlflow, OpenLineage
from assay.infra.errors import InputError, RunError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import findings_of

SECRET = "do-not-write-me-down"
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Store, RunRecord]:
    """The second night of a team's own project, whose gate failed."""
    folder = plant(tmp_path_factory.mktemp("elsewhere"))
    perform_night(folder, "night")
    perform_night(plant(folder, "epoch"), "night")
    return folder, *latest(folder, "night")


@pytest.fixture
def server() -> Iterator[tuple[str, list[tuple[str, dict[str, object]]]]]:
    """A server that takes OpenLineage: what it was sent, with the authorization."""
    got: list[tuple[str, dict[str, object]]] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((self.headers.get("Authorization", ""), json.loads(body)))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_port}", got
    listening.shutdown()


def test_mlflow_has_the_run_with_settings_findings_and_report(night, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    from assay.flows.nights.trackers import TAG, send_to_mlflow

    _, store, record = night
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    client = mlflow.MlflowClient(tracking_uri=uri)
    client.create_experiment("audits", artifact_location=(tmp_path / "kept").as_uri())
    to = Mlflow(tracking_uri=uri, experiment="audits")
    assert record.id not in send_to_mlflow(store, record, to)  # it has a name of MLflow's
    send_to_mlflow(store, record, to)
    experiment = client.get_experiment_by_name("audits")
    [run] = client.search_runs([experiment.experiment_id])  # once, though it was sent twice
    assert (run.info.run_name, run.info.status, run.data.tags[TAG]) == (record.id, "FINISHED", record.id)
    assert run.data.params["pruning.correlation"] == "0.9"
    assert run.data.params["labeling.functions"] == "rules.py"
    accuracy = next(
        one
        for one in findings_of(store, record)
        if (one.metric, one.of, one.group) == ("subject.accuracy", "gold", "D5")
    )
    assert run.data.metrics["subject.accuracy/own/gold/D5"] == accuracy.value
    assert run.data.metrics["subject.accuracy/own/gold/D5.low"] == accuracy.low
    assert "failed" in {value for key, value in run.data.tags.items() if key.startswith("assay.gate.")}
    kept = {one.path for one in client.list_artifacts(run.info.run_id)}
    assert kept == {"report.html", "findings.parquet"}


def events_in(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_lineage_goes_into_a_file_with_digests_as_versions_and_gates_as_assertions(night, tmp_path: Path) -> None:
    pytest.importorskip("openlineage.client")
    from assay.flows.nights.trackers import send_to_openlineage

    _, store, record = night
    send_to_openlineage(store, record, OpenLineage(file="lineage.jsonl", namespace="audits"), tmp_path)
    events = events_in(tmp_path / "lineage.jsonl")
    assert len(events) == 2 + 2 * len(record.stages)
    by_job = {one["job"]["name"]: one for one in events if one["eventType"] == "COMPLETE"}
    label = by_job["night.apply_labeling_functions"]
    digest = record.stages[0].outputs["samples"]["digest"]
    versions = {one["name"]: one["facets"]["version"]["datasetVersion"] for one in label["inputs"]}
    assert versions["night/ingest/samples"] == digest
    assert label["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 400
    [source] = by_job["night.ingest"]["inputs"]
    assert source["name"] == "night/source"
    assert events[0]["run"]["runId"] == events[-1]["run"]["runId"]
    [findings] = by_job["night"]["inputs"]
    [gate] = findings["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert gate == {
        "assertion": "subject.accuracy (of gold, group D5) drop against last-passed at most 0",
        "success": False,
        **{name: value for name, value in gate.items() if name not in ("assertion", "success")},
    }
    unasked = replace(record, gates=[gate | {"outcome": "not asked"} for gate in record.gates])
    send_to_openlineage(store, unasked, OpenLineage(file="unasked.jsonl", namespace="audits"), tmp_path)
    assert "success" not in (tmp_path / "unasked.jsonl").read_text()  # nobody knows whether it would have passed
    send_to_openlineage(store, record, OpenLineage(file="again.jsonl", namespace="audits"), tmp_path)
    assert [one["run"]["runId"] for one in events_in(tmp_path / "again.jsonl")] == [
        one["run"]["runId"] for one in events
    ]


def test_lineage_goes_to_a_server_with_a_key_from_the_environment(
    night, server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openlineage.client")
    from assay.flows.nights.trackers import send_to_openlineage

    _, store, record = night
    url, got = server
    to = OpenLineage(url=url, key_from="LINEAGE_KEY")
    with pytest.raises(RunError, match="LINEAGE_KEY is not set"):
        send_to_openlineage(store, record, to, Path())
    monkeypatch.setenv("LINEAGE_KEY", SECRET)
    send_to_openlineage(store, record, to, Path())
    assert len(got) == 2 + 2 * len(record.stages)
    assert {key for key, _ in got} == {f"Bearer {SECRET}"}
    assert SECRET not in json.dumps([event for _, event in got])


def test_a_night_is_the_same_whether_or_not_anybody_takes_it(night, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, store, record = night
    file = folder / "elsewhere.yaml"
    lines = [f"mlflow: {{tracking_uri: '{NOBODY}', seconds: 4}}", f"openlineage: {{url: '{NOBODY}', seconds: 4}}"]
    file.write_text("\n".join([*lines, (folder / "pipelines.yaml").read_text()]))
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", SECRET)
    before, said, began = store.folder.read(f"runs/{record.id}.json"), list[str](), time.monotonic()
    leave_traces(load_project(file, store=store.url), store, record, said.append)
    assert time.monotonic() - began < 30
    assert store.folder.read(f"runs/{record.id}.json") == before
    assert [one.partition(" could not be written")[0] for one in said] == [
        "The run is kept, its run in MLflow",
        "The run is kept, its lineage",
    ]
    assert SECRET not in "".join(said)


def test_export_sends_one_run(night, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openlineage.client")
    folder, store, record = night
    here = ["--config", str(folder / "pipelines.yaml"), "--store", store.url]
    assert answer(["export", record.id, "--openlineage", str(tmp_path / "one.jsonl"), *here]) == 0
    assert events_in(tmp_path / "one.jsonl")
    assert answer(["export", record.id, "--mlflow", "https://ada:pw@mlflow.example", *here]) == 2
    assert "without a user or password" in capsys.readouterr().err
    assert answer(["export", record.id, "--mlflow", "a", "--openlineage", "b", *here]) == 2


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("mlflow: {tracking_uri: 'https://ada:pw@mlflow.example'}", "mlflow.tracking_uri"),
        ("openlineage: {}", "give url or file"),
        ("openlineage: {file: a.jsonl, key_from: KEY}", "leave key_from out"),
    ],
)
def test_wrong_settings_are_refused_with_their_line(night, line: str, sentence: str) -> None:
    folder, store, _ = night
    file = folder / "wrong.yaml"
    file.write_text(f"{line}\n{(folder / 'pipelines.yaml').read_text()}")
    with pytest.raises(InputError, match=sentence) as caught:
        load_project(file, store=store.url)
    assert "wrong.yaml:1" in str(caught.value)
    assert "ada:pw" not in str(caught.value)
