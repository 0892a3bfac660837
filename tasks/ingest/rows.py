"""What a reader hands over: the rows it could read, where each one stands, and the ones it could not read."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from assay.data.schemas import Rejects

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Reject:
    """A row that does not enter: its line (text files) or row number (others), and why."""

    file: str
    row: int
    reason: str
    column: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class Rows:
    """Rows of one file: their columns, the position of each (counted from 1), and what was already turned away."""

    file: str
    table: pa.Table
    positions: Positions
    rejects: tuple[Reject, ...] = field(default=())
    files: tuple[str, ...] | None = None
    """Where each row is a file of its own: its name."""

    def place(self, at: int) -> tuple[str, int]:
        """The file and the line (or row number) of the row at a position of the table."""
        return (self.file, int(self.positions[at])) if self.files is None else (self.files[at], 1)


def rejects_table(rejects: list[Reject]) -> pa.Table:
    """Rejects as a table, in the order of the rows."""
    ordered = sorted(rejects, key=lambda reject: (reject.file, reject.row))
    columns = {name: [getattr(reject, name) for reject in ordered] for name in Rejects.schema.names}
    return pa.table(columns, schema=Rejects.schema)
