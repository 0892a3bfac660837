"""A claim as one line of JSON: what was measured of ours, of the peer, and how they compare."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence


def claim(
    name: str, ours: Sequence[float], peer: Sequence[float] | None = None, *, unit: str, digits: int = 3, **more: object
) -> dict[str, object]:
    """Medians of repeated measurements, and the ratio peer over ours (more is better for us) with its smallest and
    largest value; measurements at the same place were made one after the other. Without a peer there is no ratio.

    >>> claim("sums", [2.0, 4.0, 2.0], [4.0, 4.0, 6.0], unit="s")["ratio_spread"]
    [1.0, 3.0]
    """
    ratios = [theirs / own for own, theirs in zip(ours, peer, strict=True)] if peer is not None else []
    return {
        "name": name,
        "ours": round(statistics.median(ours), digits),
        "peer": None if peer is None else round(statistics.median(peer), digits),
        "ratio": round(statistics.median(ratios), 2) if ratios else None,
        "ratio_spread": [round(min(ratios), 2), round(max(ratios), 2)] if ratios else None,
        "unit": unit,
        "repeats": len(ours),
        "ours_spread": [round(min(ours), digits), round(max(ours), digits)],
        **more,
    }


def tell(line: dict[str, object]) -> None:
    """Print a claim."""
    print(json.dumps(line, ensure_ascii=False), flush=True)
