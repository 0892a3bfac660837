"""The data: what every audit stands on. It enters, or is refused by file and row; the report says what came in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.audits.kind import AuditKind, Ground, Measured
from assay.flows.configuration.written import Clash, as_dict
from assay.infra.artifacts import Artifact
from assay.tasks.ingest.people.metrics import METRICS

if TYPE_CHECKING:
    from assay.data.answer_schemas import PeoplesAnswers
    from assay.data.image_schemas import ImagePaths
    from assay.data.schemas import Classes, ContractResults, Findings, Rejects, Samples
    from assay.flows.configuration.mistakes import Where
    from assay.flows.configuration.named_columns import NamedColumn
    from assay.flows.configuration.named_things import MissingThing
    from assay.flows.configuration.yaml_source import Value
    from assay.flows.pipeline import Pipeline
    from assay.tasks.ingest.settings import Source
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import FindingIndex


@dataclass(frozen=True)
class Data:
    """The samples that entered, what did not, and the classes."""

    samples: Artifact[Samples]
    classes: Artifact[Classes]
    rejects: Artifact[Rejects]
    contract: Artifact[ContractResults]
    findings: Sequence[Artifact[Findings]] = ()
    paths: Artifact[ImagePaths] | None = None
    """Where the images of a table lay."""
    answers: Artifact[PeoplesAnswers] | None = None
    """What people said of samples, where the source names their answers; it is gold in `samples` already."""


def take_in(ground: Ground) -> Data:
    """The pipeline's samples, each checked on the way in."""
    from assay.flows.audits.source_files import note_files
    from assay.infra.runs import current_run
    from assay.tasks.ingest.paths_task import keep_paths, names_paths
    from assay.tasks.ingest.share_task import draw_share
    from assay.tasks.ingest.sources import resolve
    from assay.tasks.ingest.task import ingest

    source = resolve(ground.pipeline.source, ground.folder)
    entered = ingest(source, source.settings)
    note_files(current_run(), source)
    paths = keep_paths(source, source.settings) if names_paths(source.settings) else None
    data = Data(entered.samples, entered.classes, entered.rejects, entered.contract, paths=paths)
    if ground.pipeline.source.gold is not None:
        data = _with_peoples_gold(ground, data)
    share = current_run().record.share
    return data if share == 1 else replace(data, samples=draw_share(data.samples, share))


def _with_peoples_gold(ground: Ground, data: Data) -> Data:
    """The data with people's answers as the gold of their samples."""
    from assay.tasks.ingest.people.files import find_answers
    from assay.tasks.ingest.people.task import settle_gold

    assert ground.pipeline.source.gold is not None
    settled = settle_gold(data.samples, data.classes, find_answers(ground.pipeline.source.gold, ground.folder))
    return replace(data, samples=settled.samples, answers=settled.answers, findings=(settled.findings,))


def background(ground: Ground, data: Data, findings: FindingIndex) -> Iterator[Part]:
    """What came in, and what the contracts say of it and of the curated sets."""
    import pyarrow as pa

    from assay.data.schemas import Rejects
    from assay.infra.partitions import collect
    from assay.tasks.ingest.page import page
    from assay.tasks.statistics.grouped_samples import count_groups

    contracts = [data.contract, *(one for made in ground.results.values() for one in getattr(made, "contracts", ()))]
    gold = next((one.n for one in findings.select("ordering.accuracy") if one.n is not None), None)
    checked = pa.concat_tables([collect(one, None) for one in contracts])
    rejects = collect(data.rejects, Rejects.schema.names)
    yield page(data.samples.rows, rejects, checked, gold, count_groups(data.samples))
    if data.answers is not None:
        from assay.data.classes import class_names
        from assay.tasks.ingest.people.page import page as of_answers

        yield of_answers(collect(data.answers, None), class_names(collect(data.classes, None)), findings)


def columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """The column that says which samples are audited."""
    if pipeline.evaluation.column is not None:
        yield ("evaluation", "column"), pipeline.evaluation.column, "the evaluation goes by"


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """The files of the source, and the columns that its settings or anything else in the pipeline names."""
    from assay.flows.configuration.named_things import missing_in_source, tried

    yield from missing_in_source(pipeline, folder)
    if pipeline.source.gold is not None:
        yield from tried(("source", "gold"), {}, lambda: _read_answers(pipeline.source, folder))


def _read_answers(source: Source, folder: Path) -> None:
    """Read people's answers as a run will; their classes are known beforehand where the source names them."""
    from assay.tasks.ingest.people.answers import require_classes
    from assay.tasks.ingest.people.files import find_answers

    assert source.gold is not None
    answers = find_answers(source.gold, folder)
    judged = answers.read()
    if source.classes is not None:
        require_classes(judged, source.classes, answers.label)


def gate(pipeline: dict[str, Value], _gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    """People's answers are measured where the source names them."""
    if as_dict(pipeline.get("source")).get("gold") is None:
        yield Clash((*where, "finding"), "nothing will measure it: name people's answers under source.gold")


DATA = AuditKind(
    "data",
    lambda _pipeline: True,
    take_in,
    measures=(Measured("answers", METRICS, ("source",), gate=gate),),
    columns=columns,
    missing=missing,
    background=background,
)
