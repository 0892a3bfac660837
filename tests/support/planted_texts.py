"""A team's texts in which changes can be planted: texts replaced, a rule inverted, a classifier of an earlier epoch."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from pathlib import Path

PIPELINES = """
compute: {engine: serial, partitions: 3}
pipelines:
  night:
    source: {csv: letters.csv, id: id, label: mood, split: part}
    labeling: {functions: rules.py}
    pruning: {correlation: 0.9}
    weak_labels: {labelers: [majority]}
    ordering: {alpha: 0.05, datasets: 5}
    subjects:
      - {name: own, classifier: "model.py:predict"}
    gates:
      - {finding: subject.accuracy, of: clean, against: last-passed, drop_at_most: 0.0}
"""
RULES = """
from assay.tasks.labeling.rules import ABSTAIN, sample_rule

CLASSES = ("glad", "sad")


@sample_rule
def thanks(sample):
    return 0 if "thank" in sample.text else ABSTAIN


@sample_rule
def complains(sample):
    return 1 if "late" in sample.text else ABSTAIN


@sample_rule
def praises(sample):
    return 0 if "lovely" in sample.text else ABSTAIN
"""
MODEL = """
import numpy as np

with open("words.txt") as file:
    SAD = file.read().split()


def predict(texts):
    sad = np.array([any(word in text.split() for word in SAD) for text in texts], dtype=float)
    return np.stack([0.9 - 0.8 * sad, 0.1 + 0.8 * sad], axis=1)
"""


COMPLAINING, INVERTED = '1 if "late"', '0 if "late"'
LATE, EARLY = "late broken", "late"
"""The words that the classifier of the last epoch, and of an earlier one, takes for sad."""
PARTS = {"texts": "samples", "rule": "rules", "epoch": "weights"}
"""What `blame` calls each planted change."""


def chances_of(*, sad: bool, curt: bool) -> dict[str, float]:
    """How often a letter holds a word; a curt one hardly says what is wrong."""
    if not sad:
        return {"thank": 0.7, "lovely": 0.5, "late": 0.1, "broken": 0.05}
    return {"thank": 0.2, "lovely": 0.1, "late": 0.2 if curt else 0.7, "broken": 0.0 if curt else 0.6}


def letter(draw: random.Random, *, curt: bool) -> tuple[list[str], bool]:
    """The words of a letter, and whether it is a sad one."""
    sad = draw.random() < 0.5
    return [word for word, chance in chances_of(sad=sad, curt=curt).items() if draw.random() < chance], sad


def plant_texts(folder: Path, *changes: str, count: int = 600) -> Path:
    """The project with these changes in it: every second of the `texts` replaced by a curt one, a `rule` inverted, a
    classifier of an earlier `epoch`."""
    lines = ["id,text,mood,part"]
    for number in range(count):
        new = "texts" in changes and number % 2 == 1
        words, sad = letter(random.Random(count * new + number), curt=new)
        text, mood = " ".join(["dear", *words, "yours"]), "sad" if sad else "glad"
        part = "train" if number % 10 == 5 else "test"
        lines.append(f"{'new' if new else 'old'}{number:04d},{text},{mood},{part}")
    contents = {
        "pipelines.yaml": PIPELINES,
        "letters.csv": "\n".join(lines) + "\n",
        "rules.py": RULES.replace(COMPLAINING, INVERTED if "rule" in changes else COMPLAINING),
        "model.py": MODEL,
        "words.txt": EARLY if "epoch" in changes else LATE,
    }
    for name, content in contents.items():
        (folder / name).write_text(content)
    return folder


def among_all_letters(of: str) -> Mapping[str, float]:
    """What each change is to blame for among all letters there could be: Shapley's value by its definition, of the
    accuracy by gold (`clean`) or by what most rules say (`weak`), written down apart from the code under test."""

    def right(words: tuple[str, ...], sad: bool, changed: frozenset[str]) -> bool:
        said = any(word in words for word in (EARLY if "epoch" in changed else LATE).split())
        late = ("late" in words) * (-1 if "rule" in changed else 1)
        return said == (sad if of == "clean" else late - ("thank" in words) - ("lovely" in words) > 0)  # a tie: glad

    def share_right(curt: bool, changed: frozenset[str]) -> float:
        found = 0.0
        for sad in (False, True):
            chances = chances_of(sad=sad, curt=curt)
            for there in itertools.product((False, True), repeat=len(chances)):
                words = tuple(itertools.compress(chances, there))
                odds = [chance if one else 1 - chance for one, chance in zip(there, chances.values(), strict=True)]
                found += math.prod(odds) / 2 * right(words, sad, changed)
        return found

    def value(changed: frozenset[str]) -> float:
        even, odd = (share_right(curt, changed) for curt in (False, "texts" in changed))
        return (5 * even + 4 * odd) / 9  # of the odd ones a fifth trains and is not audited

    shares = dict.fromkeys(PARTS, 0.0)
    orders = list(itertools.permutations(PARTS))
    for order in orders:
        for at, change in enumerate(order):
            shares[change] += (value(frozenset(order[: at + 1])) - value(frozenset(order[:at]))) / len(orders)
    return shares
