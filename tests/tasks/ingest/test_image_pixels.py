"""Image files become pixels as PIL reads them, or are refused with the reason; shapes are as the settings say."""

import io
import struct
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pydantic import ValidationError

from assay.data.images import image_columns, pixels_of
from assay.tasks.ingest import image_pixels as room
from assay.tasks.ingest.image_pixels import (
    Form,
    UnfitError,
    array_picture,
    decoded,
    form_of,
    in_channels,
    raw_picture,
    require_form,
    shaped,
)
from assay.tasks.ingest.settings import Pixels

NOISE = np.random.default_rng(0).integers(0, 256, (24, 32, 3), np.uint8)


def file_of(image: Image.Image | np.ndarray, kind: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(buffer, kind, **options)
    return buffer.getvalue()


def refused(data: bytes, channels: int | None = None) -> str:
    with pytest.raises(UnfitError) as caught:
        decoded(data, channels)
    return str(caught.value)


@given(
    height=st.integers(1, 12),
    width=st.integers(1, 12),
    channels=st.sampled_from([1, 3]),
    seed=st.integers(0, 1000),
    kind=st.sampled_from(["PNG", "BMP", "TIFF", "PPM"]),
)
@settings(max_examples=40)
def test_a_lossless_file_gives_its_pixels_back_through_parquet(
    height: int, width: int, channels: int, seed: int, kind: str
) -> None:
    levels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)
    picture = decoded(file_of(levels[..., 0] if channels == 1 else levels, kind), None)
    assert np.array_equal(picture, np.moveaxis(levels, -1, 0))
    sink = pa.BufferOutputStream()
    import pyarrow.parquet as pq

    pq.write_table(pa.table(image_columns(picture[None])), sink)
    back = pixels_of(pq.read_table(pa.BufferReader(sink.getvalue())))
    assert np.array_equal(np.rint(back[0] * 255).astype(np.uint8), picture)


def test_a_jpeg_is_what_pil_makes_of_it() -> None:
    data = file_of(NOISE, "JPEG", quality=80)
    assert np.array_equal(np.moveaxis(decoded(data, None), 0, -1), np.asarray(Image.open(io.BytesIO(data))))
    assert decoded(data, 1).shape == (1, 24, 32)


@given(kind=st.sampled_from(["PNG", "JPEG", "progressive", "TIFF", "BMP"]), share=st.floats(0, 0.999))
@settings(max_examples=60)
def test_a_file_cut_short_is_refused_or_whole(kind: str, share: float) -> None:
    options = {"progressive": True} if kind == "progressive" else {}
    data = file_of(NOISE, "JPEG" if kind == "progressive" else kind, **options)
    try:
        cut = decoded(data[: int(share * len(data))], None)
    except UnfitError:
        return
    assert np.array_equal(cut, decoded(data, None))  # what was cut off held no pixels


@given(at=st.floats(0, 0.999), flip=st.integers(1, 255))
@settings(max_examples=60)
def test_a_changed_byte_in_a_png_is_seen(at: float, flip: int) -> None:
    data = bytearray(file_of(NOISE))
    data[int(at * len(data))] ^= flip
    try:
        read = decoded(bytes(data), None)
    except UnfitError:
        return
    assert np.array_equal(read, np.moveaxis(NOISE, -1, 0))  # what was changed was no pixel


def test_what_is_no_image_is_refused_by_what_it_is() -> None:
    assert refused(b"") == "the file is empty"
    assert "no image of a known kind" in refused(b"%!PS-Adobe-3.0 EPSF-3.0 and so on")
    assert "no image of a known kind" in refused(b"id,label\n1,2\n")
    assert "damaged or cut short" in refused(file_of(NOISE, "JPEG")[:200])


def test_an_animation_is_refused_with_its_number_of_frames() -> None:
    frames = [Image.fromarray(NOISE // (step + 1)) for step in range(3)]
    assert "holds 3 images" in refused(file_of(frames[0], "GIF", save_all=True, append_images=frames[1:]), 3)
    assert "holds 2 images" in refused(file_of(frames[0], "TIFF", save_all=True, append_images=frames[1:2]))


def bomb(side: int) -> bytes:
    """A PNG of a few hundred bytes that says it has side × side pixels."""
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    blocks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in blocks
    )


@pytest.mark.parametrize("side", [10_000, 30_000])
def test_a_decompression_bomb_is_refused_before_it_is_unpacked(side: int) -> None:
    assert f"{room.MOST_PIXELS}" in refused(bomb(side))


def test_an_image_is_turned_upright_as_its_exif_says() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90° clockwise
    data = file_of(NOISE, "PNG", exif=exif)
    assert np.array_equal(decoded(data, None), np.rot90(np.moveaxis(NOISE, -1, 0), -1, (1, 2)))


def test_sixteen_bits_become_floats() -> None:
    levels = np.array([[0, 1], [32768, 65535]], np.uint16)
    picture = decoded(file_of(levels), None)
    assert picture.dtype == np.float32
    assert picture.tolist() == [[[0.0, np.float32(1 / 65535)], [np.float32(32768 / 65535), 1.0]]]
    assert decoded(file_of(levels), 3).shape == (3, 2, 2)


def test_float_images_must_lie_in_0_to_1() -> None:
    assert decoded(file_of(np.array([[0.25, 1.0]], np.float32), "TIFF"), None).tolist() == [[[0.25, 1.0]]]
    assert "lie in 0.25 to 7" in refused(file_of(np.array([[0.25, 7.0]], np.float32), "TIFF"))
    assert "NaN" in refused(file_of(np.array([[0.25, np.nan]], np.float32), "TIFF"))
    assert "32-bit whole numbers" in refused(file_of(np.array([[1, 70_000]], np.int32), "TIFF"))


@pytest.mark.parametrize("mode", ["P", "RGBA", "LA", "CMYK"])
def test_other_modes_are_converted_when_channels_says_so(mode: str) -> None:
    image = Image.fromarray(NOISE).convert("L" if mode == "LA" else "RGB").convert(mode)
    data = file_of(image, "TIFF" if mode == "CMYK" else "PNG")
    assert f"mode {mode}" in refused(data)
    assert decoded(data, 3).shape == (3, 24, 32)
    assert np.array_equal(decoded(data, 1)[0], np.asarray(image.convert("RGB").convert("L")))


def test_what_is_transparent_is_black() -> None:
    image = np.full((2, 2, 4), 200, np.uint8)
    image[0, 0, 3], image[1, 1, 3] = 0, 255
    picture = decoded(file_of(image), 3)
    assert (picture[:, 0, 0] == 0).all()
    assert (picture[:, 1, 1] == 200).all()


def test_size_resize_and_crop_do_what_pil_does() -> None:
    picture = np.moveaxis(NOISE, -1, 0)
    sized = shaped(picture, Pixels(size=(16, 20)))
    expected = np.asarray(Image.fromarray(NOISE).resize((20, 16), Image.Resampling.BILINEAR))
    assert np.array_equal(np.moveaxis(sized, 0, -1), expected)
    cropped = shaped(picture, Pixels(resize=12, crop=8))
    expected = np.asarray(Image.fromarray(NOISE).resize((16, 12), Image.Resampling.BILINEAR))[2:10, 4:12]
    assert np.array_equal(np.moveaxis(cropped, 0, -1), expected)


def test_a_margin_widens_the_crop_around_the_same_middle() -> None:
    picture = np.moveaxis(NOISE, -1, 0)
    wide = shaped(picture, Pixels(crop=8, margin=4))
    assert np.array_equal(wide[:, 4:-4, 4:-4], shaped(picture, Pixels(crop=8)))
    with pytest.raises(UnfitError, match="24 x 32 where crop and margin need 28 x 28"):
        shaped(picture, Pixels(crop=20, margin=4))


@given(value=st.integers(0, 255), size=st.integers(1, 40))
@settings(max_examples=25)
def test_an_even_image_stays_even_at_any_size(value: int, size: int) -> None:
    assert np.unique(shaped(np.full((3, 9, 13), value, np.uint8), Pixels(size=size))).tolist() == [value]
    deep = np.full((1, 9, 13), value / 255, np.float32)
    assert np.abs(shaped(deep, Pixels(size=size)) - deep[0, 0, 0]).max() < 1e-6


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"size": 10, "resize": 20, "crop": 5}, "both size and resize"),
        ({"resize": 20}, "add crop"),
        ({"margin": 2}, "add crop"),
        ({"size": 20, "crop": 18, "margin": 2}, "22 x 22"),
        ({"resize": 20, "crop": 24}, "24 x 24"),
        ({"shape": [8, 8, 4]}, "neither 1 nor 3 channels"),
        ({"size": 0}, "greater than or equal to 1"),
        ({"channels": 2}, "1 or 3"),
    ],
)
def test_impossible_pixels_are_refused(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Pixels.model_validate(given)


def test_an_image_that_differs_from_the_first_is_told_how() -> None:
    form = form_of(np.zeros((1, 8, 9), np.uint8), None)
    require_form(np.zeros((1, 8, 9), np.uint8), form)
    for other, sentence in (
        (np.zeros((3, 8, 9), np.uint8), "in colour and the first one is grey"),
        (np.zeros((1, 9, 8), np.uint8), r"9 x 8 \(height x width\) and the first one 8 x 9"),
        (np.zeros((1, 8, 9), np.float32), "another depth"),
    ):
        with pytest.raises(UnfitError, match=sentence):
            require_form(other, form)
    assert form_of(np.zeros((1, 8, 9), np.uint8), Pixels(channels=1)) == Form(1, 8, 9, None)


@pytest.mark.parametrize(
    ("cell", "shape", "expected"),
    [
        ([[1, 2], [3, 4]], None, [[[1, 2], [3, 4]]]),
        ([[[1], [2]], [[3], [4]]], None, [[[1, 2], [3, 4]]]),
        ([1, 2, 3, 4], None, [[[1, 2], [3, 4]]]),
        ([1, 2, 3, 4, 5, 6], (2, 3), [[[1, 2, 3], [4, 5, 6]]]),
        ([1, 2, 3, 4, 5, 6], (1, 2, 3), [[[1, 4]], [[2, 5]], [[3, 6]]]),
    ],
)
def test_arrays_flat_or_nested_become_channels_first(
    cell: list[object], shape: tuple[int, ...] | None, expected: list[object]
) -> None:
    assert array_picture(pa.scalar(cell), shape).tolist() == expected


def test_floats_of_an_array_stay_floats() -> None:
    picture = array_picture(pa.scalar([[0.0, 0.5], [1.0, 0.25]]), None)
    assert (picture.dtype, picture.tolist()) == (np.float32, [[[0.0, 0.5], [1.0, 0.25]]])
    fixed = pa.array([[0.0, 0.5, 1.0, 0.25]], pa.list_(pa.float32(), 4))
    assert np.array_equal(array_picture(fixed[0], None), picture)


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ([[1, 256]], "1 to 256, and whole numbers should lie in 0 to 255"),
        ([[-1, 3]], "-1 to 3"),
        ([[0.0, 1.5]], "lie in 0 to 1.5"),
        ([[0.0, float("nan")]], "NaN"),
        ([[0.0, float("inf")]], "inf"),
        ([[1, 2], [3]], "1 to 2 numbers; an image has no gaps"),
        ([[1, None]], "a pixel is missing"),
        ([[1], None], "a row of the array is missing"),
        ([1, 2, 3, 4, 5], "5 numbers is no square image"),
        ([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], "2 x 2 x 2 is no image"),
        ([[[[1]]]], "1 x 1 x 1 x 1 is no image"),
    ],
)
def test_arrays_that_are_no_images_are_refused(cell: list[object], sentence: str) -> None:
    with pytest.raises(UnfitError, match=sentence):
        array_picture(pa.scalar(cell), None)


def test_an_empty_array_and_one_of_another_shape_are_refused() -> None:
    with pytest.raises(UnfitError, match="empty"):
        array_picture(pa.scalar([[]], pa.list_(pa.list_(pa.uint8()))), None)
    with pytest.raises(UnfitError, match="has 4 numbers where `shape`"):
        array_picture(pa.scalar([1, 2, 3, 4]), (3, 3))


def test_raw_pixels_must_fill_their_extents() -> None:
    assert raw_picture(bytes(range(6)), 1, 2, 3).tolist() == [[[0, 1, 2], [3, 4, 5]]]
    with pytest.raises(UnfitError, match="5 bytes are no image of 1 x 2 x 3"):
        raw_picture(bytes(5), 1, 2, 3)


def test_colour_becomes_grey_as_pil_weighs_it() -> None:
    picture = np.moveaxis(NOISE, -1, 0)
    ours = in_channels(picture, 1)[0].astype(int)
    assert np.abs(ours - np.asarray(Image.fromarray(NOISE).convert("L")).astype(int)).max() <= 1
    assert in_channels(np.ones((3, 2, 2), np.float32), 1).max() == 1.0
