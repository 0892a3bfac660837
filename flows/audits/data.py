"""The data that every audit stands on: samples enter or are refused by file and row, and the report says what came
in and what is new since the last night.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.kind import AuditKind, Clash, Ground, Measured, as_dict
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ingest.settings import METRICS

if TYPE_CHECKING:
    from assay.data.image_schemas import ImagePaths
    from assay.data.schemas import Classes, ContractResults, Findings, PeoplesAnswers, Rejects, Samples
    from assay.flows.kind import MissingThing, NamedColumn
    from assay.flows.pipeline import Pipeline
    from assay.flows.yaml_document import Value, Where
    from assay.infra.stages.runs import Run
    from assay.infra.storage.store import Store
    from assay.tasks.ingest.settings import Source
    from assay.tasks.ingest.sources import ResolvedSource
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import FindingIndex


def note_files(run: Run, source: ResolvedSource) -> None:
    """Write down which files were taken in, and say which of them are new, changed or gone since an earlier night."""
    from assay.tasks.ingest.sources import arrivals

    if source.given is not None or not run.is_night:
        return
    now = source.contents
    earlier = _latest(run.store, run)
    run.store.folder.write_json(_place(run.id), {"files": list(now.items())})
    if earlier is None:
        return
    name, before = earlier
    changes = arrivals(before, now)
    run.record.arrivals = f"{changes.in_words()} since run {name}"
    if changes:
        run.notice(f"{run.record.arrivals[0].upper()}{run.record.arrivals[1:]}.")


def _latest(store: Store, run: Run) -> tuple[str, dict[str, str]] | None:
    """The latest other night of the pipeline that took files in, and those files."""
    for record in reversed(store.runs(run.record.pipeline)):
        noted = None if record.id == run.id else store.folder.read_json(_place(record.id))
        if noted is not None:
            return record.id, {str(name): str(digest) for name, digest in noted["files"]}
    return None


def _place(run: str) -> str:
    return f"runs/{run}/source.json"


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
    from assay.infra.stages.runs import current_run
    from assay.tasks.ingest.sources import resolve
    from assay.tasks.ingest.task import draw_share, ingest, keep_paths, names_paths

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
    from assay.tasks.ingest.label_studio import find_answers
    from assay.tasks.ingest.task import settle_gold

    assert ground.pipeline.source.gold is not None
    settled = settle_gold(data.samples, data.classes, find_answers(ground.pipeline.source.gold, ground.folder))
    return replace(data, samples=settled.samples, answers=settled.answers, findings=(settled.findings,))


def background(ground: Ground, data: Data, findings: FindingIndex) -> Iterator[Part]:
    """What came in, and what the contracts say of it and of the curated sets."""
    import pyarrow as pa

    from assay.data.schemas import Rejects
    from assay.infra.stages.partitions import collect
    from assay.tasks.ingest.page import ingest_page
    from assay.tasks.statistics.groups import count_groups

    contracts = [data.contract, *(one for made in ground.results.values() for one in getattr(made, "contracts", ()))]
    gold = next((one.n for one in findings.select("ordering.accuracy") if one.n is not None), None)
    checked = pa.concat_tables([collect(one, None) for one in contracts])
    rejects = collect(data.rejects, Rejects.schema.names)
    yield ingest_page(data.samples.rows, rejects, checked, gold, count_groups(data.samples))
    if data.answers is not None:
        from assay.data.schemas import class_names
        from assay.tasks.ingest.page import answers_page as of_answers

        yield of_answers(collect(data.answers, None), class_names(collect(data.classes, None)), findings)


def columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """The column that says which samples are audited."""
    if pipeline.evaluation.column is not None:
        yield ("evaluation", "column"), pipeline.evaluation.column, "the evaluation goes by"


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """The files of the source, and the columns that its settings or anything else in the pipeline names."""
    from assay.flows.kind import missing_if_fails, missing_in_source

    yield from missing_in_source(pipeline, folder)
    if pipeline.source.gold is not None:
        yield from missing_if_fails(("source", "gold"), {}, lambda: _read_answers(pipeline.source, folder))


def _read_answers(source: Source, folder: Path) -> None:
    """Read people's answers as a run will; their classes are known beforehand where the source names them."""
    from assay.tasks.ingest.label_studio import find_answers, require_classes

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
