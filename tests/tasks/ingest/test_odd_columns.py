"""Columns of Parquet that no other format could hold: whole numbers beyond 63 bits, and text that is no text."""

import pyarrow as pa
import pytest

from assay.tasks.ingest.gold import gold_names
from assay.tasks.ingest.image_cells import _path_in
from assay.tasks.ingest.image_pixels import UnfitError


def test_labels_may_be_larger_than_a_signed_number_holds() -> None:
    assert gold_names(pa.array([2**64 - 1, 3, None], pa.uint64())) == {"18446744073709551615", "3"}
    assert gold_names(pa.array([-1, 3], pa.int8())) == {"3"}


def test_a_path_that_is_no_text_is_no_image() -> None:
    cell = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff"))[0]
    with pytest.raises(UnfitError, match="no UTF-8 text"):
        _path_in(cell)
