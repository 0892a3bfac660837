"""A share of the samples, for a run that is tried out before it is run whole: drawn by the seed, groups kept whole."""

from __future__ import annotations

import math

import pyarrow as pa

from assay.data.schemas import Samples
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import Reuse, map_partitions
from assay.infra.stage import say, stage, stage_seeds
from assay.tasks.ingest.drawing import drawn_rows
from assay.tasks.ingest.shares import share_in_words


@stage(version=1, title="sample", draws=True)
def draw_share(samples: Artifact[Samples], share: float) -> Artifact[Samples]:
    """The samples whose group the seed draws, cut into partitions as large as those of all samples."""
    seed = stage_seeds().integer(bits=63)
    drawn = map_partitions(drawn_rows, samples, into=Samples, name="drawn", reuse=Reuse(), share=share, seed=seed)
    if not drawn.rows:
        raise InputError(
            f"A sample of {share_in_words(share)} of {samples.rows} samples drew none of them: ask for more, as in "
            f"--sample {min(1.0, 20 / max(1, samples.rows)):.0%}."
        )
    say(f"{drawn.rows} of {samples.rows} samples drawn ({share_in_words(share)})")
    rows = math.ceil(samples.rows / max(1, samples.partitions))
    whole: Artifact[Samples] = map_partitions(as_they_are, drawn, into=Samples, rows=rows)
    return whole


def as_they_are(samples: pa.Table) -> pa.Table:
    """The samples; what is left of many partitions goes into few."""
    return samples
