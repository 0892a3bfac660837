"""For which plug-in stages are called: what it is enters the keys of the stages that are its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_identity: ContextVar[Mapping[str, str] | None] = ContextVar("assay_plugin", default=None)


@contextmanager
def acting_for(identity: Mapping[str, str] | None) -> Iterator[None]:
    """Within the block, stages are called for the plug-in of that identity; for Assay itself where it is None."""
    token = _identity.set(identity)
    try:
        yield
    finally:
        _identity.reset(token)


def plugin_of(module: str) -> dict[str, Mapping[str, str]]:
    """What the key of a stage in a module says of the plug-in that the stage belongs to; nothing of a stage of ours.

    >>> with acting_for({"name": "balance", "version": "1.0"}):
    ...     plugin_of("assay_balance.task"), plugin_of("assay.tasks.ordering.task")
    ({'plugin': {'name': 'balance', 'version': '1.0'}}, {})
    """
    identity = _identity.get()
    return {} if identity is None or module.partition(".")[0] == "assay" else {"plugin": identity}
