"""All 1797 digits with their published split, and the ten classes, as artifacts."""

from __future__ import annotations

import pyarrow as pa

from assay.data.samples.digits import digits
from assay.data.schemas import Classes, Samples
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact


@stage(version=1)
def digit_samples() -> Artifact[Samples]:
    """All 1797 digits with their published split."""
    return write_table(digits(), into=Samples)


@stage(version=1)
def digit_classes() -> Artifact[Classes]:
    """The ten digits."""
    names = [str(code) for code in range(10)]
    return write_table(pa.table({"code": range(10), "name": names}, schema=Classes.schema), into=Classes)
