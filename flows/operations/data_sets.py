"""The data sets that a pipeline may name: the embedded ones and those of the catalogue."""

from __future__ import annotations

import os
from pathlib import Path

from assay.data.catalog import MIRROR, CatalogEntry, catalog, data_folder, entry_of
from assay.data.fetching import get
from assay.data.samples.registry import EMBEDDED


def known_data_sets() -> list[list[object]]:
    """Per data set: its name, whether it is at hand, its licence, what it is."""
    by_sample = {entry.embedded: entry for entry in catalog().values() if entry.embedded}
    rows: list[list[object]] = []
    for name in EMBEDDED:
        entry = by_sample.get(name)
        rows.append([name, "embedded", "" if entry is None else entry.licence, "" if entry is None else entry.title])
    for name, entry in catalog().items():
        rows.append([name, _at_hand(name, entry), entry.licence, entry.title])
    return rows


def get_data_set(name: str) -> str:
    """Gets a data set and says where it lies now."""
    if name in EMBEDDED:
        return f"{name} is embedded: nothing to get."
    return f"{name} lies in {get(name)}, every file as the catalogue knows it."


def licence_of(dataset: str) -> str | None:
    """The licence of a data set by name; nothing where it is not ours to know."""
    if dataset in catalog():
        return entry_of(dataset).licence
    return next((entry.licence for entry in catalog().values() if entry.embedded == dataset), None)


def _at_hand(name: str, entry: CatalogEntry) -> str:
    if entry.embedded and not entry.files:
        return f"as {entry.embedded}"
    wanted = [file.name for file in entry.files] or list(entry.expects[:1])
    mirror = os.environ.get(MIRROR)
    places = [(Path(mirror), "in the mirror")] if mirror else []
    for place, word in [*places, (data_folder(), "yes")]:
        if wanted and all((place / (entry.folder or name) / file).exists() for file in wanted):
            return word
    return "no" if entry.files and all(file.url for file in entry.files) else "yours to bring"


def where_from() -> list[str]:
    """Of each data set that is neither here nor to be fetched, a line: where its original is."""
    return [
        f"{name}: {entry.page or entry.source}"
        for name, entry in catalog().items()
        if _at_hand(name, entry) == "yours to bring"
    ]
