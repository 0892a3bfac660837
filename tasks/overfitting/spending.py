"""How much of the level each look at a test set may spend, so that all looks together keep it.

Every look reuses the same samples, so their p-values depend on each other in ways that nobody knows. What holds under
any dependence is to divide the level: α_t = α / (t (t + 1)), which sums to α over all t.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence


def spent_level(alpha: float, look: int) -> float:
    """The level of the look-up number `look`, counted from 1.

    >>> spent_level(0.05, 1), round(sum(spent_level(0.05, look) for look in range(1, 10_000)), 4)
    (0.025, 0.05)
    """
    return alpha / (look * (look + 1))


def look_up(test_set: str, asked: Iterable[str]) -> str:
    """What tells one look-up at a test set from another: everything that was asked of it at once, in any order."""
    return hashlib.blake2b(repr([test_set, sorted(asked)]).encode(), digest_size=16).hexdigest()


def numbered(look_ups: Sequence[str], history: Mapping[str, int]) -> dict[str, int]:
    """The number of each look-up at one test set; one that the history knows keeps its number.

    Counting goes on from the highest number ever given, so that earlier runs may be forgotten; where it is known
    without its look-up, that has no name.

    >>> numbered(["c", "a", "c"], {"a": 1, "b": 2})
    {'c': 3, 'a': 1}
    >>> numbered(["b"], {"": 7})
    {'b': 8}
    """
    numbers: dict[str, int] = {}
    latest = max(history.values(), default=0)
    for look_up in look_ups:
        if look_up not in numbers:
            numbers[look_up] = history.get(look_up) or (latest := latest + 1)
    return numbers
