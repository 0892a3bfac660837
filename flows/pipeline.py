"""Pipelines: the settings of each audit, put together from the keys of the kinds of audit, with its schedule and
budget.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

from cronsim import CronSim, CronSimError
from pydantic import Field, create_model, field_validator, model_validator

from assay.data.catalog import is_masked
from assay.flows.kind import AuditKind, MissingThing, NamedColumn, missing_libraries
from assay.flows.notifiers.choice import VARIABLE
from assay.flows.notifiers.table import Notify
from assay.flows.validation import GIVEN
from assay.infra.settings import Compute, Settings, optional_field
from assay.infra.user_code.choices import with_types, without_plugins
from assay.tasks.attacks.table import AnyAttack
from assay.tasks.defenses.table import AnyDefence
from assay.tasks.ingest.settings import Source
from assay.tasks.statistics.settings import ErrorCost, Gate, Statistics
from assay.tasks.subjects.settings import Evaluation, Subject

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:(\d{1,4}(?:\.\d{1,3})?)h)?(?:(\d{1,6}(?:\.\d{1,3})?)m)?(?:(\d{1,8}(?:\.\d{1,3})?)s)?")


def seconds_in(text: str) -> float:
    """The seconds of a duration; raises ValueError where it is none, or nothing.

    >>> [seconds_in(text) for text in ("90s", "40m", "2h", "1h30m")]
    [90.0, 2400.0, 7200.0, 5400.0]
    """
    match = _DURATION.fullmatch(text.replace(" ", ""))
    parts = match.groups() if match else ()
    seconds = sum(float(number) * _UNITS[unit] for number, unit in zip(parts, "hms", strict=False) if number)
    if not seconds:
        raise ValueError("expected hours, minutes or seconds, as in 2h, 40m, 90s or 1h30m")
    return seconds


_FIELDS = {
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day-of-month": "1 to 31",
    "month": "1 to 12",
    "day-of-week": "0 to 7",
}
"""The fields of a cron line in order, and the numbers that each takes."""
_WRITTEN_OUT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_WANTED = 'expected a cron line such as "0 2 * * *"'
_FIRST_DAY, _FOUR_YEARS = datetime(2024, 1, 1), 1461


def read_cron(cron: str) -> CronSim:
    """A cron line that was read; ValueError says what is wrong with it.

    >>> sorted(read_cron("*/15 8-18 * * mon-fri").weekdays), read_cron("@daily").hours
    ([1, 2, 3, 4, 5], {0})
    >>> read_cron("0 25 * * *")
    Traceback (most recent call last):
    ValueError: expected a cron line such as "0 2 * * *": its hour is 25, and an hour is 0 to 23, alone, in a list \
(1,3), a range upwards (1-5) or steps (*/15)
    """
    fields = _WRITTEN_OUT.get(cron, cron).split()
    if len(fields) != len(_FIELDS):
        raise ValueError(
            f"{_WANTED}: it has {len(fields)} fields, and cron has five (minute, hour, day, month, weekday)"
        )
    try:
        line = CronSim(" ".join(fields), _FIRST_DAY)
    except CronSimError as error:
        wrong = str(error).removeprefix("Bad ")
    else:  # the last day of a month and its second Monday are understood here, and not by all of Prefect
        if all(isinstance(day, int) and day >= 0 for day in (*line.days, *line.weekdays)):
            return line
        wrong = "day-of-month" if min(line.days) < 0 else "day-of-week"
    written, words = fields[list(_FIELDS).index(wrong)], wrong.replace("-of-", " of the ")
    numbers = f"{'an' if wrong == 'hour' else 'a'} {words} is {_FIELDS[wrong]}"
    forms = "alone, in a list (1,3), a range upwards (1-5) or steps (*/15)"
    raise ValueError(f"{_WANTED}: its {words} is {written}, and {numbers}, {forms}")


def times_due(cron: str, days: float) -> float:
    """How often a cron line that can be read comes due in so many days, on average over four years.

    >>> [round(times_due(line, 28), 1) for line in ("0 2 * * *", "0 2,14 * * mon-fri", "@weekly", "0 0 1 * mon")]
    [28.0, 40.1, 4.0, 4.8]
    """
    line = read_cron(cron)
    dates = (_FIRST_DAY + timedelta(days=number) for number in range(_FOUR_YEARS))
    due = sum(date.month in line.months and line.match_day(date) for date in dates)
    return due * len(line.minutes) * len(line.hours) * days / _FOUR_YEARS


S = TypeVar("S", bound=Settings)

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
CHANGES_NO_FINDING = ("name", "description", "schedule", "budget", "gates")
"""What of a pipeline changes nothing that is measured."""


class Pipeline(Settings):
    """One audit: its data, rules, models, stages, gates and schedule. A stage that is left out is skipped."""

    name: str = Field(json_schema_extra=GIVEN)
    """The key it stands under in pipelines.yaml: letters, digits, dots, dashes and underscores."""

    description: str = ""
    """One sentence for `assay list` and the report."""

    schedule: str | None = Field(default=None, examples=["0 2 * * *"])
    """When `assay serve` runs it, a cron line; left out, only on request."""

    budget: str | None = Field(default=None, examples=["40m", "2h", "90s"], exclude_if=lambda budget: budget is None)
    """After so long no further stage is begun, what was made is reported, and the next run goes on."""

    source: Source = Field(examples=["{dataset: sample/breast-cancer}", "{parquet: data/*.parquet, label: gold}"])
    """Where the samples come from."""

    subject: Subject | None = Field(default=None, examples=["{model: logistic}"])
    """The model under audit; several go into `subjects`."""

    subjects: tuple[Subject, ...] = ()
    """The models under audit, each with a name of its own."""

    evaluation: Evaluation = Evaluation()
    """Which samples images and texts are audited on, and which may train."""

    attacks: tuple[AnyAttack, ...] = Field(default=(), examples=["[{attack: pgd, eps: [0, 4/255, 0.1], steps: 20}]"])
    """What is done to images, texts or terms to make the subjects wrong."""

    defenses: tuple[AnyDefence, ...] = Field(default=(), examples=["[{defense: maadvt, eps: 0.1, lambda: 6}]"])
    """How subjects are trained to withstand attacks; each defended model is audited like the original."""

    classes: dict[str, ErrorCost] = Field(default_factory=dict, examples=["{malignant: {miss: 10}}"])
    """What errors cost, by class; the expected cost per sample then stands before every accuracy."""

    statistics: Statistics = Statistics()
    """How the findings are judged together."""

    gates: tuple[Gate, ...] = Field(
        default=(), examples=["[{finding: ordering.trend_p, of: ours, group: majority, at_most: 0.01}]"]
    )
    """Bounds on findings; one that is not kept makes the exit code 1."""

    kinds: ClassVar[tuple[AuditKind[Any], ...]] = ()
    """The kinds of audit whose keys it may have."""

    @property
    def parts(self) -> dict[str, Settings]:
        """The settings of the audits that are asked for, by key."""
        keys = [key.name for kind in self.kinds for key in kind.keys]
        return {key: settings for key in keys if (settings := getattr(self, key)) is not None}

    def asked(self, settings: type[S]) -> S | None:
        """The settings of that model, where the pipeline has them."""
        return next((part for part in self.parts.values() if isinstance(part, settings)), None)

    @property
    def masked(self) -> bool:
        """Whether no word of the texts may be shown, in reports or errors: as the source says, or its data set does in
        the catalogue, or one of its audits."""
        if self.source.masked is not None:
            return self.source.masked
        return is_masked(self.source.dataset) or any(getattr(part, "masked", False) for part in self.parts.values())

    def named_columns(self, folder: Path) -> Iterator[NamedColumn]:
        """Every column of the samples that audits read by name: where it is named, its name, and who reads it; files
        that name some lie in the folder."""
        return (each for kind in self.kinds for each in (*kind.columns(self), *kind.columns_in_files(self, folder)))

    def missing_things(self, folder: Path) -> Iterator[MissingThing]:
        """Everything that it names and that cannot be had; its paths start from the folder."""
        needed = (extra for kind in self.kinds if kind.asked(self) for extra in kind.extras(self))
        lacking = [*missing_libraries(needed)]
        yield from lacking or (missing for kind in self.kinds for missing in kind.missing(self, folder))

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not re.fullmatch(NAME, name):
            raise ValueError(
                "a pipeline is named by up to 80 letters, digits, dots, dashes and underscores, as in night-1"
            )
        return name

    @field_validator("budget", mode="before")
    @classmethod
    def _readable_budget(cls, budget: object) -> object:
        if budget is not None:
            seconds_in(str(budget))
        return budget

    @property
    def seconds_allowed(self) -> float | None:
        """How many seconds a run may take; None for as long as it takes."""
        return None if self.budget is None else seconds_in(self.budget)

    @field_validator("schedule")
    @classmethod
    def _readable_cron(cls, schedule: str | None) -> str | None:
        if schedule is not None:
            read_cron(schedule)
        return schedule


@lru_cache(maxsize=16)
def pipeline_model(kinds: tuple[AuditKind[Any], ...], types: tuple[tuple[str, Any], ...] = ()) -> type[Pipeline]:
    """The model of a pipeline that may ask for these kinds of audit: each brings its keys. `types` are the fields of
    every pipeline that plug-ins give other types. Kept, since pydantic takes a quarter of a second to make it."""
    keys: dict[str, Any] = {key.name: optional_field(key.settings, key.example) for kind in kinds for key in kind.keys}
    base = with_types(Pipeline, dict(types)) if types else Pipeline
    model = create_model("Pipeline", __base__=base, __module__=__name__, __doc__=Pipeline.__doc__, **keys)
    model.kinds = kinds
    return model


def pipeline_of_record(model: type[Pipeline], settings: Mapping[str, Any]) -> Pipeline:
    """The pipeline that the record of a run describes; a class balance is left out of a record where it is uniform."""
    written = without_plugins(settings)
    weak_labels = written.get("weak_labels")
    stated = {"weak_labels": {"class_balance": "uniform", **weak_labels}} if weak_labels else {}
    return model.model_validate({**written, **stated})


# Secrets stand in the environment; the file says in which variables.
_PUBLIC_URI = r"^[a-z][a-z0-9+]*:/{0,3}[^\s@]*$"


class Mlflow(Settings):
    """An MLflow that every run is written to: parameters, metrics, and the report as an artifact (extra `mlflow`)."""

    tracking_uri: str = Field(pattern=_PUBLIC_URI, examples=["https://mlflow.example", "sqlite:///mlflow.db"])
    """Its address, without user or password: those are MLflow's environment variables."""

    experiment: str = Field(default="assay", min_length=1)
    """The experiment of the runs; made where there is none."""

    seconds: float = Field(default=60.0, gt=0, le=600)
    """How long that may take at the end of a run."""


class OpenLineage(Settings):
    """Where every run's lineage goes as OpenLineage events (extra `openlineage`): to a server or into a file."""

    url: str | None = Field(default=None, pattern=_PUBLIC_URI, examples=["https://marquez.example"])
    """A server that takes OpenLineage, without user or password."""

    file: str | None = Field(default=None, min_length=1, examples=["lineage.jsonl"])
    """Or a file beside pipelines.yaml, an event a line."""

    key_from: str | None = Field(default=None, pattern=VARIABLE, examples=["OPENLINEAGE_API_KEY"])
    """The environment variable with the server's API key."""

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


class Alarms(Settings):
    """A budget of false alarms over all gates on change of a project."""

    false: float = Field(gt=0, examples=["1"])
    """So many false alarms are expected at most."""

    per: Literal["week", "month", "quarter", "year"] = "quarter"
    """In that time."""


class ProjectFile(Settings):
    """What pipelines.yaml may say."""

    store: str = Field(default="artifacts", min_length=1, examples=["artifacts", "s3://bucket/prefix"])
    """Where everything lies: a folder beside pipelines.yaml, or any fsspec URL."""

    compute: Compute = Field(default=Compute(), examples=["{engine: local, workers: auto, gpu: preferred}"])
    """Where the work runs; it changes no result."""

    prometheus: str | None = Field(default=None, pattern=r"\.prom$", examples=["/var/lib/node_exporter/assay.prom"])
    """A file, ending in `.prom`, that every run writes for Prometheus' textfile collector."""

    notify: Notify | None = Field(default=None, examples=["{apprise: {url_from: APPRISE_URLS}}"])
    """Who hears that a pipeline's state changed."""

    mlflow: Mlflow | None = Field(default=None, examples=["{tracking_uri: https://mlflow.example, experiment: audits}"])
    """An MLflow that every run is written to as well."""

    openlineage: OpenLineage | None = Field(default=None, examples=["{url: https://marquez.example}"])
    """Where every run's lineage goes as OpenLineage events."""

    keep_mib: int = Field(default=64, ge=0, le=65536, examples=["64"])
    """Your own files are kept for `assay blame`, each up to so many MiB; 0 keeps none."""

    audits: tuple[str, ...] = Field(default=(), examples=["[assay_balance:BALANCE]"])
    """Kinds of audit of your own; those of installed packages need no line."""

    alarms: Alarms | None = Field(default=None, examples=["{false: 1, per: quarter}"])
    """How many false alarms all gates on change may raise together; left out, each look is at 2.5 %, one-sided."""

    pipelines: dict[str, Pipeline]
    """The audits, by name."""


@lru_cache(maxsize=16)
def file_model(
    kinds: tuple[AuditKind[Any], ...], types: tuple[tuple[str, Any], ...] = (), notify: type[Notify] = Notify
) -> type[ProjectFile]:
    """The model of a pipelines.yaml whose pipelines may ask for these kinds of audit, and that can name notifiers."""
    pipelines: Any = dict[str, pipeline_model(kinds, types)]  # type: ignore[misc]  # a type that is made as the program runs
    field = Field(description="The audits, by name.")
    base = ProjectFile if notify is Notify else with_types(ProjectFile, {"notify": notify | None})
    return create_model("ProjectFile", __base__=base, __module__=__name__, pipelines=(pipelines, field))
