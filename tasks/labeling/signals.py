"""Time series around an alarm as matrices of fixed width, whatever was recorded of each sample.

A window never depends on the other samples: its width is what was asked for, seconds that were not recorded or not
measured are NaN. So the verdict on a sample is the same in every partition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

ALARM_SECOND = "alarm_second"
"""The column that says in which second of its series (counted from 0) a sample's alarm went off."""


class Window(NamedTuple):
    """What a vital sign did in some seconds: `values` [n, w], NaN where not measured; `recorded` [n, w]."""

    values: Matrix
    recorded: Mask

    @property
    def measured(self) -> Mask:
        """Where there is a value, [n, w]."""
        return ~np.isnan(self.values)


class Signals:
    """The samples' vital signs at one value a second, aligned at their alarms; each window is cut once.

    >>> table = pa.table({"id": ["a"], "alarm_second": [2], "heart_rate": [[90.0, None, 99.0, 100.0]]})
    >>> Signals(table).window("heart_rate", -2, 3).values.tolist()
    [[90.0, nan, 99.0, 100.0, nan]]
    """

    def __init__(self, table: pa.Table) -> None:
        if ALARM_SECOND not in table.column_names:
            raise InputError(
                f"The samples have no column {ALARM_SECOND}, which says in which second of its series each alarm went "
                f"off; their columns are {', '.join(table.column_names)}."
            )
        self.samples: int = table.num_rows
        self._table = table
        self._alarm: npt.NDArray[np.int64] = table.column(ALARM_SECOND).to_numpy().astype(np.int64)
        self._names = [field.name for field in table.schema if _is_series(field.type)]
        self._lengths: npt.NDArray[np.int64] = np.max(
            [self._length_of(name) for name in self._names] or [np.zeros(self.samples, np.int64)], axis=0
        )
        self._padded: dict[str, Matrix] = {}
        self._windows: dict[tuple[str, int, int], Window] = {}

    def window(self, vital: str, start: int, stop: int) -> Window:
        """The seconds from `start` to before `stop`, counted from the alarm (negative: before it)."""
        asked = (vital, start, stop)
        if asked not in self._windows:
            values = np.full((self.samples, stop - start), np.nan)
            padded = self._pad(vital)
            seconds = self._alarm[:, None] + np.arange(start, stop)
            recorded = (seconds >= 0) & (seconds < self._lengths[:, None])
            rows, places = np.nonzero(recorded)
            values[rows, places] = padded[rows, seconds[rows, places]]
            self._windows[asked] = Window(values, recorded)
        return self._windows[asked]

    def _pad(self, vital: str) -> Matrix:
        """The whole series of a vital sign, each from its own beginning, NaN behind its end."""
        if vital not in self._padded:
            if vital not in self._names:
                raise InputError(
                    f"The samples have no series {vital!r} (a list of one number a second); they have "
                    f"{', '.join(self._names) or 'none'}."
                )
            lengths = self._length_of(vital)
            flat = self._series(vital).flatten().to_numpy(zero_copy_only=False).astype(np.float64)
            starts = np.concatenate(([0], np.cumsum(lengths)[:-1])) if self.samples else lengths
            padded = np.full((self.samples, int(self._lengths.max(initial=0))), np.nan)
            padded[np.repeat(np.arange(self.samples), lengths), np.arange(len(flat)) - np.repeat(starts, lengths)] = (
                flat
            )
            self._padded[vital] = padded
        return self._padded[vital]

    def _series(self, vital: str) -> pa.Array:
        column = self._table.column(vital).combine_chunks()
        return column.chunk(0) if isinstance(column, pa.ChunkedArray) else column

    def _length_of(self, vital: str) -> npt.NDArray[np.int64]:
        lengths: npt.NDArray[np.int64] = (
            pc.list_value_length(self._series(vital)).fill_null(0).to_numpy().astype(np.int64)
        )
        return lengths


def _is_series(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))
