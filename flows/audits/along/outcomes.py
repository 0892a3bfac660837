"""What single samples add to how right a subject of images or texts is along the order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from assay.flows.audits.along.flow import AlongTheOrder
from assay.flows.audits.data import Data
from assay.flows.audits.kind import Ground
from assay.flows.audits.outcomes import SAMPLES, Outcomes, Tables, in_groups
from assay.tasks.statistics.sampled import Sampled
from assay.tasks.statistics.slices import slice_of
from assay.tasks.subjects.along.measuring import ACCURACY

_ANSWERS = "answers"


def outcomes(ground: Ground, result: AlongTheOrder) -> Iterator[Outcomes]:
    """The accuracy of every model on D1 … DN and on every stratum, under every circumstance."""
    for name, model in result.models.items():
        yield Outcomes(ACCURACY, name, _ANSWERS, {_ANSWERS: model.answers, SAMPLES: ground.of(Data).samples})


def sampled(_outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """How often a model is right on each sample of a stratum, or up to D_i, under the circumstance of a finding."""
    circumstance, _, cut = group.rpartition(", ")
    rows = tables.read(_ANSWERS, ["id", "of", "group", "right", "times", "stratum"])
    up_to, alone = slice_of(cut).dataset, slice_of(cut).stratum
    if up_to is None and alone is None:
        return None
    reached = pc.equal(rows["stratum"], alone) if up_to is None else pc.less_equal(rows["stratum"], up_to)
    here = pc.and_(pc.equal(rows["of"], of), pc.equal(rows["group"], circumstance))
    rows = rows.filter(pc.and_(here, reached))
    right, times = (rows[name].to_numpy().astype(np.float64) for name in ("right", "times"))
    return in_groups(Sampled(np.array(rows["id"].to_pylist(), dtype=np.str_), right, times), tables)
