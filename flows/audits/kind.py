"""A kind of audit is a value: its settings, what it stands on, what it runs, measures and shows, all in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from assay.infra.settings import Settings
from assay.tasks.statistics.metrics import Metric

if TYPE_CHECKING:
    from assay.data.hardness_schemas import SampleHardness
    from assay.data.schemas import Findings
    from assay.flows.audits.outcomes import Outcomes, Tables
    from assay.flows.configuration.mistakes import Where
    from assay.flows.configuration.named_columns import NamedColumn
    from assay.flows.configuration.named_things import MissingThing
    from assay.flows.configuration.written import Clash
    from assay.flows.configuration.yaml_source import Value
    from assay.flows.pipeline import Pipeline
    from assay.infra.artifacts import Artifact
    from assay.infra.plugins import Origin
    from assay.infra.runs import Run
    from assay.tasks.reporting.following import Headline
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.statistics.findings import Finding, FindingIndex
    from assay.tasks.statistics.sampled import Sampled

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
