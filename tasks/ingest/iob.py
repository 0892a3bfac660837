"""Tagged sentences out of IOB files (a word and its tag a line, a blank line between sentences), their tags rewritten
as IOB2 from IOB1, BIOES or BILOU.

In IOB2 every entity begins with B-; in IOB1 only one that follows an entity of its own type does. The tags of a whole
source tell which it is: where they do not, an I- that goes on from nothing is a mistake.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from assay.data.schemas import WORDS
from assay.tasks.ingest.file_search import SPLITS
from assay.tasks.ingest.reader_choice import Columns, FileIndex, Head, Layout, ReaderChoice, Reading, Shape, Span
from assay.tasks.ingest.record_scanner import MOST_RECORD, TextIndex, require_record
from assay.tasks.ingest.rows import Reject, Rows, shown
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import SourceFile, opened
from assay.tasks.ingest.text_tables import bytes_of, text_start
from assay.tasks.reporting.numerals import plural

SAME = {"S": "B", "U": "B", "E": "I", "L": "I", "M": "I"}
"""What the further letters of BIOES and BILOU are in IOB2."""

GO_ON, ENDS = frozenset("IELM"), frozenset("SUEL")
"""Letters of words that are not the first of an entity, and of those that are the last."""

IOB2, IOB1 = "IOB2", "IOB1"


class TagError(ValueError):
    """A tag that is none, or that cannot stand where it stands; `place` is its place in the sentence."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place


def letters_of(tags: Sequence[str]) -> list[str]:
    """The tags with B, I and O only; raises where one is no tag, or goes on after one that says it was the last.

    >>> letters_of(["O", "S-Drug", "b-Drug"])
    ['O', 'B-Drug', 'B-Drug']
    """
    letters = []
    for place, tag in enumerate(tags):
        letter, kind = tag[:1].upper(), tag[2:].strip()
        before = tags[place - 1] if place else "O"
        if letter in GO_ON and before[:1].upper() in ENDS:
            raise TagError(place, f"{tag[:40]!r} goes on from {before[:40]!r}, which ends an entity")
        letter = SAME.get(letter, letter)
        if tag.upper() == "O":
            letters.append("O")
        elif letter in "BI" and tag[1:2] in "-_" and kind:
            letters.append(f"{letter}-{kind}")
        else:
            raise TagError(place, f"{tag[:40]!r} is no tag; expected O, B-TYPE or I-TYPE")
    return letters


def beginnings(tags: Sequence[str]) -> tuple[int, int]:
    """How many entities begin with B- where IOB1 would write I-, and how many with I- where IOB2 would write B-.

    >>> beginnings(["B-Drug", "O", "I-Drug"])
    (1, 1)
    """
    plain = sum(tag[0] == "B" and not _goes_on(tags, place) for place, tag in enumerate(tags))
    return plain, sum(tag[0] == "I" and not _goes_on(tags, place) for place, tag in enumerate(tags))


def convention_of(plain: int, bare: int) -> str:
    """The convention of a whole source with so many beginnings of either kind: IOB1 only where nothing speaks against.

    >>> convention_of(0, 9), convention_of(500, 2)
    ('IOB1', 'IOB2')
    """
    return IOB1 if bare and not plain else IOB2


def as_iob2(tags: Sequence[str], convention: str) -> list[str]:
    """The tags in IOB2; raises where an I- goes on from nothing and the convention does not say that this begins.

    >>> as_iob2(["I-Drug", "B-Drug", "I-Drug"], IOB1)
    ['B-Drug', 'B-Drug', 'I-Drug']
    """
    converted = list(tags)
    for place, tag in enumerate(tags):
        if tag[0] == "I" and not _goes_on(tags, place):
            if convention != IOB1:
                before = tags[place - 1] if place else "the beginning of the sentence"
                raise TagError(place, f"{tag!r} goes on from {before}: an entity begins with {'B' + tag[1:]!r}")
            converted[place] = "B" + tag[1:]
    return converted


def _goes_on(tags: Sequence[str], place: int) -> bool:
    """Whether the word before is of an entity of the same type."""
    return place > 0 and tags[place - 1][0] in "BI" and tags[place - 1][2:] == tags[place][2:]


DOCUMENT = "-DOCSTART-"
TOKENS, TAGS, SPLIT, DOCUMENT_COLUMN = "tokens", "tags", "split", "document"
_MARK_EVERY = 16  # sentences, at least, between two places at which a piece may begin
_LINES = re.compile(rb"[^\n]*\n|[^\n]+")  # after line feeds only: whatever else might break a line is in a word
_BLANKS = re.compile(r"[ \t]+")
_PARTS = SPLITS | {"devel": "valid", "development": "valid"}  # the part that a word in a file's name says

Places = tuple[int, int]
"""The column of the word and that of the tag, counted from 1, or from the end with a minus."""
_Mark = tuple[int, int, int]


class LineError(ValueError):
    """A line that is no word with its tag; `line` counts from 1."""

    def __init__(self, line: int, reason: str, column: str | None = None) -> None:
        super().__init__(reason)
        self.line, self.column = line, column


@dataclass(frozen=True)
class Lines:
    """The lines of one sentence as they stand in the file, and the number and the byte of the first.

    `opens` says whether it is the first of a document, or of all.
    """

    first: int
    offset: int
    texts: tuple[bytes, ...]
    opens: bool


def sentences_in(lines: Iterator[bytes], offset: int, line: int) -> Iterator[Lines]:
    """The sentences of a stream of lines: runs of lines that are neither blank nor the beginning of a document."""
    held: list[bytes] = []
    first, start, opens = 0, 0, True
    for number, text in enumerate(lines, line):
        begins = text.startswith(DOCUMENT.encode()) and b"\r" not in text.rstrip()
        if text.strip() and not begins:
            if not held:
                first, start = number, offset
            held.append(text)
        elif held:
            yield Lines(first, start, tuple(held), opens)
            held, opens = [], False
        opens |= begins
        offset += len(text)
    if held:
        yield Lines(first, start, tuple(held), opens)


def index_sentences(file: SourceFile, content: BinaryIO, columns: Places, start: int) -> FileIndex:
    """The index of a file whose content stands at byte `start`, after a byte-order mark; one pass, nothing is kept."""
    marks, opened, count, plain, bare, size = list[_Mark](), list[_Mark](), 0, 0, 0, start
    widths, documents = Counter[int](), 0

    def lines() -> Iterator[bytes]:
        nonlocal size
        number = 0
        while text := content.readline(MOST_RECORD + 1):
            size, number = size + len(text), number + 1
            require_record(len(text), file.name, number)
            yield text

    for sentence in sentences_in(lines(), start, 1):
        mark = (count, sentence.offset, sentence.first)
        documents += sentence.opens
        for places, counts in ((marks, True), (opened, sentence.opens)):
            if counts and (not places or count - places[-1][0] >= _MARK_EVERY):
                places.append(mark)
        count += 1
        try:
            cells, width = _cells(sentence, columns)
            widths[width] += 1
            begun = beginnings(letters_of([tag for _, tag in cells]))
        except (LineError, TagError):
            continue  # turned away when it is read
        plain, bare = plain + begun[0], bare + begun[1]
    shape = Shape(widths.most_common(1)[0][0] if widths else 0, documents > 1)
    table = np.array(opened if shape.documents else marks, dtype=np.int64).reshape(-1, 3)
    text = TextIndex(size, count, table)
    return FileIndex(file.name, file.format, count, size - start, text, (plain, bare), shape)


def split_of(name: str) -> str | None:
    """The part of the data that a file's name says it is: train, valid or test; None where it says none, or two.

    >>> [split_of(name) for name in ("BC5CDR-chem-IOB_devel.tsv.gz", "train/a.txt", "latest.iob")]
    ['valid', 'train', None]
    """
    parts = {_PARTS[word] for word in re.split(r"[^a-z]+", name.lower()) if word in _PARTS}
    return parts.pop() if len(parts) == 1 else None


def _cells(sentence: Lines, columns: Places) -> tuple[list[tuple[str, str]], int]:
    """The word and the tag of every line of a sentence, and how many columns all its lines have.

    A line that lacks a column would have another column's value for a tag.
    """
    pairs, width = [], 0
    for number, text in enumerate(sentence.texts, sentence.first):
        line = _text(text, number)
        cells = line.split("\t") if "\t" in line else _BLANKS.split(line.lstrip(" "))
        word, tag = (_cell(cells, column) for column in columns)
        if word is None or tag is None or len(cells) < 2:
            raise LineError(
                number, f"{plural(len(cells), 'column')} where a word and its tag were expected: {shown(line)}"
            )
        width = width or len(cells)
        if len(cells) != width:
            mismatch = f"{plural(len(cells), 'column')} where the first line of the sentence has {width}"
            raise LineError(number, f"{mismatch}: {shown(line)}")
        if not word:
            raise LineError(number, "there is no word", TOKENS)
        pairs.append((word, tag))
    return pairs, width


def _text(line: bytes, number: int) -> str:
    """A line as text, without its end."""
    try:
        text = line.decode("utf-8").rstrip(" \t\r\n")
    except UnicodeDecodeError as fault:
        raise LineError(number, f"not UTF-8 text (byte 0x{line[fault.start]:02X})") from fault
    if "\r" in text:
        raise LineError(number, "a carriage return within the line: these are the line ends of old Macs; write \\n")
    return text


def _cell(cells: list[str], column: int) -> str | None:
    """The cell of a column that is counted from 1, or from the end with a minus."""
    at = column - 1 if column > 0 else len(cells) + column
    return cells[at].strip(" ") if 0 <= at < len(cells) else None


def begins_with_a_document(start: bytes) -> bool:
    """Whether a file that starts so marks where its documents begin.

    >>> begins_with_a_document(b"\\n-DOCSTART- -X- O\\n")
    True
    """
    return start.lstrip().startswith(DOCUMENT.encode())


def _has_documents(file: SourceFile, head: Head) -> bool:
    with opened(file.url, file.name) as content:
        content.seek(head.start)
        return begins_with_a_document(content.read(4096))


def iob_columns(files: Sequence[SourceFile], _: Source) -> Columns:
    """Words and their tags, and the part and the document where the files tell."""
    heads = {file.name: text_start(file) for file in files}
    more = [SPLIT] if all(split_of(file.name) is not None for file in files) else []
    more += [DOCUMENT_COLUMN] if any(_has_documents(file, heads[file.name]) for file in files) else []
    return pa.schema([(TOKENS, WORDS), (TAGS, WORDS), *((name, pa.string()) for name in more)]), heads


def index_iob(file: SourceFile, layout: Layout) -> FileIndex:
    """The index of a file, which is read once for it."""
    head = layout.heads[file.name]
    with opened(file.url, file.name) as content:
        content.seek(head.start)
        return index_sentences(file, content, layout.iob_columns, head.start)


def read_iob(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
    """The sentences of a span, with their tags in IOB2; those with a line that is no word with its tag are turned away,
    by that line."""
    shape, columns = reading.shapes[span.name], reading.layout.iob_columns
    rejects, kept, places = [], [], []
    part, document = split_of(span.name), None
    for sentence in sentences_in(iter(_LINES.findall(bytes_of(span, reading))), 0, span.first):
        if shape.documents and sentence.opens:
            document = f"{span.name}:{sentence.first}"
        try:
            cells, width = _cells(sentence, columns)
            if width != shape.width:
                mismatch = f"{plural(width, 'column')} where most sentences of the file have {shape.width}"
                raise LineError(sentence.first, f"{mismatch}: {shown(_text(sentence.texts[0], sentence.first))}")
            tags = as_iob2(letters_of([tag for _, tag in cells]), reading.convention)
        except LineError as fault:
            rejects.append(Reject(span.name, fault.line, str(fault), fault.column))
        except TagError as fault:
            rejects.append(Reject(span.name, sentence.first + fault.place, str(fault), TAGS))
        else:
            kept.append(([word for word, _ in cells], tags, part, document))
            places.append(sentence.first)
    types = {TOKENS: WORDS, TAGS: WORDS, SPLIT: pa.string(), DOCUMENT_COLUMN: pa.string()}
    arrays = {name: pa.array([row[at] for row in kept], kind) for at, (name, kind) in enumerate(types.items())}
    table = {name: arrays[name] for name in needed}
    return Rows(span.name, pa.table(table), np.array(places, dtype=np.int64), tuple(rejects))


IOB = ReaderChoice("iob", iob_columns, index_iob, read_iob)
