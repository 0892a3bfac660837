"""Simulated sentences of biomedical abstracts, tagged: diseases and chemicals out of a lexicon written for Assay.

A sentence is drawn from templates, and each of its terms is one of the several names of a concept, but never its last:
authors have habits, and a synonym may be a name that no training sentence has. A quarter of all concepts, and six of
the templates, occur in test sentences only: there only what surrounds a term, or how it is built, tells what it is. No
test sentence is one of the training sentences. Some sentences have words in the places of terms that are none, or words
of terms in another meaning.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

import numpy as np
import pyarrow as pa

from assay.data.biomedical_loaders import without_classes
from assay.data.samples.wording import wording
from assay.data.schemas import WORDS

PHRASES = wording("abstracts")
KINDS = {"C": "Chemical", "D": "Disease"}

_NEW_CONCEPTS = 0.25  # the share of concepts that no training sentence names
_NEW, _NEW_TEMPLATE = 0.3, 0.25  # how often a test sentence takes its terms from those, and its template
_WITHOUT_TERMS, _HOMONYM = 0.2, 0.06
_PLACE = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"\w+|[^\w\s]")

Generator = np.random.Generator


@dataclass(frozen=True)
class Concept:
    """What has several names."""

    key: str
    kind: str
    names: tuple[str, ...]


def concepts() -> tuple[Concept, ...]:
    """All concepts of the lexicon, in its order."""
    text = resources.files("assay.data").joinpath("lexicons", "terms.tsv").read_text(encoding="utf-8")
    found: dict[tuple[str, str], list[str]] = {}
    for row in csv.DictReader(io.StringIO(text), delimiter="\t"):
        found.setdefault((row["concept"], row["type"]), []).append(row["name"])
    return tuple(Concept(key, kind, tuple(names)) for (key, kind), names in found.items())


def abstracts(seed: int, train: int = 1500, test: int = 500) -> pa.Table:
    """Sentences with `id`, `tokens`, `tags` and `split`; no sentence has a class.

    >>> table = abstracts(seed=0, train=2, test=1)
    >>> table.column_names, table["split"].to_pylist()
    (['id', 'gold', 'tokens', 'tags', 'split'], ['train', 'train', 'test'])
    """
    generator = np.random.Generator(np.random.Philox(key=[seed, 4]))
    old, new = _parted(concepts(), generator)
    rows, trained = [], set[tuple[str, ...]]()
    for place in range(train + test):
        tests = place >= train
        known = new if tests and generator.random() < _NEW else old
        tokens, tags = _sentence(_template(tests, generator), known, generator)
        while tests and tuple(tokens) in trained:
            tokens, tags = _sentence(_template(tests, generator), known, generator)
        if not tests:
            trained.add(tuple(tokens))
        split, number = ("test", place - train) if tests else ("train", place)
        rows.append({"id": f"{split}-{number:04d}", "tokens": tokens, "tags": tags, "split": split})
    schema = pa.schema([("id", pa.string()), ("tokens", WORDS), ("tags", WORDS), ("split", pa.string())])
    return without_classes(pa.Table.from_pylist(rows, schema=schema))


def words_in(text: str) -> list[str]:
    """Words and punctuation marks, each for itself, as in the corpora of abstracts.

    >>> words_in("5-fluorouracil (5-FU)")
    ['5', '-', 'fluorouracil', '(', '5', '-', 'FU', ')']
    """
    return _WORD.findall(text)


def _parted(known: tuple[Concept, ...], generator: Generator) -> tuple[Mapping[str, list[Concept]], ...]:
    """Concepts by kind: those of all sentences, and those of test sentences only."""
    parts: tuple[dict[str, list[Concept]], ...] = ({}, {})
    for kind in KINDS.values():
        mine = [one for one in known if one.kind == kind]
        order = generator.permutation(len(mine))
        new = round(len(mine) * _NEW_CONCEPTS)
        parts[0][kind] = [mine[place] for place in order[new:]]
        parts[1][kind] = [mine[place] for place in order[:new]]
    return parts


def _template(tests: bool, generator: Generator) -> str:
    drawn = generator.random()
    if drawn < _HOMONYM:
        return str(generator.choice(PHRASES["homonyms"]))
    if drawn < _HOMONYM + _WITHOUT_TERMS:
        return str(generator.choice(PHRASES["lures"]))
    if tests and generator.random() < _NEW_TEMPLATE:
        return str(generator.choice(PHRASES["new_sentences"]))
    return str(generator.choice(PHRASES["sentences"]))


def _sentence(template: str, known: Mapping[str, list[Concept]], generator: Generator) -> tuple[list[str], list[str]]:
    """The words of a filled template and their tags; its first letter is a capital."""
    drawn = {
        letter: [kinds[place] for place in generator.choice(len(kinds), 2, replace=False)]
        for letter, kinds in ((letter, known[kind]) for letter, kind in KINDS.items())
    }
    names = {letter: [list(generator.permutation(one.names[:-1])) for one in two] for letter, two in drawn.items()}
    tokens: list[str] = []
    tags: list[str] = []
    for text, place in _pieces(template):
        words, kind = (words_in(text), "") if not place else _filled(place, names, generator)
        tokens += words
        tags += [f"{'I' if at else 'B'}-{kind}" if kind else "O" for at in range(len(words))]
    tokens[0] = tokens[0][0].upper() + tokens[0][1:]
    return tokens, tags


def _pieces(template: str) -> list[tuple[str, str]]:
    """The template in order: (text, "") and ("", place)."""
    cut = _PLACE.split(template)
    return [("", piece) if at % 2 else (piece, "") for at, piece in enumerate(cut)]


def _filled(place: str, names: Mapping[str, list[list[str]]], generator: Generator) -> tuple[list[str], str]:
    """The words for a place, and the kind of term that they are."""
    letter = place[0]
    if place in PHRASES["fillers"]:
        return words_in(str(generator.choice(PHRASES["fillers"][place]))), ""
    which, other = int(place.endswith("2")), int(place.endswith("S"))
    return words_in(str(names[letter][which][other])), KINDS[letter]
