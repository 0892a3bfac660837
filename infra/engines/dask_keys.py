"""Keys of Dask's by which a call is known as one of a client's, also when its future was let go of."""

from __future__ import annotations

from uuid import uuid4

from distributed import Client


def key_of(client: Client, name: str) -> str:
    """A key for a call of this client's that nothing else has."""
    return f"{name}-{_mark(client)}{uuid4().hex}"


def is_of(client: Client, key: object) -> bool:
    """Whether the key is of a call of this client's: leaves of a merge may be computed again long after."""
    return _mark(client) in str(key)


def _mark(client: Client) -> str:
    return str(client.id).partition("-")[2].replace("-", "")
