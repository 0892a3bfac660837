"""New cuts of rows: as few as the limit allows, as even as can be, and no row lost or doubled."""

from hypothesis import given
from hypothesis import strategies as st

from assay.infra.cuts import _cut_anew
from assay.infra.manifests import PartFile


def part(index: int, rows: int) -> PartFile:
    return PartFile(file=f"part-{index}", rows=rows, sums="0", bytes=0)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=5), st.integers(1, 200))
def test_pieces_are_few_even_and_whole(sizes, rows):
    files = {index: part(index, size) for index, size in enumerate(sizes)}
    total = sum(sizes)
    cuts = _cut_anew([files], rows, [])
    assert len(cuts) == max(1, -(-total // rows))
    assert sum(cut.rows for cut in cuts) == total
    assert max(cut.rows for cut in cuts) - min(cut.rows for cut in cuts) <= 1
    assert max(cut.rows for cut in cuts) <= rows
    slices = [piece for cut in cuts for piece in cut.sources[0]]
    taken = [(piece.part.file, piece.start + row) for piece in slices for row in range(piece.rows)]
    assert taken == [(f"part-{index}", row) for index, size in enumerate(sizes) for row in range(size)]
