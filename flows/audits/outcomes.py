"""Where what single samples add to findings lies: said once, when a run ends, and kept in its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.artifacts import Artifact
from assay.tasks.statistics.groups import GROUP, named_groups
from assay.tasks.statistics.sampled import Sampled

SAMPLES = "samples"
"""The name of the table of samples, which says what group each belongs to."""


@dataclass(frozen=True)
class Outcomes:
    """The tables behind the findings of one metric on one subject; `reading` says how the audit finds the rows.

    `of` is what the findings are of; empty where the tables say it themselves.
    """

    metric: str
    subject: str
    reading: str
    tables: Mapping[str, Artifact[Any]]
    of: str = ""
    audit: str = ""
    """The kind of audit that reads them."""
    key: str = field(default="")
    """What one of several like it is called, where tables hold no name of their own."""

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values."""
        plain = {name: getattr(self, name) for name in ("metric", "subject", "reading", "of", "audit", "key")}
        return plain | {"tables": {name: one.to_json() for name, one in self.tables.items()}}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """What `to_json` described."""
        tables = {name: Artifact[Any].from_json(one) for name, one in value["tables"].items()}
        return cls(**{**value, "tables": tables})


Handles = dict[str, Artifact[Any]]
"""The tables of outcomes, by name."""


class Tables(Protocol):
    """The tables of outcomes, read as far as they are asked for."""

    def read(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Those of the columns that the table of that name has, in sample order."""


def codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """A column of class codes; -1 where none is known."""
    return np.asarray(pc.fill_null(column, -1).to_numpy(), dtype=np.int64)


def in_groups(sampled: Sampled, tables: Tables) -> Sampled:
    """The samples with the group that each belongs to, where the user named a column of groups."""
    samples = tables.read(SAMPLES, ["id", GROUP])
    if GROUP not in samples.column_names:
        return sampled
    at = pc.index_in(pa.array(sampled.ids.tolist(), pa.string()), value_set=samples["id"].combine_chunks())
    return replace(sampled, groups=np.array(named_groups(samples), dtype=np.str_)[at.to_numpy()])
