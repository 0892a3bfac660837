"""The groups of an artifact of samples, for the stages that measure: what `source.group` named, else nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, columns_in
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.groups import GROUP, group_hashes


def groups_of(samples: Artifact[Any], column: str = GROUP) -> npt.NDArray[np.int64] | None:
    """The code of each sample's group, in sample order; None where samples are independent."""
    if column not in columns_in(samples):
        return None
    hashes = group_hashes(collect(samples, ["id", column]), column)
    return None if hashes is None else codes_of(hashes)


def count_groups(samples: Artifact[Any], column: str = GROUP) -> int | None:
    """How many groups there are; None where samples are independent."""
    codes = groups_of(samples, column)
    return None if codes is None else int(codes.max(initial=-1)) + 1


def groups_by_id(samples: Artifact[Any], column: str = GROUP) -> dict[str, int] | None:
    """The code of the group of every sample, by its id; None where samples are independent."""
    codes = groups_of(samples, column)
    if codes is None:
        return None
    return dict(zip(collect(samples, ["id"])["id"].to_pylist(), codes.tolist(), strict=True))
