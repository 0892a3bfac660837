"""Which samples are audited and which may train: by the split column, else by a hash of the content; never both.

Pairs that are linked by a shared sentence, also over other pairs, are held out as a group, and so are the sentences of
one document: a sentence that a subject learned from in one pair is no new sentence in another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError, SettingError
from assay.infra.stages.exact import Smallest, SparseSum
from assay.tasks.subjects.settings import Evaluation

_FOLD, _DRAW = b"assay fold", b"assay train"  # two independent hashes of the same id
_RANGE = 1 << 64


def fold_of(ids: Iterable[str], folds: int) -> npt.NDArray[np.int16]:
    """The fold 0…folds−1 of each sample: a stable hash of its id, whatever the order, the partition or the others.

    >>> fold_of(["a", "b", "c"], 5).tolist() == fold_of(["c", "b", "a"], 5)[::-1].tolist()
    True
    """
    return (_hashes(ids, _FOLD) % np.uint64(folds)).astype(np.int16)


def drawn(ids: Iterable[str], share: float, seed: str) -> npt.NDArray[np.bool_]:
    """Which samples are in a seeded sample of about `share` of all: those whose hash falls below it.

    What is hashed may be an id, or a content: then copies are drawn together.

    >>> bool(drawn(["a", "b"], 1.0, "0").all())
    True
    """
    hashes = _hashes(ids, _DRAW, seed.encode())
    if share >= 1:
        return np.ones(len(hashes), dtype=np.bool_)
    return np.asarray(hashes < np.uint64(int(share * _RANGE)), dtype=np.bool_)


def _hashes(ids: Iterable[str], purpose: bytes, key: bytes = b"") -> npt.NDArray[np.uint64]:
    salted = blake2b(purpose + b"\0" + key + b"\0", digest_size=8)
    digests = bytearray()
    for sample in ids:
        hasher = salted.copy()
        hasher.update(sample.encode())
        digests += hasher.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)


DOCUMENT = "document"
"""The column that says which document a sentence is of."""

LARGEST = 0.5
"""A group with more than this share of the samples cannot be held out: then pairs are, one by one."""

Marks = npt.NDArray[np.uint64]


class Chosen(NamedTuple):
    """The texts of the groups that are audited (None where one group is too large to hold out), and what there is."""

    texts: Marks | None
    groups: int
    largest: int


def text_marks(samples: pa.Table, *, content: Sequence[str]) -> pa.Table:
    """Ids, classes and a number for each text that a sample holds: what groups are made of."""
    columns = [samples[name].cast(pa.large_string()).to_pylist() for name in content]
    marks = [[_mark(text) for text in row if text is not None] for row in zip(*columns, strict=True)]
    return samples.select(["id", "gold"]).append_column("texts", pa.array(marks, pa.list_(pa.uint64())))


def choose_groups(marks: pa.ChunkedArray, share: float) -> Chosen:
    """The groups that are audited, about `share` of all, each drawn by the hash of its smallest mark.

    >>> pairs = pa.chunked_array([pa.array([[1, 2], [3, 4], [2, 3], [5, 6]], pa.list_(pa.uint64()))])
    >>> choose_groups(pairs, 0.5)[1:]
    (2, 3)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    flat, rows = _flattened(marks)
    texts, place = np.unique(flat, return_inverse=True)
    beside = np.flatnonzero(rows[1:] == rows[:-1])  # texts of one sample are linked one to the next
    links = coo_array((np.ones(len(beside)), (place[beside], place[beside + 1])), shape=(len(texts), len(texts)))
    _, group = connected_components(links, directed=False)
    _, first = np.unique(group, return_index=True)  # the smallest text of each group, since texts are sorted
    sizes = np.bincount(group[place[np.unique(rows, return_index=True)[1]]], minlength=len(first))
    largest = int(sizes.max(initial=0))
    if largest > LARGEST * len(marks):
        return Chosen(None, len(first), largest)
    audited = drawn((str(text) for text in texts[first].tolist()), share, "hold out")
    return Chosen(texts[audited[group]], len(first), largest)


def of_groups(samples: pa.Table, content: Sequence[str], texts: Marks) -> npt.NDArray[np.bool_]:
    """Which samples hold one of the texts [n]."""
    flat, rows = _flattened(text_marks(samples, content=content)["texts"])
    mask = np.zeros(samples.num_rows, dtype=np.bool_)
    mask[rows[np.isin(flat, texts)]] = True
    return mask


def shared_texts(training: pa.ChunkedArray, audited: pa.ChunkedArray) -> int:
    """How many audited samples hold a text that a training sample holds."""
    known, (flat, rows) = _flattened(training)[0], _flattened(audited)
    return len(np.unique(rows[np.isin(flat, known)]))


def names_in(samples: pa.Table, *, column: str) -> dict[str, frozenset[str]]:
    """The documents or the groups of a partition, by the column that names them."""
    return {"names": frozenset(samples[column].cast(pa.string()).drop_null().unique().to_pylist())}


def in_documents(documents: Collection[object], rows: int) -> bool:
    """Whether the documents are worth keeping together: there are several, and some have several sentences.

    >>> in_documents(["a", "b"], 9), in_documents(["a"], 9), in_documents(["a", "b"], 2)
    (True, False, False)
    """
    return 1 < len(documents) < rows


def are_words(samples: pa.Table, content: Sequence[str]) -> bool:
    """Whether a column of the contents is of words: then samples are sentences, most likely of longer texts."""
    return any(pa.types.is_list(samples.schema.field(name).type) for name in content)


def _flattened(marks: pa.ChunkedArray) -> tuple[Marks, npt.NDArray[np.int64]]:
    whole = marks.combine_chunks()
    rows = np.asarray(pc.list_parent_indices(whole).to_numpy(zero_copy_only=False), dtype=np.int64)
    return np.asarray(pc.list_flatten(whole).to_numpy(zero_copy_only=False), dtype=np.uint64), rows


def _mark(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


SPLIT, LATER = "split", "later"
Side = Literal["training", "evaluation"]


def splits_in(samples: pa.Table, *, settings: Evaluation) -> dict[str, frozenset[str]]:
    """The values of the split column in a partition, and an empty name where there is no such column."""
    column = split_column(settings)
    if column in samples.column_names:
        if settings.since is not None:
            return {"splits": frozenset([LATER])}
        return {"splits": frozenset(str(value) for value in samples[column].drop_null().unique().to_pylist())}
    if settings.column is None:
        return {"splits": frozenset([""])}
    raise InputError(
        f"The samples have no column {column!r} (evaluation.column) that says which may train: their columns are "
        f"{', '.join(samples.column_names)}."
    )


def split_column(settings: Evaluation) -> str:
    """The column that says which part of the data a sample belongs to."""
    return settings.column or SPLIT


def require_splits(splits: Collection[str], settings: Evaluation) -> bool:
    """Whether the samples come with a split column; raises where it lacks a value that is asked for."""
    if set(splits) == {""}:
        if settings.since is not None:
            message = "`evaluation.since` needs the `column` of dates that it is about."
            raise SettingError(message, "since", str(settings.since))
        return False
    if settings.since is not None:
        return True
    for option, value in (("split", settings.split), ("train", settings.train)):
        if value not in splits:
            raise SettingError(
                f"The column {split_column(settings)!r} has no value {value!r}, which `evaluation.{option}` asks for: "
                f"its values are {', '.join(sorted(splits))}.",
                option,
                value,
            )
    return True


def content_columns(columns: Collection[str], texts: Sequence[str]) -> tuple[str, ...]:
    """The columns by which copies of a sample are known: its image, else its texts; none where it has neither.

    >>> content_columns(["id", "gold", "text"], ["text", "note"])
    ('text',)
    """
    return ("image",) if "image" in columns else tuple(name for name in texts if name in columns)


def contents_of(samples: pa.Table, content: Sequence[str]) -> list[str]:
    """A hash of what each sample holds; where there is nothing to hash (no column, no value), its id."""
    hashes = []
    columns = [samples[name] if name == "image" else as_text(samples[name]) for name in content]
    for row, sample in enumerate(samples["id"].to_pylist()):
        values = [column[row] for column in columns]
        if not any(value.is_valid for value in values):
            hashes.append(sample)
            continue
        state = blake2b(digest_size=16)
        for value in values:
            held = value.as_buffer() if value.is_valid else b""
            state.update(len(held).to_bytes(8, "little"))
            state.update(held)
        hashes.append(state.hexdigest())
    return hashes


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of texts, or of lists of words, as one text per row."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return pc.binary_join(column, "\x1f").cast(pa.large_string())
    return column.cast(pa.large_string())


def content_marks(samples: pa.Table, *, content: Sequence[str]) -> pa.Table:
    """Ids, classes and a number for what each sample holds: equal ones, or (once in 2^64 pairs) a coincidence."""
    digests = (blake2b(held.encode(), digest_size=8).digest() for held in contents_of(samples, content))
    marks = np.frombuffer(b"".join(digests), "<u8")
    return samples.select(["id", "gold"]).append_column("content", pa.array(marks, pa.uint64()))


def marks_among(samples: pa.Table, *, content: Sequence[str], marks: npt.NDArray[np.uint64]) -> SparseSum:
    """Which of the marks, ascending and each once, a partition's samples have: by their places among the marks."""
    own_marks = np.unique(content_marks(samples, content=content)["content"].to_numpy())
    places = np.flatnonzero(np.isin(marks, own_marks, assume_unique=True))
    return SparseSum.of(places, np.ones(len(places), dtype=np.int64))


@dataclass(frozen=True)
class Rule:
    """How samples are told apart: by their split column, or by a hash of what they hold, or by the texts that were
    chosen to be audited."""

    settings: Evaluation
    by_column: bool
    content: Sequence[str] = ()
    texts: Marks | None = None


def on_side(samples: pa.Table, side: Side, rule: Rule) -> npt.NDArray[np.bool_]:
    """Which rows of a partition train, or are audited [n].

    >>> rows = pa.table({"id": ["a", "b", "c", "d"], "split": ["train", "test", "val", None]})
    >>> on_side(rows, "evaluation", Rule(Evaluation(), by_column=True)).tolist()
    [False, True, False, False]
    """
    settings = rule.settings
    if settings.since is not None:
        later = _is_later(samples[split_column(settings)], settings.since)
        return later if side == "evaluation" else np.asarray(samples[split_column(settings)].is_valid()) & ~later
    if rule.by_column:
        wanted = settings.split if side == "evaluation" else settings.train
        text = samples[split_column(settings)].cast(pa.string())
        return np.asarray(pc.fill_null(pc.equal(text, wanted), False).to_numpy())
    if rule.texts is not None:
        audited = of_groups(samples, rule.content, rule.texts)
    else:
        audited = drawn(contents_of(samples, rule.content), settings.holdout, "hold out")
    return audited if side == "evaluation" else ~audited


def _is_later(column: pa.ChunkedArray, since: str | float) -> npt.NDArray[np.bool_]:
    """Which values are not below a bound [n]; a missing one is not.

    >>> _is_later(pa.chunked_array([["2026-08-31", "2026-09-01", None]]), "2026-09").tolist()
    [False, True, False]
    >>> hours = pa.array([22, 23], pa.timestamp("s")).cast(pa.timestamp("s", "Europe/Berlin"))
    >>> [_is_later(pa.chunked_array([hours]), "1970-01-01T01:00:23" + zone).tolist() for zone in ("", "+01:00")]
    [[False, True], [False, True]]
    """
    kind, bound = column.type, None
    if pa.types.is_timestamp(kind) and kind.tz:  # a time that names no zone is one of the column's
        with suppress(pa.ArrowInvalid):
            bound = pc.assume_timezone(pa.scalar(str(since)).cast(pa.timestamp(kind.unit)), kind.tz)
    try:
        bound = bound or pa.scalar(since if pa.types.is_string(kind) else str(since)).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        wrong = f"`evaluation.since` is {since}, and its column holds {kind}: give a value of that kind."
        raise SettingError(wrong, "since", str(since)) from error
    return np.asarray(pc.fill_null(pc.greater_equal(column, bound), False))


def rows_on_side(samples: pa.Table, *, side: Side, rule: Rule, only: frozenset[str] | None = None) -> pa.Table:
    """The rows of a partition that train, or are audited; of these `only` those named, where a limit chose them."""
    chosen = on_side(samples, side, rule)
    if only is not None:
        chosen &= np.fromiter((sample in only for sample in samples["id"].to_pylist()), bool, samples.num_rows)
    return samples.take(pa.array(np.flatnonzero(chosen)))


def first_audited(samples: pa.Table, *, rule: Rule, limit: int) -> dict[str, dict[str, Any]]:
    """Of the rows that are audited, per class how many there are, and the first `limit` by what is drawn for each: all
    that `draw_in_proportion` looks at."""
    known = samples.select(["id", "gold"]).filter(pa.array(on_side(samples, "evaluation", rule)))
    queues = _queues(known["id"].to_pylist(), known["gold"].to_pylist())
    return {
        "sizes": {str(code): len(queue) for code, queue in queues.items()},
        "first": {str(code): Smallest.of(queue, limit) for code, queue in queues.items()},
    }


def rows_as_they_are(samples: pa.Table) -> pa.Table:
    """The rows: what is copied when samples are only cut anew."""
    return samples


def draw_in_proportion(ids: Iterable[str], classes: Iterable[int | None], limit: int) -> frozenset[str]:
    """At most `limit` ids, the classes in the proportions that they have, each by the hash of its id.

    Every class has one at least, as far as the limit reaches; a smaller limit draws some of what a larger one does.

    >>> ids, classes = "abcdefghij", [0] * 8 + [1] * 2
    >>> len(draw_in_proportion(ids, classes, limit=5) & set("ij"))
    1
    """
    queues = {code: sorted(queue) for code, queue in _queues(ids, classes).items()}
    return seated({code: len(queue) for code, queue in queues.items()}, queues, limit)


def seated(sizes: Mapping[int, int], first: Mapping[int, Sequence[tuple[bytes, str]]], limit: int) -> frozenset[str]:
    """As `draw_in_proportion`, of the first `limit` samples or more of each class: no later one gets a seat.

    Seats after Sainte-Laguë: the i-th of n samples stands at (2i + 1) / n, and those that stand first are drawn.
    """
    ranked = [
        (place > 0, (2 * place + 1) / sizes[code], code, sample)
        for code, queue in first.items()
        for place, (_, sample) in enumerate(queue)
    ]
    return frozenset(sample for *_, sample in sorted(ranked)[:limit])


def rows_with_ids(samples: pa.Table, *, ids: frozenset[str]) -> pa.Table:
    """The rows of a partition that are among the ids."""
    return samples.filter(pc.is_in(samples["id"], value_set=pa.array(sorted(ids), pa.string())))


def with_values(samples: pa.Table, column: str, values: Sequence[Any]) -> pa.Table:
    """The samples with these values in a column, whose type stays."""
    at = samples.schema.get_field_index(column)
    field = samples.schema.field(at)
    return samples.set_column(at, field, pa.array(values, field.type))


def rows_by_sample(tables: Sequence[pa.Table], ids: Sequence[str]) -> pa.Table:
    """The rows of all tables, those of a sample together, in the order of these samples: so that no cut shows."""
    table = pa.concat_tables(tables).combine_chunks()
    places = pc.index_in(table["id"], pa.array(ids, pa.string())).to_numpy()
    return table.take(pa.array(np.argsort(places, kind="stable")))


def draw_evenly(ids: Iterable[str], classes: Iterable[int | None], limit: int) -> frozenset[str]:
    """At most `limit` ids, as evenly over the classes as there are samples, each by the hash of its id.

    >>> len(draw_evenly(["a", "b", "c", "d", "e"], [0, 0, 0, 0, 1], limit=4))
    4
    >>> "e" in draw_evenly(["a", "b", "c", "d", "e"], [0, 0, 0, 0, 1], limit=2)
    True
    """
    queues = _queues(ids, classes)
    # The i-th sample of every class comes before the (i+1)-th of any: so classes fill up side by side.
    ranked = [(at, code, sample) for code, queue in queues.items() for at, (_, sample) in enumerate(sorted(queue))]
    return frozenset(sample for _, _, sample in sorted(ranked)[:limit])


def _queues(ids: Iterable[str], classes: Iterable[int | None]) -> dict[int, list[tuple[bytes, str]]]:
    """Per class, its samples with what is drawn for each."""
    queues: dict[int, list[tuple[bytes, str]]] = {}
    for sample, gold in zip(ids, classes, strict=True):
        drawn_first = blake2b(b"assay limit\0" + sample.encode(), digest_size=16).digest()
        queues.setdefault(-1 if gold is None else gold, []).append((drawn_first, sample))
    return queues
