"""From a text data set's files to one table of samples: `id`, `gold`, `text`, `split`, human rationales where given.

Rationales stand in the column `rationale`, as spans of characters or as phrases. Each table names its classes in its
schema's metadata. Texts are kept as they are; of hateful or private ones nothing is ever quoted in an error.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from assay.data.catalogue_files import unpacked, with_classes
from assay.infra.errors import InputError

SPANS = pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())]))
PHRASES = pa.list_(pa.string())

_TOPICS = ("World", "Sports", "Business", "Sci/Tech")
_EMOTIONS = ("sadness", "joy", "love", "anger", "fear", "surprise")
_TONES = ("hatespeech", "normal", "offensive")
_CAUSES = ("no reason", "bias or abuse", "jobs and careers", "medication", "relationship", "alienation")
_RT_TRAIN, _RT_VALID = 4265, 533  # snippets per class, in the order of the files: the split in common use

# What Windows-1252 has where Latin-1 has control characters; five of its places are empty.
_WINDOWS = {code: bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(0x80, 0xA0)}

Row = dict[str, Any]


def rt_polarity(folder: Path) -> pa.Table:
    """10662 snippets of film reviews; the split is the one in common use: 8530 train, 1066 valid, 1066 test."""
    rows: list[Row] = []
    for gold, name in enumerate(("neg", "pos")):
        lines = unpacked(folder / f"rt-polarity.{name}.gz").decode("latin-1").split("\n")
        for number, line in enumerate(line for line in lines if line.strip()):
            split = "train" if number < _RT_TRAIN else "valid" if number < _RT_TRAIN + _RT_VALID else "test"
            rows.append({"id": f"{name}-{number + 1:04d}", "gold": gold, "text": line.strip(), "split": split})
    return _table(rows, ("negative", "positive"))


def ag_news(folder: Path) -> pa.Table:
    """News in four topics, title and text: the 7600 of the official test set, and 5000 of its training set."""
    rows: list[Row] = []
    train, test = folder / "train_sample_title_desc.csv.gz", folder / "test.csv.gz"
    for number, (code, *text) in enumerate(_csv_rows(train, 2, "utf-8")):
        if number:  # this file has a header
            rows.append(_news("train", number, train, code, text))
    for number, (code, *text) in enumerate(_csv_rows(test, 3, "utf-8"), start=1):
        rows.append(_news("test", number, test, code, text))
    return _table(rows, _TOPICS)


def emotion(folder: Path) -> pa.Table:
    """20000 tweets in six emotions, as their authors split them: 16000 train, 2000 valid, 2000 test."""
    rows: list[Row] = []
    for name, split in (("train", "train"), ("val", "valid"), ("test", "test")):
        path = folder / f"{name}.txt.gz"
        lines = unpacked(path).decode("utf-8").splitlines()
        for number, line in enumerate(lines[1:], start=1):
            text, _, label = line.rpartition(";")
            rows.append(
                {
                    "id": f"{split}-{number:05d}",
                    "gold": _code(label, _EMOTIONS, path, number),
                    "text": text,
                    "split": split,
                }
            )
    return _table(rows, _EMOTIONS)


def hatexplain(folder: Path) -> pa.Table:
    """The official validation and test posts: the tone that most of three annotators heard, and the words they marked.

    `rationale` has the tokens that at least half of those marked who marked any; it is empty for normal posts. A post
    without a majority has no gold.
    """
    rows: list[Row] = []
    for name, split in (("val", "valid"), ("test", "test")):
        path = folder / f"hatexplain_{name}.json.gz"
        try:
            posts: dict[str, Row] = json.loads(unpacked(path))
            rows += [_post(key, post, split) for key, post in posts.items()]
        except (ValueError, KeyError, TypeError) as fault:
            raise InputError(f"{path} is not the HateXplain that is expected here: {type(fault).__name__}.") from fault
    return _table(rows, _TONES, SPANS)


def cams(folder: Path) -> pa.Table:
    """Posts with the cause of distress that annotators saw, and the phrases they saw it in (often slightly reworded).

    The testing part is test; the training part and the posts added later are train. Posts without a text are left out,
    and so are training posts whose text is also tested.
    """
    parts = (
        ("IntentSDCNL_Training", "train", "utf-8"),
        ("added_CAMS_data", "train", "windows-1252"),
        ("IntentSDCNL_Testing", "test", "utf-8"),
    )
    rows: list[Row] = []
    for name, split, encoding in parts:
        path = folder / f"{name}.csv.gz"
        for number, (text, cause, phrases) in enumerate(_csv_rows(path, 3, encoding)):
            if number and text.strip():
                gold = _code(cause.strip(), tuple("012345"), path, number) if cause.strip() else None
                found = [phrase.strip() for phrase in phrases.split(",") if phrase.strip()]
                key = f"{name.partition('_')[0].lower()}-{split}-{number:04d}"
                rows.append({"id": key, "gold": gold, "text": text, "split": split, "rationale": found})
    tested = {row["text"].strip() for row in rows if row["split"] == "test"}
    return _table([r for r in rows if r["split"] == "test" or r["text"].strip() not in tested], _CAUSES, PHRASES)


def _news(split: str, number: int, path: Path, code: str, text: Sequence[str]) -> Row:
    gold = _code(code, tuple("1234"), path, number)
    return {"id": f"{split}-{number:04d}", "gold": gold, "text": " ".join(text), "split": split}


def _post(key: str, post: Row, split: str) -> Row:
    tokens, masks = list(map(str, post["post_tokens"])), post["rationales"]
    (label, votes), *_ = Counter(annotator["label"] for annotator in post["annotators"]).most_common()
    marked = [2 * sum(mask[place] for mask in masks) >= len(masks) > 0 for place in range(len(tokens))]
    spans, start = [], 0
    for token, is_marked in zip(tokens, marked, strict=True):
        if is_marked:
            spans.append({"start": start, "end": start + len(token)})
        start += len(token) + 1
    gold = _TONES.index(label) if votes > len(post["annotators"]) / 2 else None
    return {"id": key, "gold": gold, "text": " ".join(tokens), "split": split, "rationale": spans}


def _code(label: str, known: Sequence[str], path: Path, row: int) -> int:
    if label not in known:
        raise InputError(f"{path} row {row} has a label that is none of {', '.join(known)}.")
    return known.index(label)


def _csv_rows(path: Path, columns: int, encoding: str) -> Iterator[list[str]]:
    content = unpacked(path)
    text = content.decode("latin-1").translate(_WINDOWS) if encoding == "windows-1252" else content.decode(encoding)
    for number, row in enumerate(csv.reader(io.StringIO(text, newline="")), start=1):
        if len(row) != columns:
            raise InputError(f"{path} row {number} has {len(row)} columns, expected {columns}.")
        yield row


def _table(rows: list[Row], classes: Sequence[str], rationale: pa.DataType | None = None) -> pa.Table:
    columns = [("id", pa.string()), ("gold", pa.int16()), ("text", pa.string()), ("split", pa.string())]
    schema = pa.schema(columns + ([("rationale", rationale)] if rationale is not None else []))
    return with_classes(pa.Table.from_pylist(rows, schema=schema), classes)
