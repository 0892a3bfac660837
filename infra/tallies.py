"""Exact counts as JSON and back, so that a finished partition's counts survive a broken run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.infra.exact import Greatest, Least


def encode_tally(tally: Mapping[str, object]) -> dict[str, Any]:
    """The counts as plain JSON values, each with its type beside it.

    >>> decode_tally(encode_tally({"faults": {"rule": 3}, "first": Least(("a", 1))}))
    {'faults': {'rule': 3}, 'first': Least(value=('a', 1))}
    """
    return {name: _encode(value) for name, value in tally.items()}


def decode_tally(value: Mapping[str, Any]) -> dict[str, Any]:
    """The counts that `encode_tally` wrote."""
    return {name: _decode(item) for name, item in value.items()}


def _encode(value: object) -> Any:
    match value:
        case bool() | int():
            return {"int": int(value)}
        case np.integer():
            return {"int": int(value)}
        case np.ndarray():
            return {"array": value.tolist(), "dtype": value.dtype.str}
        case frozenset():
            return {"set": sorted(value)}
        case Least():
            return {"least": _listed(value.value)}
        case Greatest():
            return {"greatest": _listed(value.value)}
        case Mapping():
            return {"dict": {str(name): _encode(item) for name, item in value.items()}}
    raise TypeError(
        "a tally holds integers, integer arrays, sets, Least, Greatest and dictionaries of them, "
        f"not {type(value).__name__}"
    )


def _decode(value: Mapping[str, Any]) -> Any:
    match value:
        case {"int": number}:
            return number
        case {"array": items, "dtype": dtype}:
            return np.array(items, dtype=dtype)
        case {"set": items}:
            return frozenset(items)
        case {"least": item}:
            return Least(_tupled(item))
        case {"greatest": item}:
            return Greatest(_tupled(item))
        case {"dict": items}:
            return {name: _decode(item) for name, item in items.items()}
    raise TypeError(f"not a tally: {value!r}")


def _listed(value: object) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value
