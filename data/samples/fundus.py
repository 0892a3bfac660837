"""Simulated eye backgrounds: 1200 pictures of a retina in four grades, painted from a seed. No patient is behind them.

Each shows the optic disc with its cup, arteries and veins that arch around the dark macula, and what diabetes does to
them: microaneurysms (red dots), haemorrhages (red blots), hard exudates (yellow flecks), cotton-wool spots (soft white)
and new vessels. The grade is counted from what is painted, by the rule of the Messidor collection: 0 nothing; 1 one to
five microaneurysms; 2 fewer than fifteen of them, or fewer than five haemorrhages; 3 more, or new vessels. The shares
of the grades are Messidor's too. Dust, pale drusen, blur and exposure mean nothing and are in every grade.
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
    plane,
    ramp,
    stroke,
    tinted,
    turn,
)

CLASSES = ("none", "mild", "moderate", "severe")
IMAGES, TEST, SIZE = 1200, 300, 64
SHARES = (546, 153, 247, 254)
_HALF = SIZE / 2

_RETINA, _DISC, _CUP = (0.78, 0.36, 0.15), (0.98, 0.80, 0.48), (1.0, 0.93, 0.70)
_VEIN, _ARTERY, _BLOOD = (0.42, 0.09, 0.06), (0.62, 0.17, 0.09), (0.36, 0.03, 0.03)
_EXUDATE, _COTTON, _MACULA = (1.0, 0.90, 0.42), (0.95, 0.83, 0.66), (0.42, 0.15, 0.07)


@dataclass(frozen=True)
class Damage:
    """How many of each lesion every eye has, and whether new vessels grow in it."""

    aneurysms: Whole
    haemorrhages: Whole
    exudates: Whole
    cotton: Whole
    new_vessels: npt.NDArray[np.bool_]


def fundus(seed: int = 0) -> pa.Table:
    """1200 simulated eye backgrounds as RGB images of 64 × 64 with their grade and a split of 900 to 300."""
    generator = np.random.default_rng([seed, IMAGES, SIZE, len(CLASSES)])
    gold = generator.permutation(np.repeat(np.arange(len(SHARES)), SHARES))
    split = stratified_split(gold, TEST, generator)
    return image_table("eye", in_blocks(_painted, gold, seed), split, CLASSES, gold)


def _painted(generator: Generator, gold: Whole) -> npt.NDArray[np.uint8]:
    return levels(_photographed(generator, _eye(generator, drawn_damage(generator, gold))))


def drawn_damage(generator: Generator, gold: Whole) -> Damage:
    """Counts of lesions that give each eye its grade; exudates and cotton-wool spots come with the higher grades."""
    n = len(gold)
    aneurysms = np.select(
        [gold == 1, gold == 2, gold == 3],
        [generator.integers(2, 6, n), generator.integers(5, 15, n), generator.integers(8, 30, n)],
    )
    haemorrhages = np.select([gold == 2, gold == 3], [generator.integers(1, 5, n), generator.integers(5, 16, n)])
    exudates = np.select([gold == 2, gold == 3], [generator.integers(0, 7, n), generator.integers(2, 20, n)])
    cotton = np.where(gold == 3, generator.integers(0, 4, n), 0)
    return Damage(aneurysms, haemorrhages, exudates, cotton, (gold == 3) & (generator.random(n) < 0.35))


def _eye(generator: Generator, damage: Damage) -> list[Field]:
    n = len(damage.aneurysms)
    x, y = plane(SIZE)
    side = np.where(generator.random(n) < 0.5, -1.0, 1.0)  # left and right eyes
    disc_x, disc_y = side * between(generator, 0.42, 0.56, n), 0.07 * bell(generator, n)
    macula_x, macula_y = disc_x - side * between(generator, 0.54, 0.66, n), disc_y + 0.08 + 0.03 * bell(generator, n)
    planes = _background(generator, n)
    dark = bump(((x - each(macula_x)) ** 2 + (y - each(macula_y)) ** 2) / each(between(generator, 0.08, 0.16, n)))
    planes = tinted(planes, _MACULA, 0.55 * dark)
    width, height = each(between(generator, 0.12, 0.15, n)), each(between(generator, 0.14, 0.17, n))
    away = np.sqrt(((x - each(disc_x)) / width) ** 2 + ((y - each(disc_y)) / height) ** 2)
    planes = tinted(planes, _DISC, ramp((1.15 - away) / 0.3))
    planes = tinted(planes, _CUP, 0.8 * ramp((each(between(generator, 0.35, 0.6, n)) - away) / 0.3 + 0.5))
    veins, arteries = _vessels(generator, side, disc_x, disc_y)
    over_disc = 1.0 - 0.45 * ramp((1.15 - away) / 0.3)  # where they dip into it, vessels look paler
    planes = tinted(planes, _VEIN, 0.80 * veins * over_disc)
    planes = tinted(planes, _ARTERY, 0.75 * arteries * over_disc)
    return _damaged(generator, damage, planes, disc_x, disc_y)


def _background(generator: Generator, n: int) -> list[Field]:
    """The retina's orange, a little different in every eye, mottled by what lies behind it."""
    redness, depth = each(0.05 * bell(generator, n)), each(between(generator, 0.75, 1.1, n))
    mottle = 0.05 * cloud(generator, n, SIZE, 4, 3)
    return [
        (value + redness * sign) * depth + mottle * value for value, sign in zip(_RETINA, (1.0, 0.6, -0.4), strict=True)
    ]


def _vessels(generator: Generator, side: Values, disc_x: Values, disc_y: Values) -> tuple[Field, Field]:
    """Veins and arteries: from the disc four arcades, two of them around the macula, each with two branches."""
    n = len(side)
    trees = (np.zeros((n, SIZE, SIZE)), np.zeros((n, SIZE, SIZE)))
    image = np.arange(n)
    for tree, canvas in enumerate(trees):
        for up in (-1.0, 1.0):
            for temporal in (True, False):
                towards = -side if temporal else side * 0.9
                end_x = disc_x + towards * between(generator, 1.1 if temporal else 0.45, 1.35 if temporal else 0.7, n)
                end_y = disc_y + up * between(generator, 0.25 if temporal else 0.5, 0.6 if temporal else 0.9, n)
                handle_x = disc_x + towards * between(generator, -0.05, 0.3, n)
                handle_y = disc_y + up * (between(generator, 0.75, 1.0, n) - (0.12 * tree if temporal else 0.45))
                path = np.stack([
                    np.stack([disc_x, disc_y + 0.04 * up], 1), np.stack([handle_x, handle_y], 1),
                    np.stack([end_x, end_y], 1),
                ], axis=1)  # fmt: skip
                path = (path + 1.0) * _HALF
                stroke(canvas, image, path, between(generator, 1.0, 1.6, n) * (1.0 - 0.3 * tree), np.ones(n))
                for start in (0.35, 0.6):
                    _branch(generator, canvas, path, start, up)
    return trees


def _branch(generator: Generator, canvas: Field, path: npt.NDArray[np.float64], start: float, up: float) -> None:
    """A thinner vessel that leaves a larger one, inwards or outwards."""
    n = len(path)
    a, b, c = (1 - start) * (1 - start), 2 * start * (1 - start), start * start
    root = a * path[:, 0] + b * path[:, 1] + c * path[:, 2]
    ahead = (path[:, 2] - root) * between(generator, 0.3, 0.6, n)[:, None]
    inwards = np.where(generator.random(n) < 0.5, -1.0, 1.0)
    sidewards = np.stack([np.zeros(n), up * inwards * between(generator, 4, 12, n)], axis=1)
    handle = root + 0.6 * ahead + 0.15 * sidewards
    twig = np.stack([root, handle, root + ahead + sidewards], axis=1)
    stroke(canvas, np.arange(n), twig, between(generator, 0.5, 1.0, n), np.full(n, 0.75))


def _damaged(generator: Generator, damage: Damage, planes: list[Field], disc_x: Values, disc_y: Values) -> list[Field]:
    """The lesions of each eye, and specks that look a little like them and are none."""
    n = len(damage.aneurysms)

    def spots(count: Whole, small: float, large: float, soft: float, spread: float = 0.72) -> Field:
        canvas = np.zeros((n, SIZE, SIZE))
        image = np.repeat(np.arange(n), count)
        m = len(image)
        cosine, sine = turn(generator.random(m))
        away = spread * np.sqrt(generator.random(m))
        x, y = away * cosine - 0.12 * disc_x[image], away * sine
        near = ((x - disc_x[image]) ** 2 + (y - disc_y[image]) ** 2) < 0.05  # never on the disc: beside it instead
        x = np.where(near, -x, x)
        strength = between(generator, soft, 1.0, m)
        dab(canvas, image, (x + 1.0) * _HALF, (y + 1.0) * _HALF, between(generator, small, large, m), strength)
        return canvas

    bled = spots(damage.haemorrhages, 0.9, 2.2, 0.75)
    planes = tinted(planes, _COTTON, 0.8 * _softened(spots(damage.cotton, 2.0, 3.2, 0.7)))
    planes = tinted(planes, _EXUDATE, spots(damage.exudates, 0.4, 1.1, 0.7, 0.5))
    planes = tinted(planes, _BLOOD, 0.9 * bled)
    planes = tinted(planes, _BLOOD, 0.95 * spots(damage.aneurysms, 0.55, 0.85, 0.85))
    planes = tinted(planes, _VEIN, 0.9 * _tangles(generator, damage.new_vessels, disc_x, disc_y))
    planes = tinted(planes, _DISC, 0.4 * spots(generator.integers(0, 4, n), 0.4, 0.9, 0.3))  # drusen
    return tinted(planes, _MACULA, 0.45 * spots(generator.integers(0, 3, n), 0.5, 1.4, 0.2))  # dust


def _softened(canvas: Field) -> Field:
    """Each pixel mixed with its four neighbours, twice."""
    for _ in range(2):
        wide = np.pad(canvas, ((0, 0), (1, 1), (1, 1)), mode="edge")
        canvas = 0.4 * canvas + 0.15 * (
            (wide[:, :-2, 1:-1] + wide[:, 2:, 1:-1]) + (wide[:, 1:-1, :-2] + wide[:, 1:-1, 2:])
        )
    return canvas


def _tangles(generator: Generator, there: npt.NDArray[np.bool_], disc_x: Values, disc_y: Values) -> Field:
    """New vessels: a tangle of fine loops on the disc's rim."""
    canvas = np.zeros((len(there), SIZE, SIZE))
    image = np.repeat(np.flatnonzero(there), 9)
    m = len(image)
    middle = (np.stack([disc_x, disc_y], axis=1)[image] + 1.0) * _HALF
    path = middle[:, None, :] + np.stack(
        [2.5 * bell(generator, m, 2), 8.0 * bell(generator, m, 2), 5.0 * bell(generator, m, 2)], 1
    )
    stroke(canvas, image, path, np.full(m, 0.7), np.full(m, 0.8))
    return canvas


def _photographed(generator: Generator, planes: list[Field]) -> list[Field]:
    """The camera's round field on black, uneven light, a little blur in some, grain."""
    n = len(planes[0])
    x, y = plane(SIZE)
    squared = x * x + y * y
    x0, y0 = each(0.35 * bell(generator, n)), each(0.35 * bell(generator, n))
    light = each(between(generator, 0.85, 1.1, n)) * (1.05 - 0.14 * ((x - x0) ** 2 + (y - y0) ** 2))
    field = ramp((each(between(generator, 0.93, 0.97, n)) - np.sqrt(squared)) / 0.04)
    field = field * ramp((each(between(generator, 0.84, 1.1, n)) - np.abs(y)) / 0.03)
    grain = 0.010 * bell(generator, n, SIZE, SIZE)
    blurred = each(np.where(generator.random(n) < 0.3, between(generator, 0.2, 0.7, n), 0.0))
    lit = [(band * light + grain) * field + 0.015 for band in planes]
    return [band * (1.0 - blurred) + _softened(band) * blurred for band in lit]
