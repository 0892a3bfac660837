"""What to say of a name that nobody knows: the one that was probably meant, or all that there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_LISTED = 40
"""Of more names than this, only the first are listed."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, if any is close; capitals do not matter.

    >>> nearest("brest-cancer", ["digits", "breast-cancer"]), nearest("SGD", ["adam", "sgd"])
    ('breast-cancer', 'sgd')
    """
    closest = _closest(word, known)
    return closest[0] if closest else None


def suggestion(word: str, known: Iterable[str]) -> str:
    """What to say of an unknown word: the one that was probably meant, else all that are known.

    >>> suggestion("corelation", ["correlation", "rank"])
    'did you mean correlation?'
    >>> suggestion("x", ["correlation", "rank"])
    'known here: correlation, rank'
    >>> suggestion("pgd-3", ["pgd-2", "pgd-4", "gap-7"])
    'did you mean pgd-4 or pgd-2?'
    """
    names = list(dict.fromkeys(known))
    closest = _closest(word, names)
    if closest:
        return f"did you mean {_either(closest)}?"
    more = f", and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"known here: {', '.join(names[:MOST_LISTED])}{more}"


def _closest(word: str, known: Iterable[str]) -> list[str]:
    """The words that are closest, and equally close; at most three."""
    names = {name.lower(): name for name in known}
    matches = difflib.get_close_matches(word.lower(), names, n=3, cutoff=0.6)
    closeness = [difflib.SequenceMatcher(None, name, word.lower()).ratio() for name in matches]
    return [names[name] for name, ratio in zip(matches, closeness, strict=True) if ratio == closeness[0]]


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
