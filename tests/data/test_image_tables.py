"""Tables of images, and tables of none."""

import pyarrow as pa
import pytest

from assay.data.images import pixels_of
from assay.infra.errors import InputError


def test_samples_without_images_are_refused_in_words() -> None:
    with pytest.raises(InputError, match=r"hold no images.*their columns are id, text; say `source\.image`"):
        pixels_of(pa.table({"id": ["a"], "text": ["b"]}))


def test_no_samples_are_no_images() -> None:
    assert pixels_of(pa.table({"id": pa.array([], pa.string())})).shape == (0, 0, 0, 0)
