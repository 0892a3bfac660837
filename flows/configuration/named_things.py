"""What a pipeline names and needs: its data, rules, models, weights, lexicons and vectors, looked for before anything
runs; and where in the configuration what is not there is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.data.catalog import catalog
from assay.flows.configuration.mistakes import Where, dotted, nearest, shown
from assay.flows.configuration.named_columns import named_columns, no_such_column
from assay.infra.blame import blamed_on, steps_to
from assay.infra.errors import AssayError, InputError, SettingError
from assay.tasks.ingest.settings import ORIGINS, Source
from assay.tasks.subjects.settings import KNOWN

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.flows.pipeline import Pipeline, Project
    from assay.tasks.ingest.first_look import FirstLook

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
    from assay.tasks.ingest.first_look import first_look
    from assay.tasks.ingest.sources import blame_for, resolve
    from assay.tasks.subjects.holding_out import require_splits

    source: Source | None = pipeline.source
    part = pipeline.evaluation.column or pipeline.source.split
    seen: list[FirstLook] = []
    for _ in range(MOST_TOLD):
        if source is None:
            return
        with_its_setting = blamed_on(*blame_for(source))
        look = with_its_setting(partial(lambda found: seen.append(first_look(resolve(found, folder), part)), source))
        wrong = list(tried(("source",), {}, look))
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
        yield from tried(("evaluation",), {}, lambda: require_splits(parts, asked))


def _no_predictions(pipeline: Pipeline, types: pa.Schema) -> Iterator[MissingThing]:
    """The columns of predictions that hold something else."""
    from assay.tasks.subjects.predictions import require_codes

    for position, subject in enumerate(pipeline.subjects):
        column = subject.predictions
        if column is not None and column in types.names:
            where: Where = ("subject",) if pipeline.subject is not None else ("subjects", position)
            blamed = blamed_on("predictions", column)
            yield from tried(where, {}, blamed(partial(require_codes, types.field(column).type, column)))


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


def tried(where: Where, known: Known, attempt: Callable[[], object]) -> Iterator[MissingThing]:
    """Nothing, or what the attempt could not find, blamed on the setting that its error names."""
    try:
        attempt()
    except SettingError as error:
        place, word = steps_to(error.setting), error.word or None
        names = known.get(str(place[0]), ())
        meant = nearest(word, names) if word is not None and word not in names else None
        told_already = meant is None or "id you mean" in str(error)
        yield MissingThing((*where, *place), word, error, word in catalog(), None if told_already else meant)
    except AssayError as error:
        yield MissingThing(where, None, error)
