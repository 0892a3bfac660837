"""What a pipeline names and needs: its data, rules, models, weights, lexicons and vectors, looked for before anything
runs; and where in the configuration what is not there is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    from assay.flows.pipeline import Pipeline, Project

Known = Mapping[str, Sequence[str]]
"""Settings that name something, each with the names that Assay has something for."""

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
    source, columns = pipeline.source, list[str]()
    origins: Known = dict.fromkeys(ORIGINS, ())
    yield from tried(("source",), source, origins, lambda: columns.extend(_columns_of(source, folder)))
    if columns:
        yield from missing_columns(pipeline, columns)


def missing_columns(pipeline: Pipeline, columns: Sequence[str]) -> Iterator[MissingThing]:
    """The columns that are named outside the source and that its files do not have."""
    for where, column, reader in named_columns(pipeline):
        if column not in (*columns, pipeline.source.label, pipeline.source.id):
            error = InputError(no_such_column(column, reader, columns))
            yield MissingThing(where, column, error, meant=nearest(column, columns))


def _columns_of(source: Source, folder: Path) -> Sequence[str]:
    """The columns that samples will have, read off the first rows of the files; none where that takes reading it all.

    Raises where files are missing, or columns that the source's settings name.
    """
    from assay.tasks.ingest.layout import layout_of
    from assay.tasks.ingest.sources import resolve

    found = resolve(source, folder)
    if found.given is not None or source.images is not None:
        return ()
    return layout_of(found).features


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
