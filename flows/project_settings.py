"""What `mlflow:` and `openlineage:` in pipelines.yaml may say.

Secrets stand in the environment; the file says in which variables.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from assay.flows.notifiers.choice import VARIABLE
from assay.infra.settings import Settings

_PUBLIC_URI = r"^[a-z][a-z0-9+]*:/{0,3}[^\s@]*$"


class Mlflow(Settings):
    """An MLflow that every run is written to: parameters, metrics, and the report as an artifact (extra `mlflow`)."""

    tracking_uri: str = Field(pattern=_PUBLIC_URI, examples=["https://mlflow.example", "sqlite:///mlflow.db"])
    """Its address, without a user or password: MLflow takes those from its own environment variables."""

    experiment: str = Field(default="assay", min_length=1)
    """The experiment that runs are put into; it is made where there is none."""

    seconds: float = Field(default=60.0, gt=0, le=600)
    """How long that may take at the end of a run."""


class OpenLineage(Settings):
    """Where every run's lineage goes as OpenLineage events (extra `openlineage`): to a server or into a file."""

    url: str | None = Field(default=None, pattern=_PUBLIC_URI, examples=["https://marquez.example"])
    """The address of a server that takes OpenLineage, without a user or password."""

    file: str | None = Field(default=None, min_length=1, examples=["lineage.jsonl"])
    """Or a file beside pipelines.yaml that the events are appended to, one a line."""

    key_from: str | None = Field(default=None, pattern=VARIABLE, examples=["OPENLINEAGE_API_KEY"])
    """The environment variable that holds the server's API key, where it wants one."""

    namespace: str = Field(default="assay", min_length=1)
    """The namespace of the jobs."""

    seconds: float = Field(default=30.0, gt=0, le=600)
    """How long that may take at the end of a run."""

    @model_validator(mode="after")
    def _goes_one_way(self) -> Self:
        if (self.url is None) == (self.file is None):
            raise ValueError("lineage goes to one place: give url or file")
        if self.key_from is not None and self.url is None:
            raise ValueError("a file wants no API key: leave key_from out")
        return self
