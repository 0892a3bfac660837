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
from assay.infra.errors import AssayError, InputError, SettingError
from assay.infra.settings import Settings
from assay.tasks.ingest.settings import ORIGINS, Source
from assay.tasks.subjects.settings import KNOWN, WAYS

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.flows.pipeline import Pipeline, Project
    from assay.tasks.ingest.first_look import FirstLook

Known = Mapping[str, Sequence[str]]
"""Settings that name something, each with the names that Assay has something for."""

MOST_TOLD = 12
"""So many columns that are not there are told together."""

LEARNERS = ("network", "classifier", "tagger", "scorer")
"""The ways to name a subject that is audited on a part of the samples."""

SUBJECT: Known = {"weights": (), "revision": (), **{str(way): names for way, names in KNOWN.items()}}


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
    from assay.tasks.ingest.sources import resolve
    from assay.tasks.subjects.holding_out import require_splits

    source: Source | None = pipeline.source
    origins: Known = dict.fromkeys(ORIGINS, ())
    part = pipeline.evaluation.column or pipeline.source.split
    seen: list[FirstLook] = []
    for _ in range(MOST_TOLD):
        if source is None:
            return
        look = partial(lambda found: seen.append(first_look(resolve(found, folder), part)), source)
        wrong = list(tried(("source",), source, origins, look))
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
        yield from tried(("evaluation",), asked, {"split": (), "train": ()}, lambda: require_splits(parts, asked))


def _no_predictions(pipeline: Pipeline, types: pa.Schema) -> Iterator[MissingThing]:
    """The columns of predictions that hold something else."""
    from assay.tasks.subjects.predictions import require_codes

    for position, subject in enumerate(pipeline.subjects):
        column = subject.predictions
        if column is not None and column in types.names:
            where: Where = ("subject",) if pipeline.subject is not None else ("subjects", position)
            attempt = partial(require_codes, types.field(column).type, column)
            yield from tried(where, subject, {"predictions": ()}, attempt)


def _without(source: Source, missing: MissingThing) -> Source | None:
    """The source without the setting that names a column which is not there, so that the next one is found as well."""
    if not isinstance(missing.error, SettingError):
        return None
    setting, word = missing.error.setting, missing.error.word
    named = getattr(source, setting, None)
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


def tried(where: Where, settings: Settings, known: Known, attempt: Callable[[], object]) -> Iterator[MissingThing]:
    """Nothing, or what the attempt could not find, blamed on the setting whose word the error quotes."""
    try:
        attempt()
    except AssayError as error:
        place, word = _blamed(settings, known, str(error))
        if isinstance(error, SettingError):
            place, word = (error.setting,), error.word
        names = known.get(str(place[0]), ()) if place else ()
        meant = nearest(word, names) if word is not None and word not in names else None
        told_already = meant is None or "id you mean" in str(error)
        there = place or _what_it_is(where, settings)
        yield MissingThing((*where, *there), word, error, word in catalog(), None if told_already else meant)


def _blamed(settings: Settings, known: Known, said: str) -> tuple[Where, str | None]:
    """The place of the word that an error quotes; of the whole list, where it quotes several of its words."""
    quoted: list[tuple[Where, str | None]] = []
    for field in known:
        words = [(place, word) for place, word in _words(getattr(settings, field, None)) if word in said]
        quoted += [((field, *place), word) for place, word in words] if len(words) == 1 else []
        quoted += [((field,), None)] if len(words) > 1 else []
    return max(quoted, key=lambda one: len(one[1] or ""), default=((), None))


def _words(value: object) -> Iterator[tuple[Where, str]]:
    """The words of a setting, each with its place inside it where there are several."""
    if isinstance(value, str):
        yield (), value
    elif isinstance(value, tuple):
        yield from (((at,), one) for at, one in enumerate(value) if isinstance(one, str))


def _what_it_is(where: Where, settings: Settings) -> Where:
    """The setting that says what a source or a subject is."""
    given = [name for name in (*ORIGINS, *WAYS) if getattr(settings, name, None) is not None]
    return tuple(given[:1]) if where[0] in ("source", "subject", "subjects") else ()
