"""A training shows in Prefect's UI how far it is, while it runs."""

import time

import pyarrow as pa
import pytest
from plumbing_workload import Numbers, Piece, Weights, make_numbers

from assay.infra.stages.partitions import map_pieces
from assay.infra.stages.stage import stage
from assay.infra.stages.trainings import Checkpoints, train_on_worker
from assay.infra.storage.artifacts import Artifact

pytestmark = pytest.mark.xdist_group("prefect")


@stage(version=1)
def slow_numbers() -> Artifact[Numbers]:
    return map_pieces(make_numbers, [Piece(0, 3)], into=Numbers)


@stage(version=1, title="a slow training")
def train_slowly(samples: Artifact[Numbers]) -> Artifact[Weights]:
    return train_on_worker(learn_slowly, samples, into=Weights)


def learn_slowly(numbers: pa.Table, *, checkpoints: Checkpoints) -> dict[str, bytes]:
    """Says that it is half way through, then waits until people can see it."""
    checkpoints.save(1, 2, {"state": b"1"})
    time.sleep(4.0)  # longer than the two seconds between two updates of Prefect's bar
    return {"model": b"done"}


def test_prefect_shows_how_far_a_training_is(on_prefect, make_run):
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterType

    from assay.infra.prefect.tasks import Orchestrated

    with make_run() as run:
        run.conductor = Orchestrated()
        run.conductor.lead("training", "a test", lambda: train_slowly(slow_numbers()))
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(artifact_filter=ArtifactFilter(type=ArtifactFilterType(any_=["progress"])))
    assert [one.description for one in found].count("a slow training") == 1
