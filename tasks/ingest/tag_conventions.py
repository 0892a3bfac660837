"""How tags are written, and the one way Assay writes them: B-TYPE begins an entity, I-TYPE goes on, O is outside.

In IOB2 every entity begins with B-. In IOB1, the older convention, B- stands only where an entity of a type follows
another of the same type without a word between; all others begin with I-. BIOES and BILOU mark last and single words as
well. A file's own tags show which it is: where they do not, an I- that goes on from nothing is a mistake.
"""

from __future__ import annotations

from collections.abc import Sequence

SAME = {"S": "B", "U": "B", "E": "I", "L": "I", "M": "I"}
"""What the further letters of BIOES and BILOU are in IOB2."""

GO_ON, ENDS = frozenset("IELM"), frozenset("SUEL")
"""Letters of words that are not the first of an entity, and of those that are the last."""

IOB2, IOB1 = "IOB2", "IOB1"


class TagError(ValueError):
    """A tag that is none, or that cannot stand where it stands; `place` is its place in the sentence."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place


def letters_of(tags: Sequence[str]) -> list[str]:
    """The tags with B, I and O only; raises where one is no tag, or goes on after one that says it was the last.

    >>> letters_of(["O", "S-Drug", "b-Drug"])
    ['O', 'B-Drug', 'B-Drug']
    """
    letters = []
    for place, tag in enumerate(tags):
        letter, kind = tag[:1].upper(), tag[2:].strip()
        before = tags[place - 1] if place else "O"
        if letter in GO_ON and before[:1].upper() in ENDS:
            raise TagError(place, f"{tag[:40]!r} goes on from {before[:40]!r}, which ends an entity")
        letter = SAME.get(letter, letter)
        if tag.upper() == "O":
            letters.append("O")
        elif letter in "BI" and tag[1:2] in "-_" and kind:
            letters.append(f"{letter}-{kind}")
        else:
            raise TagError(place, f"{tag[:40]!r} is no tag; expected O, B-TYPE or I-TYPE")
    return letters


def beginnings(tags: Sequence[str]) -> tuple[int, int]:
    """How many entities begin with B- where IOB1 would write I-, and how many with I- where IOB2 would write B-.

    >>> beginnings(["B-Drug", "O", "I-Drug"])
    (1, 1)
    """
    plain = sum(tag[0] == "B" and not _goes_on(tags, place) for place, tag in enumerate(tags))
    return plain, sum(tag[0] == "I" and not _goes_on(tags, place) for place, tag in enumerate(tags))


def convention_of(plain: int, bare: int) -> str:
    """The convention of a whole source with so many beginnings of either kind: IOB1 only where nothing speaks against.

    >>> convention_of(0, 9), convention_of(500, 2)
    ('IOB1', 'IOB2')
    """
    return IOB1 if bare and not plain else IOB2


def as_iob2(tags: Sequence[str], convention: str) -> list[str]:
    """The tags in IOB2; raises where an I- goes on from nothing and the convention does not say that this begins.

    >>> as_iob2(["I-Drug", "B-Drug", "I-Drug"], IOB1)
    ['B-Drug', 'B-Drug', 'I-Drug']
    """
    converted = list(tags)
    for place, tag in enumerate(tags):
        if tag[0] == "I" and not _goes_on(tags, place):
            if convention != IOB1:
                before = tags[place - 1] if place else "the beginning of the sentence"
                raise TagError(place, f"{tag!r} goes on from {before}: an entity begins with {'B' + tag[1:]!r}")
            converted[place] = "B" + tag[1:]
    return converted


def _goes_on(tags: Sequence[str], place: int) -> bool:
    """Whether the word before is of an entity of the same type."""
    return place > 0 and tags[place - 1][0] in "BI" and tags[place - 1][2:] == tags[place][2:]
