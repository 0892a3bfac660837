"""A source resolved to its files and their content hash, wherever the folder lies; what it shows before a run, and
which files are new, late, changed or gone.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from assay.infra.errors import InputError, blame_setting, first_named
from assay.tasks.ingest.file_search import CLASS, folder_of, image_files, listing, names_below
from assay.tasks.ingest.gold import gold_names, require_repeated
from assay.tasks.ingest.image_cells import referenced_images, with_form
from assay.tasks.ingest.layout import index_file, index_table, layout_of, plan_pieces, read_span
from assay.tasks.ingest.reader_choice import FileIndex, Layout, Reading
from assay.tasks.ingest.readers import endings_of, places_of
from assay.tasks.ingest.rows import require_parting
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import Address, GivenTable, SourceFile, SourceFiles
from assay.tasks.reporting.numerals import plural

_NAMED = 3


@dataclass(frozen=True)
class Arrivals:
    """Files by name, in their order; those `late` are new too, and stand before some that were there."""

    new: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)

    def in_words(self) -> str:
        """What a person reads.

        >>> Arrivals(("b.csv", "d.csv"), late=("b.csv",), gone=("a.csv",)).in_words()
        '2 files new (1 of them late: b.csv), 1 gone (a.csv)'
        """
        parts = []
        if self.new:
            late = f" ({len(self.late)} of them late: {first_named(self.late, _NAMED)})" if self.late else ""
            parts.append(f"{plural(len(self.new), 'file')} new{late}")
        for names, how in ((self.changed, "changed"), (self.gone, "gone")):
            if names:
                count = len(names) if parts else plural(len(names), "file")
                parts.append(f"{count} {how} ({first_named(names, _NAMED)})")
        return ", ".join(parts) or "no file new, changed or gone"


def arrivals(before: Mapping[str, str], now: Mapping[str, str]) -> Arrivals:
    """What has become of the files, each by its name and the hash of its content, in the order of the samples.

    >>> arrivals({"a": "1", "c": "1"}, {"a": "2", "b": "1", "c": "1", "d": "1"})
    Arrivals(new=('b', 'd'), late=('b',), changed=('a',), gone=())
    """
    names = list(now)
    last = max((at for at, name in enumerate(names) if name in before), default=-1)
    return Arrivals(
        tuple(name for name in names if name not in before),
        tuple(name for at, name in enumerate(names) if name not in before and at < last),
        tuple(name for name in names if name in before and before[name] != now[name]),
        tuple(name for name in before if name not in now),
    )


TEXT_ENDINGS = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class ResolvedSource(SourceFiles):
    """A source whose files are found.

    `fingerprint` is the hash of all its bytes. Neither says where the files lie, so a moved folder is the same source.
    """

    @functools.cached_property
    def fingerprint(self) -> str:
        """The content hash of everything that is read, with the names that ids may be made of."""
        if self.given is not None:
            return self.given.fingerprint
        content = [(file.name, file.format, self.contents[file.name]) for file in self.files]
        if self.settings.image is not None:
            content += referenced_images(self)
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    @functools.cached_property
    def contents(self) -> dict[str, str]:
        """The content hash of every place that is read, by its name."""
        return {file.name: places_of(file.format, self.settings).content(file, self.settings) for file in self.files}

    def require_unchanged(self) -> None:
        """Refuse what was read if a file became another one meanwhile: it would be kept under the old one's hash."""
        if self.given is None and ResolvedSource(self.settings, self.files).fingerprint != self.fingerprint:
            raise InputError(f"{self.label} changed while being read: run again when nobody writes to it.")


def resolve(source: Source, base_dir: str | Path) -> ResolvedSource:
    """The source with its files found, or the sentence that says which one is missing or empty."""
    source = source.model_copy(update={"masked": None, "gold": None})  # neither changes what is read
    origin = source.origin
    if origin == "dataset":
        assert source.dataset is not None
        with blame_setting("dataset", source.dataset):
            return ResolvedSource(settings=source, given=_given_table(source.dataset))
    patterns: tuple[str, ...] = getattr(source, origin)
    if origin == "images":
        with blame_setting(*blame_for(source)):
            urls = image_files(patterns, base_dir)
            images = tuple(SourceFile(url, name, "image") for url, name in zip(urls, names_below(urls), strict=True))
            # the settings say how many images there are, not where they lie
            return ResolvedSource(source.model_copy(update={"images": (f"{len(images)} images",)}), images)
    urls_in_order = dict[str, None]()
    word = source.reader or origin
    places = places_of(word, source)
    for position, pattern in enumerate(patterns):
        with blame_setting(f"{origin}.{position}", pattern):
            urls = places.find(Address(pattern, base_dir, origin, endings_of(word, source)))
            urls_in_order.update(dict.fromkeys(urls))
    with blame_setting(*blame_for(source)):
        names = places.called(list(urls_in_order))
        files = tuple(
            SourceFile(url, name, source.reader or _format(origin, name))
            for url, name in zip(urls_in_order, names, strict=True)
        )
        return ResolvedSource(source.model_copy(update={origin: tuple(names)}), files)


def blame_for(source: Source) -> tuple[str, str]:
    """The setting, and its word, that is to blame for files: the only pattern, or all where it is not known which."""
    named = getattr(source, source.origin)
    if isinstance(named, str):
        return source.origin, named
    return (f"{source.origin}.0", named[0]) if len(named) == 1 else (source.origin, "")


def _format(origin: str, name: str) -> str:
    if origin != "votes":
        return origin
    endings = [ending for ending in Path(name).suffixes if ending not in (".gz", ".bz2", ".xz", ".zst")]
    ending = endings[-1].lower() if endings else ""
    if ending in (".parquet", ".pq"):
        return "parquet"
    if ending in TEXT_ENDINGS:
        return "csv"
    raise InputError(f"{name} (votes) is neither .parquet nor .csv, and a table of votes is one of these.")


def _given_table(name: str) -> GivenTable:
    from assay.data import catalog
    from assay.data.samples import registry

    if name.startswith("sample/"):
        sample = registry.embedded(name)
        return GivenTable(name, sample.fingerprint, sample.build)
    located = catalog.located(name)
    return GivenTable(name, located.fingerprint, located.load)


MOST_BYTES = 16 << 20
"""Of larger files only the head is looked at: the parts of the data, and the first image, are found when it runs."""


@dataclass(frozen=True)
class FirstLook:
    """The columns that samples will have, the values of the one that says which are audited, and the types read."""

    columns: Sequence[str]
    parts: frozenset[str] | None = None
    types: pa.Schema | None = None


def first_look(source: SourceFiles, parts: str | None) -> FirstLook:
    """What can be seen at once; raises where a column is missing, or where no image can be read."""
    if source.given is not None:
        return FirstLook(())
    if source.settings.images is not None:
        return _at_folder(source)
    layout = layout_of(source)
    part = parts or layout.split
    if parts is not None and parts in layout.types.names:
        require_parting(layout.types, parts, "evaluation.column", source.label)
    settings = source.settings
    if sum(places_of(file.format, settings).size(file, settings) for file in source.files) > MOST_BYTES:
        return FirstLook(layout.features, types=layout.types)
    files = [index_file(file, layout) for file in source.files]
    reading = Reading(layout, {file.name: file.url for file in source.files})
    if layout.image is not None:
        with_form(reading, files, source.label)
    known = part is not None and part in layout.types.names and all(file.format != "iob" for file in files)
    return FirstLook(layout.features, _values(reading, files, str(part)) if known else None, layout.types)


def _at_folder(source: SourceFiles) -> FirstLook:
    table = listing([file.name for file in source.files])
    require_repeated(gold_names(table[CLASS].combine_chunks()), len(table), source.label)
    layout: Layout = layout_of(source, table)
    folder = folder_of(source.files[0].url, source.files[0].name)
    with_form(Reading(layout, table=table, folder=folder), [index_table(table, source.label)], source.label)
    return FirstLook((), None if layout.split is None else frozenset(table[layout.split].unique().to_pylist()))


def _values(reading: Reading, files: list[FileIndex], column: str) -> frozenset[str]:
    distinct: set[str] = set()
    plain = replace(reading, layout=replace(reading.layout, image=None))
    for piece in plan_pieces(files, None):
        for span in piece.spans:
            values = read_span(span, plain, (column,)).table.column(column)
            try:
                distinct |= {str(value) for value in values.drop_null().unique().cast(pa.string()).to_pylist()}
            except UnicodeDecodeError as fault:
                raise InputError(
                    f"{span.name} has text in column {column!r} that is not UTF-8; write it as UTF-8."
                ) from fault
    return frozenset(distinct)
