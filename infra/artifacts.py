"""What passes between stages: a handle to bytes in the store, and the kinds of thing those bytes can be."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa


class Kind:
    """A kind of artifact; its docstring is its meaning, its class name is its name."""


class Table(Kind):
    """Partitioned Parquet with a declared schema.

    `schema` lists the columns that must be there, in this order; fields marked nullable may hold nulls. `extras`
    says what further columns may follow: none (`None`), any (`"any"`), or columns of exactly one Arrow type.
    """

    schema: ClassVar[pa.Schema]
    extras: ClassVar[pa.DataType | str | None] = None


class Files(Kind):
    """A handful of named files (a subject's weights, a contract's report), each with its own checksum."""


K = TypeVar("K", bound=Kind)


@dataclass(frozen=True)
class Artifact(Generic[K]):
    """A JSON-able handle: what it is (`kind`), what made it (`key`), what it holds (`digest`), where (`uri`)."""

    kind: str
    key: str
    digest: str
    uri: str
    rows: int
    partitions: int

    def to_json(self) -> dict[str, Any]:
        """The handle as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Artifact[K]:
        """The handle that `to_json` described."""
        return cls(**value)
