"""A share of the samples as a person writes and reads it."""

from __future__ import annotations

import re

_SHARE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%|(0?\.\d{1,8}|1(?:\.0+)?)")


def share_of(text: str) -> float:
    """The share that a person wrote, above 0 and at most 1; raises ValueError for anything else.

    >>> share_of("5%"), share_of("0.05"), share_of("12.5 %"), share_of("100%")
    (0.05, 0.05, 0.125, 1.0)
    """
    match = _SHARE.fullmatch(text.strip())
    share = 0.0 if match is None else float(match[1]) / 100 if match[1] else float(match[2])
    if not 0 < share <= 1:
        raise ValueError("expected a share of the samples above 0 and up to 100 %, such as 5% or 0.05")
    return share


def share_in_words(share: float) -> str:
    """A share as a person reads it.

    >>> share_in_words(0.05), share_in_words(0.125)
    ('5 %', '12.5 %')
    """
    return f"{share * 100:.4g} %"
