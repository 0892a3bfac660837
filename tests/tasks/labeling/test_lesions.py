"""Each measure of the ABCD rule on shapes whose measure is known."""

from __future__ import annotations

import numpy as np
import pytest

from assay.tasks.labeling.rulebooks import lesions
from assay.tasks.labeling.rulebooks.lesions import lesion_mask, otsu, without_hairs

SIZE = 96
Y, X = np.indices((SIZE, SIZE)) - (SIZE - 1) / 2
DISC = Y**2 + X**2 <= 30**2
HALF = DISC & (X <= 0)
ELLIPSE = (Y / 20) ** 2 + (X / 40) ** 2 <= 1
STAR = np.hypot(Y, X) <= 24 * (1 + 0.35 * np.cos(7 * np.arctan2(Y, X)))
DROP = DISC | ((np.abs(Y) < 10) & (X > 0) & (X < 44))
EMPTY = np.zeros((SIZE, SIZE), bool)
SKIN, MOLE = (0.9, 0.75, 0.68), (0.45, 0.3, 0.2)


def painted(mask: np.ndarray, lesion: tuple[float, ...] = MOLE) -> np.ndarray:
    """A picture of skin with a lesion in one colour."""
    skin, inside = (np.array(colour)[:, None, None] for colour in (SKIN, lesion))
    return np.where(mask, inside, skin)


@pytest.mark.parametrize("shape", [DISC, ELLIPSE, STAR, HALF])
def test_a_lesion_is_found_where_it_was_painted(shape: np.ndarray) -> None:
    found = lesion_mask(painted(shape))
    assert (found ^ shape).sum() < 0.1 * shape.sum()


def test_hairs_over_a_lesion_and_dark_corners_are_no_lesion() -> None:
    picture = painted(DISC)
    picture[:, 10:12, :] = 0.1
    picture[:, :, 70:72] = 0.1
    picture[:, np.hypot(Y, X) > 47] = 0.02
    assert (lesion_mask(picture) ^ DISC).sum() < 0.1 * DISC.sum()


def test_a_hole_in_a_lesion_belongs_to_it_and_of_two_the_middle_one_counts() -> None:
    ring = DISC & (Y**2 + X**2 > 12**2)
    assert (lesion_mask(painted(ring)) ^ DISC).sum() < 0.1 * DISC.sum()
    small = (Y**2 + X**2) <= 14**2
    beside = ((Y - 34) ** 2 + (X - 18) ** 2) <= 8**2
    assert (lesion_mask(painted(small | beside)) & beside).sum() < 0.1 * beside.sum()


def test_otsu_parts_two_groups_of_grey_and_thin_lines_are_closed_over() -> None:
    grey = np.where(DISC, 0.3, 0.8)
    assert 0.3 < otsu(grey) < 0.8
    grey[:, 48] = 0.0
    assert without_hairs(grey).min() == 0.3


def test_nothing_dark_is_no_lesion_and_measures_nothing() -> None:
    mask = lesion_mask(np.full((3, SIZE, SIZE), 0.8))
    assert not mask.any()
    picture = painted(EMPTY)
    measures = [
        lesions.shape_asymmetry(mask),
        lesions.colour_asymmetry(picture, mask),
        lesions.border_raggedness(mask),
        lesions.border_notches(mask),
        lesions.border_unevenness(picture, mask),
        lesions.diameter(mask),
        lesions.colour_count(lesions.colour_shares(picture, mask)),
    ]
    assert np.isnan(measures).all()


def test_what_can_be_folded_on_itself_is_symmetric() -> None:
    assert lesions.shape_asymmetry(DISC) < 0.02
    assert lesions.shape_asymmetry(ELLIPSE) < 0.02
    assert lesions.shape_asymmetry(DROP) > 0.1
    assert lesions.shape_asymmetry(DROP) == pytest.approx(lesions.shape_asymmetry(DROP.T), abs=0.01)


def test_one_dark_side_is_an_asymmetry_of_colour_and_a_dark_middle_is_none() -> None:
    middle, side = painted(DISC), painted(DISC)
    middle[:, Y**2 + X**2 < 10**2] = 0.1
    side[:, DISC & (X < -8)] = 0.1
    assert lesions.colour_asymmetry(middle, DISC) < 0.01
    assert lesions.colour_asymmetry(side, DISC) > 0.05


def test_raggedness_is_one_of_a_disc_and_grows_with_every_detour() -> None:
    assert lesions.border_raggedness(DISC) == pytest.approx(1, abs=0.05)
    assert lesions.border_raggedness(ELLIPSE) == pytest.approx(1.18, abs=0.06)  # (Ramanujan's perimeter)² / 4π·area
    assert lesions.border_raggedness(STAR) > 1.8


def test_notches_are_what_the_hull_has_beyond_the_lesion() -> None:
    assert lesions.border_notches(DISC) < 0.03
    square = (np.abs(Y) < 20) & (np.abs(X) < 20)
    assert lesions.border_notches(square) == pytest.approx(0)
    assert lesions.border_notches(square & ~((Y < 0) & (X < 0))) == pytest.approx(1 - 0.75 / 0.875, abs=1e-9)


def test_a_border_that_ends_sharply_in_places_is_uneven() -> None:
    sharp, patchy = painted(DISC), painted(DISC)
    patchy[:, DISC & (X > 10)] = 0.75
    assert lesions.border_unevenness(patchy, DISC) > 2 * lesions.border_unevenness(sharp, DISC)


def test_colours_are_counted_where_they_cover_two_hundredths() -> None:
    picture = painted(DISC, lesions.COLOURS["light brown"])
    picture[:, DISC & (X > 15)] = np.array(lesions.COLOURS["blue-grey"])[:, None]
    picture[:, (Y**2 + X**2) < 1] = np.array(lesions.COLOURS["white"])[:, None]
    shares = dict(zip(lesions.COLOURS, lesions.colour_shares(picture, DISC), strict=True))
    assert shares["light brown"] + shares["blue-grey"] + shares["white"] == pytest.approx(1)
    assert 0.1 < shares["blue-grey"] < 0.3
    assert lesions.colour_count(lesions.colour_shares(picture, DISC)) == 2
    assert np.isnan(lesions.colour_shares(picture[:1], DISC)).all()


def test_the_diameter_is_the_longest_way_across_in_widths_of_the_picture() -> None:
    assert lesions.diameter(DISC) == pytest.approx(60 / SIZE, abs=0.02)
    assert lesions.diameter(ELLIPSE) == pytest.approx(80 / SIZE, abs=0.02)
