"""A run of ours as a run of MLflow: settings as parameters, findings as metrics, the report as an artifact."""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.nights.in_time import trouble_within
from assay.flows.nights.settings import Mlflow
from assay.flows.report.comparison import flat_settings
from assay.infra.credentials import require_usable
from assay.infra.environment import prepare_environment
from assay.infra.errors import InputError, RunError
from assay.infra.manifests import RunRecord
from assay.infra.reasons import reason_of
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.run_findings import findings_of

if TYPE_CHECKING:
    from mlflow import MlflowClient

TAG = "assay.run"
_AT_ONCE = {"params": 100, "metrics": 1000}  # what MLflow takes in one call
_LONGEST = 500  # of a parameter: what old servers take


def send(store: Store, record: RunRecord, to: Mlflow) -> str:
    """Write the run to MLflow, once, within its time; says where it is."""
    written: list[str] = []
    trouble = trouble_within(to.seconds, "mlflow", lambda: written.append(_write(store, record, to)), _in_words)
    if trouble is not None:
        raise RunError(f"MLflow at {to.tracking_uri} did not take the run: {trouble}.")
    return f"{to.tracking_uri}, experiment {to.experiment}: run {written[0]}"


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


def _write(store: Store, record: RunRecord, to: Mlflow) -> str:
    """The id of the run in MLflow; one that is there already is not written again."""
    prepare_environment()
    require_usable("models:")
    try:
        from mlflow import MlflowClient
    except ImportError:
        raise InputError('MLflow is not installed: pip install "assay-audit[mlflow]"') from None
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
    _log(client, run, store, record, began)
    ended = "FINISHED" if record.status in ("done", "gate failed") else "FAILED"
    client.set_terminated(run, ended, began + round(record.seconds * 1000))
    return str(run)


def _log(client: MlflowClient, run: str, store: Store, record: RunRecord, began: int) -> None:
    from mlflow.entities import Metric, Param

    params = [Param(key, str(value)[:_LONGEST]) for key, value in _params(record)]
    findings = [] if record.findings is None else findings_of(store, record)
    metrics = [Metric(key, value, began, 0) for key, value in metrics_of(findings).items()]
    for at in range(0, len(params), _AT_ONCE["params"]):
        client.log_batch(run, params=params[at : at + _AT_ONCE["params"]])
    for at in range(0, len(metrics), _AT_ONCE["metrics"]):
        client.log_batch(run, metrics=metrics[at : at + _AT_ONCE["metrics"]])
    with tempfile.TemporaryDirectory() as place:
        for name in (f"reports/{record.id}/index.html", f"runs/{record.id}/findings.parquet"):
            if store.folder.exists(name):
                here = Path(place) / Path(name).name.replace("index", "report")
                here.write_bytes(store.folder.read(name))
                client.log_artifact(run, str(here))


def _params(record: RunRecord) -> Iterator[tuple[str, object]]:
    yield "seed", record.seed
    for key, value in flat_settings(record.settings).items():
        if value is not None and key != "seed":
            yield re.sub(r"[^\w./: -]", "_", key, flags=re.ASCII)[:250], value


def _tags(record: RunRecord) -> Iterator[tuple[str, str]]:
    yield TAG, record.id
    yield "assay.pipeline", record.pipeline
    yield "assay.status", record.status
    yield "assay.share", f"{record.share:g}"
    yield "assay.verdict", (record.worst or (record.verdicts or record.failures or [""])[0])[:_LONGEST]
    for gate in record.gates:
        yield f"assay.gate.{re.sub(r'[^A-Za-z0-9_. -]', '_', str(gate.get('gate')))[:200]}", str(gate.get("outcome"))


def _in_words(error: Exception) -> str:
    """Its first line, without anything that is a secret in the environment."""
    return reason_of(error).strip()[:300]
