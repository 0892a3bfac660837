"""One run sent to where other tools look: MLflow, and whoever takes OpenLineage."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from assay.flows.nights import lineage, mlflow_runs
from assay.flows.nights.settings import Mlflow, OpenLineage
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store


def to_mlflow(store: Store, record: RunRecord, uri: str) -> str:
    """Write the run to the MLflow at an address; says where it is there."""
    try:
        to = Mlflow(tracking_uri=uri)
    except ValidationError:
        raise InputError(
            "--mlflow wants an address without a user or password (https://mlflow.example, sqlite:///mlflow.db): "
            "MLflow takes those from MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD."
        ) from None
    return mlflow_runs.send(store, record, to)


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
    return lineage.send(store, record, to, Path.cwd())
