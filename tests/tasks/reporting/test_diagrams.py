"""Chord diagrams and scatters: what is drawn is what was counted, and nothing hangs on colour alone."""

import re
from itertools import pairwise

import pytest

from assay.tasks.reporting.diagrams import bands_of, scale_of
from assay.tasks.reporting.gallery import heat, signed
from assay.tasks.reporting.layout import block_markup
from assay.tasks.reporting.parts import Chord, Chords, Cloud, Scatter, Scatters

NAMES = ["mass", "nodule", "edema"]


BEFORE = Chord("clean", [[0, 4, 0], [4, 0, 1], [0, 1, 0]], [5, 0, 2], "few pairs")


AFTER = Chord("attacked", [[0, 20, 10], [20, 0, 5], [10, 5, 0]], [0, 0, 0], "many pairs")


def test_the_same_count_is_the_same_arc_in_both_circles_and_the_fuller_one_is_full():
    degrees = scale_of([BEFORE, AFTER])
    before, after = ({(one.owner, one.other): one for one in bands_of(chord, degrees)} for chord in (BEFORE, AFTER))
    widths = {key: one.stop - one.start for key, one in (before | after).items()}
    assert widths[0, 1] == pytest.approx(20 * degrees)
    assert before[0, 1].stop - before[0, 1].start == pytest.approx(4 * degrees)
    assert before[0, 0].stop - before[0, 0].start == pytest.approx(5 * degrees)  # alone
    assert sum(one.stop - one.start for one in after.values()) == pytest.approx(360 - 3 * 5)
    for bands in (before, after):
        ordered = sorted(bands.values(), key=lambda one: one.start)
        assert all(left.stop <= right.start + 1e-9 for left, right in pairwise(ordered))
        assert ordered[-1].stop <= 360


def test_every_pair_has_a_band_that_says_its_count():
    html = block_markup(Chords("Together", NAMES, [BEFORE, AFTER], "images"), "c")
    for said in (
        "mass and nodule: 4 images",
        "nodule and edema: 1 images",
        "mass and edema: 10 images",
        "edema alone: 2 images",
    ):
        assert f"<title>{said}</title>" in html
    assert "mass and edema: 0" not in html
    assert html.count('role="img"') == 2
    for name in NAMES:
        assert f">{name}</text>" in html


def test_a_circle_without_anything_says_so():
    html = block_markup(Chords("Together", NAMES, [Chord("clean", [[0] * 3] * 3, [0] * 3, "none")], "images"), "c")
    assert "no images" in html
    assert 'class="chord ' not in html


def test_kinds_of_points_differ_in_shape_and_lie_on_the_same_axes():
    clouds = [Cloud(f"k{kind}", [float(kind)], [0.0], kind) for kind in range(10)]
    faint = Cloud("k0", [-5.0], [2.0], 0, faint=True)
    html = block_markup(
        Scatters(
            "Plane", [Scatter("one", [*clouds, faint], "alt one"), Scatter("two", clouds, "two")], "t-SNE 1", "t-SNE 2"
        ),
        "s",
    )
    drawn = re.findall(r'class="cloud s(\d)" d="M[\d.]+,[\d.]+([^"]+)"', html)
    looks = set(drawn)
    assert len(looks) == 10  # shape and colour together, as often as there are kinds
    assert len({shape for _, shape in looks}) == 7
    places = re.findall(r"<title>k3</title></path>", html)
    assert len(places) == 2
    same = re.findall(r'class="cloud s4" d="M([\d.]+),([\d.]+)[^"]*"><title>k3', html)
    assert same[0] == same[1]
    assert html.count('class="cloud faint s1"') == 1
    assert html.count("<li>") == 10


def test_colours_rise_in_lightness_and_the_signed_ones_are_alike_on_both_sides():
    ramp = [[at / 50 for at in range(51)]]
    light = (heat(ramp, 0, 1)[:, 0] * [[0.2126], [0.7152], [0.0722]]).sum(axis=0)
    assert all(later > earlier for earlier, later in pairwise(light))
    both = (signed([[-1 + at / 25 for at in range(51)]], 1)[:, 0] * [[0.2126], [0.7152], [0.0722]]).sum(axis=0)
    assert both.argmax() == 25
    assert abs(both - both[::-1]).max() < 0.15
    assert heat([[5.0, float("nan")]], 0, 1)[:, 0, 0].tolist() == heat([[1.0]], 0, 1)[:, 0, 0].tolist()
