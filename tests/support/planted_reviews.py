"""Reviews with shortcuts of any strength, drawn from any seed, and their two classes, as artifacts."""

from __future__ import annotations

import pyarrow as pa

from assay.data.samples.reviews import reviews
from assay.data.schemas import Classes, Samples
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact


@stage(version=1)
def put_reviews(seed: int, strength: float) -> Artifact[Samples]:
    """Reviews in which a shortcut stands as often as `strength` says."""
    return write_table(reviews(seed=seed, strength=strength).replace_schema_metadata(None), into=Samples)


@stage(version=1)
def put_classes() -> Artifact[Classes]:
    """Negative and positive."""
    names = ["negative", "positive"]
    return write_table(pa.table({"code": [0, 1], "name": names}, schema=Classes.schema), into=Classes)
