"""Where a branch, a stage or a sentence stands in the order in which the flow declares them, whenever it is over."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Generic, TypeVar

Position = tuple[int, ...]
T = TypeVar("T")


class _Scope:
    """The flow, or the branch or stage inside it, whose parts are numbered as they are declared."""

    def __init__(self, position: Position, name: str) -> None:
        self.position, self.name, self.numbers = position, name, count()


_scope: ContextVar[_Scope | None] = ContextVar("assay_scope", default=None)


def next_position() -> Position:
    """The position of what is declared now: after all that the same branch has declared so far."""
    scope = _scope.get()
    if scope is None:
        return ()
    return (*scope.position, next(scope.numbers))


def current_position() -> Position:
    """The position of the branch or stage that the caller is in."""
    scope = _scope.get()
    return scope.position if scope is not None else ()


def current_branch() -> str:
    """The name of the branch that the caller is in; empty outside of branches."""
    scope = _scope.get()
    return scope.name if scope is not None else ""


@contextmanager
def standing_at(position: Position, branch: str | None = None) -> Iterator[None]:
    """Within the block, what is declared stands below this position, in this branch or that of the caller."""
    token = _scope.set(_Scope(position, current_branch() if branch is None else branch))
    try:
        yield
    finally:
        _scope.reset(token)


class InOrder(Generic[T]):
    """Keeps a list in the order of positions, whatever the order in which its items arrive.

    >>> stages = []
    >>> in_order = InOrder(stages)
    >>> for position, name in [((0,), "ingest"), ((2,), "late"), ((1, 0), "early")]:
    ...     in_order.add(position, name)
    >>> stages
    ['ingest', 'early', 'late']
    """

    def __init__(self, items: list[T]) -> None:
        self._items = items
        self._positions: list[Position] = [()] * len(items)

    def add(self, position: Position, item: T) -> None:
        """Put the item where it belongs; what others appended to the list meanwhile stays behind it."""
        at = bisect_right(self._positions, position)
        self._positions.insert(at, position)
        self._items.insert(at, item)
