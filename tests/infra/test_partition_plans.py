"""New cuts of rows: as few as the limit allows, as even as can be, and no row lost or doubled."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.infra.stages.partitions import Cut, UnlikeRowsError, common_plan
from assay.infra.stages.stage import Workbench
from assay.infra.storage.artifacts import Artifact, PartFile


def part(index: int, rows: int) -> PartFile:
    return PartFile(file=f"part-{index}", rows=rows, sums="0", bytes=0)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=5), st.integers(1, 200))
def test_pieces_are_few_even_and_whole(sizes, rows):
    total = sum(sizes)
    cuts = cut(dict(enumerate(sizes)), rows=rows)
    assert len(cuts) == max(1, -(-total // rows))
    assert sum(cut.rows for cut in cuts) == total
    assert max(cut.rows for cut in cuts) - min(cut.rows for cut in cuts) <= 1
    assert max(cut.rows for cut in cuts) <= rows
    slices = [piece for cut in cuts for piece in cut.sources[0]]
    taken = [(piece.part.file, piece.start + row) for piece in slices for row in range(piece.rows)]
    assert taken == [(f"part-{index}", row) for index, size in enumerate(sizes) for row in range(size)]


class Held:
    """A workbench over inputs given as rows per partition."""

    def output(self, artifact: SimpleNamespace) -> SimpleNamespace:
        parts = [SimpleNamespace(index=at, files=[part(at, rows)]) for at, rows in artifact.held.items()]
        return SimpleNamespace(place=0, parts=parts)


def cut(*inputs: dict[int, int], rows: int | None = None) -> list[Cut]:
    artifacts = [SimpleNamespace(held=held, kind="Samples", rows=sum(held.values())) for held in inputs]
    return common_plan(cast(Workbench, Held()), cast(list[Artifact[Any]], artifacts), rows)


def planned(*inputs: dict[int, int], rows: int | None = None) -> list[list[str]]:
    """What each partition of the plan reads of each input, as `part[start:stop]`."""
    return [
        [
            "+".join(f"{one.part.file}[{one.start}:{one.start + one.rows}]" for one in source)
            for source in planned_cut.sources
        ]
        for planned_cut in cut(*inputs, rows=rows)
    ]


def test_partitions_that_one_lacks_are_left_out_of_all() -> None:
    whole = {0: 100, 1: 100, 2: 100, 3: 50}
    some = {0: 100, 2: 100, 3: 50}
    left = [[f"part-{at}[0:{whole[at]}]"] * 2 for at in some]
    assert planned(whole, some) == planned(some, whole) == left


def test_inputs_that_lack_different_partitions_are_not_taken_for_cut_differently() -> None:
    """Both have as many rows, so that by rows alone the second's partition would stand beside the third's."""
    one, other = {0: 100, 2: 100, 3: 100}, {0: 100, 1: 100, 3: 100}
    assert planned(one, other) == [["part-0[0:100]", "part-0[0:100]"], ["part-3[0:100]", "part-3[0:100]"]]
    assert planned(one, other, rows=150) == [["part-0[0:100]", "part-0[0:100]"], ["part-3[0:100]", "part-3[0:100]"]]


def test_the_same_rows_cut_differently_stand_side_by_side() -> None:
    assert planned({0: 100, 1: 50}, {0: 60, 1: 60, 2: 30}) == [
        ["part-0[0:100]", "part-0[0:60]+part-1[0:40]"],
        ["part-1[0:50]", "part-1[40:60]+part-2[0:30]"],
    ]
    assert planned({0: 100}, {0: 100, 1: 0}) == [["part-0[0:100]", "part-0[0:100]"]]


@pytest.mark.parametrize("other", [{0: 90}, {0: 60, 1: 90}])
def test_other_samples_cannot_stand_side_by_side(other: dict[int, int]) -> None:
    with pytest.raises(UnlikeRowsError, match=r"Samples \(100 rows\) and Samples \(\d+ rows\) do not hold the same"):
        planned({0: 100}, other)
