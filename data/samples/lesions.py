"""Simulated dermoscopy: 1200 pigmented skin lesions, benign or malignant, painted from a seed. No patient is behind it.

The painting follows what a dermatologist looks for: asymmetry, an uneven and abruptly ending border, many colours
(browns, black, red, blue-grey, white scar-like patches), a pigment network that is regular or broken, and globules. A
hidden severity moves all of them, each with its own noise, and those of the two classes overlap; hairs, skin tones,
vignetting and the dark rim of the instrument mean nothing. One image in five is malignant, as in the audited study.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.samples.image_table import image_table, stratified_split
from assay.data.samples.painting import (
    Field,
    Generator,
    Values,
    Whole,
    bell,
    between,
    bump,
    cloud,
    dab,
    each,
    in_blocks,
    levels,
    outline,
    plane,
    ramp,
    stroke,
    tinted,
    turn,
    waves,
)

CLASSES = ("benign", "malignant")
IMAGES, MALIGNANT, TEST, SIZE = 1200, 240, 300, 64
_HARMONICS = 8

_PALE, _TAN, _DEEP = (0.93, 0.76, 0.69), (0.82, 0.62, 0.50), (0.52, 0.36, 0.28)
_LIGHT_BROWN, _DARK_BROWN = (0.60, 0.40, 0.27), (0.34, 0.20, 0.13)
_BLACK, _RED, _BLUE_GREY, _WHITE = (0.11, 0.08, 0.08), (0.66, 0.27, 0.26), (0.39, 0.43, 0.52), (0.86, 0.77, 0.74)


@dataclass(frozen=True)
class Signs:
    """How strongly each lesion shows each sign, from 0 to about 1: the criteria of a dermatologist."""

    asymmetry: Values
    border: Values
    colours: Values
    network: Values


def lesions(seed: int = 0) -> pa.Table:
    """1200 simulated lesions as RGB images of 64 × 64 with their class and a split of 900 to 300."""
    generator = np.random.default_rng([seed, IMAGES, SIZE])
    gold = generator.permutation((np.arange(IMAGES) < MALIGNANT).astype(np.int64))
    split = stratified_split(gold, TEST, generator)
    return image_table("lesion", in_blocks(painted, gold, seed), split, CLASSES, gold)


def painted(generator: Generator, gold: Whole, mild_below: float = 0.62) -> npt.NDArray[np.uint8]:
    """Pictures of benign (0) and malignant (1) lesions, [n, 3, 64, 64]; benign ones are less severe than a limit."""
    signs = _signs(generator, gold == 1, mild_below)
    return levels(_photographed(generator, _skin_and_lesion(generator, signs)))


def _signs(generator: Generator, malignant: npt.NDArray[np.bool_], mild_below: float) -> Signs:
    """The signs of each lesion: a severity that overlaps between the classes, and each sign's own noise."""
    n = len(malignant)
    mild = mild_below * between(generator, 0, 1, n) * between(generator, 0.35, 1, n)
    severe = 0.34 + 0.66 * np.sqrt(between(generator, 0, 1, n))
    severity = np.where(malignant, severe, mild)

    def sign() -> Values:
        return np.clip(severity + 0.13 * bell(generator, n), 0.0, 1.1)

    return Signs(sign(), sign(), sign(), sign())


def _skin_and_lesion(generator: Generator, signs: Signs) -> list[Field]:
    """The skin of each image with its lesion on it."""
    n = len(signs.border)
    x, y = plane(SIZE)
    planes = _skin(generator, n)
    dx, dy = x - each(0.14 * bell(generator, n)), y - each(0.14 * bell(generator, n))
    inside, depth = _shape(generator, signs, dx, dy)
    thin = each(between(generator, 0.62, 0.95, n))
    brown = _browns(generator, n, depth)
    planes = tinted(planes, brown, inside * thin)
    planes = _variegated(generator, signs, planes, inside, dx, dy)
    return _structured(generator, signs, planes, inside, depth)


def _skin(generator: Generator, n: int) -> list[Field]:
    tone = 2.0 * between(generator, 0, 1, n) * between(generator, 0.2, 1, n)  # pale skin is the commoner one
    first, second = each(np.clip(tone, 0, 1)), each(np.clip(tone - 1.0, 0, 1))
    texture = 0.035 * cloud(generator, n, SIZE, 4, 3) + 0.02 * cloud(generator, n, SIZE, 24, 1)
    flush = 0.03 * cloud(generator, n, SIZE, 2, 1)
    planes = []
    for band, (pale, tan, deep) in enumerate(zip(_PALE, _TAN, _DEEP, strict=True)):
        plain = pale + (tan - pale) * first + (deep - tan) * second
        planes.append(plain + texture + (flush if band == 0 else -0.5 * flush))
    return planes


def _shape(generator: Generator, signs: Signs, dx: Field, dy: Field) -> tuple[Field, Field]:
    """How much of each pixel is lesion, and how deep inside it lies (0 at the border, 1 in the middle)."""
    n = len(signs.border)
    orders = np.arange(1, _HARMONICS + 1)
    oval = np.where(orders == 2, 0.09, np.where(orders == 3, 0.035, 0.0))
    lopsided = np.where(orders == 1, 0.10, np.where(orders == 2, 0.13, np.where(orders == 3, 0.12, 0.02)))
    notched = np.where(orders >= 4, 0.036, 0.0)
    size = oval + signs.asymmetry[:, None] * lopsided + signs.border[:, None] * notched
    size = size * between(generator, 0.4, 1.2, n, _HARMONICS)
    cosine, sine = turn(between(generator, 0, 1, n, _HARMONICS))
    radius = between(generator, 0.30, 0.56, n) * (1.0 + 0.18 * signs.asymmetry)
    reach = np.clip(each(radius) * outline(dx, dy, size * cosine, size * sine), 0.12, 0.95)
    fringe = each(0.02 + 0.05 * signs.border) * cloud(generator, n, SIZE, 9, 2)
    soft = each(between(generator, 0.14, 0.30, n) * (1.15 - 0.75 * np.clip(signs.border, 0, 1)))
    edge = reach + fringe - np.sqrt(dx * dx + dy * dy)
    return ramp(edge / soft + 0.5), np.clip(edge / reach, 0.0, 1.0)


def _browns(generator: Generator, n: int, depth: Field) -> list[Field]:
    """The brown of each lesion, darker or lighter towards its middle, a little mottled."""
    share = each(between(generator, 0.05, 0.75, n)) + each(between(generator, -0.25, 0.45, n)) * depth
    share = np.clip(share + 0.10 * cloud(generator, n, SIZE, 6, 2), 0.0, 1.0)
    return [light + (dark - light) * share for light, dark in zip(_LIGHT_BROWN, _DARK_BROWN, strict=True)]


def _variegated(
    generator: Generator, signs: Signs, planes: list[Field], inside: Field, dx: Field, dy: Field
) -> list[Field]:
    """Patches of further colours where the sign is strong, and one side darker than the other."""
    n = len(signs.colours)
    cosine, sine = turn(between(generator, 0, 1, n))
    side = (dx * each(cosine) + dy * each(sine)) * each(1.3 * signs.asymmetry * signs.colours)
    planes = tinted(planes, _DARK_BROWN, inside * np.clip(side, 0.0, 0.7))
    for colour, needed, most in ((_BLACK, 0.22, 0.9), (_BLUE_GREY, 0.34, 0.7), (_RED, 0.38, 0.55), (_WHITE, 0.5, 0.6)):
        strength = each(most * np.clip(1.8 * (signs.colours + 0.16 * bell(generator, n) - needed), 0.0, 1.0))
        patches = ramp((cloud(generator, n, SIZE, 3, 3) - 0.15) * 1.5)
        planes = tinted(planes, colour, inside * patches * strength)
    return planes


def _structured(generator: Generator, signs: Signs, planes: list[Field], inside: Field, depth: Field) -> list[Field]:
    """A pigment network, even in a benign lesion and broken in a malignant one, and globules."""
    n = len(signs.network)
    wild = each(np.clip(signs.network, 0, 1))
    holes = 1.0 - wild * ramp(1.4 * cloud(generator, n, SIZE, 3, 2) + 0.5)
    shown = each(np.where(generator.random(n) < 0.7, between(generator, 0.2, 0.6, n), 0.0))
    mesh = ramp((0.35 - _honeycomb(generator, wild)) / 1.1)
    planes = tinted(planes, _DARK_BROWN, inside * mesh * holes * shown)
    globules = np.zeros((n, SIZE, SIZE))
    image = np.repeat(np.arange(n), generator.integers(0, 9, n) * (generator.random(n) < 0.5))
    m, uneven = len(image), np.clip(signs.network[image], 0, 1)
    way_x, way_y = turn(generator.random(m) * (1.0 - 0.6 * uneven) + uneven)  # all around, or to one side
    away = between(generator, 3, 13, m)
    radius = 0.6 + (0.2 + 0.8 * uneven) * generator.random(m)
    middle = SIZE / 2
    dab(globules, image, middle + away * way_x, middle + away * way_y, radius, between(generator, 0.3, 0.8, m))
    return tinted(planes, _BLACK, globules * inside * ramp(depth * 8.0))


def _honeycomb(generator: Generator, wild: Field) -> Field:
    """Three waves a sixth of a turn apart, added up: high in the holes of a net, low on its cords."""
    n = len(wild)
    x, y = plane(SIZE)
    bend = 0.2 * wild
    at_x, at_y = x + bend * cloud(generator, n, SIZE, 5, 1), y + bend * cloud(generator, n, SIZE, 5, 1)
    period = each(between(generator, 0.11, 0.15, n)) * (1.0 + 0.35 * wild)
    turned, total = between(generator, 0, 1, n), np.zeros((n, SIZE, SIZE))
    for third in range(3):
        cosine, sine = turn(turned + third / 3.0)
        total = total + waves((at_x * each(cosine) + at_y * each(sine)) / period)
    return total


def _photographed(generator: Generator, planes: list[Field]) -> list[Field]:
    """What a camera adds: hairs, gel bubbles, uneven light, dark corners, the instrument's rim, grain."""
    n = len(planes[0])
    x, y = plane(SIZE)
    squared = x * x + y * y
    hairs = np.zeros((n, SIZE, SIZE))
    image = np.repeat(np.arange(n), generator.integers(1, 9, n) * (generator.random(n) < 0.4))
    m = len(image)
    start, end = between(generator, -6, SIZE + 6, m, 2), between(generator, -6, SIZE + 6, m, 2)
    path = np.stack([start, (start + end) / 2.0 + 9.0 * bell(generator, m, 2), end], axis=1)
    stroke(hairs, image, path, between(generator, 0.5, 1.5, m), between(generator, 0.45, 0.9, m))
    planes = tinted(planes, (0.16, 0.11, 0.09), hairs)
    shine_x, shine_y = each(between(generator, -0.9, 0.9, n)), each(between(generator, -0.9, 0.9, n))
    shine = each(np.where(generator.random(n) < 0.3, between(generator, 0.1, 0.35, n), 0.0))
    planes = tinted(planes, (1, 1, 1), shine * bump(((x - shine_x) ** 2 + (y - shine_y) ** 2) / 0.02))
    light = each(between(generator, 0.88, 1.08, n)) * (1.0 - each(between(generator, 0.05, 0.22, n)) * squared)
    rim = each(np.where(generator.random(n) < 0.15, between(generator, 0.93, 1.12, n), 9.0))
    seen = ramp((rim - np.sqrt(squared)) / 0.06)
    warmth = each(0.02 * bell(generator, n))
    grain = 0.012 * bell(generator, n, SIZE, SIZE)
    return [
        (band * light * (1.0 + tint * warmth) + grain) * seen + 0.03 * (1.0 - seen)
        for band, tint in zip(planes, (1.0, 0.0, -1.0), strict=True)
    ]
