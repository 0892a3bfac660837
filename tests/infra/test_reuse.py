"""What is taken from another result is what would be computed: nothing is guessed."""

from __future__ import annotations

from enum import Enum
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from plumbing_workload import Numbers, Piece, Scaled, Weights, beside, double, make_numbers
from pydantic import BaseModel

from assay.infra.errors import RunError
from assay.infra.stages import steps
from assay.infra.stages.exact import ExactSum, Least
from assay.infra.stages.partitions import Reuse, collect, map_partitions, map_pieces, reduce_partitions
from assay.infra.stages.stage import stage, write_files, write_table
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.folders import Folder
from assay.infra.storage.keys import InexactError, fingerprint
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean


def contents(piece: Piece) -> str:
    return f"{piece.start} to {piece.stop}"


@stage(version=1)
def made(cuts: list[int]) -> Artifact[Numbers]:
    pieces = [Piece(a, b) for a, b in pairwise(cuts)]
    return map_pieces(make_numbers, pieces, into=Numbers, reuse=Reuse(content=contents))


@stage(version=1)
def scaled(numbers: Artifact[Numbers], factor: int) -> Artifact[Scaled]:
    return map_partitions(double, numbers, into=Scaled, reuse=Reuse(), factor=factor)


@stage(version=1, draws=True)
def scaled_by_seed(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
    return map_partitions(double, numbers, into=Scaled, reuse=Reuse(), factor=2)


@stage(version=1)
def scaled_within_bounds(numbers: Artifact[Numbers], factor: int) -> Artifact[Scaled]:
    return map_partitions(double, numbers, into=Scaled, reuse=Reuse(bounds=frozenset({"factor"})), factor=factor)


@stage(version=1)
def scaled_row_by_row(numbers: Artifact[Numbers], factors: list[int]) -> Artifact[Scaled]:
    return map_partitions(double, numbers, into=Scaled, reuse=Reuse(), aligned={"factor": np.array(factors)})


@stage(version=1)
def added(left: Artifact[Numbers], right: Artifact[Scaled]) -> Artifact[Scaled]:
    return map_partitions(beside, left, right, into=Scaled, reuse=Reuse())


def last(run) -> tuple[int, int]:
    """How many partitions the last stage took, and computed."""
    return run.record.stages[-1].partitions_taken, run.record.stages[-1].partitions_computed


def test_partitions_of_the_same_content_are_taken_and_stand_at_their_new_place(make_run, tmp_path):
    with make_run():
        scaled(made([0, 10, 20, 30]), 3)
    with make_run() as run:
        again = scaled(made([10, 20, 30, 40]), 3)
        assert last(run) == (2, 1)
        assert [stage.partitions_taken for stage in run.record.stages] == [2, 2]
    with make_run(store=str(tmp_path / "other")):
        alone = scaled(made([10, 20, 30, 40]), 3)
        assert alone.digest == again.digest
    files = sorted(path.name[:10] for path in Path(again.uri).glob("*.parquet"))
    assert files == ["part-00000", "part-00001", "part-00002"]


def test_other_constants_other_seeds_and_other_rows_are_computed(make_run):
    with make_run():
        numbers = made([0, 10, 20])
        scaled(numbers, 3), scaled_by_seed(numbers), scaled_row_by_row(numbers, [1] * 20)
    with make_run(seed=1) as run:
        more = made([0, 10, 20, 30])
        assert last(run) == (2, 1)
        scaled(more, 4)
        assert last(run) == (0, 3)
        scaled_by_seed(more)
        assert last(run) == (0, 3)
        scaled_row_by_row(more, [1] * 15 + [2] * 15)
        assert last(run) == (1, 2)


def test_a_bound_is_no_part_of_what_a_partition_is(make_run):
    with make_run():
        scaled_within_bounds(made([0, 10, 20]), 3)
    with make_run() as run:
        scaled_within_bounds(made([0, 10, 20, 30]), 4)
        assert last(run) == (2, 1)


def test_both_inputs_have_to_be_the_same(make_run):
    with make_run():
        numbers = made([0, 10, 20])
        added(numbers, scaled(numbers, 2))
    with make_run() as run:
        more = made([0, 10, 20, 30])
        added(more, scaled(more, 2))
        assert last(run) == (2, 1)
        added(more, scaled(more, 5))
        assert last(run) == (0, 3)


@stage(version=1)
def named(column: str, values: list[int]) -> Artifact[Numbers]:
    table = pa.table({"id": [str(at) for at in range(len(values))], "x": values, column: values})
    return write_table(table, into=Wide)


class Wide(Numbers):
    """Numbers, and more of them."""

    extras = pa.int64()


def columns_as_numbers(table: pa.Table) -> pa.Table:
    return table.select(["id", "x"]).set_column(1, "x", pa.array([len(table.column_names[-1])] * len(table)))


@stage(version=1)
def looked_at(numbers: Artifact[Numbers]) -> Artifact[Numbers]:
    return map_partitions(columns_as_numbers, numbers, into=Numbers, reuse=Reuse())


def test_columns_of_another_name_or_rows_in_another_order_are_other_inputs(make_run):
    with make_run() as run:
        assert collect(looked_at(named("y", [1, 2])), ["x"])["x"].to_pylist() == [1, 1]
        assert collect(looked_at(named("why", [1, 2])), ["x"])["x"].to_pylist() == [3, 3]
        assert last(run) == (0, 1)
        looked_at(named("y", [2, 1]))
        assert last(run) == (0, 1)


@stage(version=1)
def taught(numbers: Artifact[Numbers], how: str) -> Artifact[Scaled]:
    if how == "by something without a fingerprint":
        return map_partitions(scaled_by, numbers, into=Scaled, reuse=Reuse(), scale=Scale(2))
    return map_partitions(lambda table: double(table, 2), numbers, into=Scaled, reuse=Reuse())


class Scale:
    """Nobody can say what this is."""

    def __init__(self, factor: int) -> None:
        self.factor = factor


def scaled_by(table: pa.Table, scale: Scale) -> pa.Table:
    return double(table, scale.factor)


@pytest.mark.parametrize("how", ["by something without a fingerprint", "by a function without a name"])
def test_what_cannot_be_known_exactly_is_never_taken(make_run, how):
    with make_run():
        taught(made([0, 10]), how)
    with make_run() as run:
        taught(made([0, 10, 20]), how)
        assert last(run) == (0, 2)
        assert run.record.stages[-1].partitions_of_known_content == 0


def test_what_fresh_found_to_be_otherwise_is_what_is_taken_later(make_run, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("2")
    with make_run():
        by_a_file(made([0, 10]), str(outside))
    outside.write_text("3")
    with make_run(fresh=True):
        by_a_file(made([0, 10]), str(outside))
    with make_run() as run:
        later = by_a_file(made([0, 10, 20]), str(outside))
        assert last(run) == (1, 1)
        assert collect(later, ["x"])["x"].to_pylist() == [3 * x for x in range(20)]


def scaled_by_a_file(table: pa.Table, path: str) -> pa.Table:
    return double(table, int(Path(path).read_text()))


@stage(version=1)
def by_a_file(numbers: Artifact[Numbers], path: str) -> Artifact[Scaled]:
    return map_partitions(scaled_by_a_file, numbers, into=Scaled, reuse=Reuse(), path=path)


class Colour(Enum):
    """Two names."""

    RED = 1
    BLUE = 2


class Named(BaseModel):
    """A setting."""

    x: float


DIFFERENT = [
    None,
    0,
    False,
    0.0,
    -0.0,
    "0",
    b"0",
    (0,),
    [0],
    [[0]],
    {"a": 0, "b": 1},
    {"b": 1, "a": 0},
    frozenset({0}),
    np.float64(0),
    np.float32(0),
    np.zeros(1),
    np.zeros((1, 1)),
    np.zeros(1, np.float32),
    Colour.RED,
    Colour.BLUE,
    Piece(0, 1),
    Piece(1, 0),
    Named(x=0),
    Named(x=-1),
    pa.schema([("a", pa.int64())]),
    pa.schema([pa.field("a", pa.int64(), nullable=False)]),
    pa.schema([("a", pa.int64())], metadata={"a": "b"}),
    float("nan"),
    float("inf"),
]


def test_values_that_differ_in_anything_have_other_fingerprints():
    for one, other in combinations(DIFFERENT, 2):
        assert fingerprint(one) != fingerprint(other), (one, other)


@pytest.mark.parametrize("value", [object(), Scale(2), Path("a"), len, np.array([object()]), pa.table({"a": [1]})])
def test_what_has_no_fingerprint_is_refused(value):
    with pytest.raises(InexactError):
        fingerprint([value])


def counted_in(table: pa.Table, offset: int) -> dict[str, object]:
    COUNTED.append(table.num_rows)
    x = table["x"].to_numpy()
    return {
        "sum": int(x.sum()) + offset,
        "square": x.reshape(1, -1).sum(axis=1, keepdims=True),
        "many": np.bincount(x, minlength=1000),
        "exact": ExactSum.of(x / 3),
        "least": Least((int(x[0]), table["id"][0].as_py())),
        "ids": frozenset(table["id"].to_pylist()),
    }


COUNTED: list[int] = []


@stage(version=1)
def summed(numbers: Artifact[Numbers], offset: int) -> Artifact[Weights]:
    counted = reduce_partitions(counted_in, numbers, reuse=Reuse(), offset=offset)
    SEEN.append(counted)
    return write_files({"sum.json": str(counted["sum"]).encode()}, into=Weights)


SEEN: list[dict[str, object]] = []


def test_what_was_counted_is_not_counted_again_and_merges_to_the_same(make_run, tmp_path):
    COUNTED.clear()
    with make_run():
        summed(made([0, 10, 20]), 1)
    with make_run(verify=1) as run:
        again = summed(made([0, 10, 20, 35]), 1)
        assert COUNTED == [10, 10, 10, 15]  # the third to verify
        assert (run.record.stages[-1].partitions_taken, run.record.stages[-1].partitions_verified) == (2, 1)
    taken = SEEN[-1]
    with make_run(store=str(tmp_path / "other")):
        assert summed(made([0, 10, 20, 35]), 1).digest == again.digest
    assert fingerprint(taken) == fingerprint(SEEN[-1])
    with make_run() as run:
        summed(made([0, 10, 20, 35]), 2)
        assert last(run) == (0, 3)


def test_counts_that_a_broken_attempt_left_are_taken_by_the_next(make_run, tmp_path):
    marker = tmp_path / "broken"
    marker.touch()
    COUNTED.clear()
    with make_run(), pytest.raises(RunError):
        summed_while_whole(made([0, 10, 20]), str(marker))
    marker.unlink()
    with make_run():
        summed_while_whole(made([0, 10, 20]), str(marker))
    assert COUNTED == [10, 10]


@stage(version=1)
def summed_while_whole(numbers: Artifact[Numbers], marker: str) -> Artifact[Weights]:
    counted = reduce_partitions(counted_in, numbers, reuse=Reuse(), offset=0)
    if Path(marker).exists():
        raise RunError("broken")
    return write_files({"sum.json": str(counted["sum"]).encode()}, into=Weights)


@pytest.mark.parametrize("damage", ["{}", '{"tally": {"counted": {"int": 7}}, "check": "no"}', "{"])
def test_counts_in_a_file_that_somebody_changed_are_counted_again(make_run, tmp_path, damage):
    with make_run():
        summed(made([0, 10, 20]), 1)
    for file in (tmp_path / "store" / "stages" / "summed").glob("*/counts/*.json"):
        file.write_text(damage.ljust(file.stat().st_size))
    COUNTED.clear()
    with make_run():
        summed(made([0, 10, 20, 35]), 1)
    assert COUNTED == [10, 10, 15]


def test_verifying_counts_names_the_partition_whose_counts_are_others(make_run, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("2")
    with make_run():
        counted_outside(made([0, 10]), str(outside))
    outside.write_text("3")
    with make_run(verify=1), pytest.raises(RunError, match=r"partition [12] of 2, was taken .* gives other counts"):
        counted_outside(made([0, 10, 20]), str(outside))


def count_by_a_file(table: pa.Table, path: str) -> int:
    return int(Path(path).read_text()) * table.num_rows


@stage(version=1)
def counted_outside(numbers: Artifact[Numbers], path: str) -> Artifact[Weights]:
    counted = reduce_partitions(count_by_a_file, numbers, reuse=Reuse(), path=path)
    return write_files({"sum.json": str(counted).encode()}, into=Weights)


def test_a_clean_up_keeps_the_counts_of_results_that_are_kept(make_run, tmp_path):
    with make_run():
        summed(made([0, 10, 20]), 1)
    before = sorted(path for path in (tmp_path / "store" / "stages").rglob("*.json"))
    clean(Store(str(tmp_path / "store")), keep=1)
    assert sorted(path for path in (tmp_path / "store" / "stages").rglob("*.json")) == before


def test_large_counts_are_not_even_spelt_out(tmp_path, monkeypatch):
    monkeypatch.setattr(steps, "encode_tally", lambda _: pytest.fail("a gigabyte of text was made"))
    large = {"n": 3, "deep": {"together": np.zeros(steps.MOST_COUNT_BYTES // 8 + 1, np.int64)}}
    steps._keep(Folder(str(tmp_path)), "large.json", large)
    assert list(tmp_path.iterdir()) == []


def test_every_partition_is_verified_within_as_many_nights_as_it_takes(make_run):
    with make_run():
        summed(made([0, 1, 3, 6, 10]), 1)
    for nights in ((1, 2), (17, 18)):
        COUNTED.clear()
        for night in nights:
            run = make_run(verify=2)
            run.record.started = f"2026-03-{night:02d}T02:00:00+00:00"
            with run:
                summed(made([0, 1, 3, 6, 10, 100 + night]), 1)
        assert {1, 2, 3, 4} <= set(COUNTED)
