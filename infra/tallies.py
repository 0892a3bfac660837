"""Exact counts as JSON and back, so that a finished partition's counts survive a broken run."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.infra.exact import ExactSum, Greatest, Least

_SPELT_OUT = 256
"""Arrays of up to so many numbers stand in a manifest as numbers."""


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
        case np.ndarray() if value.ndim == 1 and value.size <= _SPELT_OUT:
            return {"array": value.tolist(), "dtype": value.dtype.str}
        case np.ndarray() if not value.dtype.hasobject:
            content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
            return {"bytes": content, "dtype": value.dtype.str, "shape": list(value.shape)}
        case frozenset():
            return {"set": sorted(value)}
        case ExactSum():
            return {"exact": value.units}
        case Least():
            return {"least": _listed(value.value)}
        case Greatest():
            return {"greatest": _listed(value.value)}
        case Mapping():
            return {"dict": {str(name): _encode(item) for name, item in value.items()}}
    raise TypeError(
        "a tally holds integers, integer arrays, sets, ExactSum, Least, Greatest and dictionaries of them, "
        f"not {type(value).__name__}"
    )


def _decode(value: Mapping[str, Any]) -> Any:
    match value:
        case {"int": number}:
            return number
        case {"array": items, "dtype": dtype}:
            return np.array(items, dtype=dtype)
        case {"bytes": content, "dtype": dtype, "shape": shape}:
            return np.frombuffer(base64.b64decode(content), dtype=dtype).reshape(shape).copy()
        case {"set": items}:
            return frozenset(items)
        case {"exact": units}:
            return ExactSum(units)
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
