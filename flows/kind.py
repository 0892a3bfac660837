"""A kind of audit is a value: its settings, what it stands on, what it runs, measures and shows, and what a
pipeline may not ask of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.catalog import catalog
from assay.flows.yaml_document import Lines, Value, Where, dotted, nearest, shown, suggestion
from assay.flows.yaml_document import as_dict as as_dict
from assay.flows.yaml_document import as_list as as_list
from assay.infra.errors import AssayError, InputError, SettingError, absent_libraries, install_command, setting_path
from assay.infra.settings import Settings
from assay.infra.storage.artifacts import Artifact
from assay.infra.user_code.choices import Choices
from assay.tasks.statistics.between_runs import Sampled
from assay.tasks.statistics.metrics import Metric
from assay.tasks.subjects.settings import KNOWN

if TYPE_CHECKING:
    from assay.data.schemas import Findings, SampleHardness
    from assay.infra.stages.runs import Run
    from assay.infra.user_code.choices import Origin
    from assay.tasks.attacks.table import AnyAttack
    from assay.tasks.defenses.table import AnyDefence
    from assay.tasks.ingest.settings import Source
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.reporting.report import Headline
    from assay.tasks.statistics.findings import Finding, FindingIndex
    from assay.tasks.statistics.settings import Statistics
    from assay.tasks.subjects.settings import Evaluation, Subject


@dataclass(frozen=True)
class Clash:
    """Two settings that cannot both stand: where to change one, and why."""

    where: Where
    why: str


def unknown(where: Where, name: Value, what: str, known: Collection[str]) -> Iterator[Clash]:
    """A name that nothing in the pipeline has, and the one that was probably meant."""
    if isinstance(name, str) and name not in known:
        yield Clash(where, f"there is no such {what}; {suggestion(name, known)}")


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


NamedColumn = tuple[Where, str, str]
"""Where a column is named, its name, and who reads it."""


S = TypeVar("S", bound=Settings)
T = TypeVar("T")


class AuditRequest(Protocol):
    """What an audit may read of the pipeline that asks for it."""

    source: Source
    """Where the samples come from."""

    subject: Subject | None
    """The model under audit, where the pipeline was written with a single one."""

    subjects: tuple[Subject, ...]
    """The models under audit, a single one among them."""

    evaluation: Evaluation
    """Which samples images and texts are audited on, and which may train."""

    attacks: tuple[AnyAttack, ...]
    """What is done to images, texts or terms."""

    defenses: tuple[AnyDefence, ...]
    """How subjects are trained to withstand attacks."""

    statistics: Statistics
    """How the findings are judged together."""

    @property
    def masked(self) -> bool:
        """Whether no word of the texts may be shown."""

    def asked(self, settings: type[S]) -> S | None:
        """The settings of that model, where the pipeline has them."""

    def named_columns(self, folder: Path) -> Iterator[NamedColumn]:
        """Every column of the samples that audits read by name; files that name some lie in the folder."""


def of_type(settings: Iterable[object], kind: type[T]) -> tuple[T, ...]:
    """Of several settings, those that are of a type: the attacks on images, the defences of texts."""
    return tuple(each for each in settings if isinstance(each, kind))


def placed_subjects(pipeline: AuditRequest) -> Iterator[tuple[Where, Subject]]:
    """Every subject, and where it stands in the pipeline."""
    for position, subject in enumerate(pipeline.subjects):
        yield ("subject",) if pipeline.subject is not None else ("subjects", position), subject


Known = Mapping[str, Sequence[str]]
"""The names that Assay has something for, by the setting that can say them."""

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

    def in_words(self, lines: Lines, pipeline: str) -> str:
        """The whole sentence, with the file and the line."""
        where = lines.written(("pipelines", pipeline, *self.where))
        what = ": ".join([dotted(where[2:]), *([] if self.word is None else [shown(self.word)])])
        hint = f" Did you mean {self.meant}?" if self.meant else ""
        return f"{lines.place(where)}: {what} — {self.error}{hint}"


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
        hinted = meant is None or "id you mean" in str(error)
        yield MissingThing((*where, *place), word, error, word in catalog(), None if hinted else meant)
    except AssayError as error:
        yield MissingThing(where, None, error)


def missing_libraries(needed: Iterable[tuple[Where, str]]) -> Iterator[MissingThing]:
    """The settings that need extras whose libraries are not installed, each with the command that installs them all."""
    lacking = {where: (extra, absent) for where, extra in needed if (absent := absent_libraries(extra))}
    command = install_command(*(extra for extra, _ in lacking.values()))
    for where, (extra, absent) in lacking.items():
        why = f"needs {', '.join(absent)} (the extra `{extra}`), which is not installed: run `{command}`."
        yield MissingThing(where, None, InputError(why))


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
    key: str = ""
    """What one of several like it is called, where tables hold no name of their own."""

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """What `to_json` described."""
        tables = {name: Artifact[Any].from_json(table) for name, table in value["tables"].items()}
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


Written = dict[str, Value]
"""A pipeline as it stands in the file, before it is validated."""


class Result(Protocol):
    """What an audit made, as handles: frozen, complete or absent."""

    @property
    def findings(self) -> Sequence[Artifact[Findings]]:
        """What was measured, in the order it is read."""


@dataclass(frozen=True)
class Measurements:
    """What an audit made of which others need nothing but the findings."""

    findings: Sequence[Artifact[Findings]] = ()


R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class BySubject(Generic[R]):
    """What an audit made of each subject that came through, by its name."""

    subjects: Mapping[str, R]

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """What was measured, subject by subject."""
        return [findings for made in self.subjects.values() for findings in made.findings]


@dataclass(frozen=True)
class Ground:
    """What an audit stands on: the pipeline, the folder that its paths start from, and the results of other audits."""

    pipeline: AuditRequest
    folder: Path
    results: Mapping[str, Any] = field(default_factory=dict)
    later: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """By name, what waits for the audits that it asks later for and gives their results."""
    data_folder: Path | None = None
    """Where the paths of the source start from, if elsewhere: images are not followed out of it by links."""

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
        return next((made for made in self.results.values() if isinstance(made, result)), None)

    def awaited(self, result: type[T]) -> T | None:
        """The result of that type of an audit in `asks_later`, once that audit is over; None where it failed."""
        return next((made for made in (wait() for wait in self.later.values()) if isinstance(made, result)), None)


@dataclass(frozen=True)
class Key:
    """A key that an audit has in pipelines.yaml: the model of its settings, and how it may be written. What it is about
    the docstring of the settings says."""

    name: str
    settings: type[Settings]
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


@dataclass(frozen=True)
class LateFunction:
    """A function of a module that is imported when it is first called."""

    module: str
    name: str

    def __call__(self, *arguments: Any) -> Any:
        """What the function gives."""
        return self.load()(*arguments)

    def load(self) -> Callable[..., Any]:
        """The function itself."""
        function: Callable[..., Any] = getattr(import_module(self.module), self.name)
        return function


@dataclass(frozen=True)
class Late:
    """A module whose functions make the parts of a kind of audit: imported when the first of them is called, so that
    the table of kinds stays light.

    >>> Late("assay.flows.audits.data").ingest_samples.load().__name__
    'ingest_samples'
    """

    module: str

    def __getattr__(self, name: str) -> LateFunction:
        return LateFunction(self.module, name)


def nothing(*_: object) -> Iterator[Any]:
    """Nothing: what an audit has to say that has nothing to say."""
    return iter(())


def shown_if_measured(stage: str, page: Callable[[FindingIndex], Part]) -> Callable[..., Iterator[Part]]:
    """The page of an audit that shows nothing but its findings: of one stage, where there are any."""

    def show(_ground: Ground, _made: object, findings: FindingIndex) -> Iterator[Part]:
        if findings.select(stage):
            yield page(findings)

    return show


def listed_columns(pipeline: AuditRequest, settings: type[Settings], key: str, reader: str) -> Iterator[NamedColumn]:
    """The columns that the settings of a key list."""
    for at, column in enumerate(getattr(pipeline.asked(settings), "columns", ())):
        yield (key, "columns", at), column, reader


@dataclass(frozen=True)
class AuditKind(Generic[R]):
    """One kind of audit. `asked` says of a pipeline whether it wants it; `run` calls stages and returns handles."""

    name: str
    asked: Callable[[AuditRequest], bool]
    run: Callable[..., R]
    """Given the ground, and the settings of its keys in order, None for those that are left out."""
    keys: tuple[Key, ...] = ()
    stands_on: tuple[str, ...] = ()
    """The audits whose results it takes, as far as they were asked for; the rest runs at once."""
    only_if: Mapping[str, Callable[[AuditRequest], bool]] = field(default_factory=dict)
    """Of these, those whose results it takes only in pipelines of which this holds."""
    asks_later: Collection[str] = ()
    """Of those it stands on, the ones it does not wait for: their results are there once it asks (`ground.awaited`)."""
    after: tuple[str, ...] = ()
    """The audits that it waits for and whose results it takes where they came through; it goes on without them."""
    measures: tuple[Measured, ...] = ()
    clashes: Callable[[Written], Iterator[Clash]] = nothing
    """What cannot be together, in a pipeline as it was written."""
    columns: Callable[[AuditRequest], Iterator[NamedColumn]] = nothing
    """The columns of the samples that it reads by name."""
    columns_in_files: Callable[[AuditRequest, Path], Iterator[NamedColumn]] = nothing
    """Those that are named in a file beside the pipeline; what is wrong with the file itself is said by `missing`."""
    missing: Callable[[AuditRequest, Path], Iterator[MissingThing]] = nothing
    """What the pipeline names and cannot be had, looked for before anything runs."""
    extras: Callable[[AuditRequest], Iterable[tuple[Where, str]]] = nothing
    """The extras whose libraries it needs, and the settings that need them: refused before anything runs where one of
    the libraries is not installed."""
    libraries: Callable[[AuditRequest], Iterable[str]] = nothing
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
    """What is read first of an audit of another package: a sentence or a few. What is read first of ours stands in
    `flows/report/sentences.py`, in the order of its weight."""
    followed: Callable[[FindingIndex], Iterable[Headline]] = nothing
    """The numbers that are followed over the nights beside those of metrics declared so: the worst of several, say."""
    outcomes: Callable[[Ground, R], Iterable[Outcomes]] = nothing
    """Where what single samples add to its findings lies: what two runs are compared by, and gates on change judge."""
    sampled: Callable[[Outcomes, Tables, str, str], Sampled | None] = lambda *_: None
    """What single samples add to the finding of those outcomes with this `of` and `group`; None if there is none."""
    origin: Origin | None = None
    """Where it comes from, if it is a plug-in; filled in when it is loaded."""

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def metrics(self) -> Iterator[Metric]:
        """All that it measures, as declared."""
        return (metric for measured in self.measures for metric in measured.metrics)

    @property
    def identity(self) -> dict[str, str] | None:
        """What of a plug-in enters the keys of its stages."""
        return None if self.origin is None else self.origin.identity

    def perform(self, ground: Ground) -> R:
        """What it makes of the results of other audits."""
        return self.run(ground, *(ground.pipeline.asked(key.settings) for key in self.keys))

    def below(self, pipeline: AuditRequest) -> tuple[str, ...]:
        """The audits whose results it takes in this pipeline."""
        return tuple(name for name in self.stands_on if name not in self.only_if or self.only_if[name](pipeline))
