"""Several labels per sample come from columns, lists of names, text with bars, or lists of marks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.ingest.gold import marked, marks_column, named_labels
from assay.tasks.ingest.reader_choice import LabelColumns

Reader = Callable[..., Any]


def test_a_column_per_class(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,effusion,oedema,x\na,1,0,5\nb,-1,1.0,6\nc,,0,7\nd,2,0,8\n")
    result = read(2, csv="a.csv", id="id", labels=["effusion", "oedema"])
    assert result.classes == ("effusion", "oedema")
    assert result.samples.column_names == ["id", "gold", "x", "labels"]
    assert result.samples["labels"].to_pylist() == [[1, 0], [-1, 1], [-1, 0]]
    assert result.samples["gold"].null_count == 3
    assert result.reasons == [("a.csv", 5, "effusion", "label 2 is none of 1, 0 and -1 (unknown)")]


@pytest.mark.parametrize("partitions", [1, 3])
def test_one_column_lists_names(read: Reader, tmp_path: Path, partitions: int) -> None:
    (tmp_path / "a.csv").write_text("id,findings\na,oedema|effusion\nb, oedema \nc,\nd,effusion|\n")
    result = read(partitions, csv="a.csv", id="id", labels="findings")
    assert result.classes == ("effusion", "oedema")
    assert result.samples["labels"].to_pylist() == [[1, 1], [0, 1], [-1, -1], [1, 0]]


def test_an_unknown_name_is_rejected_where_classes_are_given(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"f": ["oedema"]}\n{"f": []}\n{"f": ["odema", "effusion"]}\n{"f": null}\n{"f": ["effusion"]}\n'
    )
    result = read(jsonl="a.jsonl", labels="f", classes=["oedema", "effusion"])
    assert result.samples["labels"].to_pylist() == [[1, 0], [0, 0], [-1, -1], [0, 1]]
    assert result.reasons == [("a.jsonl", 3, "f", "label 'odema' is none of oedema, effusion")]


def test_lists_of_marks_need_names(read: Reader, tmp_path: Path) -> None:
    marks = pa.array([[1, 0], [None, 1], None, [1, 0, 1], [5, 0]], pa.list_(pa.int8()))
    pq.write_table(pa.table({"m": marks}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="lists of 1, 0 and -1; give `classes`"):
        read(parquet="a.parquet", labels="m")
    result = read(parquet="a.parquet", labels="m", classes=["a", "b"])
    assert result.samples["labels"].to_pylist() == [[1, 0], [-1, 1], [-1, -1]]
    assert [row[3] for row in result.reasons] == [
        "3 labels where there are 2 classes",
        "label 5 is none of 1, 0 and -1 (unknown)",
    ]


def test_columns_that_cannot_be_labels_are_refused(read: Reader, tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1, 0], "t": ["yes", "no"], "m": [1, 0]}), tmp_path / "a.parquet")
    for labels, classes, sentence in (
        ("n", None, "the only one of `labels`"),
        (["n", "t"], None, "has string in column 't' of `labels`"),
        (["n", "m"], ["a", "b", "c"], "2 columns of labels and 3 `classes`"),
        (["n", "q"], None, "no column 'q', which `labels` names"),
    ):
        with pytest.raises(InputError, match=sentence):
            read(parquet="a.parquet", labels=labels, classes=classes)


@given(rows=st.lists(st.one_of(st.none(), st.sets(st.sampled_from("abcde"))), min_size=1, max_size=20))
@settings(max_examples=50)
def test_names_come_back_from_their_marks(rows: list[set[str] | None]) -> None:
    column = pa.array([None if row is None else sorted(row) for row in rows], pa.list_(pa.string()))
    classes = tuple("abcde")
    marks, faults = marked(LabelColumns(("f",), "names"), [column], classes)
    assert faults == []
    back = [None if -1 in row else {classes[i] for i in np.flatnonzero(row)} for row in marks_column(marks).to_pylist()]
    assert back == rows
    assert named_labels(column) == frozenset().union(*(row for row in rows if row))
