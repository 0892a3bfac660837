"""The measures of many audits beside each other: one column per subject and measure, in the order of the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.hardness.measures import CONFIDENCE, MEASURES

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """The measures of one subject, and those that are of none; NaN where one says nothing of a sample."""

    own: Mapping[str, Floats] = field(default_factory=dict)
    shared: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def all(self) -> dict[str, Floats]:
        """Every measure by name: ours first, in the order of a reader's interest."""
        together = {**self.shared, **self.own}
        known = list(MEASURES)
        names = sorted(together, key=lambda name: (known.index(name) if name in known else len(known), name))
        return {name: together[name] for name in names}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Which measures are related: all with each other, as far as one of the two is the subject's own."""
        names = list(self.all)
        return [
            (first, second)
            for at, first in enumerate(names)
            for second in names[at + 1 :]
            if not self.own or first in self.own or second in self.own
        ]

    @property
    def confidence(self) -> Floats | None:
        """How unsure the subject is, where it gives probabilities."""
        return self.own.get(CONFIDENCE)


def side_by_side(tables: Sequence[pa.Table], ids: pa.ChunkedArray) -> dict[str, Columns]:
    """The columns by subject; under the empty name those that are of no subject, related among themselves.

    >>> rows = {"id": ["b", "a", "b"], "subject": ["s"] * 3, "measure": ["eps"] * 3, "value": [-0.2, -0.3, -0.1]}
    >>> side_by_side([pa.table(rows)], pa.chunked_array([["a", "b", "c"]]))["s"].own["eps"].tolist()
    [-0.3, -0.1, nan]
    """
    by_subject: dict[str, dict[str, Floats]] = {}
    for table in tables:
        places = pc.index_in(table["id"], ids.combine_chunks())
        here = pc.is_valid(places)
        rows = pa.table({"at": places, **{name: table[name] for name in ("subject", "measure", "value")}}).filter(here)
        for subject, measure in _subjects_and_measures(rows):
            mine = rows.filter(pc.and_(pc.equal(rows["subject"], subject), pc.equal(rows["measure"], measure)))
            by_name = by_subject.setdefault(subject, {})
            column = by_name.setdefault(measure, np.full(len(ids), np.nan))
            np.fmax.at(column, mine["at"].to_numpy(), mine["value"].to_numpy())
    shared = by_subject.pop("", {})
    columns = {subject: Columns(own, shared) for subject, own in by_subject.items()}
    return columns | ({"": Columns({}, shared)} if len(shared) > 1 else {})


def _subjects_and_measures(rows: pa.Table) -> list[tuple[str, str]]:
    """The subjects and measures of the rows, each pair once."""
    names = rows.group_by(["subject", "measure"], use_threads=False).aggregate([])
    return list(zip(names["subject"].to_pylist(), names["measure"].to_pylist(), strict=True))
