"""Simulated pairs of sentences from abstracts, with a score of how similar they are, from 0 to 4, by construction.

A sentence states a finding of four parts: a drug, a disease, what the one does to the other, and in whom. The score of
a pair is four times the weight of the parts that both findings share: 0.3 for the drug, 0.3 for the disease, 0.25 for
what it does and 0.15 for in whom. How it is put never counts: a term may be written by any of its names, and a finding
in any of several ways. So 4 means that two sentences say the same, and 0 that they have nothing in common.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.data.biomedical_loaders import without_classes
from assay.data.samples.abstracts import PHRASES, Concept, concepts

HIGHEST = 4.0
WEIGHTS = {"drug": 0.30, "disease": 0.30, "effect": 0.25, "whom": 0.15}
"""What each part that is shared is worth; together 1."""

EFFECTS: dict[str, list[str]] = PHRASES["effects"]
"""What a drug does to a disease, and how it can be put."""

WHOM: dict[str, list[str]] = PHRASES["whom"]
"""In whom, and how they can be called."""

_KEPT = (0.02, 0.12, 0.5, 0.8, 0.95)  # how likely each part is shared, in pairs from unlike to alike

Generator = np.random.Generator


@dataclass(frozen=True)
class Finding:
    """What a sentence says."""

    drug: Concept
    disease: Concept
    effect: str
    whom: str


def abstract_pairs(seed: int, train: int = 2000, test: int = 400) -> pa.Table:
    """Pairs with `id`, `first`, `second`, `score` and `split`; no pair has a class.

    >>> table = abstract_pairs(seed=0, train=2, test=1)
    >>> table.column_names, table["split"].to_pylist()
    (['id', 'gold', 'first', 'second', 'score', 'split'], ['train', 'train', 'test'])
    """
    generator = np.random.Generator(np.random.Philox(key=[seed, 5]))
    known = concepts()
    drugs, diseases = ([one for one in known if one.kind == kind] for kind in ("Chemical", "Disease"))
    rows = []
    for place in range(train + test):
        one = _finding(drugs, diseases, generator)
        other = _like(one, _finding(drugs, diseases, generator), float(generator.choice(_KEPT)), generator)
        split, number = ("test", place - train) if place >= train else ("train", place)
        rows.append(
            {"id": f"{split}-{number:04d}", "first": _said(one, generator), "second": _said(other, generator),
             "score": similarity(one, other), "split": split}
        )  # fmt: skip
    schema = pa.schema([
        ("id", pa.string()), ("first", pa.string()), ("second", pa.string()), ("score", pa.float64()),
        ("split", pa.string()),
    ])  # fmt: skip
    return without_classes(pa.Table.from_pylist(rows, schema=schema))


def similarity(one: Finding, other: Finding) -> float:
    """Four times the weight of what two findings share, to two places."""
    shared = sum(weight for part, weight in WEIGHTS.items() if getattr(one, part) == getattr(other, part))
    return round(HIGHEST * shared, 2)


def _finding(drugs: list[Concept], diseases: list[Concept], generator: Generator) -> Finding:
    return Finding(
        drugs[generator.integers(len(drugs))], diseases[generator.integers(len(diseases))],
        str(generator.choice(list(EFFECTS))), str(generator.choice(list(WHOM))),
    )  # fmt: skip


def _like(one: Finding, other: Finding, kept: float, generator: Generator) -> Finding:
    """The other finding, each part replaced by that of the one as often as `kept` says."""
    parts = {part: getattr(one if generator.random() < kept else other, part) for part in WEIGHTS}
    return Finding(**parts)


def _said(finding: Finding, generator: Generator) -> str:
    """A sentence that states a finding; its first letter is a capital."""
    put = str(generator.choice(EFFECTS[finding.effect]))
    drug, disease = (str(generator.choice(one.names)) for one in (finding.drug, finding.disease))
    text = put.format(C=drug, D=disease, W=str(generator.choice(WHOM[finding.whom])))
    return text[0].upper() + text[1:]
