"""Tables of typed cells, sortable where JavaScript runs, and what kinds of number there are: where the heads of
columns lead.

The same sections, at length, are in docs/reading-the-numbers.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape

from pydantic import TypeAdapter
from ruamel.yaml import YAML

from assay.data.templates import filled
from assay.tasks.reporting import numerals
from assay.tasks.reporting.markup import Markup, figure, join, rows_markup, tag
from assay.tasks.reporting.parts import Cell, Column, DataTable, Estimate, Mark

ANCHOR, TITLE = "reading", "How to read these numbers"


@dataclass(frozen=True)
class Reading:
    """One kind of number: its section in the documents, what it says, and the columns that are of it."""

    anchor: str
    title: str
    explanation: str
    heads: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    written: str = ""
    """Of the columns with such a head, only those of this kind."""


READINGS = TypeAdapter(tuple[Reading, ...]).validate_python(YAML(typ="safe").load(filled("readings.yaml")))


def reading_of(column: Column) -> Reading | None:
    """What a column's numbers are, by its head before its kind; None of names and counts.

    >>> columns = Column("Risk", "percent"), Column("p, corrected", "p"), Column("Subject")
    >>> [reading and reading.anchor for reading in map(reading_of, columns)]
    ['chances', 'p', None]
    """
    named = next(
        (reading for reading in READINGS if column.name in reading.heads and reading.written in ("", column.kind)), None
    )
    return named or next((reading for reading in READINGS if column.kind in reading.kinds), None)


def reading_link(column: Column) -> Markup | None:
    """The mark behind a column's head that leads to what its numbers are."""
    reading = reading_of(column)
    if reading is None:
        return None
    link, label = f"#{ANCHOR}-{reading.anchor}", f"How to read {column.name}"
    return tag("a", "?", href=link, class_="meant", title=reading.explanation, aria_label=label)


def reading_section() -> Markup:
    """The section of a report that the heads of its columns lead to."""
    entries = [
        tag("div", tag("dt", reading.title, id=f"{ANCHOR}-{reading.anchor}"), tag("dd", reading.explanation))
        for reading in READINGS
    ]
    heading = tag("h2", TITLE, id=f"{ANCHOR}-h")
    summary = tag("summary", f"{numerals.plural(len(READINGS), 'kind')} of numbers, a sentence or two each")
    folded = tag("details", summary, tag("dl", *entries, class_="readings"), class_="fold")
    return tag("section", heading, folded, id=ANCHOR, aria_labelledby=f"{ANCHOR}-h")


_LONG = 26
_NUMERIC = frozenset({"integer", "number", "percent", "p", "bar"})


def table_figure(table: DataTable) -> Markup:
    """The table with its title and note, inside a box that scrolls sideways where the page is narrow."""
    if not table.rows:
        return figure(table.title, table.note, tag("p", "No rows.", class_="empty"))
    silent = [row for row in table.rows if _shows_nothing(row)] if _FOLDED < len(table.rows) <= _MANY else []
    loud = [row for row in table.rows if row not in silent] if silent else table.rows
    many = len(table.rows) > _MANY
    drawn = rows_markup(plain_rows(table)) if many else grid(table.columns, loud, table.title)
    box = scroller(table.title, drawn) if loud else None
    if silent:
        rest = scroller(f"{table.title}: the rest", grid(table.columns, silent, f"{table.title}: the rest"))
        summary = tag("summary", f"{numerals.integer(len(silent))} {'more, ' if loud else ''}none shown")
        box = join([box, tag("details", summary, rest, class_="fold")])
    count = numerals.plural(len(table.rows), "row") if table.collapsed else ""
    return figure(table.title, table.note, box, class_="table", folded=count)


_MANY = 200
"""Tables of more rows stand as lines of text, which scripts make tables of where somebody opens them."""
_TAGS = re.compile("<[^>]*>")


def plain_rows(table: DataTable) -> Iterator[Sequence[str]]:
    """The heads and rows of a table as its cells are written, without what is drawn in them.

    >>> table = DataTable("t", [Column("right", "percent")], [[Estimate(0.5, 0.4, 0.6, 9)]])
    >>> [row[0].replace(chr(0x202F), " ") for row in plain_rows(table)]
    ['right', '50.0 %  [40.0, 60.0] of 9']
    """
    yield [column.name for column in table.columns]
    for row in table.rows:
        cells = (_TAGS.sub(" ", shown(cell, column)) for cell, column in zip(row, table.columns, strict=True))
        yield [unescape(cell).strip() for cell in cells]


_FOLDED = 8
"""In tables of more rows, those in which nothing is shown are folded."""


def _shows_nothing(row: Sequence[Cell]) -> bool:
    """Whether a row says that something was not shown or not measured.

    >>> _shows_nothing(["net", 0.4, "not shown: p ≤ 0.01 needed"]), _shows_nothing(["net", Mark("better")])
    (True, False)
    """
    words = [cell.text if isinstance(cell, Mark) else cell for cell in row if isinstance(cell, str | Mark)]
    return any(text.startswith(("not shown", "not measured")) for text in words)


def scroller(name: str, content: Markup) -> Markup:
    """A named region that scrolls sideways and can be reached with the keyboard."""
    return tag("div", content, class_="scroll", role="region", tabindex=0, aria_label=name)


def grid(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], caption: str, class_: str = "sortable") -> Markup:
    """The table itself; the first column heads its rows."""
    heads = [
        tag("th", column.name, reading_link(column), scope="col", class_=_kind(column), title=column.help or None)
        for column in columns
    ]
    body = [tag("tr", *_row(columns, row)) for row in rows]
    return tag("table", tag("caption", caption), tag("thead", tag("tr", *heads)), tag("tbody", *body), class_=class_)


def _row(columns: Sequence[Column], row: Sequence[Cell]) -> list[Markup]:
    if len(row) != len(columns):
        raise ValueError(f"A row of {len(row)} cells does not fit under {len(columns)} columns: {row!r}")
    cells = []
    for index, (column, cell) in enumerate(zip(columns, row, strict=True)):
        name = "th" if index == 0 else "td"
        order = sort_key(cell, column)
        cells.append(
            tag(name, shown(cell, column), class_=_kind(column), scope="row" if index == 0 else None, data_v=order)
        )
    return cells


def shown(cell: Cell, column: Column) -> Markup:
    """A cell as its column writes it.

    >>> shown(0.0002, Column("p", "p"))
    '&lt; 0.001'
    >>> shown(True, Column("kept", "flag"))
    '<span class="yes"><span aria-hidden="true">✓</span> yes</span>'
    """
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return tag("span", numerals.NONE, class_="none", title="not measured")
    if isinstance(cell, Mark):
        below = tag("span", cell.below, class_="below") if cell.below else None
        return tag("span", tag("span", cell.text, class_=f"mark-{cell.tone}"), below, class_="marked")
    if isinstance(cell, bool):
        sign, word = ("✓", "yes") if cell else ("✗", "no")
        return tag("span", tag("span", sign, aria_hidden="true"), f" {word}", class_=word)
    if isinstance(cell, str):
        return tag("span", cell, class_="long") if len(cell) > _LONG else join([cell])
    return _figures(cell if isinstance(cell, Estimate) else Estimate(cell), column)


def _figures(cell: Estimate, column: Column) -> Markup:
    if column.kind == "bar":
        return join([_bar(cell), numerals.percent(cell.value), _interval(cell)])
    if column.kind == "percent":
        return join([numerals.percent(cell.value), _interval(cell)])
    if column.kind == "p":
        return join([numerals.p_value(cell.value)])
    if column.kind == "integer":
        return join([numerals.integer(round(cell.value))])
    interval = numerals.interval(cell.low, cell.high, "number")
    return join([numerals.number(cell.value), tag("span", f" {interval}", class_="interval") if interval else None])


def _interval(cell: Estimate) -> Markup:
    interval = numerals.interval(cell.low, cell.high)
    count = f" of {numerals.integer(cell.n)}" if cell.n is not None else ""
    return tag("span", f" {interval}{count}", class_="interval") if interval or count else Markup("")


def _bar(cell: Estimate) -> Markup:
    value = min(max(cell.value, 0.0), 1.0)
    pieces = [tag("i", style=f"width:{100 * value:.1f}%")]
    if numerals.interval(cell.low, cell.high) and cell.low is not None and cell.high is not None:
        low, high = max(cell.low, 0.0), min(cell.high, 1.0)
        pieces.append(tag("b", style=f"left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"))
    return tag("span", *pieces, class_="cellbar", aria_hidden="true")


def sort_key(cell: Cell, column: Column) -> str | None:
    """What sorting compares: the full number behind a cell, its words, or nothing where nothing was measured.

    >>> share = Column("share", "percent")
    >>> sort_key(Estimate(0.5, 0.4, 0.6), share), sort_key(None, share), sort_key("abc", share)
    ('0.5', '', None)
    """
    if isinstance(cell, Mark):
        return None if cell.order is None else f"{cell.order:.6g}"
    if isinstance(cell, Estimate):
        cell = cell.value
    if isinstance(cell, str):
        return None
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""
    return None if column.kind == "integer" and abs(cell) < 1000 else f"{float(cell):.5g}"


def _kind(column: Column) -> str | None:
    return "num" + (" barred" if column.kind == "bar" else "") if column.kind in _NUMERIC else None
