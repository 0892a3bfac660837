"""How the classes of a rulebook map to those of the pipeline: by name, or by number where the samples name none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError


def class_codes(rulebook: str, voted: Sequence[str], known: Sequence[str]) -> tuple[int, ...]:
    """The pipeline's code of each class of a rulebook; names decide, unless the samples' classes are mere numbers.

    >>> class_codes("spam", ("ham", "spam"), ("spam", "ham")), class_codes("spam", ("ham", "spam"), ("0", "1"))
    ((1, 0), (0, 1))
    """
    if all(name in known for name in voted):
        return tuple(known.index(name) for name in voted)
    if list(known) == [str(code) for code in range(len(known))] and len(voted) <= len(known):
        return tuple(range(len(voted)))
    stranger = next(name for name in voted if name not in known)
    raise InputError(
        f"The rulebook {rulebook} votes for the class {stranger!r}, but the classes of the samples are "
        f"{', '.join(known)}. Name them alike, in source.classes or in the rulebook's CLASSES."
    )


def recode(votes: pa.Table, codes: Sequence[int]) -> pa.Table:
    """The votes with each class replaced by its code; abstentions stay.

    >>> recode(pa.table({"id": ["a", "b"], "f": pa.array([0, -1], pa.int8())}), (1, 0)).column("f").to_pylist()
    [1, -1]
    """
    if list(codes) == list(range(len(codes))):
        return votes
    lookup = np.array([*codes, -1], np.int8)  # a vote of -1 takes the last entry
    columns = {
        name: votes.column(name) if name == "id" else pa.array(lookup[votes.column(name).to_numpy()], pa.int8())
        for name in votes.column_names
    }
    return pa.table(columns)
