"""From a catalogue data set's files to one table of samples: `id`, `gold`, `split`, and features or votes (int8).

Each table names its classes in its schema's metadata (`classes`), and says `holds: votes` where its int8 columns are
votes. The parts of the data (`split`: train, valid, test) are those of the Snorkel tutorials that the papers use.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from assay.data.catalogue_files import present, require_columns, with_classes
from assay.infra.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

VIDEOS = ("Youtube01-Psy", "Youtube02-KatyPerry", "Youtube03-LMFAO", "Youtube04-Eminem", "Youtube05-Shakira")

_SHUFFLE = 123  # the tutorials' random_state


def youtube_spam(folder: Path) -> pa.Table:
    """1956 comments: four videos are train, the fifth is split into 120 valid and 250 test; nobody's name is kept."""
    import pandas as pd
    from sklearn.model_selection import train_test_split

    frames = []
    for file in VIDEOS:
        frame = _read_csv(folder / f"{file}.csv", ["CONTENT", "CLASS"])
        video = file.partition("-")[2].lower()
        frame["id"] = [f"{video}-{row:03d}" for row in range(1, len(frame) + 1)]
        frame["video"] = video
        frame["split"] = "train"
        frames.append(frame)
    shuffled = frames[-1].sample(frac=1, random_state=_SHUFFLE)
    valid, _ = train_test_split(shuffled["id"], test_size=250, random_state=_SHUFFLE, stratify=shuffled["CLASS"])
    frames[-1]["split"] = np.where(frames[-1]["id"].isin(valid), "valid", "test")
    comments = pd.concat(frames, ignore_index=True)
    return _table(
        {
            "id": _text(comments["id"]),
            "gold": pa.array(comments["CLASS"], pa.int16()),
            "text": _text(comments["CONTENT"]),
            "video": _text(comments["video"]),
            "split": _text(comments["split"]),
        },
        ["ham", "spam"],
    )


def weather_crowd(folder: Path) -> pa.Table:
    """The tutorial's 287 tweets with undisputed sentiment, one column of votes per crowd worker (-1: did not say).

    Kept are tweets whose answer a second crowd unanimously found right and that is Positive or Negative. As in the
    tutorial, the crowd's votes on half of train, half of valid and all of test are taken away: these tweets have gold
    and no votes. Workers are numbered in the order of their ids, which are left out.
    """
    judged = _read_csv(
        folder / "weather-evaluated-agg-DFE.csv.gz",
        ["tweet_id", "tweet_body", "sentiment", "correct_category", "correct_category_conf"],
    )
    answers = _read_csv(folder / "weather-non-agg-DFE.csv.gz", ["tweet_id", "worker_id", "emotion"])
    undisputed = (judged["correct_category"] == "Yes") & (judged["correct_category_conf"] == 1)
    tweets = judged[undisputed & judged["sentiment"].isin(["Positive", "Negative"])].reset_index(drop=True)
    shuffled = tweets["tweet_id"].sample(frac=1, random_state=_SHUFFLE)
    parts = dict.fromkeys(shuffled[:50], "valid") | dict.fromkeys(shuffled[50:100], "test")
    answers = answers[answers["tweet_id"].isin(tweets["tweet_id"])]
    workers = np.unique(answers["worker_id"])
    withheld = {*shuffled[:25], *shuffled[50:100], *shuffled[100 : 100 + (len(shuffled) - 100) // 2]}
    answers = answers[~answers["tweet_id"].isin(withheld)]
    votes = np.full((len(tweets), len(workers)), -1, dtype=np.int8)
    rows = tweets.index.to_series().set_axis(tweets["tweet_id"])
    codes = {"Negative": 0, "Positive": 1}
    said = answers[answers["emotion"].isin(codes)]
    where = (rows.loc[said["tweet_id"]].to_numpy(), np.searchsorted(workers, said["worker_id"]))
    votes[where] = said["emotion"].map(codes).to_numpy()
    columns = {
        "id": _text(tweets["tweet_id"].astype(str)),
        "gold": pa.array(tweets["sentiment"].map(codes), pa.int16()),
        "text": _text(tweets["tweet_body"]),
        "split": pa.array([parts.get(tweet, "train") for tweet in tweets["tweet_id"]], pa.string()),
    }
    columns |= {f"worker_{number:03d}": pa.array(votes[:, number]) for number in range(len(workers))}
    return _table(columns, ["Negative", "Positive"], votes=True)


def crossmodal(folder: Path) -> pa.Table:
    """Radiograph reports, normal or abnormal, from the tutorial's three tables `{train,dev,test}_entries.csv`."""
    import pandas as pd

    frames = []
    for file, split in (("train", "train"), ("dev", "valid"), ("test", "test")):
        path = folder / f"{file}_entries.csv"
        frame = _read_csv(path, ["label", "xray_paths", "text"])
        _require_values(path, "label", frame["label"], {0, 1, 2})
        frame["id"] = [f"{split}-{row:04d}" for row in range(1, len(frame) + 1)]
        frame["split"] = split
        frames.append(frame)
    reports = pd.concat(frames, ignore_index=True)
    return _table(
        {
            "id": _text(reports["id"]),
            "gold": pa.array((reports["label"] == 1).astype(int), pa.int16()),
            "text": _text(reports["text"]),
            "xray_paths": _text(reports["xray_paths"]),
            "split": _text(reports["split"]),
        },
        ["normal", "abnormal"],
    )


def recsys(
    folder: Path,
    book_ratings: tuple[int, int] = (100, 15_000),
    user_books: tuple[int, int] = (25, 200),
    most: int = 5_000_000,
) -> pa.Table:
    """Readers and books they rated (gold: 4 stars or more), selected as the tutorial does; its parts are whole readers.

    Beside each pair stand the book's figures, the review if there is one, and how many books of the same first author
    the reader has on the shelf.
    """
    import pandas as pd

    shelf = _shelf(folder, book_ratings, user_books, most)
    reviews = pd.DataFrame(
        _json_lines(
            folder / "goodreads_reviews_young_adult.json.gz",
            ("user_id", "book_id", "review_text"),
            set(shelf["book_id"]),
        ),
        columns=["user_id", "book_id", "review_text"],
    ).drop_duplicates(["user_id", "book_id"])
    rated = shelf[shelf["rating"].astype(int) > 0].drop_duplicates(["user_id", "book_id"])
    rated = rated.merge(reviews, on=["user_id", "book_id"], how="left")
    users = np.unique(rated["user_id"].to_numpy(dtype=str))
    number = np.searchsorted(users, rated["user_id"].to_numpy(dtype=str))
    return _table(
        {
            "id": pa.array([f"reader-{user}-book-{book}" for user, book in zip(number, rated["book_id"], strict=True)]),
            "gold": pa.array((rated["rating"].astype(int) >= 4).astype(int), pa.int16()),
            "book": _text(rated["book_id"]),
            "title": _text(rated["title"]),
            "author": _text(rated["first_author"]),
            "average_rating": pa.array(rated["average_rating"].astype(float)),
            "ratings_count": pa.array(rated["ratings_count"].astype("int64")),
            "books_by_author": pa.array(rated["books_by_author"].astype("int64")),
            "review": _text(rated["review_text"].fillna("")),
            "split": pa.array(_reader_parts(len(users))[number], pa.string()),
        },
        ["would not like it", "would like it"],
    )


def _shelf(folder: Path, book_ratings: tuple[int, int], user_books: tuple[int, int], most: int) -> pd.DataFrame:
    """Readers with neither few nor very many of the selected books, and these books."""
    import pandas as pd

    books = pd.DataFrame(_books(folder / "goodreads_books_young_adult.json.gz", book_ratings))
    if books.empty:
        raise InputError(f"{folder} has no book with {book_ratings[0]} to {book_ratings[1]} ratings.")
    fields = ("user_id", "book_id", "rating", "is_read")
    records = _json_lines(folder / "goodreads_interactions_young_adult.json.gz", fields, set(books["book_id"]), most)
    shelf = pd.DataFrame(records, columns=fields)
    counts = shelf.groupby("user_id")["book_id"].transform("size")
    shelf = shelf[(counts >= user_books[0]) & (counts <= user_books[1])].merge(books, on="book_id")
    if shelf.empty:
        raise InputError(f"{folder} has no reader with {user_books[0]} to {user_books[1]} of the selected books.")
    shelf["books_by_author"] = shelf.groupby(["user_id", "first_author"])["book_id"].transform("size")
    return shelf


def _reader_parts(readers: int) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """The part of each reader: about 5 % test, 1 % valid, drawn once and for all."""
    parts = np.full(readers, "train", dtype="<U5")
    order = np.random.default_rng(_SHUFFLE).permutation(readers)
    test = round(0.05 * readers)
    parts[order[:test]] = "test"
    parts[order[test : test + round(0.01 * readers)]] = "valid"
    return parts


def _books(path: Path, ratings: tuple[int, int]) -> Iterator[dict[str, object]]:
    fields = ("book_id", "title", "authors", "average_rating", "ratings_count")
    for book in _json_lines(path, fields):
        if ratings[0] <= int(str(book["ratings_count"])) <= ratings[1]:
            authors = book.pop("authors")
            book["first_author"] = str(authors[0]["author_id"]) if isinstance(authors, list) and authors else ""
            yield book


def _json_lines(
    path: Path, fields: tuple[str, ...], books: Collection[str] | None = None, most: int | None = None
) -> Iterator[dict[str, object]]:
    """The named fields of each line of a gzipped JSON Lines file, of the given books only."""
    given = 0
    with gzip.open(present(path), "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                wanted = {field: record[field] for field in fields}
            except (ValueError, KeyError) as error:
                raise InputError(f"{path} line {number} is not a record with {', '.join(fields)}: {error}.") from error
            if books is not None and record["book_id"] not in books:
                continue
            yield wanted
            given += 1
            if most is not None and given >= most:
                return


def _read_csv(path: Path, columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    try:
        frame = pd.read_csv(present(path), encoding="utf-8")
    except (ValueError, OSError) as error:
        raise InputError(f"{path} cannot be read as CSV: {error}.") from error
    require_columns(path, columns, list(frame.columns))
    return frame[columns].copy()


def _require_values(path: Path, column: str, values: pd.Series[int], allowed: set[int]) -> None:
    strange = values[~values.isin(allowed)]
    if len(strange):
        raise InputError(
            f"{path} row {int(strange.index[0]) + 1} has {strange.iloc[0]!r} in column {column!r}, which is none of "
            f"{', '.join(map(str, sorted(allowed)))}."
        )


def _text(values: pd.Series[str]) -> pa.Array:
    return pa.array(values.astype(str).to_numpy(dtype=object), pa.string())


def _table(columns: dict[str, pa.Array], classes: list[str], votes: bool = False) -> pa.Table:
    return with_classes(pa.table(columns), classes, **({"holds": "votes"} if votes else {}))
