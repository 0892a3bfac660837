"""A kind of audit is a value: its settings, what it stands on, what it runs, measures and shows, and what a
pipeline may not ask of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.catalog import catalog
from assay.flows.yaml_document import Value, Where, dotted, nearest, shown
from assay.infra.errors import AssayError, InputError, SettingError, blamed_on, setting_path
from assay.infra.settings import Settings
from assay.infra.storage.artifacts import Artifact
from assay.infra.user_code.choices import Choices
from assay.tasks.ingest.settings import ORIGINS, Source
from assay.tasks.statistics.between_runs import Sampled
from assay.tasks.statistics.groups import GROUP, named_groups
from assay.tasks.statistics.metrics import Metric
from assay.tasks.subjects.settings import KNOWN

if TYPE_CHECKING:
    from assay.data.schemas import Findings, SampleHardness
    from assay.flows.pipeline import Pipeline, Project
    from assay.infra.stages.runs import Run
    from assay.infra.user_code.choices import Origin
    from assay.tasks.ingest.sources import FirstLook
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.reporting.report import Headline
    from assay.tasks.statistics.findings import Finding, FindingIndex


@dataclass(frozen=True)
class Clash:
    """Two settings that cannot both stand: where to change one, and why."""

    where: Where
    why: str


class WrittenPipeline(dict[str, Value]):
    """A pipeline as it was written, short forms written out, with the choices of plug-ins that its words are of."""

    tables: Mapping[Where, Choices[Any]] = MappingProxyType({})
    """The tables of choices, by the place in a pipeline where their words are named."""


def choice_named(pipeline: dict[str, Value], place: Where, word: Value, ours: Choices[Any]) -> Any:
    """The choice that a word at a place of the pipeline names, one of ours or of a plug-in's; None for no such word."""
    tables = pipeline.tables if isinstance(pipeline, WrittenPipeline) else {}
    return next((choice for choice in tables.get(place, ours) if choice.word == word), None)


def each_subject(pipeline: dict[str, Value]) -> Iterator[tuple[Where, dict[str, Value]]]:
    """Every subject, and where it stands."""
    if isinstance(pipeline.get("subject"), dict):
        yield ("subject",), as_dict(pipeline["subject"])
    for position, subject in enumerate(as_list(pipeline.get("subjects"))):
        if isinstance(subject, dict):
            yield ("subjects", position), subject


def name_of(subject: dict[str, Value]) -> str:
    """What a subject is called."""
    return str(subject.get("name") or "subject")


def as_dict(value: Value) -> dict[str, Value]:
    """The mapping, or an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def as_list(value: Value) -> list[Value]:
    """The list, or an empty one where it is none."""
    return value if isinstance(value, list) else []


NamedColumn = tuple[Where, str, str]
"""Where a column is named, its name, and who reads it."""


def named_columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """Every column of the samples that audits read by name."""
    for kind in pipeline.kinds:
        yield from kind.columns(pipeline)


def no_such_column(column: str, reader: str, columns: Sequence[str]) -> str:
    """What is wrong with a column that the samples do not have.

    >>> no_such_column("txt", "the classifier reads", ["text", "age"])
    "the samples have no column 'txt', which the classifier reads; beside id and label they have text, age."
    """
    listed = ", ".join(columns[:20]) + (", …" if len(columns) > 20 else "")
    return f"the samples have no column {column!r}, which {reader}; beside id and label they have {listed}."


Known = Mapping[str, Sequence[str]]
"""The names that Assay has something for, by the setting that can say them."""

MOST_TOLD = 12
"""So many columns that are not there are told together."""

LEARNERS = ("network", "classifier", "tagger", "scorer")
"""The ways to name a subject that is audited on a part of the samples."""

SUBJECT: Known = {str(way): names for way, names in KNOWN.items()}


@dataclass(frozen=True)
class MissingThing:
    """Something that is named (`word`, at `where` inside the pipeline) and cannot be had; `to_get` is whether the
    catalogue has it."""

    where: Where
    word: str | None
    error: AssayError
    to_get: bool = False
    meant: str | None = None

    def said(self, project: Project, pipeline: Pipeline) -> str:
        """The whole sentence, with the file and the line."""
        where = project.lines.written(("pipelines", pipeline.name, *self.where))
        what = ": ".join([dotted(where[2:]), *([] if self.word is None else [shown(self.word)])])
        hint = f" Did you mean {self.meant}?" if self.meant else ""
        return f"{project.lines.place(where)}: {what} — {self.error}{hint}"


def missing_things(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """Everything that a pipeline names and that cannot be had."""
    for kind in pipeline.kinds:
        yield from kind.missing(pipeline, folder)


def missing_in_source(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """What the source names and cannot be had; where its files are there, columns that they do not have."""
    from assay.tasks.ingest.sources import blame_for, first_look, resolve
    from assay.tasks.subjects.holding_out import require_splits

    source: Source | None = pipeline.source
    part = pipeline.evaluation.column or pipeline.source.split
    seen: list[FirstLook] = []
    for _ in range(MOST_TOLD):
        if source is None:
            return
        with_its_setting = blamed_on(*blame_for(source))
        look = with_its_setting(partial(lambda found: seen.append(first_look(resolve(found, folder), part)), source))
        wrong = list(missing_if_fails(("source",), {}, look))
        yield from wrong
        if not wrong:
            break
        source = _without(source, wrong[0])
    if seen and seen[0].columns and source == pipeline.source:
        yield from missing_columns(pipeline, seen[0].columns)
    if seen and seen[0].types is not None:
        yield from _no_predictions(pipeline, seen[0].types)
    parts, asked = seen[0].parts if seen else None, pipeline.evaluation
    if parts and any(getattr(one, way) is not None for one in pipeline.subjects for way in LEARNERS):
        yield from missing_if_fails(("evaluation",), {}, lambda: require_splits(parts, asked))


def _no_predictions(pipeline: Pipeline, types: pa.Schema) -> Iterator[MissingThing]:
    """The columns of predictions that hold something else."""
    from assay.tasks.subjects.predictions import require_codes

    for position, subject in enumerate(pipeline.subjects):
        column = subject.predictions
        if column is not None and column in types.names:
            where: Where = ("subject",) if pipeline.subject is not None else ("subjects", position)
            blamed = blamed_on("predictions", column)
            yield from missing_if_fails(where, {}, blamed(partial(require_codes, types.field(column).type, column)))


def _without(source: Source, missing: MissingThing) -> Source | None:
    """The source without the setting that names a column which is not there, so that the next one is found as well."""
    setting, word = str(missing.where[1]) if len(missing.where) > 1 else "", missing.word
    if setting not in Source.model_fields:
        return None
    named = getattr(source, setting)
    fewer = tuple(one for one in named if one != word) if isinstance(named, tuple) else None
    optional = setting == "required" or Source.model_fields[setting].default is None
    if named is None or isinstance(named, dict) or setting in ORIGINS or not optional:
        return None
    about_it = {"pixels": None} if setting == "image" else {}
    return source.model_copy(update={setting: fewer or (() if setting == "required" else None), **about_it})


def missing_columns(pipeline: Pipeline, columns: Sequence[str]) -> Iterator[MissingThing]:
    """The columns that are named outside the source and that its files do not have."""
    for where, column, reader in named_columns(pipeline):
        if column not in (*columns, pipeline.source.label, pipeline.source.id):
            error = InputError(no_such_column(column, reader, columns))
            yield MissingThing(where, column, error, meant=nearest(column, columns))


def is_subject(missing: MissingThing) -> bool:
    """Whether it is a model under audit that is missing: of several, the others can do without it."""
    return missing.where[0] in ("subject", "subjects")


def missing_if_fails(where: Where, known: Known, attempt: Callable[[], object]) -> Iterator[MissingThing]:
    """Nothing, or what the attempt could not find, blamed on the setting that its error names."""
    try:
        attempt()
    except SettingError as error:
        place, word = setting_path(error.setting), error.word or None
        names = known.get(str(place[0]), ())
        meant = nearest(word, names) if word is not None and word not in names else None
        told_already = meant is None or "id you mean" in str(error)
        yield MissingThing((*where, *place), word, error, word in catalog(), None if told_already else meant)
    except AssayError as error:
        yield MissingThing(where, None, error)


SAMPLES = "samples"
"""The name of the table of samples, which says what group each belongs to."""


@dataclass(frozen=True)
class Outcomes:
    """The tables behind the findings of one metric on one subject; `reading` says how the audit finds the rows.

    `of` is what the findings are of; empty where the tables say it themselves.
    """

    metric: str
    subject: str
    reading: str
    tables: Mapping[str, Artifact[Any]]
    of: str = ""
    audit: str = ""
    """The kind of audit that reads them."""
    key: str = field(default="")
    """What one of several like it is called, where tables hold no name of their own."""

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        plain = {name: getattr(self, name) for name in ("metric", "subject", "reading", "of", "audit", "key")}
        return plain | {"tables": {name: one.to_json() for name, one in self.tables.items()}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """What `to_json` described."""
        tables = {name: Artifact[Any].from_json(one) for name, one in value["tables"].items()}
        return cls(**{**value, "tables": tables})


Handles = dict[str, Artifact[Any]]
"""The tables of outcomes, by name."""


class Tables(Protocol):
    """The tables of outcomes, read as far as they are asked for."""

    def read(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Those of the columns that the table of that name has, in sample order."""


def codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """A column of class codes; -1 where none is known."""
    return np.asarray(pc.fill_null(column, -1).to_numpy(), dtype=np.int64)


def in_groups(sampled: Sampled, tables: Tables) -> Sampled:
    """The samples with the group that each belongs to, where the user named a column of groups."""
    samples = tables.read(SAMPLES, ["id", GROUP])
    if GROUP not in samples.column_names:
        return sampled
    at = pc.index_in(pa.array(sampled.ids.tolist(), pa.string()), value_set=samples["id"].combine_chunks())
    return replace(sampled, groups=np.array(named_groups(samples), dtype=np.str_)[at.to_numpy()])


if TYPE_CHECKING:
    Written = dict[str, Value]
    """A pipeline as it stands in the file, before it is validated."""


class Result(Protocol):
    """What an audit made, as handles: frozen, complete or absent."""

    @property
    def findings(self) -> Sequence[Artifact[Findings]]:
        """What was measured, in the order it is read."""


R = TypeVar("R", bound=Result)
T = TypeVar("T")


@dataclass(frozen=True)
class Ground:
    """What an audit stands on: the pipeline, the folder that its paths start from, and the results of other audits."""

    pipeline: Pipeline
    folder: Path
    results: Mapping[str, Any] = field(default_factory=dict)

    def of(self, result: type[T]) -> T:
        """The result of that type; the audit says in `stands_on` whose it is."""
        instance = self.maybe(result)
        if instance is None:
            raise LookupError(
                f"no audit below gave {result.__name__}: it is missing in stands_on, or was not asked for"
            )
        return instance

    def maybe(self, result: type[T]) -> T | None:
        """The result of that type, where the audit that gives it was asked for."""
        return next((one for one in self.results.values() if isinstance(one, result)), None)


@dataclass(frozen=True)
class Key:
    """A key that an audit has in pipelines.yaml: the model of its settings, a sentence, and how it may be written."""

    name: str
    settings: type[Settings]
    about: str
    example: str


@dataclass(frozen=True)
class Measured:
    """The findings of one stage (`ordering.…`) that gates may name, and the keys any of which makes them exist."""

    stage: str
    metrics: tuple[Metric, ...]
    keys: tuple[str, ...]
    gate: Callable[[Written, Written, Where], Iterator[Clash]] | None = None
    """What cannot be in a gate on this stage, given the pipeline, the gate, and where it stands."""
    also: Callable[[Written], bool] = lambda _pipeline: False
    """Whether the findings exist although none of the keys is there."""

    @property
    def names(self) -> list[str]:
        """The findings by their names."""
        return sorted(metric.name for metric in self.metrics)


def nothing(*_: object) -> Iterator[Any]:
    """Nothing: what an audit has to say that has nothing to say."""
    return iter(())


@dataclass(frozen=True)
class AuditKind(Generic[R]):
    """One kind of audit. `asked` says of a pipeline whether it wants it; `run` calls stages and returns handles."""

    name: str
    asked: Callable[[Pipeline], bool]
    run: Callable[[Ground], R]
    keys: tuple[Key, ...] = ()
    stands_on: tuple[str, ...] = ()
    """The audits whose results it takes, as far as they were asked for; the rest runs at once."""
    only_if: Mapping[str, Callable[[Pipeline], bool]] = field(default_factory=dict)
    """Of these, those whose results it takes only in pipelines of which this holds."""
    after: tuple[str, ...] = ()
    """The audits that it waits for and whose results it takes where they came through; it goes on without them."""
    measures: tuple[Measured, ...] = ()
    clashes: Callable[[Written], Iterator[Clash]] = nothing
    """What cannot be together, in a pipeline as it was written."""
    columns: Callable[[Pipeline], Iterator[NamedColumn]] = nothing
    """The columns of the samples that it reads by name."""
    missing: Callable[[Pipeline, Path], Iterator[MissingThing]] = nothing
    """What the pipeline names and cannot be had, looked for before anything runs."""
    libraries: Callable[[Pipeline], Iterable[str]] = nothing
    """The modules that take seconds to import and that its calls on workers need: local workers import them as they
    start, so that no stage is charged for being the first."""
    afterwards: Callable[[Ground, R, Run], tuple[R, Sequence[Finding]]] = lambda _ground, result, _run: (result, ())
    """The result with what only this run can say of it (how long, which look), and the findings on that."""
    hardness: Callable[[Ground, R], Iterator[Artifact[SampleHardness]]] = nothing
    """How hard it found each sample, by a measure or several; called where the pipeline asks for `hardness`."""
    page: Callable[[Ground, R, FindingIndex], Iterator[Part]] = nothing
    """The parts of the report that a reader came for."""
    background: Callable[[Ground, R, FindingIndex], Iterator[Part]] = nothing
    """The parts about how it came about, which stand behind the results of all audits."""
    verdict: Callable[[FindingIndex], Iterable[Verdict]] = nothing
    """What is read first: a sentence or a few, where there is something to say."""
    followed: Callable[[FindingIndex], Iterable[Headline]] = nothing
    """The numbers that are followed over the nights."""
    outcomes: Callable[[Ground, R], Iterable[Outcomes]] = nothing
    """Where what single samples add to its findings lies: what two runs are compared by, and gates on change judge."""
    sampled: Callable[[Outcomes, Tables, str, str], Sampled | None] = lambda *_: None
    """What single samples add to the finding of those outcomes with this `of` and `group`; None if there is none."""
    origin: Origin | None = None
    """Where it comes from, if it is a plug-in; filled in when it is loaded."""

    @property
    def identity(self) -> dict[str, str] | None:
        """What of a plug-in enters the keys of its stages."""
        return None if self.origin is None else self.origin.identity

    def below(self, pipeline: Pipeline) -> tuple[str, ...]:
        """The audits whose results it takes in this pipeline."""
        return tuple(name for name in self.stands_on if name not in self.only_if or self.only_if[name](pipeline))
