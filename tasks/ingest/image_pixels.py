"""From an image file's bytes, an array or raw values to pixels [channels, height, width], in the shape that all
images of a source share.

Pixels are uint8 where the file has 8 bits a value, float32 within [0, 1] where it has more. What is no whole, single,
ordinary image raises `UnfitError` with the reason.
"""

from __future__ import annotations

import io
import math
import posixpath
import struct
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.storage.folders import require_regular_url
from assay.tasks.ingest.settings import MOST_DRAWN, Pixels

if TYPE_CHECKING:
    from PIL import Image


Picture = npt.NDArray[np.uint8 | np.float32]  # [c, h, w]

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
MOST_PIXELS = 89_478_485
"""An image with more pixels (PIL's bound) is refused before it is unpacked: its small file may be a bomb."""

LONGEST_SIDE = 32_767
"""A side of an image that enters has at most so many pixels: as many as its column can count."""

_SIXTEEN_BITS = ("I;16", "I;16B", "I;16L", "I;16N")
_LAYERED = ("P", "PA", "LA", "La", "RGBA", "RGBa")
_FAULTS = (OSError, ValueError, SyntaxError, EOFError, LookupError, TypeError, OverflowError, struct.error, zlib.error)
"""What PIL's readers raise on bytes that are no whole image."""


class UnfitError(Exception):
    """An image that does not enter, with the reason."""


@dataclass(frozen=True)
class Form:
    """What all images of a source share; `deep` is whether values are finer than 8 bits, None where both may be."""

    channels: int
    height: int
    width: int
    deep: bool | None = None

    @property
    def bytes(self) -> int:
        """How much one image takes."""
        return self.channels * self.height * self.width * (1 if self.deep is False else 4)


def bytes_at(url: str, most: int) -> bytes:
    """The bytes of a file; one with more than so many is refused unread."""
    import fsspec

    require_regular_url(url, posixpath.basename(url))
    with fsspec.open(url, "rb") as file:
        content: bytes = file.read(most + 1)
    if len(content) > most:
        raise UnfitError(f"the file has more than {most >> 20} MiB")
    return content


def form_of(first: Picture, settings: Pixels | None) -> Form:
    """The form of a source whose first image is `first`; where channels are settled, both depths may be among them."""
    channels, height, width = first.shape
    settled = settings is not None and settings.channels is not None
    return Form(channels, height, width, None if settled else first.dtype == np.float32)


def require_form(picture: Picture, form: Form) -> None:
    """Nothing, or what is different about this image."""
    channels, height, width = picture.shape
    if channels != form.channels:
        words = {1: "grey", 3: "in colour"}
        raise UnfitError(
            f"the image is {words[channels]} and the first one is {words[form.channels]}; "
            "say `pixels: {channels: 1}` or 3"
        )
    if (height, width) != (form.height, form.width):
        raise UnfitError(
            f"the image is {height} x {width} (height x width) and the first one {form.height} x {form.width}; "
            "say `pixels: {size: ...}`"
        )
    if form.deep is not None and form.deep != (picture.dtype == np.float32):
        raise UnfitError(
            "the image has another depth than the first one (8 bits or more); say `pixels: {channels: ...}`"
        )


def decoded(data: bytes, channels: int | None) -> Picture:
    """The pixels of an image file, turned upright as its EXIF orientation says, in one or three channels if said."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    if not data:
        raise UnfitError("the file is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if data.startswith(b"\x89PNG"):  # PIL checks the sums of a PNG's blocks only when it is asked to
                with Image.open(io.BytesIO(data), formats=("PNG",)) as checked:
                    checked.verify()
            with Image.open(io.BytesIO(data), formats=FORMATS) as image:
                width, height = image.size
                if width * height > MOST_PIXELS:
                    raise UnfitError(f"the image has {width * height} pixels, more than {MOST_PIXELS}")
                if (frames := getattr(image, "n_frames", 1)) != 1:
                    many = "an animation or several pages"
                    raise UnfitError(f"the file holds {frames} images ({many}); give one image per file")
                return _values(ImageOps.exif_transpose(image), channels, image.format == "PNG")
    except UnidentifiedImageError as error:
        raise UnfitError(f"the bytes are no image of a known kind ({', '.join(FORMATS)})") from error
    except Image.DecompressionBombError as error:
        raise UnfitError(f"the image has more than {MOST_PIXELS} pixels") from error
    except _FAULTS as error:
        raise UnfitError(f"the image is damaged or cut short ({_plain(error)})") from error


def _values(image: Image.Image, channels: int | None, is_png: bool) -> Picture:
    """Values by mode: grey and colour as they are, 16 bits and floats in [0, 1], the others converted if said."""
    from PIL import Image

    if image.mode in _SIXTEEN_BITS or (image.mode == "I" and is_png):  # older versions of PIL read 16-bit PNG as I
        return in_channels((np.asarray(image, np.float64) / 65535.0).astype(np.float32)[None], channels)
    if image.mode == "F":
        values = np.asarray(image, np.float32)[None]
        require_bounds(values)
        return in_channels(values, channels)
    if image.mode == "I":
        raise UnfitError("the image has 32-bit whole numbers, whose range is not known; save it with 8 or 16 bits")
    if channels is None and image.mode not in ("1", "L", "RGB"):
        raise UnfitError(f"the image has mode {image.mode}; say `pixels: {{channels: 3}}` (or 1) to have it converted")
    if image.mode in _LAYERED:  # what is transparent lets black through
        layered = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, (0, 0, 0, 255)), layered).convert("RGB")
    wanted = {None: "RGB" if image.mode == "RGB" else "L", 1: "L", 3: "RGB"}[channels]
    array = np.asarray(image if image.mode == wanted else image.convert(wanted), np.uint8)
    return np.ascontiguousarray(array[None] if array.ndim == 2 else np.moveaxis(array, -1, 0))


def require_bounds(values: npt.NDArray[np.float32] | npt.NDArray[np.float64]) -> None:
    """Nothing, or what is wrong with these values of an image that should lie in [0, 1]."""
    if np.isnan(values).any():
        raise UnfitError("a pixel is NaN")
    low, high = float(values.min()), float(values.max())
    if low < 0.0 or high > 1.0:
        raise UnfitError(f"pixels lie in {low:g} to {high:g}, and numbers with a point should lie in 0 to 1")


def in_channels(picture: Picture, channels: int | None) -> Picture:
    """An array's channels as said: grey three times, or red, green and blue weighed as ITU-R 601 does.

    >>> in_channels(np.full((1, 2, 2), 7, np.uint8), 3).shape
    (3, 2, 2)
    """
    if channels is None or len(picture) == channels:
        return picture
    if channels == 3:
        return np.repeat(picture, 3, axis=0)
    red, green, blue = (band.astype(np.float64) for band in picture)
    grey = (0.299 * red + 0.587 * green + 0.114 * blue)[None]
    whole = picture.dtype == np.uint8
    return np.asarray(np.rint(grey).astype(np.uint8) if whole else np.clip(grey, 0.0, 1.0).astype(np.float32))


def shaped(picture: Picture, settings: Pixels | None) -> Picture:
    """The image drawn to size (bilinear) and cut out of the middle, margin included, as the settings say.

    >>> shaped(np.zeros((1, 30, 40), np.uint8), Pixels(resize=20, crop=16, margin=2)).shape
    (1, 20, 20)
    """
    if settings is None:
        return picture
    if settings.size is not None:
        picture = resized(picture, *settings.size)
    elif settings.resize is not None:
        _, height, width = picture.shape
        short = min(height, width)
        high, wide = height * settings.resize // short, width * settings.resize // short
        require_extent(high, wide, f"drawn to a shorter side of {settings.resize}, the image of {height} x {width} is ")
        picture = resized(picture, high, wide)
    return picture if settings.cut is None else _cut(picture, *settings.cut)


def require_extent(height: int, width: int, opening: str = "the image is ") -> None:
    """Nothing, or what is wrong with images that are longer, or larger, than anything that looks at them."""
    if max(height, width) > LONGEST_SIDE or height * width > MOST_DRAWN:
        raise UnfitError(
            f"{opening}{height} x {width}, more than {LONGEST_SIDE:,} on a side or {MOST_DRAWN:,} pixels; say `pixels: "
            "{size: ...}`, or cut it into smaller ones"
        )


def resized(picture: Picture, height: int, width: int) -> Picture:
    """Each channel drawn to height x width by PIL's bilinear filter."""
    from PIL import Image

    if picture.shape[1:] == (height, width):
        return picture
    bands = [np.asarray(Image.fromarray(band).resize((width, height), Image.Resampling.BILINEAR)) for band in picture]
    drawn = np.stack(bands)
    return np.clip(drawn, 0.0, 1.0) if drawn.dtype == np.float32 else drawn


def _cut(picture: Picture, height: int, width: int) -> Picture:
    _, there_high, there_wide = picture.shape
    if height > there_high or width > there_wide:
        raise UnfitError(
            f"the image is {there_high} x {there_wide} where crop and margin need {height} x {width}; "
            "say `resize` or `size`"
        )
    top, left = round((there_high - height) / 2), round((there_wide - width) / 2)
    return np.ascontiguousarray(picture[:, top : top + height, left : left + width])


def _plain(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text if len(text) <= 80 else text[:77] + "..."


def is_array(given: pa.DataType) -> bool:
    """Whether a column of this type can hold images as numbers: lists (of lists) of whole numbers or floats."""
    if not _is_list(given):
        return False
    while _is_list(given):
        given = given.value_type
    return bool(pa.types.is_integer(given) or pa.types.is_floating(given))


def _is_list(given: pa.DataType) -> bool:
    return bool(pa.types.is_list(given) or pa.types.is_large_list(given) or pa.types.is_fixed_size_list(given))


def array_picture(cell: pa.Scalar, shape: tuple[int, ...] | None) -> Picture:
    """The pixels of one cell, [c, h, w]: whole numbers as uint8, others as float32; channels may be last or first.

    >>> array_picture(pa.scalar([[0, 255], [7, 8]]), None).tolist()
    [[[0, 255], [7, 8]]]
    """
    values, extents = _flat(cell)
    if len(extents) == 1:
        extents = _square(extents[0]) if shape is None else list(shape)
    elif shape is not None and math.prod(shape) != len(values):
        raise UnfitError(f"the array is {_times(extents)} where `shape` is {_times(shape)}")
    if math.prod(extents) != len(values):
        raise UnfitError(
            f"the array has {len(values)} numbers where `shape` {list(shape or ())} has {math.prod(extents)}"
        )
    return _channels_first(_typed(values).reshape(extents))


def _times(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


def _flat(cell: pa.Scalar) -> tuple[pa.Array, list[int]]:
    """All numbers of a cell and the extent of each level, which must be the same everywhere."""
    values, extents = cell.values, []
    extents.append(len(values))
    while _is_list(values.type):
        if values.null_count:
            raise UnfitError("a row of the array is missing")
        lengths = pc.list_value_length(values).to_numpy(zero_copy_only=False)
        if len(np.unique(lengths)) > 1:
            raise UnfitError(
                f"the rows of the array have {lengths.min()} to {lengths.max()} numbers; an image has no gaps"
            )
        extents.append(int(lengths[0]) if len(lengths) else 0)
        values = values.flatten()
    if values.null_count:
        raise UnfitError("a pixel is missing")
    return values, extents


def _square(numbers: int) -> list[int]:
    """The shape of a flat list: a square grey image, or a square one with three channels last."""
    for channels in (1, 3):
        side = math.isqrt(numbers // channels)
        if side and side * side * channels == numbers:
            return [side, side, channels]
    raise UnfitError(f"a flat list of {numbers} numbers is no square image; say `pixels: {{shape: [height, width]}}`")


def _typed(values: pa.Array) -> Picture:
    array = values.to_numpy(zero_copy_only=False)
    if not len(array):
        raise UnfitError("the array is empty")
    whole = array.dtype.kind in "iu"
    if whole:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high > 255:
            raise UnfitError(f"pixels lie in {low} to {high}, and whole numbers should lie in 0 to 255")
    else:
        require_bounds(array)
    return np.asarray(array.astype(np.uint8 if whole else np.float32))


def _channels_first(array: Picture) -> Picture:
    if array.ndim == 2:
        return array[None]
    if array.ndim == 3 and array.shape[2] in (1, 3):
        return np.ascontiguousarray(np.moveaxis(array, -1, 0))
    if array.ndim == 3 and array.shape[0] in (1, 3):
        return array
    raise UnfitError(
        f"an array of {_times(array.shape)} is no image; height x width, with 1 or 3 channels last or first, is"
    )


def raw_picture(content: bytes, channels: int, height: int, width: int) -> Picture:
    """The pixels that a blob of our own image tables holds: one byte a value, or float32."""
    extents = (channels, height, width)
    if channels in (1, 3) and len(content) == math.prod(extents):
        return np.frombuffer(content, np.uint8).reshape(extents)
    if channels not in (1, 3) or len(content) != 4 * math.prod(extents):
        raise UnfitError(f"{len(content)} bytes are no image of {channels} x {height} x {width}")
    values = np.frombuffer(content, np.float32).reshape(extents)
    require_bounds(values)
    return values
