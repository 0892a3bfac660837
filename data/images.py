"""Images inside an artifact: a blob of pixels per row, all of one shape, and how they become arrays and back.

The column `image` holds the pixels [channels, height, width] of a row as plain bytes: one byte a value where the
source has 8 bits, float32 within [0, 1] where it is finer. `height`, `width` and `channels` stand beside it.
"""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError

Pixels = npt.NDArray[np.float32]  # [n, c, h, w], each value in [0, 1]
COLUMNS = ("image", "height", "width", "channels")


def image_columns(pixels: npt.NDArray[np.uint8] | Pixels) -> dict[str, pa.Array]:
    """The four columns of an image table, from uint8 or float32 pixels [n, c, h, w].

    >>> columns = image_columns(np.zeros((2, 1, 8, 8), np.uint8))
    >>> pixels_of(pa.table(columns)).shape
    (2, 1, 8, 8)
    """
    if pixels.ndim != 4 or pixels.dtype not in (np.uint8, np.float32):
        raise ValueError(f"images are uint8 or float32 [n, c, h, w], not {pixels.dtype} {list(pixels.shape)}")
    n, channels, height, width = pixels.shape
    blobs = [row.tobytes() for row in np.ascontiguousarray(pixels)]
    extents = {"height": height, "width": width, "channels": channels}
    sizes = {name: pa.array(np.full(n, extent, np.int16)) for name, extent in extents.items()}
    return {"image": pa.array(blobs, pa.large_binary()), **sizes}


def require_images(table: pa.Table) -> None:
    """Nothing, or that the samples have no images where somebody looks at them."""
    if "image" not in table.column_names:
        raise InputError(
            f"The samples hold no images, and a network looks at nothing else: their columns are "
            f"{', '.join(table.column_names)}; say `source.image` or `source.images`, or take another kind of subject."
        )


def pixels_of(table: pa.Table) -> Pixels:
    """The images of all rows as float32 [n, c, h, w] in [0, 1]; an empty table gives no images of no extent."""
    if table.num_rows == 0:
        return np.zeros((0, 0, 0, 0), np.float32)
    require_images(table)
    channels, height, width = (int(table[name][0].as_py()) for name in ("channels", "height", "width"))
    result = np.empty((table.num_rows, channels, height, width), np.float32)
    for row, blob in enumerate(table["image"]):
        content = blob.as_buffer()
        values = channels * height * width
        if content.size == values:
            result[row] = np.frombuffer(content, np.uint8).reshape(channels, height, width) / np.float32(255)
        elif content.size == 4 * values:
            result[row] = np.frombuffer(content, np.float32).reshape(channels, height, width)
        else:
            raise ValueError(f"row {row} holds {content.size} bytes where {channels}×{height}×{width} pixels belong")
    return result


def png(pixels: Pixels) -> bytes:
    """One image [c, h, w] as PNG, for people to look at.

    >>> png(np.zeros((1, 2, 2), np.float32))[1:4]
    b'PNG'
    """
    from PIL import Image

    levels = np.clip(np.rint(pixels * 255), 0, 255).astype(np.uint8)
    picture = Image.fromarray(levels[0] if len(levels) == 1 else np.moveaxis(levels, 0, -1))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
