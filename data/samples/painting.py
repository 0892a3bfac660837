"""Brushes for simulated images: clouds, outlines, strokes and dots, painted on many images at once.

Every machine must paint the same bytes. So nothing here calls exp, sin or log, whose last bits differ between
processors and libraries, nor sums floats in an order that is NumPy's own choice: there is only + − × ÷ and square root,
which are exact to the last bit everywhere, and the largest of several, which knows no order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Field = npt.NDArray[np.float64]  # [n, h, w], one value per pixel of each image
Values = npt.NDArray[np.float64]  # [n], one per image (or one per mark)
Whole = npt.NDArray[np.int64]
Generator = np.random.Generator


def between(generator: Generator, low: float, high: float, *shape: int) -> npt.NDArray[np.float64]:
    """Even draws between two bounds."""
    return low + (high - low) * generator.random(shape)


def bell(generator: Generator, *shape: int) -> npt.NDArray[np.float64]:
    """Draws with mean 0 and variance 1, within ±√18: six even draws added up, bell-shaped without a logarithm."""
    total = np.zeros(shape)
    for _ in range(6):
        total = total + generator.random(shape)
    result: npt.NDArray[np.float64] = (total - 3.0) * 1.4142135623730951
    return result


def plane(size: int) -> tuple[Field, Field]:
    """The x and y of every pixel's centre, from −1 to 1, each [1, size, size]."""
    at = (2.0 * np.arange(size) + 1.0) / size - 1.0
    return np.broadcast_to(at[None, None, :], (1, size, size)), np.broadcast_to(at[None, :, None], (1, size, size))


def each(values: Values) -> Field:
    """One value per image, to be used beside fields."""
    return values[:, None, None]


def ramp(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """0 below 0, 1 above 1, smooth between (3t² − 2t³).

    >>> ramp(np.array([-1.0, 0.5, 2.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    t = np.clip(values, 0.0, 1.0)
    result: npt.NDArray[np.float64] = t * t * (3.0 - 2.0 * t)
    return result


def bump(squared: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """1 at the centre, 0 from a distance of 1 on, smooth between, from the squared distance."""
    t = np.clip(1.0 - squared, 0.0, 1.0)
    result: npt.NDArray[np.float64] = t * t
    return result


def turn(turns: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Cosine and sine of an angle in full turns, by their series: the same bits everywhere.

    >>> cosine, sine = turn(np.array([0.0, 0.25, 0.5]))
    >>> np.round(cosine, 9).tolist(), np.round(sine, 9).tolist()
    ([1.0, 0.0, -1.0], [0.0, 1.0, 0.0])
    """
    angle = (turns - np.rint(turns)) * 6.283185307179586
    square = angle * angle
    cosine, sine = np.ones_like(angle), np.ones_like(angle)
    for k in range(14, 0, -1):  # Horner's scheme, the smallest terms first
        cosine = 1.0 - square / ((2 * k - 1) * (2 * k)) * cosine
        sine = 1.0 - square / ((2 * k) * (2 * k + 1)) * sine
    return cosine, angle * sine


def cloud(generator: Generator, n: int, size: int, cells: int, octaves: int = 2) -> Field:
    """Smooth random fields in about [−1, 1]: a coarse grid of draws drawn out bilinearly, finer ones added at half."""
    total, strength = np.zeros((n, size, size)), 1.0
    for octave in range(octaves):
        grid = between(generator, -1.0, 1.0, n, (cells << octave) + 1, (cells << octave) + 1)
        total = total + strength * _drawn_out(grid, size)
        strength /= 2.0
    return total


def _drawn_out(grid: Field, size: int) -> Field:
    at = (np.arange(size) + 0.5) * (grid.shape[1] - 1) / size
    first = at.astype(np.int64)
    weight = ramp(at - first)
    rows = grid[:, first] * (1.0 - weight)[None, :, None] + grid[:, first + 1] * weight[None, :, None]
    result: Field = rows[:, :, first] * (1.0 - weight) + rows[:, :, first + 1] * weight
    return result


def outline(dx: Field, dy: Field, cosines: npt.NDArray[np.float64], sines: npt.NDArray[np.float64]) -> Field:
    """1 + Σ a_k cos kθ + b_k sin kθ in the direction of each pixel: how far an uneven border is from its centre.

    `cosines` and `sines` are [n, k] for k = 1, 2, …; the multiples of the angle come from products, not from arcs.
    """
    distance = np.sqrt(dx * dx + dy * dy) + 1e-9
    u, v = dx / distance, dy / distance
    total = np.ones_like(distance)
    cosine, sine = u, v
    for k in range(cosines.shape[1]):
        total = total + each(cosines[:, k]) * cosine + each(sines[:, k]) * sine
        cosine, sine = cosine * u - sine * v, sine * u + cosine * v
    return total


def waves(values: Field) -> Field:
    """A triangle wave of period 1 between −1 and 1: stripes without a sine."""
    part = values - np.floor(values)
    result: Field = 4.0 * np.abs(part - 0.5) - 1.0
    return result


def dab(canvas: Field, image: Whole, x: Values, y: Values, radius: Values, strength: Values) -> None:
    """Round marks with soft rims onto the images that `image` numbers; where marks meet the stronger one stands.

    x, y and radius are in pixels. A mark is full within `radius` − ½ and gone beyond `radius` + ½.
    """
    height, width = canvas.shape[1:]
    reach = int(np.ceil(radius.max() + 0.5)) if len(radius) else 0
    column, row = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    flat = canvas.reshape(-1)
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            at_x, at_y = column + right, row + down
            dx, dy = at_x + 0.5 - x, at_y + 0.5 - y
            value = strength * np.clip(radius + 0.5 - np.sqrt(dx * dx + dy * dy), 0.0, 1.0)
            seen = (value > 0) & (at_x >= 0) & (at_x < width) & (at_y >= 0) & (at_y < height)
            np.maximum.at(flat, (image[seen] * height + at_y[seen]) * width + at_x[seen], value[seen])


def stroke(canvas: Field, image: Whole, path: npt.NDArray[np.float64], width: Values, strength: Values) -> None:
    """Curved lines through `path` [m, 3, 2] (start, handle, end; in pixels), as wide as `width` at the start.

    A line is a quadratic Bézier curve; it gets a little thinner towards its end.
    """
    legs = np.diff(path, axis=1)
    lengths = np.sqrt(legs[:, :, 0] * legs[:, :, 0] + legs[:, :, 1] * legs[:, :, 1])
    steps = int(np.ceil((lengths[:, 0] + lengths[:, 1]).max())) if len(path) else 0
    for step in range(steps + 1):
        t = step / max(steps, 1)
        before, amid, after = (1 - t) * (1 - t), 2 * t * (1 - t), t * t
        x, y = (before * path[:, 0] + amid * path[:, 1] + after * path[:, 2]).T
        dab(canvas, image, x, y, width * (0.5 - 0.2 * t), strength)


def in_blocks(
    paint: Callable[[Generator, npt.NDArray[np.int64]], npt.NDArray[np.uint8]], what: npt.NDArray[np.int64], seed: int
) -> npt.NDArray[np.uint8]:
    """What `paint` makes of each block of 200 images, each with a generator of its own: a block fits the cache."""
    blocks = range(0, len(what), 200)
    return np.concatenate([paint(np.random.default_rng([seed, start]), what[start : start + 200]) for start in blocks])


def tinted(base: Sequence[Field], colour: Sequence[float | Field], share: Field) -> list[Field]:
    """The colour planes with another colour over them, as much of it as `share` says pixel by pixel."""
    return [plane * (1.0 - share) + target * share for plane, target in zip(base, colour, strict=True)]


def levels(planes: Sequence[Field]) -> npt.NDArray[np.uint8]:
    """Planes with values in [0, 1] as bytes [n, c, h, w]."""
    stacked = np.stack([np.rint(np.clip(plane, 0.0, 1.0) * 255.0) for plane in planes], axis=1)
    return stacked.astype(np.uint8)
