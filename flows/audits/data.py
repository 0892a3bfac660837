"""The data: what every audit stands on. It enters, or is refused by file and row; the report says what came in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.audits.kind import AuditKind, Ground
from assay.infra.artifacts import Artifact

if TYPE_CHECKING:
    from assay.data.image_schemas import ImagePaths
    from assay.data.schemas import Classes, ContractResults, Findings, Rejects, Samples
    from assay.flows.configuration.named_columns import NamedColumn
    from assay.flows.configuration.named_things import MissingThing
    from assay.flows.pipeline import Pipeline
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
    share = current_run().record.share
    samples = entered.samples if share == 1 else draw_share(entered.samples, share)
    return Data(samples, entered.classes, entered.rejects, entered.contract, paths=paths)


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


def columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """The column that says which samples are audited."""
    if pipeline.evaluation.column is not None:
        yield ("evaluation", "column"), pipeline.evaluation.column, "the evaluation goes by"


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """The files of the source, and the columns that its settings or anything else in the pipeline names."""
    from assay.flows.configuration.named_things import missing_in_source

    return missing_in_source(pipeline, folder)


DATA = AuditKind("data", lambda _pipeline: True, take_in, columns=columns, missing=missing, background=background)
