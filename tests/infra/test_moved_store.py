"""A store is a folder: moved, copied or mounted elsewhere it holds the same things."""

import shutil

from plumbing_workload import Numbers, Piece, Scaled, double, make_numbers

from assay.infra.stages.partitions import collect, map_partitions, map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact


@stage(version=1)
def numbers() -> Artifact[Numbers]:
    return map_pieces(make_numbers, [Piece(0, 3), Piece(3, 7)], into=Numbers)


@stage(version=1)
def scaled(given: Artifact[Numbers], factor: int) -> Artifact[Scaled]:
    return map_partitions(double, given, into=Scaled, factor=factor)


def test_a_moved_store_is_used_as_if_it_had_always_been_there(make_run, tmp_path):
    with make_run() as before:
        first = scaled(numbers(), 2)
    shutil.move(tmp_path / "store", tmp_path / "elsewhere")
    with make_run(store=str(tmp_path / "elsewhere")) as after:
        assert scaled(numbers(), 2).digest == first.digest
        again = collect(scaled(numbers(), 3), None)
    assert again["x"].to_pylist() == [3 * i for i in range(7)]
    assert [one.cached for one in before.record.stages] == [False, False]
    assert [one.cached for one in after.record.stages] == [True, True, True, False]
