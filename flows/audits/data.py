"""The data that every audit stands on: samples enter or are refused by file and row, and the report says what came
in and what is new since the last night.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows import kind
from assay.flows.yaml_document import Where, nearest
from assay.infra.errors import InputError, blame_setting, first_named
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ingest.settings import ORIGINS, Source
from assay.tasks.statistics.metrics import metrics_of

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.data.schemas import Classes, ContractResults, Findings, ImagePaths, PeoplesAnswers, Rejects, Samples
    from assay.infra.stages.runs import Run
    from assay.infra.storage.store import Store
    from assay.tasks.ingest.sources import FirstLook, ResolvedSource
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import FindingIndex


MOST_MISSING_COLUMNS = 12
"""So many columns that are not there are reported together."""

LEARNERS = ("network", "classifier", "tagger", "scorer")
"""The ways to name a subject that is audited on a part of the samples."""


def note_files(run: Run, source: ResolvedSource) -> None:
    """Write down which files were taken in, and say which of them are new, changed or gone since an earlier night."""
    from assay.tasks.ingest.sources import arrivals

    if source.given is not None or not run.is_night:
        return
    now, earlier = source.contents, _latest(run.store, run)
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


def classes_of(ground: kind.Ground) -> list[str]:
    """The names of the classes, by their codes."""
    from assay.data.schemas import class_names
    from assay.infra.stages.partitions import collect

    return class_names(collect(ground.of(Data).classes, None))


def ingest_samples(ground: kind.Ground) -> Data:
    """The pipeline's samples, each checked on the way in."""
    from assay.infra.stages.runs import current_run
    from assay.tasks.ingest.label_studio import find_answers
    from assay.tasks.ingest.sources import resolve
    from assay.tasks.ingest.task import draw_share, ingest, keep_paths, names_paths, settle_gold
    from assay.tasks.subjects.addresses.table import address_of
    from assay.tasks.subjects.resolved import resolve_subject
    from assay.tasks.subjects.spot_check import look_before

    beside = ground.data_folder or ground.folder
    source = resolve(ground.pipeline.source, beside)
    entered = ingest(source, source.settings)
    note_files(current_run(), source)
    paths = keep_paths(source, source.settings) if names_paths(source.settings) else None
    data = Data(entered.samples, entered.classes, entered.rejects, entered.contract, paths=paths)
    if (gold := ground.pipeline.source.gold) is not None:  # people's answers
        settled = settle_gold(data.samples, data.classes, find_answers(gold, beside))
        data = replace(data, samples=settled.samples, answers=settled.answers, findings=(settled.findings,))
    for subject in ground.pipeline.subjects:
        if subject.model is None or address_of(subject.model) is not None:
            continue
        try:
            resolved = resolve_subject(subject, ground.folder)
        except InputError:  # said in its turn: one that is wrong stops no other
            continue
        look_before(data.samples, data.classes, resolved)
    share = current_run().record.share
    return data if share == 1 else replace(data, samples=draw_share(data.samples, share))


def background(ground: kind.Ground, data: Data, findings: FindingIndex) -> Iterator[Part]:
    """What came in, and what the contracts say of it and of the curated sets."""
    import pyarrow as pa

    from assay.data.schemas import Rejects
    from assay.infra.stages.partitions import collect, missing_in
    from assay.tasks.ingest.page import ingest_page
    from assay.tasks.statistics.groups import group_sizes

    contracts = [contract for made in ground.results.values() for contract in getattr(made, "contracts", ())]
    gold = next((finding.n for finding in findings.select("ordering.accuracy") if finding.n is not None), None)
    score = ground.pipeline.source.score
    truth, called = ("gold", "class") if score is None else (score, "number")
    if gold is None:  # nobody counted them: said where some are labelled and others are not
        known = data.samples.rows - missing_in(data.samples, truth)
        gold = known if 0 < known < data.samples.rows else None
    checked = pa.concat_tables([collect(contract, None) for contract in (data.contract, *contracts)])
    rejects = collect(data.rejects, Rejects.schema.names)
    yield ingest_page(data.samples.rows, rejects, checked, gold, group_sizes(data.samples), called)
    if data.answers is not None:
        from assay.tasks.ingest.page import answers_page as of_answers

        yield of_answers(collect(data.answers, None), classes_of(ground), findings)


def columns(pipeline: kind.AuditRequest) -> Iterator[kind.NamedColumn]:
    """The column that says which samples are audited."""
    if pipeline.evaluation.column is not None:
        yield ("evaluation", "column"), pipeline.evaluation.column, "the evaluation goes by"


def missing(pipeline: kind.AuditRequest, folder: Path) -> Iterator[kind.MissingThing]:
    """The files of the source, and the columns that its settings or anything else in the pipeline names."""
    yield from missing_in_source(pipeline, folder)
    if pipeline.source.gold is not None:
        yield from kind.missing_if_fails(("source", "gold"), {}, lambda: _read_answers(pipeline.source, folder))


def missing_in_source(pipeline: kind.AuditRequest, folder: Path) -> Iterator[kind.MissingThing]:
    """What the source names and cannot be had; where its files are there, columns that they do not have."""
    from assay.tasks.ingest.sources import blame_for, first_look, resolve
    from assay.tasks.subjects.holding_out import require_splits

    source: Source | None = pipeline.source
    part = pipeline.evaluation.column or pipeline.source.split
    seen: list[FirstLook] = []
    for _ in range(MOST_MISSING_COLUMNS):
        if source is None:
            return
        with_its_setting = blame_setting(*blame_for(source))
        look = with_its_setting(partial(lambda asked: seen.append(first_look(resolve(asked, folder), part)), source))
        wrong = list(kind.missing_if_fails(("source",), {}, look))
        yield from wrong
        if not wrong:
            break
        source = _without(source, wrong[0])
    if seen and seen[0].columns and source == pipeline.source:
        yield from _missing_columns(pipeline, seen[0].columns, folder)
    if seen and seen[0].types is not None:
        yield from _no_predictions(pipeline, seen[0].types)
    parts, asked = seen[0].parts if seen else None, pipeline.evaluation
    if parts and any(getattr(subject, way) is not None for subject in pipeline.subjects for way in LEARNERS):
        yield from kind.missing_if_fails(("evaluation",), {}, lambda: require_splits(parts, asked))


def _no_predictions(pipeline: kind.AuditRequest, types: pa.Schema) -> Iterator[kind.MissingThing]:
    """The columns of predictions, or of what is predicted, that hold something else."""
    from assay.tasks.subjects.predictions import require_codes, require_number

    for where, subject in kind.placed_subjects(pipeline):
        require = require_codes if subject.predicts is None else require_number
        for setting in ("predictions", "predicts"):
            column = getattr(subject, setting)
            if column is not None and column in types.names:
                blamed = blame_setting(setting, column)
                yield from kind.missing_if_fails(where, {}, blamed(partial(require, types.field(column).type, column)))


def _without(source: Source, missing: kind.MissingThing) -> Source | None:
    """The source without the setting that names a column which is not there, so that the next one is found as well."""
    setting, word = str(missing.where[1]) if len(missing.where) > 1 else "", missing.word
    if setting not in Source.model_fields:
        return None
    named = getattr(source, setting)
    fewer = tuple(kept for kept in named if kept != word) if isinstance(named, tuple) else None
    optional = setting == "required" or Source.model_fields[setting].default is None
    if named is None or isinstance(named, dict) or setting in ORIGINS or not optional:
        return None
    about_it = {"pixels": None} if setting == "image" else {}
    return source.model_copy(update={setting: fewer or (() if setting == "required" else None), **about_it})


def _missing_columns(pipeline: kind.AuditRequest, columns: Sequence[str], folder: Path) -> Iterator[kind.MissingThing]:
    """The columns that are named outside the source and that its files do not have."""
    for where, column, reader in pipeline.named_columns(folder):
        if column not in (*columns, pipeline.source.label, pipeline.source.id):
            there = f"which {reader}; beside id and label they have {first_named(columns, 20)}"
            why = InputError(f"the samples have no column {column!r}, {there}.")
            yield kind.MissingThing(where, column, why, meant=nearest(column, columns))


def _read_answers(source: Source, folder: Path) -> None:
    """Read people's answers as a run will; their classes are known beforehand where the source names them."""
    from assay.tasks.ingest.label_studio import find_answers, require_classes

    assert source.gold is not None
    answers = find_answers(source.gold, folder)
    judged = answers.read()
    if source.classes is not None:
        require_classes(judged, source.classes, answers.label)


def gate(pipeline: kind.Written, _gate: kind.Written, where: Where) -> Iterator[kind.Clash]:
    """People's answers are measured where the source names them."""
    if kind.as_dict(pipeline.get("source")).get("gold") is None:
        yield kind.Clash((*where, "finding"), "nothing will measure it: name people's answers under source.gold")


DATA = kind.AuditKind(
    "data",
    lambda _pipeline: True,
    ingest_samples,
    measures=(kind.Measured("answers", metrics_of("answers"), ("source",), gate=gate),),
    columns=columns,
    missing=missing,
    background=background,
)
