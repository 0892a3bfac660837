"""What lies in a folder decides the plan file by file: who comes later changes nothing for those that were there."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.ingest.layout import ALONE, PIECE_BYTES, PIECE_ROWS, Piece, plan_pieces, runs_of_files
from assay.tasks.ingest.reader_choice import FileIndex

LARGE = int(ALONE * PIECE_ROWS)


def index(name: int, rows: int) -> FileIndex:
    return FileIndex(f"day-{name:04d}.parquet", "parquet", rows, rows * 100)


def sized(*sizes: st.SearchStrategy[int]) -> st.SearchStrategy[list[FileIndex]]:
    """Files of such sizes, in the order of their names."""
    rows = st.dictionaries(st.integers(0, 9999), st.one_of(*sizes), max_size=40)
    return rows.map(lambda found: [index(name, found[name]) for name in sorted(found)])


large = st.integers(LARGE, 5 * PIECE_ROWS)
small = st.integers(1, LARGE - 1)


def pieces_of(files: list[FileIndex], pieces: list[Piece]) -> list[Piece]:
    """The pieces that hold anything of these files."""
    names = {file.name for file in files}
    return [piece for piece in pieces if {span.name for span in piece.spans} & names]


@given(sized(large), st.data())
def test_files_of_some_size_keep_their_pieces_whatever_others_there_are(files, data):
    some = [file for file in files if data.draw(st.booleans())]
    assert pieces_of(some, plan_pieces(files)) == plan_pieces(some)


@given(sized(large, small), st.integers(0, 9999), st.one_of(large, small))
def test_one_more_file_changes_its_run_and_those_up_to_the_next_that_begins_by_itself(files, name, rows):
    files = [file for file in files if file != index(name, 0) and int(file.name[4:8]) != name]
    new = index(name, rows)
    more = sorted([*files, new], key=lambda file: file.name)
    before, after = ({tuple(run) for run in map(tuple, runs_of_files(each, PIECE_ROWS))} for each in (files, more))
    here = more.index(new)
    changed = [file for run in before - after for file in run]
    if not changed:
        return
    first, last = (more.index(changed[at]) for at in (0, -1))
    assert all(rows < LARGE for rows in (file.rows for file in changed))
    # What changed is one stretch of small files, at the new one.
    assert first <= here + 1
    stretch = [file for file in more[min(first, here) : last + 1] if file is not new]
    assert {file.name for file in changed} <= {file.name for file in stretch}
    if here < first:
        assert first == here + 1


@given(sized(large, small))
def test_every_row_is_in_one_piece_and_in_order(files):
    spans = [span for piece in plan_pieces(files) for span in piece.spans]
    covered = [(span.name, at) for span in spans for at in (span.start, span.stop)]
    assert covered == sorted(covered)
    for file in files:
        mine = [span for span in spans if span.name == file.name]
        assert (mine[0].start, mine[-1].stop) == (0, file.rows)
        assert all(one.stop == later.start for one, later in pairwise(mine))


@given(sized(large, small))
def test_no_piece_is_larger_than_it_should_be(files):
    for piece in plan_pieces(files):
        rows = sum(span.stop - span.start for span in piece.spans)
        assert rows <= PIECE_ROWS
        assert rows * 100 <= PIECE_BYTES


def test_many_small_files_share_pieces():
    files = [index(name, 500) for name in range(2_000)]  # ten pieces' worth of rows
    assert 10 <= len(plan_pieces(files)) <= 40


def test_a_file_without_rows_is_no_piece():
    assert plan_pieces([FileIndex("a.csv", "csv", 0, 0)]) == []
