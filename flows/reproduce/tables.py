"""`assay reproduce`: every table of the five papers, and how far ours move over seeds; one or all of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.flows.commands.answers import columns
from assay.flows.configuration.mistakes import suggestion
from assay.flows.reproduce.engine import fill
from assay.flows.reproduce.papers import araujo, pugh, several_seeds, toki, werpachowski, xu
from assay.flows.reproduce.results import Results
from assay.flows.reproduce.spec import PaperTable
from assay.flows.reproduce.writing import as_markdown, as_text
from assay.infra.errors import InputError
from assay.infra.store import Store

TABLES: Mapping[str, PaperTable] = {
    table.name: table for paper in (pugh, xu, toki, werpachowski, araujo, several_seeds) for table in paper.TABLES
}
DATA_SETS: Mapping[str, str] = {
    pipeline: data_set
    for table in TABLES.values()
    for grid in table.grids
    for source in grid.sources
    for pipeline, data_set in source.pipelines.items()
    if data_set is not None
}
"""The data set that each pipeline beside a paper's table is on; of data that users bring there is none."""

_ABOUT_ALL = """\
# The papers' tables

Every table of the five papers that Assay reproduces: the paper's number, ours with its 95 % interval, where ours come
from, and a sentence where they differ; at the end, how far ours move when other seeds train. `assay reproduce --all`
writes this page from the runs of a store and from the published results; `assay reproduce TABLE` shows one of its
tables."""


def reproduce(table: str, store: Store, published: Path | None = None) -> str:
    """A table as text for a terminal."""
    if table not in TABLES:
        raise InputError(f"There is no table {table!r} to reproduce; {suggestion(table, TABLES)}")
    return as_text(TABLES[table], fill(TABLES[table], Results(store, published)))


def reproduce_all(store: Store, published: Path | None = None) -> str:
    """Every table as Markdown."""
    results = Results(store, published)
    return "\n\n".join([_ABOUT_ALL, *(as_markdown(one, fill(one, results)) for one in TABLES.values())]) + "\n"


def write_page(target: Path, page: str) -> str:
    """Writes the page of all tables; returns a sentence on it."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "it failed"
        raise InputError(f"Cannot write to {target}: {reason}; name another file with --to.") from error
    return f"{target}: {len(TABLES)} tables"


def list_of_tables() -> str:
    """The tables that can be reproduced, with what each shows."""
    rows = [[table.name, table.shows] for table in TABLES.values()]
    return columns(["table", "what it shows, the paper's numbers beside those of your latest runs"], rows)
