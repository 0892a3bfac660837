"""Whether a word attack's vectors know what a synonym is: where they do not, its success says nothing."""

from __future__ import annotations

import pyarrow as pa

from assay.tasks.language.telling_apart import CHANCE
from assay.tasks.statistics.findings import Finding

BLIND = "its word vectors cannot tell synonyms from chance"
"""Why nothing is tried, and no rate reported, by an attack whose vectors rank synonyms no higher than random pairs."""
_ANY = -1.0


def is_blind(limits: pa.Table) -> bool:
    """Whether most of the spaces that an attack takes words from rank synonyms no higher than random pairs.

    As in the choice of a replacement, most spaces decide. Lists have no cosines, and of vectors that know too few of
    the synonym pairs nobody can say. A least cosine of −1 asks for no nearness: then no space is relied on.

    >>> from assay.data.word_schemas import CosineLimits
    >>> spaces = [{"provider": "fasttext", "limit": 0.1, "auc": 0.51, "low": 0.47, "high": 0.54, "pairs": 561}]
    >>> is_blind(pa.Table.from_pylist(spaces, schema=CosineLimits.schema))
    True
    """
    judged = [
        row["low"] <= CHANCE
        for row in limits.to_pylist()
        if row["low"] is not None and row["limit"] is not None and row["limit"] > _ANY
    ]
    return 2 * judged.count(True) > len(judged)


def space_findings(limits: pa.Table, name: str, subject: str) -> list[Finding]:
    """`attack.synonym_auc`, by source of vectors: how likely a synonym pair is nearer than a random one; n is pairs."""
    return [
        Finding(
            "attack.synonym_auc",
            of=name,
            group=row["provider"],
            subject=subject,
            value=row["auc"],
            low=row["low"],
            high=row["high"],
            n=row["pairs"] or 0,
            verdict="not measured" if row["low"] is None else "no better than chance" if row["low"] <= CHANCE else "",
        )
        for row in limits.to_pylist()
        if row["limit"] is not None
    ]
