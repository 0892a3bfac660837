"""Which samples' images are kept for the report: a few of every class, the same ones whatever the cut."""

from __future__ import annotations

import hashlib
from collections import Counter

import pyarrow as pa

Candidate = tuple[int, str, str]  # class, hash of the id, id


def candidates(samples: pa.Table, *, per_class: int) -> frozenset[Candidate]:
    """So many samples of every class in a partition, chosen by a hash of the id; of several labels the first counts.

    >>> table = pa.table({"id": ["a", "b", "c"], "gold": [0, 0, 1]})
    >>> sorted(kept(candidates(table, per_class=1), 1)), sorted(kept(candidates(table, per_class=0), 0))
    (['b', 'c'], [])
    """
    pool = zip(_classes(samples), map(_hash, samples["id"].to_pylist()), samples["id"].to_pylist(), strict=True)
    return _first(frozenset(pool), per_class)


def kept(pool: frozenset[Candidate], per_class: int) -> frozenset[str]:
    """The ids of the samples that are kept, out of the candidates of all partitions."""
    return frozenset(sample for _, _, sample in _first(pool, per_class))


def _first(pool: frozenset[Candidate], per_class: int) -> frozenset[Candidate]:
    seen: Counter[int] = Counter()
    chosen = []
    for candidate in sorted(pool):
        seen[candidate[0]] += 1
        if seen[candidate[0]] <= per_class:
            chosen.append(candidate)
    return frozenset(chosen)


def _classes(samples: pa.Table) -> list[int]:
    if "labels" not in samples.column_names:
        return [-1 if gold is None else gold for gold in samples["gold"].to_pylist()]
    rows = samples["labels"].to_pylist()
    return [next((label for label, there in enumerate(row or ()) if there == 1), -1) for row in rows]


def _hash(sample: str) -> str:
    return hashlib.blake2b(sample.encode(), digest_size=8, person=b"assay.kept").hexdigest()
