"""A run in MLflow (settings as parameters, findings as metrics) and as OpenLineage events (a job per stage, digests
as versions of data sets, gates as assertions).

Who reads events twice gets the same: a run's id is made of its name, that of a stage of its key.
"""

from __future__ import annotations

import logging
import re
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from assay import __version__
from assay.flows.notifiers.choice import NotSentError, done_within
from assay.flows.pipeline import Mlflow, OpenLineage
from assay.flows.report.comparison import flat_settings
from assay.flows.report.records import digests_in
from assay.infra.environment import prepare_environment
from assay.infra.errors import InputError, RunError, reason_of, require_library
from assay.infra.storage.artifacts import Manifest, RunRecord
from assay.infra.storage.network import require_usable, secret_from
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding, findings_of

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent


TAG = "assay.run"
_AT_ONCE = {"params": 100, "metrics": 1000}  # what MLflow takes in one call
_LONGEST = 500  # of a parameter: what old servers take


def send_to_mlflow(store: Store, record: RunRecord, to: Mlflow) -> str:
    """Write the run to MLflow, once, within its time; says where it is."""
    write = partial(_write_to_mlflow, store, record, to)
    try:
        run = done_within(to.seconds, "mlflow", write, lambda error: reason_of(error).strip()[:300])
    except NotSentError as trouble:
        raise RunError(f"MLflow at {to.tracking_uri} did not take the run: {trouble}.") from None
    return f"{to.tracking_uri}, experiment {to.experiment}: run {run}"


def metrics_of(findings: Sequence[Finding]) -> dict[str, float]:
    """Findings as metrics, with the ends of their intervals, under names that MLflow takes.

    >>> metrics_of([Finding("attack.accuracy", "pgd", "eps=0.1", value=0.5, low=0.4)])
    {'attack.accuracy/pgd/eps:0.1': 0.5, 'attack.accuracy/pgd/eps:0.1.low': 0.4}
    """
    metrics: dict[str, float] = {}
    for finding in findings:
        parts = (finding.metric, finding.subject, finding.of, finding.group)
        name = re.sub(r"[^\w./: -]", "_", "/".join(part for part in parts if part).replace("=", ":"), flags=re.ASCII)
        ends = {name: finding.value, f"{name}.low": finding.low, f"{name}.high": finding.high}
        metrics |= {key: value for key, value in ends.items() if value is not None}
    return metrics


def _write_to_mlflow(store: Store, record: RunRecord, to: Mlflow) -> str:
    """The id of the run in MLflow; one that is there already is not written again."""
    prepare_environment()
    require_usable("models:")
    require_library("mlflow", "MLflow", "mlflow")
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
    client = MlflowClient(tracking_uri=to.tracking_uri)
    known = client.get_experiment_by_name(to.experiment)
    experiment = known.experiment_id if known is not None else client.create_experiment(to.experiment)
    there = client.search_runs([experiment], f"tags.\"{TAG}\" = '{record.id}' and attributes.status != 'RUNNING'")
    if there:
        return str(there[0].info.run_id)
    began = int(datetime.fromisoformat(record.started).timestamp() * 1000)
    run = client.create_run(experiment, began, dict(_tags(record)), record.id).info.run_id
    _log_to_mlflow(client, run, store, record, began)
    ended = "FINISHED" if record.is_complete else "FAILED"
    client.set_terminated(run, ended, began + round(record.seconds * 1000))
    return str(run)


def _log_to_mlflow(client: MlflowClient, run: str, store: Store, record: RunRecord, began: int) -> None:
    from mlflow.entities import Metric, Param

    settings = {key: value for key, value in flat_settings(record.settings).items() if value is not None}
    params = [
        Param(re.sub(r"[^\w./: -]", "_", key, flags=re.ASCII)[:250], str(value)[:_LONGEST])
        for key, value in (settings | {"seed": record.seed}).items()
    ]
    findings = [] if record.findings is None else findings_of(store, record)
    metrics = [Metric(key, value, began, 0) for key, value in metrics_of(findings).items()]
    for what, logged in (("params", params), ("metrics", metrics)):
        for at in range(0, len(logged), _AT_ONCE[what]):
            client.log_batch(run, **{what: logged[at : at + _AT_ONCE[what]]})
    with tempfile.TemporaryDirectory() as place:
        for name in (f"reports/{record.id}/index.html", f"runs/{record.id}/findings.parquet"):
            if store.folder.exists(name):
                copy = Path(place) / Path(name).name.replace("index", "report")
                copy.write_bytes(store.folder.read(name))
                client.log_artifact(run, str(copy))


def _tags(record: RunRecord) -> Iterator[tuple[str, str]]:
    yield TAG, record.id
    yield "assay.pipeline", record.pipeline
    yield "assay.status", record.status
    yield "assay.share", f"{record.share:g}"
    yield "assay.verdict", (record.worst or (record.verdicts or record.failures or [""])[0])[:_LONGEST]
    for gate in record.gates:
        yield f"assay.gate.{re.sub(r'[^A-Za-z0-9_. -]', '_', str(gate.get('gate')))[:200]}", str(gate.get("outcome"))


PRODUCER = f"urn:assay:{__version__}"
_FROM_OUTSIDE = (("ingest", "source"), ("settle_gold", "answers"))
"""The arguments of stages that come from files, not from other stages."""


def send_to_openlineage(store: Store, record: RunRecord, to: OpenLineage, folder: Path) -> str:
    """Emit the events of a run, within their time; says where they went. A file counts from the folder."""

    def emit() -> int:
        client = _openlineage_client(to, folder)
        events = list(events_of(store, record, to.namespace))
        for event in events:
            client.emit(event)
        return len(events)

    where = to.url or str(folder / str(to.file))
    try:
        sent = done_within(to.seconds, "openlineage", emit)
    except NotSentError as trouble:
        raise RunError(f"OpenLineage events of run {record.id} did not arrive at {where}: {trouble}.") from None
    return f"{where}: {sent} events of run {record.id}"


def events_of(store: Store, record: RunRecord, namespace: str) -> Iterator[RunEvent]:
    """The events of a run: it begins, every result of it was made (maybe on an earlier night), it ends."""
    from openlineage.client.event_v2 import RunState

    lineage = _RunEvents(store, record, namespace)
    yield lineage.of_the_run(RunState.START, datetime.fromisoformat(record.started))
    for stage in record.stages:
        manifest = store.manifest(stage.stage, stage.key)
        if manifest is not None:
            yield from lineage.of_a_stage(manifest)
    ended = datetime.fromisoformat(record.started) + timedelta(seconds=record.seconds)
    yield lineage.of_the_run(RunState.COMPLETE if record.is_complete else RunState.FAIL, ended)


@dataclass
class _RunEvents:
    """The names that data sets have got so far: by digest, and how often a name was used."""

    store: Store
    record: RunRecord
    namespace: str
    names: dict[str, str] = field(default_factory=dict)
    used: Counter[str] = field(default_factory=Counter)

    def of_the_run(self, state: Any, at: datetime) -> RunEvent:
        from openlineage.client.event_v2 import Job, Run, RunEvent
        from openlineage.client.generated.error_message_run import ErrorMessageRunFacet

        facets: dict[str, Any] = {}
        if state.name == "FAIL":
            words = (self.record.failures or [self.record.status])[0]
            facets["errorMessage"] = ErrorMessageRunFacet(message=words, programmingLanguage="PYTHON")
        run, job = Run(_run_id(self.store, self.record.id), facets), Job(self.namespace, self.record.pipeline)
        judged = [] if state.name == "START" else list(self._judged())
        return RunEvent(eventTime=at.isoformat(), eventType=state, run=run, job=job, producer=PRODUCER, inputs=judged)

    def _judged(self) -> Iterator[InputDataset]:
        """The run's findings, with what the gates said of them."""
        from openlineage.client.generated import data_quality_assertions_dataset as quality

        if self.record.findings is not None:
            judgements = [
                quality.Assertion(assertion=str(gate.get("gate")), success=gate.get("outcome") != "failed")
                for gate in self.record.gates
                if gate.get("outcome") != "not asked"
            ]
            facet: Any = quality.DataQualityAssertionsDatasetFacet(assertions=judgements)
            facets = {"dataQualityAssertions": facet} if judgements else {}
            yield self._input(f"{self.record.pipeline}/findings", self.record.id, facets)

    def _input(self, name: str, version: str, facets: dict[str, Any] | None = None) -> InputDataset:
        from openlineage.client.event_v2 import InputDataset

        return InputDataset(self._place, name, inputFacets=facets or {}, facets=_version_facet(version))

    def of_a_stage(self, manifest: Manifest) -> Iterator[RunEvent]:
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
        from openlineage.client.generated import parent_run

        parent = parent_run.ParentRunFacet(
            run=parent_run.Run(runId=_run_id(self.store, manifest.run)),
            job=parent_run.Job(namespace=self.namespace, name=self.record.pipeline),
        )
        run = Run(_run_id(self.store, f"{manifest.stage}/{manifest.key}"), {"parent": parent})
        job = Job(self.namespace, f"{self.record.pipeline}.{manifest.stage}")
        data = {"inputs": list(self._inputs(manifest)), "outputs": list(self._outputs(manifest))}
        ended = datetime.fromisoformat(manifest.created)
        began = ended - timedelta(seconds=manifest.wall_seconds)
        for state, at, sets in ((RunState.START, began, {}), (RunState.COMPLETE, ended, data)):
            yield RunEvent(eventTime=at.isoformat(), eventType=state, run=run, job=job, producer=PRODUCER, **sets)

    def _inputs(self, manifest: Manifest) -> Iterator[InputDataset]:
        for name, argument in manifest.ingredients.get("arguments", {}).items():
            for digest in digests_in(argument):
                if digest in self.names:
                    yield self._input(self.names[digest], digest)
            if (manifest.stage, name) in _FROM_OUTSIDE:
                yield self._input(f"{self.record.pipeline}/{name}", str(argument.get("fingerprint")))

    def _outputs(self, manifest: Manifest) -> Iterator[OutputDataset]:
        from openlineage.client.event_v2 import OutputDataset
        from openlineage.client.generated.output_statistics_output_dataset import OutputStatisticsOutputDatasetFacet

        for output in manifest.outputs.values():
            handle = output.artifact
            base = f"{self.record.pipeline}/{manifest.stage}/{handle.uri.rsplit('/', 1)[-1]}"
            self.used[base] += 1
            name = base if self.used[base] == 1 else f"{base}#{self.used[base]}"
            self.names[handle.digest] = name
            facet: Any = OutputStatisticsOutputDatasetFacet(rowCount=handle.rows, size=sum(output.files.values()))
            yield OutputDataset(
                self._place, name, outputFacets={"outputStatistics": facet}, facets=_version_facet(handle.digest)
            )

    @property
    def _place(self) -> str:
        """The namespace of the data sets: where the store lies."""
        return self.store.url if "://" in self.store.url else f"file://{self.store.url}"


def _version_facet(digest: str) -> dict[str, Any]:
    from openlineage.client.generated.dataset_version_dataset import DatasetVersionDatasetFacet

    return {"version": DatasetVersionDatasetFacet(datasetVersion=digest)}


def _run_id(store: Store, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{store.url}/{name}"))


def _openlineage_client(to: OpenLineage, folder: Path) -> OpenLineageClient:
    require_library("openlineage.client", "OpenLineage", "openlineage")
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport.file import FileConfig, FileTransport
    from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport

    if to.url is None:
        return OpenLineageClient(transport=FileTransport(FileConfig(str(folder / str(to.file)), append=True)))
    config = HttpConfig(url=to.url, timeout=to.seconds / 3, retry={"total": 1, "backoff_factor": 0.2})
    if to.key_from is not None:
        config.auth = ApiKeyTokenProvider({"apiKey": secret_from(to.key_from, ascii_only=True)})
    return OpenLineageClient(transport=HttpTransport(config))


def to_mlflow(store: Store, record: RunRecord, uri: str) -> str:
    """Write the run to the MLflow at an address; says where it is there."""
    try:
        to = Mlflow(tracking_uri=uri)
    except ValidationError:
        raise InputError(
            "--mlflow wants an address without a user or password (https://mlflow.example, sqlite:///mlflow.db): "
            "MLflow takes those from MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD."
        ) from None
    return send_to_mlflow(store, record, to)


def to_openlineage(store: Store, record: RunRecord, where: str) -> str:
    """Send the run's lineage to a file, or to a server; says where it went."""
    is_server = where.startswith(("http://", "https://"))
    try:
        to = OpenLineage(url=where) if is_server else OpenLineage(file=where)
    except ValidationError:
        raise InputError(
            "--openlineage wants a file, or an address without a user or password; a key is named by `openlineage: "
            "{key_from: …}` in pipelines.yaml."
        ) from None
    return send_to_openlineage(store, record, to, Path.cwd())
