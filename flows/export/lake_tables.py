"""What a run knows of single samples as tidy tables: votes, weak labels, intervals, the order, hardness.

Each is made of a partition at a time, in the form that lakes want: names beside codes, null where nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

_S, _I2, _I4, _I8, _F, _B = pa.string(), pa.int16(), pa.int32(), pa.int64(), pa.float64(), pa.bool_()
_SAMPLE: Mapping[str, tuple[pa.DataType, str]] = {
    "id": (_S, "the sample's name, as the source names its rows"),
    "path": (_S, "the path of its image, as the source names it; null where samples are rows of a table"),
}
_LABELER = {"labeler": (_S, "whose weak label it is")}
_LABEL = {
    "label": (_I2, "the weak label, as a class code"),
    "label_name": (_S, "the weak label, by name"),
    "confidence": (_F, "the labeler's confidence in it; a score, no chance"),
    "votes_cast": (_I4, "how many functions of the panel voted"),
}
_UNDECIDED = {"undecided": (_B, "no class won: the label is the default")}

_BATCH = 1 << 17

Made = Callable[[pa.Table, "Said"], Iterator[pa.Table]]


@dataclass(frozen=True)
class Said:
    """What is said beside a partition: the classes by name, whose labels they are, and the paths of its samples."""

    classes: Sequence[str]
    labeler: str
    paths: pa.Array

    def name_of(self, codes: pa.ChunkedArray | pa.Array) -> pa.Array:
        """The names of class codes, null where a code is.

        >>> Said(["ham", "spam"], "", pa.nulls(0)).name_of(pa.array([1, None], pa.int16())).to_pylist()
        ['spam', None]
        """
        return pa.array(self.classes, _S).take(codes)


@dataclass(frozen=True)
class TidyTable:
    """One table of the lake: what its rows are, its columns with their meaning, and how a partition becomes rows."""

    name: str
    about: str
    columns: Mapping[str, tuple[pa.DataType, str]]
    made: Made

    @property
    def schema(self) -> pa.Schema:
        """Names and types of its columns."""
        return pa.schema([(name, dtype) for name, (dtype, _) in self.columns.items()])

    def rows(self, part: pa.Table, said: Said) -> Iterator[pa.RecordBatch]:
        """The rows of a partition, a batch at a time."""
        for table in self.made(part, said):
            yield from table.select(self.schema.names).cast(self.schema).to_batches(max_chunksize=_BATCH)


def votes_of(votes: pa.Table, said: Said) -> Iterator[pa.Table]:
    """A row per sample and function, function by function; null where it abstains.

    >>> rows = pa.table({"id": ["a", "b"], "has_link": pa.array([1, -1], pa.int8())})
    >>> next(votes_of(rows, Said(["ham", "spam"], "", pa.nulls(2, _S))))["vote_name"].to_pylist()
    ['spam', None]
    """
    for name in votes.column_names[1:]:
        cast = pc.if_else(pc.less(votes[name], 0), None, votes[name].cast(_I2))
        function = pa.array([name] * votes.num_rows, _S)
        columns = [votes["id"], said.paths, function, cast, said.name_of(cast)]
        yield pa.table(columns, names=["id", "path", "function", "vote", "vote_name"])


def labels_of(labels: pa.Table, said: Said) -> Iterator[pa.Table]:
    """A row per sample: what a labeler says of it, with whatever stands beside."""
    beside = {"path": said.paths, "labeler": pa.array([said.labeler] * labels.num_rows, _S)}
    for codes, named in (("label", "label_name"), ("gold", "gold_name")):
        if codes in labels.column_names:
            beside[named] = said.name_of(labels[codes])
    yield pa.table({name: labels[name] for name in labels.column_names} | beside)


def hardness_of(rows: pa.Table, said: Said) -> Iterator[pa.Table]:
    """The rows as they are, with their paths."""
    yield rows.append_column("path", said.paths)


VOTES = TidyTable(
    "votes",
    "A row per sample and labelling function, also those that pruning left out.",
    {
        **_SAMPLE,
        "function": (_S, "the labelling function"),
        "vote": (_I2, "the class it votes for, as a class code; null where it abstains"),
        "vote_name": (_S, "that class by name"),
    },
    votes_of,
)
WEAK_LABELS = TidyTable(
    "weak_labels",
    "A row per sample and labeler: the estimated class.",
    {
        **_SAMPLE,
        **_LABELER,
        **_LABEL,
        "share": (_F, "the share of the votes that the label is taken to have won, which its interval is made of"),
        **_UNDECIDED,
    },
    labels_of,
)
INTERVALS = TidyTable(
    "intervals",
    "A row per sample and labeler: the Clopper-Pearson interval of the confidence in its weak label.",
    {
        **_SAMPLE,
        **_LABELER,
        **_LABEL,
        "votes_won": (_F, "the votes that the label is taken to have won; a real number"),
        "lower": (_F, "lower end of the interval (theta_L); the order follows it"),
        "upper": (_F, "upper end of the interval"),
        **_UNDECIDED,
    },
    labels_of,
)
ORDER = TidyTable(
    "adversarial_order",
    "A row per ordered sample and labeler: its place in the order and the data sets D1 … DN.",
    {
        **_SAMPLE,
        **_LABELER,
        "rank": (_I8, "its place in the adversarial order; 0 is the easiest"),
        "dataset": (_I4, "the first of D1 … DN that holds it; every later one does too"),
        "gold": (_I2, "the true class where it is known, as a class code"),
        "gold_name": (_S, "the true class where it is known, by name"),
    },
    labels_of,
)
HARDNESS = TidyTable(
    "hardness",
    "A row per sample, subject and measure of hardness (of runs with `hardness`): how hard an audit found it.",
    {
        **_SAMPLE,
        "subject": (_S, "the subject that it is hard for; empty where the measure is of none"),
        "measure": (_S, "the measure of hardness"),
        "value": (_F, "how hard it is: higher is harder, and only the order of values counts; -inf: nothing worked"),
    },
    hardness_of,
)
TABLES = (VOTES, WEAK_LABELS, INTERVALS, ORDER, HARDNESS)
