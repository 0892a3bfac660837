"""How alike two pieces of work are, and how much there is of each: what forecasts hold a stage against earlier ones by.

A stage's key says which result it is; its *likeness* says what kind of work it is: the key without what only makes
more of the same. Rows, the number of files, epochs, steps and ε are left out of it and counted as the amount.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from pydantic import BaseModel

from assay.infra.artifacts import Artifact, Files, Kind, Table
from assay.infra.settings import Settings

TIMES = frozenset({"steps", "restarts", "queries", "share"})
"""Settings that work grows with in proportion."""
LISTED = frozenset({"eps", "severities"})
"""Settings with a list of what is done one after the other."""
LEARNED = frozenset({"epochs"})
"""Settings that only a training grows with; who asks a trained subject has them among his arguments too."""

DRAWN = frozenset({"number", "repeat", "seed"})
"""Arguments that only say which of several draws of the same work it is: a network trained ten times with other first
weights is the same work ten times."""


@dataclass(frozen=True)
class Given:
    """A handle that a stage is given: what it holds, by digest, and how many rows."""

    kind: str
    digest: str
    rows: int


@dataclass(frozen=True)
class Work:
    """What kind of work a stage with its arguments is, and how much of it there is to each row."""

    like: str
    """The same work: the same stage with the same settings, on what the same work made."""
    own: str
    """The same stage with the same settings, on whatever it is given."""
    effort: float
    """How often every row is gone over: epochs of a training, steps times ε of an attack."""
    given: tuple[Given, ...] = ()

    def to_json(self, rows: int) -> dict[str, Any]:
        """What a record keeps of it, with the rows that it went over."""
        return {"like": self.like, "own": self.own, "effort": self.effort, "rows": rows}


def work_of(stage: str, arguments: Mapping[str, Any], made_by: Mapping[str, str], *, device: str, learns: bool) -> Work:
    """The work of a stage with these arguments; `made_by` says of digests what work made them."""
    described = {name: _told(value) for name, value in arguments.items() if name not in DRAWN}
    given = tuple(dict.fromkeys(_handles(tuple(arguments.values()))))
    own = _hash([stage, device, _without_amounts(described)])
    factors = [factor for name, factor in _amounts(described) if learns or name not in LEARNED]
    above = sorted({made_by.get(one.digest, "") for one in given})
    like = above[0] if "share" in arguments and len(above) == 1 else _hash([own, above])  # less of the same
    return Work(like, own, float(prod(factors)), given)


def rows_among(rows: Mapping[str, int], given: Sequence[Given]) -> int:
    """How many rows of samples a stage goes over, where `rows` says how many each digest has; of all that it is given,
    where nothing of it is a table of samples.

    >>> given = [Given("Samples", "a", 0), Given("Classes", "b", 0)]
    >>> rows_among({"a": 569, "b": 2}, given), rows_among({"b": 2}, given[1:])
    (569, 2)
    """
    samples = [one for one in given if is_by_sample(one.kind)]
    return sum(rows.get(one.digest, one.rows) for one in samples or given)


def is_by_sample(kind: str) -> bool:
    """Whether a kind of artifact has a row per sample: such tables have an `id`."""
    return kind == "Samples" or any(one.__name__ == kind and "id" in one.schema.names for one in _tables(Table))


def learns(announced: Sequence[type[Kind]]) -> bool:
    """Whether a stage that returns these kinds trains something: it makes weights, which are files."""
    return any(issubclass(kind, Files) for kind in announced)


def _tables(above: type[Table]) -> Iterator[type[Table]]:
    for kind in above.__subclasses__():
        if hasattr(kind, "schema"):
            yield kind
        yield from _tables(kind)


def _told(value: object) -> Any:
    """An argument as far as it says what work there is; never what it stands on, which only a key has to know."""
    match value:
        case Artifact():
            return {"kind": value.kind}
        case Settings():
            return value.model_dump(mode="json", exclude=set(value.places))
        case BaseModel():
            return value.model_dump(mode="json")
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(name): _told(item) for name, item in value.items()}
        case Sequence():
            return [_told(item) for item in value]
    settings = getattr(value, "settings", None)  # a source, a subject: what it stands on is not read for this
    return [type(value).__name__, _told(settings) if isinstance(settings, BaseModel) else None]


def _handles(values: object) -> Iterator[Given]:
    if isinstance(values, Artifact):
        yield Given(values.kind, values.digest, values.rows or 0)
    elif isinstance(values, Mapping):
        yield from _handles(tuple(values.values()))
    elif isinstance(values, Sequence) and not isinstance(values, str | bytes):
        for value in values:
            yield from _handles(value)


def _amounts(described: object) -> Iterator[tuple[str, float]]:
    """The factors of the amount, wherever they stand among the settings."""
    if isinstance(described, Mapping):
        for name, value in described.items():
            if name in LISTED and isinstance(value, list):
                yield name, float(max(1, len(value)))
            elif _is_amount(name, value):
                yield name, float(value) or 1.0
            else:
                yield from _amounts(value)
    elif isinstance(described, list):
        for value in described:
            yield from _amounts(value)


def _is_amount(name: str, value: object) -> bool:
    return name in TIMES | LEARNED and isinstance(value, int | float) and not isinstance(value, bool)


def _without_amounts(described: object) -> object:
    if isinstance(described, Mapping):
        kept = {name: value for name, value in described.items() if name not in LISTED and not _is_amount(name, value)}
        return {name: _without_amounts(value) for name, value in kept.items()}
    return [_without_amounts(value) for value in described] if isinstance(described, list) else described


def _hash(value: object) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=8).hexdigest()
