"""Ten rules over short texts: column rules, beside the same rules as Snorkel functions under its `PandasLFApplier`.

A third form, plain functions of one sample under our own applier, shows what Snorkel's style costs without Snorkel.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from side_by_side import Stopwatch, compare

HAM, SPAM, ABSTAIN = 0, 1, -1
VOCABULARY = (
    "check out my channel please subscribe this song is great love the video http www.example.com free money win "
    "follow me on best voice ever listening in the rain who else is here again and again"
)
PATTERNS = {
    "check_out": (r"check.{0,12}out", SPAM),
    "subscribe": (r"subscri|sub4sub", SPAM),
    "link": (r"https?|www\.|\.com", SPAM),
    "please": (r"\b(?:please|plz)\b", SPAM),
    "money": (r"\b(?:money|free|win)\b", SPAM),
    "follow": (r"\bfollow me\b", SPAM),
    "the_music": (r"\b(?:song|voice|listening)\b", HAM),
    "likes_it": (r"\b(?:love|best|great)\b", HAM),
}


def texts(rows: int) -> pa.Table:
    """Comments of 3 to 18 words."""
    generator = np.random.default_rng(0)
    lengths = generator.integers(3, 19, rows)
    words = generator.choice(VOCABULARY.split(), int(lengths.sum()))
    pieces = np.split(words, np.cumsum(lengths)[:-1])
    return pa.table({"id": [f"c{row}" for row in range(rows)], "text": [" ".join(piece) for piece in pieces]})


def column_rules():
    from assay.tasks.labeling.rules import ColumnRule, Rulebook

    def says(name: str, pattern: str, vote: int):
        return ColumnRule(name, lambda frame: np.where(frame["text"].str.contains(pattern), vote, ABSTAIN))

    rules = [says(name, pattern, vote) for name, (pattern, vote) in PATTERNS.items()]
    short = ColumnRule("short", lambda frame: np.where(frame["text"].str.len() < 30, HAM, ABSTAIN))
    long = ColumnRule("long", lambda frame: np.where(frame["text"].str.len() > 90, SPAM, ABSTAIN))
    return Rulebook("columns", ("ham", "spam"), [*rules, short, long])


def functions_of_one_sample():
    from snorkel.labeling import LabelingFunction

    def says(name: str, pattern: str, vote: int):
        search = re.compile(pattern).search
        return LabelingFunction(name, f=lambda x: vote if search(x.text) else ABSTAIN)

    rules = [says(name, pattern, vote) for name, (pattern, vote) in PATTERNS.items()]
    short = LabelingFunction("short", f=lambda x: HAM if len(x.text) < 30 else ABSTAIN)
    long = LabelingFunction("long", f=lambda x: SPAM if len(x.text) > 90 else ABSTAIN)
    return [*rules, short, long]


def vote_ours(table: pa.Table, rulebook) -> np.ndarray:
    from assay.tasks.labeling.summary import vote_matrix
    from assay.tasks.labeling.voting import apply_rules

    return vote_matrix(apply_rules(table, rulebook)[0])


def vote_peer(table: pa.Table) -> np.ndarray:
    from snorkel.labeling import PandasLFApplier

    return PandasLFApplier(functions_of_one_sample()).apply(table.to_pandas(), progress_bar=False)


def ours(rows: int, stopwatch: Stopwatch) -> None:
    book = column_rules()
    same_votes(book)
    table = texts(rows)
    with stopwatch:
        vote_ours(table, book)


def ours_sample_by_sample(rows: int, stopwatch: Stopwatch) -> None:
    from assay.tasks.labeling.rules import Rulebook

    book = Rulebook("samples", ("ham", "spam"), functions_of_one_sample())
    same_votes(book)
    table = texts(rows)
    with stopwatch:
        vote_ours(table, book)


def peer(rows: int, stopwatch: Stopwatch) -> None:
    table = texts(rows)
    vote_peer(table.slice(0, 10))  # imports are not timed
    with stopwatch:
        vote_peer(table)


def same_votes(book) -> None:
    """Both sides answer alike (and have imported what they need) before anything is timed."""
    table = texts(500)
    if not np.array_equal(vote_ours(table, book), vote_peer(table)):
        raise SystemExit("the two sides vote differently")


if __name__ == "__main__":
    claims = {
        "10 column rules over short texts": (ours, peer),
        "10 Snorkel functions under our applier": (ours_sample_by_sample, peer),
    }
    compare(claims, rows=100_000)
