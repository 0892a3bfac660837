"""What the constants of a partition function are known by: exactly, or not at all.

A stage's key is made of its arguments. A partition that another result may hold already is known by what its function
is handed, and that can be anything: what cannot be spelt out to the last bit is refused here, never guessed at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from assay.infra.keys import Fingerprinted


class InexactError(TypeError):
    """A constant of which nobody can say whether another one is the same."""


def fingerprint(value: object) -> str:
    """The hash of a value, the same exactly where the value is; InexactError where that cannot be known.

    >>> fingerprint((1, "a")) == fingerprint((1, "a")), fingerprint(1) == fingerprint(True)
    (True, False)
    >>> fingerprint([0.0]) == fingerprint([-0.0]), fingerprint([1]) == fingerprint((1,))
    (False, False)
    """
    return hashlib.blake2b(json.dumps(spelt(value)).encode(), digest_size=16).hexdigest()


def spelt(value: object) -> list[Any]:
    """A value in JSON, its type in front: two values are spelt alike only where they are the same."""
    match value:
        case np.generic() | np.ndarray():
            return [_typed(value), *_spelt_array(np.asarray(value))]
        case Enum():
            return [_typed(value), value.name]
        case None | bool() | int() | str():
            return [_typed(value), value]
        case float():
            return [_typed(value), value.hex()]
        case bytes():
            return [_typed(value), hashlib.sha256(value).hexdigest()]
        case pa.Schema() | pa.DataType():
            schema = value if isinstance(value, pa.Schema) else pa.schema([("value", value)])
            return ["schema", hashlib.sha256(schema.serialize().to_pybytes()).hexdigest()]
        case list() | tuple():
            return [_typed(value), *map(spelt, value)]
        case set() | frozenset():
            return [_typed(value), *sorted(map(spelt, value), key=json.dumps)]
        case Mapping():  # in its order, which a function may see
            return [_typed(value), *([spelt(name), spelt(item)] for name, item in value.items())]
    return _spelt_object(value)


def _spelt_object(value: object) -> list[Any]:
    """Whatever knows its own fingerprint, settings as they enter keys, and dataclasses field by field."""
    if not isinstance(value, type):
        if isinstance(value, Fingerprinted) and isinstance(value.fingerprint, str):
            return [_typed(value), value.fingerprint]
        if isinstance(value, BaseModel):
            return [_typed(value), json.dumps(value.model_dump(mode="json"), allow_nan=False)]
        if is_dataclass(value):
            return [_typed(value), *([field.name, spelt(getattr(value, field.name))] for field in fields(value))]
    raise InexactError(f"{type(value).__name__} has no fingerprint, and is no plain value")


def _spelt_array(array: np.ndarray[Any, Any]) -> list[Any]:
    if array.dtype.hasobject or array.dtype.names is not None:
        raise InexactError(f"an array of {array.dtype} has no bytes of its own")
    content = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return [array.dtype.str, list(array.shape), content]


def _typed(value: object) -> str:
    kind = type(value)
    if "<locals>" in kind.__qualname__:
        raise InexactError(f"{kind.__name__} is a class of a function's own")
    return f"{kind.__module__}.{kind.__qualname__}"
