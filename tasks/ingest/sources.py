"""A source settled: which files, by which names, with which content; independent of where the folder lies."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from assay.infra.blame import blamed_on
from assay.infra.errors import InputError
from assay.tasks.ingest.files import GivenTable, SourceFile, SourceFiles
from assay.tasks.ingest.image_folder import image_files, names_below
from assay.tasks.ingest.image_references import referenced_images
from assay.tasks.ingest.places import Address
from assay.tasks.ingest.readers import endings_of, places_of
from assay.tasks.ingest.settings import ORIGINS, Source

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
    origin = next(name for name in ORIGINS if getattr(source, name) is not None)
    if origin == "dataset":
        assert source.dataset is not None
        with blamed_on("dataset", source.dataset):
            return ResolvedSource(settings=source, given=_given_table(source.dataset))
    patterns: tuple[str, ...] = getattr(source, origin)
    if origin == "images":
        with blamed_on(*blame_for(source)):
            return _resolved_images(source, image_files(patterns, base_dir))
    urls = dict[str, None]()
    word = source.reader or origin
    places = places_of(word, source)
    for position, pattern in enumerate(patterns):
        with blamed_on(f"{origin}.{position}", pattern):
            urls.update(dict.fromkeys(places.find(Address(pattern, base_dir, origin, endings_of(word, source)))))
    with blamed_on(*blame_for(source)):
        return _resolved_files(source, origin, list(urls), places.called(list(urls)))


def _resolved_files(source: Source, origin: str, urls: list[str], names: list[str]) -> ResolvedSource:
    files = tuple(
        SourceFile(url, name, source.reader or _format(origin, name)) for url, name in zip(urls, names, strict=True)
    )
    settings = source.model_copy(update={origin: tuple(names)})
    return ResolvedSource(settings=settings, files=files)


def blame_for(source: Source) -> tuple[str, str]:
    """The setting, and its word, that is to blame for files: the only pattern, or all where it is not known which."""
    origin = next(name for name in ORIGINS if getattr(source, name) is not None)
    named = getattr(source, origin)
    if isinstance(named, str):
        return origin, named
    return (f"{origin}.0", named[0]) if len(named) == 1 else (origin, "")


def _resolved_images(source: Source, urls: list[str]) -> ResolvedSource:
    """Images by their names below the folder they share; the settings say how many, not where they lie."""
    files = tuple(SourceFile(url, name, "image") for url, name in zip(urls, names_below(urls), strict=True))
    return ResolvedSource(source.model_copy(update={"images": (f"{len(files)} images",)}), files)


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
