"""Which attacked samples are worth looking at: where entities were lost, or a score moved most."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def most_telling(before: pa.Table, after: pa.Table, count: int) -> list[str]:
    """The ids of sentences that lost the most entities under the attack, at most `count`; of equals, the first.

    >>> before = pa.table({"id": ["a", "b"], "gold_hits": [[True], [True, True]]})
    >>> after = pa.table({"id": ["a", "b"], "gold_hits": [[True], [False, True]]})
    >>> most_telling(before, after, 2)
    ['b']
    """
    lost = [
        (sum(old) - sum(new), sample)
        for sample, old, new in zip(
            before["id"].to_pylist(), before["gold_hits"].to_pylist(), after["gold_hits"].to_pylist(), strict=True
        )
    ]
    ranked = sorted(range(len(lost)), key=lambda at: (-lost[at][0], at))
    return [lost[at][1] for at in ranked[:count] if lost[at][0] > 0]


def most_moved(before: pa.Table, after: pa.Table, count: int) -> list[str]:
    """The ids of pairs with a known score whose given score moved most, at most `count`.

    >>> said = [pa.table({"id": ["a", "b"], "gold": [1.0, 2.0], "predicted": one}) for one in ([1.0, 2.0], [1.1, 0.0])]
    >>> most_moved(*said, 1)
    ['b']
    """
    distance = pc.abs(pc.subtract(after["predicted"], before["predicted"])).to_pylist()
    known = before["gold"].is_valid().to_pylist()
    ranked = sorted((at for at in range(len(distance)) if known[at] and distance[at] > 0), key=lambda at: -distance[at])
    ids = before["id"].to_pylist()
    return [ids[at] for at in ranked[:count]]
