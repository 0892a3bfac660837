"""Which files of a source are new, late, changed or gone since another night took it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.tasks.reporting.numerals import plural

_NAMED = 3


@dataclass(frozen=True)
class Arrivals:
    """Files by name, in their order; those `late` are new too, and stand before some that were there."""

    new: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)

    def in_words(self) -> str:
        """What a person reads.

        >>> Arrivals(("b.csv", "d.csv"), late=("b.csv",), gone=("a.csv",)).in_words()
        '2 files new (1 of them late: b.csv), 1 gone (a.csv)'
        """
        parts = []
        if self.new:
            late = f" ({len(self.late)} of them late: {_named(self.late)})" if self.late else ""
            parts.append(f"{plural(len(self.new), 'file')} new{late}")
        for names, how in ((self.changed, "changed"), (self.gone, "gone")):
            if names:
                parts.append(f"{len(names) if parts else plural(len(names), 'file')} {how} ({_named(names)})")
        return ", ".join(parts) or "no file new, changed or gone"


def arrivals(before: Mapping[str, str], now: Mapping[str, str]) -> Arrivals:
    """What has become of the files, each by its name and the hash of its content, in the order of the samples.

    >>> arrivals({"a": "1", "c": "1"}, {"a": "2", "b": "1", "c": "1", "d": "1"})
    Arrivals(new=('b', 'd'), late=('b',), changed=('a',), gone=())
    """
    names = list(now)
    last = max((at for at, name in enumerate(names) if name in before), default=-1)
    new = tuple(name for name in names if name not in before)
    return Arrivals(
        new,
        tuple(name for at, name in enumerate(names) if name not in before and at < last),
        tuple(name for name in names if name in before and before[name] != now[name]),
        tuple(name for name in before if name not in now),
    )


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (", …" if len(names) > _NAMED else "")
