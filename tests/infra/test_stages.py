"""A stage asks the store first, computes what is missing, and commits it whole."""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from plumbing_workload import Numbers, Piece, Scaled, Weights, beside, double, explode_on, make_numbers, total

from assay.infra.errors import InputError, RunError
from assay.infra.settings import Settings
from assay.infra.stages.exact import Least
from assay.infra.stages.partitions import (
    Tallied,
    collect,
    map_partitions,
    map_pieces,
    read_files,
    reduce_partitions,
    tally_of,
)
from assay.infra.stages.runs import current_run
from assay.infra.stages.stage import say, stage, stage_seeds, write_files, write_table
from assay.infra.storage.artifacts import Artifact, Files, Table
from assay.infra.storage.store import Store

CALLS: list[str] = []


class Scale(Settings):
    """A setting."""

    factor: int = 2


@stage(version=1, title="make")
def make(rows: int, pieces: int) -> Artifact[Numbers]:
    cuts = np.linspace(0, rows, pieces + 1).astype(int)
    CALLS.append("make")
    return map_pieces(make_numbers, [Piece(int(a), int(b)) for a, b in pairwise(cuts)], into=Numbers)


@stage(version=1)
def scale(numbers: Artifact[Numbers], settings: Scale) -> Artifact[Scaled]:
    CALLS.append("scale")
    say(f"scaled by {settings.factor}")
    return map_partitions(double, numbers, into=Scaled, factor=settings.factor)


def sizes(first: pa.Table, second: pa.Table) -> frozenset[str]:
    return frozenset([f"{first.num_rows}:{second.num_rows}"])


class Both(NamedTuple):
    """Two outputs of one stage."""

    scaled: Artifact[Scaled]
    files: Artifact[Weights]


@stage(version=1, draws=True)
def both(numbers: Artifact[Numbers]) -> Both:
    scrap = map_partitions(double, numbers, into=Scaled, name="scrap", factor=1)
    draw = stage_seeds().generator().random()
    return Both(
        map_partitions(double, scrap, into=Scaled, factor=3), write_files({"w.json": str(draw).encode()}, into=Weights)
    )


def test_equal_arguments_are_computed_once(make_run):
    CALLS.clear()
    with make_run():
        first = scale(make(10, 3), Scale())
    with make_run() as run:
        again = scale(make(10, 3), Scale())
        assert [record.cached for record in run.record.stages] == [True, True]
        assert run.record.stages[1].summary == "scaled by 2"
    assert again == first
    assert CALLS == ["make", "scale"]


def test_a_changed_setting_recomputes_only_what_follows(make_run):
    CALLS.clear()
    with make_run():
        scale(make(10, 2), Scale())
        other = scale(make(10, 2), Scale(factor=5))
    assert CALLS == ["make", "scale", "scale"]
    assert other.digest != scale.key  # a digest, not a key
    assert other.rows == 10


def test_digests_do_not_depend_on_partitions(make_run, tmp_path):
    digests = set()
    for pieces in (1, 7, 40):
        with make_run(store=str(tmp_path / str(pieces))):
            digests.add(scale(make(50, pieces), Scale()).digest)
    assert len(digests) == 1


def test_an_input_with_the_same_digest_changes_nothing_downstream(make_run):
    CALLS.clear()
    with make_run():
        scale(make(12, 1), Scale())
        scale(make(12, 4), Scale())  # another stage call, other partitions, same content
    assert CALLS == ["make", "scale", "make"]


def test_deleted_files_are_computed_again(make_run):
    with make_run() as run:
        artifact = scale(make(9, 3), Scale())
        victim = sorted(Path(artifact.uri).glob("*.parquet"))[1]
        victim.unlink()
    with make_run() as run:
        assert scale(make(9, 3), Scale()) == artifact
        assert run.record.stages[1].partitions_computed == 1
        assert run.record.stages[1].partitions_reused == 2
    assert victim.exists()


def test_a_truncated_file_is_computed_again_and_a_garbled_one_refused_by_name(make_run):
    with make_run():
        artifact = scale(make(900, 3), Scale())
    first, second, _ = sorted(Path(artifact.uri).glob("*.parquet"))
    first.write_bytes(first.read_bytes()[:-7])
    with make_run() as run:
        assert scale(make(900, 3), Scale()) == artifact
        assert run.record.stages[1].partitions_computed == 1
    content = bytearray(second.read_bytes())
    content[len(content) // 8] ^= 0xFF  # inside the first page, past its header
    second.write_bytes(bytes(content))
    with make_run(), pytest.raises(RunError, match=second.name):
        collect(scale(make(900, 3), Scale()), ["id"])


def test_a_broken_stage_keeps_its_finished_partitions(make_run, tmp_path):
    marker = tmp_path / "broken"
    marker.touch()

    @stage(version=1)
    def fragile(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
        return map_partitions(explode_on, numbers, into=Scaled, marker=str(marker), bad="7")

    with make_run() as run:
        numbers = make(10, 5)
        with pytest.raises(RunError, match="partition 4"):
            fragile(numbers)
        assert run.store.manifest("fragile", fragile.key((numbers,), {})) is None
    marker.unlink()
    with make_run() as run:
        whole = fragile(make(10, 5))
        assert (run.record.stages[1].partitions_computed, run.record.stages[1].partitions_reused) == (1, 4)
    assert whole.rows == 10


def test_finished_partitions_of_another_cut_are_not_mixed_in(make_run, tmp_path):
    marker = tmp_path / "broken"
    marker.touch()

    @stage(version=1)
    def fragile(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
        return map_partitions(explode_on, numbers, into=Scaled, marker=str(marker), bad="9")

    with make_run(), pytest.raises(RunError):
        fragile(make(10, 5))
    marker.unlink()
    with make_run():
        resumed = fragile(make(10, 3))
        direct = scale(make(10, 3), Scale())
        assert collect(resumed, ["id", "x"]) == collect(direct, ["id", "x"])


@stage(version=1)
def source(rows: int) -> Artifact[Numbers]:
    cuts = np.linspace(0, rows, int(current_run().compute.partitions) + 1).astype(int)
    return map_pieces(make_numbers, [Piece(int(a), int(b)) for a, b in pairwise(cuts)], into=Numbers)


def test_a_repair_with_another_plan_does_not_mix_the_plans(make_run):
    with make_run(partitions=7):
        whole = source(20)
    sorted(Path(whole.uri).glob("*.parquet"))[3].unlink()
    with make_run(partitions=3):
        repaired = source(20)
        assert repaired.digest == whole.digest
        assert collect(repaired, ["x"])["x"].to_pylist() == list(range(20))
        assert collect(whole, ["x"]) == collect(repaired, ["x"])  # the handle of an older run still opens


def test_quarantined_partitions_are_named_and_tried_again_next_time(make_run, tmp_path):
    marker = tmp_path / "broken"
    marker.touch()

    @stage(version=1)
    def fragile(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
        return map_partitions(explode_on, numbers, into=Scaled, marker=str(marker), bad="7")

    with make_run(quarantine=1, retries=0):
        numbers = make(10, 5)
        partial = fragile(numbers)
        assert partial.rows == 8
        assert collect(partial, ["id"]).num_rows == 8
    marker.unlink()
    with make_run():
        assert fragile(make(10, 5)).rows == 10


def test_quarantine_counts_over_a_whole_stage(make_run, tmp_path):
    marker = tmp_path / "broken"
    marker.touch()

    @stage(version=1)
    def twice(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
        first = map_partitions(explode_on, numbers, into=Scaled, name="first", marker=str(marker), bad="7")
        return map_partitions(explode_on, first, into=Scaled, marker=str(marker), bad="2")

    with make_run(quarantine=1, retries=0), pytest.raises(RunError, match="1 partition failed for good"):
        twice(make(10, 5))


def test_input_errors_stop_the_stage_at_once_and_commit_nothing(make_run, tmp_path):
    @stage(version=1)
    def refuse(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
        return map_partitions(explode_on, numbers, into=Scaled, marker=str(tmp_path), bad="input")

    with make_run() as run:
        with pytest.raises(InputError, match="row 3 is wrong"):
            refuse(make(4, 2))
        assert [record.title for record in run.record.stages] == ["make"]


def test_several_outputs_come_back_by_name_and_scraps_go(make_run):
    with make_run() as run:
        made = both(make(6, 2))
        assert (
            sorted(run.store.folder.folders(run.store.place("both", made.scaled.key)))
            == ["files", "scaled", "weights"][1:]
        )
    with make_run():
        again = both(make(6, 2))
        assert again == made
        assert list(read_files(again.files)) == ["w.json"]
        assert collect(again.scaled, ["x"])["x"].to_pylist() == [3 * x for x in range(6)]


def test_the_seed_enters_the_key_only_of_stages_that_draw(make_run):
    with make_run(seed=1) as run:
        first, keys = both(make(6, 2)), [record.key for record in run.record.stages]
    with make_run(seed=2) as run:
        second, others = both(make(6, 2)), [record.key for record in run.record.stages]
    assert keys[0] == others[0]
    assert keys[1] != others[1]
    assert first.files.digest != second.files.digest


def test_only_a_stage_that_declares_it_may_draw(make_run):
    @stage(version=1)
    def sly() -> Artifact[Weights]:
        return write_files({"w": str(stage_seeds().generator().random()).encode()}, into=Weights)

    with make_run(), pytest.raises(LookupError, match="draws=True"):
        sly()


def test_fresh_computes_again_and_agrees(make_run):
    CALLS.clear()
    with make_run():
        first = scale(make(5, 2), Scale())
    with make_run(fresh=True):
        assert scale(make(5, 2), Scale()) == first
    assert CALLS == ["make", "scale"] * 2


def test_reductions_are_the_same_for_any_cut(make_run):
    @stage(version=1)
    def add(numbers: Artifact[Numbers]) -> Artifact[Weights]:
        found = reduce_partitions(total, numbers)
        return write_files({"sum": repr(found).encode()}, into=Weights)

    with make_run():
        digests = {add(make(100, pieces)).digest for pieces in (1, 3, 11)}
        assert len(digests) == 1


def test_paired_partitions_stand_side_by_side_whatever_they_hold(make_run):
    @stage(version=1)
    def rows_beside(first: Artifact[Numbers], second: Artifact[Numbers]) -> Artifact[Weights]:
        pairs = reduce_partitions(sizes, first, second, paired=True)
        return write_files({"pairs": " ".join(sorted(pairs)).encode()}, into=Weights)

    with make_run():
        assert read_files(rows_beside(make(8, 2), make(30, 3)))["pairs"] == b"4:10"
        assert read_files(rows_beside(make(30, 3), make(8, 2)))["pairs"] == b"10:4"


def test_tallies_survive_a_broken_run(make_run, tmp_path):
    marker = tmp_path / "broken"
    marker.touch()

    @stage(version=1)
    def counted(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
        scaled = map_partitions(explode_on, numbers, into=Scaled, marker=str(marker), bad="7", tally=True)
        say(str(tally_of(scaled)))
        return scaled

    with make_run(), pytest.raises(RunError):
        counted(make(10, 5))
    marker.unlink()
    with make_run() as run:
        counted(make(10, 5))
        assert run.record.stages[1].summary == str({"first": Least("000"), "rows": 10})


def test_aligned_arrays_are_cut_like_the_samples(make_run):
    @stage(version=1)
    def rank(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
        return map_partitions(double, numbers, into=Scaled, aligned={"factor": np.arange(10)[::-1].copy()})

    with make_run():
        assert collect(rank(make(10, 4)), ["x"])["x"].to_pylist() == [x * (9 - x) for x in range(10)]


def test_inputs_that_are_cut_differently_are_laid_side_by_side(make_run):
    @stage(version=1)
    def pair(left: Artifact[Numbers], right: Artifact[Scaled]) -> Artifact[Scaled]:
        return map_partitions(beside, left, right, into=Scaled)

    with make_run():
        scaled = scale(make(23, 4), Scale())
    for pieces in (1, 3, 23):
        with make_run(fresh=True):
            paired = collect(pair(make(23, pieces), scaled), ["x"])
            assert paired["x"].to_pylist() == [3 * x for x in range(23)]


def test_inputs_of_other_samples_are_refused(make_run):
    @stage(version=1)
    def pair(left: Artifact[Numbers], right: Artifact[Scaled]) -> Artifact[Scaled]:
        return map_partitions(beside, left, right, into=Scaled)

    with make_run(), pytest.raises(RunError, match="do not hold the same samples"):
        pair(make(5, 1), scale(make(6, 1), Scale()))


def test_a_table_that_is_not_what_its_kind_declares_is_refused(make_run):
    @stage(version=1)
    def wrong() -> Artifact[Numbers]:
        return write_table(pa.table({"id": ["a"], "x": pa.array([1.0])}), into=Numbers)

    with make_run(), pytest.raises(RunError, match="column x of Numbers is double, not int64"):
        wrong()


def test_stages_take_only_what_has_a_content(make_run):
    @stage(version=1)
    def odd(thing: object) -> Artifact[Weights]:
        return write_files({}, into=Weights)

    with make_run(), pytest.raises(TypeError, match="things with a fingerprint"):
        odd(object())


def test_a_store_of_a_newer_format_is_refused(tmp_path):
    store = Store(str(tmp_path / "s")).open()
    store.folder.write_json("store.json", {"format": 99})
    with pytest.raises(InputError, match="has format 99"):
        Store(str(tmp_path / "s")).open()


def test_a_memory_store_serves_stages_too(make_run):
    with make_run(store="memory://a-store"):
        assert collect(scale(make(5, 2), Scale()), ["x"])["x"].to_pylist() == [0, 2, 4, 6, 8]


def test_a_kind_without_extras_refuses_them():
    assert Numbers.extras is None
    assert issubclass(Weights, Files)
    assert issubclass(Scaled, Table)
    assert isinstance(Tallied(pa.table({}), {}), Tallied)


def test_a_record_is_written_with_the_text_that_each_of_its_stages_has(run):
    make(4, 2)
    record = run.record
    assert run.store.run(record.id) == record
    assert record.stages[0].text is record.stages[0].text  # made once, however often the record is written
