"""Simulated reviews with planted shortcuts: ordinary words that give the class away, beside words that say it.

A review is a handful of clauses. Sentiment clauses praise or complain; shortcut clauses mention a weekday, a town, a
food and the like, and of each such list one half stands beside negative reviews in the training texts, the other half
beside positive ones, as often as `strength` says. Who learns from these texts learns both. The test texts then set the
one against the other, with the same number of words on either side of the same kind of quarrel, so that how sure a
classifier is does not tell what it went by. Every sentiment word and every shortcut word is marked by its characters:
what a prediction rests on is then a fact that can be tested by deleting words (the truth is counterfactual).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from assay.data.catalogue_files import with_classes
from assay.data.samples.wording import wording

LEXICON = wording("reviews")
CLASSES = ("negative", "positive")
SPANS = pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())]))

# What speaks in a review of a class, and how loudly: the least and the most sentiment words and shortcut words for its
# class, and how many against it.
SPEAKS: dict[str, dict[str, tuple[int, int, int]]] = {
    "sentiment": {"sentiment": (2, 3, 0), "shortcut": (0, 0, 0)},
    "shortcut": {"sentiment": (0, 0, 0), "shortcut": (2, 3, 0)},
    "both": {"sentiment": (1, 2, 0), "shortcut": (1, 2, 0)},
    "sentiment against shortcut": {"sentiment": (2, 3, 0), "shortcut": (0, 0, 1)},
    "shortcut against sentiment": {"sentiment": (0, 0, 1), "shortcut": (2, 3, 0)},
}
_TEST = {
    "sentiment": 0.1, "shortcut": 0.1, "both": 0.1,
    "sentiment against shortcut": 0.35, "shortcut against sentiment": 0.35,
}  # fmt: skip
_WITHOUT_SHORTCUT = 0.3  # of the training texts


@dataclass(frozen=True)
class _Clause:
    """A clause with the place of its telling word, if it has one: `kind` is sentiment, shortcut or empty."""

    text: str
    kind: str = ""
    start: int = 0
    end: int = 0


def reviews(seed: int, strength: float, train: int = 2000, test: int = 500) -> pa.Table:
    """Reviews with `id`, `gold`, `text`, `split`, what `speaks`, and the spans of sentiment and shortcut words.

    Of the training texts that mention a shortcut word, a share `strength` has the class it stands for.

    >>> table = reviews(seed=0, strength=0.75, train=2, test=1)
    >>> table.column_names, table["split"].to_pylist()
    (['id', 'gold', 'text', 'split', 'speaks', 'sentiment_words', 'shortcut_words'], ['train', 'train', 'test'])
    """
    generator = np.random.Generator(np.random.Philox(key=[seed, round(strength * 10_000)]))
    rows = []
    for place in range(train + test):
        split = "train" if place < train else "test"
        number = place if split == "train" else place - train
        gold = int(generator.integers(2))
        speaks = _speaks(split, strength, generator)
        rows.append(
            {"id": f"{split}-{number:04d}", "gold": gold, "split": split, "speaks": speaks}
            | _review(gold, speaks, generator)
        )
    schema = pa.schema([
        ("id", pa.string()), ("gold", pa.int16()), ("text", pa.string()), ("split", pa.string()),
        ("speaks", pa.string()), ("sentiment_words", SPANS), ("shortcut_words", SPANS),
    ])  # fmt: skip
    return with_classes(pa.Table.from_pylist(rows, schema=schema), CLASSES)


def _speaks(split: str, strength: float, generator: np.random.Generator) -> str:
    """What speaks in the next review; in training texts both sides of a quarrel win equally often."""
    if split == "test":
        return _drawn(_TEST, generator)
    if generator.random() < _WITHOUT_SHORTCUT:
        return "sentiment"
    against = 1 - strength  # the shortcut words stand beside the other class
    agreeing = (1 - 2 * against) / 2
    return _drawn(
        {
            "sentiment against shortcut": against, "shortcut against sentiment": against,
            "shortcut": agreeing, "both": agreeing,
        }, generator,
    )  # fmt: skip


def _drawn(shares: dict[str, float], generator: np.random.Generator) -> str:
    return str(generator.choice(list(shares), p=list(shares.values())))


def _review(gold: int, speaks: str, generator: np.random.Generator) -> dict[str, object]:
    """The text of a review, and the spans of its sentiment and shortcut words."""
    clauses = []
    for kind, (least, most, against) in SPEAKS[speaks].items():
        make = _sentiment_clauses if kind == "sentiment" else _shortcut_clauses
        clauses += make(gold, int(generator.integers(least, most + 1)), generator)
        clauses += make(1 - gold, against, generator)
    neutral = generator.choice(len(LEXICON["neutral_clauses"]), size=int(generator.integers(4)), replace=False)
    clauses += [_Clause(LEXICON["neutral_clauses"][place]) for place in neutral]
    return _joined([clauses[place] for place in generator.permutation(len(clauses))], generator)


def _sentiment_clauses(code: int, count: int, generator: np.random.Generator) -> list[_Clause]:
    """So many clauses that praise, or that complain."""
    return [_sentiment_clause(code, generator) for _ in range(count)]


def _sentiment_clause(code: int, generator: np.random.Generator) -> _Clause:
    words = LEXICON["sentiment"][code]
    slots = list(words)
    weights = np.array([len(words[slot]) for slot in slots], dtype=np.float64)
    slot = str(generator.choice(slots, p=weights / weights.sum()))
    part = str(generator.choice(LEXICON["parts"]))
    template = str(generator.choice(LEXICON["sentiment_clauses"][slot])).replace("{part}", part)
    return _filled(template, str(generator.choice(words[slot])), "sentiment")


def _shortcut_clauses(code: int, count: int, generator: np.random.Generator) -> list[_Clause]:
    """So many clauses, each with a shortcut word of another kind."""
    clauses, words = LEXICON["shortcut_clauses"], LEXICON["shortcuts"][code]
    kinds = generator.choice(list(clauses), size=count, replace=False)
    return [
        _filled(str(generator.choice(clauses[kind])), str(generator.choice(words[kind])), "shortcut") for kind in kinds
    ]


def _filled(template: str, word: str, kind: str) -> _Clause:
    start = template.index("{word}")
    return _Clause(template.replace("{word}", word), kind, start, start + len(word))


def _joined(clauses: list[_Clause], generator: np.random.Generator) -> dict[str, object]:
    """The clauses as sentences, and where their telling words are in the whole."""
    text = ""
    spans: dict[str, list[dict[str, int]]] = {"sentiment": [], "shortcut": []}
    for clause, following in pairwise([*clauses, None]):
        assert clause is not None
        begins = not text or text.endswith(". ")
        said = clause.text[0].upper() + clause.text[1:] if begins else clause.text
        if clause.kind:
            spans[clause.kind].append({"start": len(text) + clause.start, "end": len(text) + clause.end})
        joint = (". ", ", and ", "; ")[int(generator.integers(3))]
        text += said + (joint if following is not None else ".")
    return {"text": text, "sentiment_words": spans["sentiment"], "shortcut_words": spans["shortcut"]}
