"""What `notify:`, `mlflow:` and `openlineage:` in pipelines.yaml may say.

Secrets stand in the environment; the file says in which variables.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from assay.infra.settings import Settings

VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
_PUBLIC_URI = r"^[a-z][a-z0-9+]*:/{0,3}[^\s@]*$"


class Webhook(Settings):
    """An address of yours that takes a message as signed JSON."""

    url_from: str = Field(pattern=VARIABLE, examples=["ASSAY_WEBHOOK_URL"])
    """The environment variable that holds the address (`https://…`)."""

    secret_from: str = Field(pattern=VARIABLE, examples=["ASSAY_WEBHOOK_SECRET"])
    """The environment variable that holds the secret which messages are signed with."""

    seconds: float = Field(default=30.0, gt=0, le=300)
    """How long a delivery may take, with all its tries."""


class Services(Settings):
    """What Apprise reaches: mail, Slack, Teams, and a hundred others."""

    url_from: str = Field(pattern=VARIABLE, examples=["ASSAY_APPRISE_URLS"])
    """The environment variable that holds Apprise's URLs, with blanks between them."""

    seconds: float = Field(default=30.0, gt=0, le=300)
    """How long a delivery may take, to all of them."""


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


class Notify(Settings):
    """Who hears when a pipeline's state has changed: red, green again, broken, or a night that did not happen."""

    webhook: Webhook | None = Field(default=None, examples=["{url_from: HOOK_URL, secret_from: HOOK_SECRET}"])
    """A webhook: JSON, signed."""

    apprise: Services | None = Field(default=None, examples=["{url_from: APPRISE_URLS}"])
    """Services that Apprise reaches (extra `notify`)."""

    report_url: str | None = Field(default=None, pattern=r"^https?://\S+$", examples=["https://audits.example/reports"])
    """Where the store's folder `reports` can be opened; links in messages begin with it. Left out, they say where the
    report lies in the store."""

    at_latest: int = Field(default=60, ge=0, le=1440)
    """How many minutes a message waits, at the most, for other runs of the project that are due or under way."""

    grace: int = Field(default=30, ge=1, le=1440)
    """How many minutes after its time on the schedule a night without a run counts as missed."""

    @model_validator(mode="after")
    def _somebody_hears(self) -> Self:
        if self.webhook is None and self.apprise is None:
            raise ValueError("nobody would hear: give webhook or apprise")
        return self
