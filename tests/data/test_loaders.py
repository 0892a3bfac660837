"""Loaders turn a data set's own files into samples; the two without data here are tried on files of the same shape."""

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assay.data.loaders import crossmodal, recsys, weather_crowd, youtube_spam
from assay.infra.errors import InputError


def mirrored(folder: str) -> Path:
    return Path(os.environ["ASSAY_MIRROR"], folder)


def classes_of(table: pa.Table) -> list[str]:
    return list(json.loads(table.schema.metadata[b"classes"]))


@pytest.mark.mirror
def test_youtube_spam_is_split_as_in_the_tutorial_and_names_nobody() -> None:
    table = youtube_spam(mirrored("youtube_spam"))
    assert table.column_names == ["id", "gold", "text", "video", "split"]
    assert Counter(table.column("split").to_pylist()) == {"train": 1586, "valid": 120, "test": 250}
    assert (table.num_rows, pc.sum(table.column("gold")).as_py()) == (1956, 1005)
    assert classes_of(table) == ["ham", "spam"]
    assert len(set(table.column("id").to_pylist())) == 1956


@pytest.mark.mirror
def test_weather_crowd_is_a_table_of_votes_by_102_workers() -> None:
    table = weather_crowd(mirrored("crowdflower_weather"))
    workers = [name for name in table.column_names if name.startswith("worker_")]
    assert (table.num_rows, len(workers)) == (287, 102)
    assert Counter(table.column("gold").to_pylist()) == {1: 141, 0: 146}
    assert Counter(table.column("split").to_pylist()) == {"train": 187, "valid": 50, "test": 50}
    assert table.schema.metadata[b"holds"] == b"votes"
    assert all(table.schema.field(name).type == pa.int8() for name in workers)
    matrix = np.column_stack([table.column(name).to_numpy() for name in workers])
    judged = Counter(np.array(table.column("split").to_pylist())[(matrix != -1).any(axis=1)])
    assert judged == {"train": 94, "valid": 25}  # the tutorial withholds the crowd's votes on the others
    assert Counter(matrix.ravel().tolist()) == {-1: 27360, 0: 977, 1: 937}


def write_crossmodal(folder: Path, label: str = "1") -> None:
    for name, rows in (("train", 3), ("dev", 2), ("test", 1)):
        lines = [f'{row % 2},"[\'x{row}.png\']","heart, lungs\nclear {name} {row}"' for row in range(rows - 1)]
        lines.append(f"{label},['y.png'],opacity seen")
        (folder / f"{name}_entries.csv").write_text("label,xray_paths,text\n" + "\n".join(lines) + "\n")


def test_crossmodal_joins_its_three_tables(tmp_path: Path) -> None:
    write_crossmodal(tmp_path)
    table = crossmodal(tmp_path)
    assert table.column("id").to_pylist() == [
        "train-0001",
        "train-0002",
        "train-0003",
        "valid-0001",
        "valid-0002",
        "test-0001",
    ]
    assert table.column("gold").to_pylist() == [0, 1, 1, 0, 1, 1]
    assert table.column("text")[0].as_py() == "heart, lungs\nclear train 0"
    assert classes_of(table) == ["normal", "abnormal"]


def test_crossmodal_refuses_a_label_that_it_does_not_know(tmp_path: Path) -> None:
    write_crossmodal(tmp_path, label="7")
    with pytest.raises(InputError, match=r"train_entries\.csv row 3 has .*7.* in column 'label'"):
        crossmodal(tmp_path)


def test_crossmodal_says_which_table_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train_entries\.csv is missing"):
        crossmodal(tmp_path)


def write_lines(path: Path, records: list[dict[str, object]]) -> None:
    path.write_bytes(gzip.compress("".join(json.dumps(record) + "\n" for record in records).encode()))


def write_recsys(folder: Path) -> None:
    books = [
        {
            "book_id": str(book),
            "title": f"T{book}",
            "authors": [{"author_id": str(book % 2)}],
            "average_rating": "3.9",
            "ratings_count": str(count),
            "similar_books": [],
        }
        for book, count in ((1, 200), (2, 300), (3, 400), (4, 5))
    ]
    shelf = [
        {"user_id": f"u{user}", "book_id": str(book), "rating": rating, "is_read": True, "date_added": ""}
        for user in range(40)
        for book, rating in ((1, 5), (2, 3), (3, 0), (4, 5))
    ]
    shelf.append({"user_id": "lonely", "book_id": "1", "rating": 5, "is_read": True, "date_added": ""})
    write_lines(folder / "goodreads_books_young_adult.json.gz", books)
    write_lines(folder / "goodreads_interactions_young_adult.json.gz", shelf)
    write_lines(
        folder / "goodreads_reviews_young_adult.json.gz",
        [{"user_id": "u0", "book_id": "1", "review_text": "Five stars", "rating": 5}],
    )


def test_recsys_keeps_rated_pairs_of_selected_books_and_readers(tmp_path: Path) -> None:
    write_recsys(tmp_path)
    table = recsys(tmp_path, user_books=(2, 200))
    assert table.num_rows == 80  # book 4 has too few ratings, book 3 was never rated, one reader has too few books
    assert Counter(table.column("gold").to_pylist()) == {1: 40, 0: 40}
    assert Counter(table.column("split").to_pylist()) == {"train": 76, "test": 4}
    rows = {row["id"]: row for row in table.to_pylist()}
    assert rows["reader-0-book-1"]["review"] == "Five stars"
    assert rows["reader-1-book-1"]["review"] == ""
    assert rows["reader-0-book-1"]["books_by_author"] == 2  # books 1 and 3
    assert rows["reader-0-book-2"]["books_by_author"] == 1
    by_reader = {}
    for name, row in rows.items():
        by_reader.setdefault(name.split("-")[1], set()).add(row["split"])
    assert all(len(parts) == 1 for parts in by_reader.values())


def test_recsys_names_the_line_that_is_no_record(tmp_path: Path) -> None:
    write_recsys(tmp_path)
    (tmp_path / "goodreads_books_young_adult.json.gz").write_bytes(gzip.compress(b'{"book_id": "1"}\n'))
    with pytest.raises(InputError, match=r"young_adult\.json\.gz line 1 is not a record with book_id, title"):
        recsys(tmp_path)
