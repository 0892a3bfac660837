"""What cameras and scanners do to images: noise of the sensor, blur, brightness, and images moved, turned, tilted,
sheared and scaled about their centre.

Random draws come from one stream per sample and purpose, the same in whatever batch they are made and at every
severity, so that severities differ in strength and in nothing else; the three noises share theirs. Blurs repeat the
border; beyond the border a warped image goes on as its own mirror image: black corners would be an artefact that no
camera makes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import grid_sample, pad

from assay.infra.stages.exact import Seeds


class Draws:
    """Random numbers for the samples named by `ids`, each from a generator of its own, kept while they are asked for.

    >>> both, alone = Draws(Seeds(0, "corrupt"), ["a", "b"]), Draws(Seeds(0, "corrupt"), ["b"])
    >>> bool((both.normals("snow", (4,))[1] == alone.normals("snow", (4,))[0]).all())
    True
    """

    def __init__(self, seeds: Seeds, ids: Sequence[str], device: str = "cpu") -> None:
        self._seeds, self._ids, self._device = seeds, ids, device
        self._noise: Tensor | None = None

    def normals(self, purpose: str, shape: tuple[int, ...]) -> Tensor:
        """Standard normal draws, float32 [n, *shape]."""
        drawn = [generator.standard_normal(shape, np.float32) for generator in self.generators(purpose)]
        return torch.from_numpy(np.stack(drawn)).to(self._device)

    def noise(self, frames: int, shape: tuple[int, ...]) -> Tensor:
        """Standard normal draws for every frame, float32 [frames, n, *shape], made once for all noises.

        They are many, so Torch makes them, from one seed per sample: twice as fast as NumPy.
        """
        if self._noise is None or self._noise.shape != (frames, len(self._ids), *shape):
            drawn, generator = torch.empty(frames, len(self._ids), *shape), torch.Generator()
            for row, sample in enumerate(self._ids):
                generator.manual_seed(self._seeds.integer(f"noise/{sample}", bits=63))
                for frame in range(frames):
                    drawn[frame, row].normal_(generator=generator)
            self._noise = drawn.to(self._device)
        return self._noise

    def angles(self, purpose: str, low: float, high: float) -> list[float]:
        """One angle per sample in degrees, uniform between `low` and `high`."""
        return [generator.uniform(low, high) for generator in self.generators(purpose)]

    def generators(self, purpose: str) -> list[np.random.Generator]:
        """A generator per sample for one purpose; asked again, each draws the same."""
        return [self._seeds.generator(f"{purpose}/{sample}") for sample in self._ids]


_SMALL_RATE = 4.0  # below, Poisson counts come from their cumulative distribution; above, from an expansion of it
_TAIL = 1e-6  # counts less probable than this are not told apart


def gaussian_noise(images: Tensor, normals: Tensor, sd: float, out: Tensor) -> None:
    """Fill `out` with x + sd·N within [0, 1]; `normals` and `out` are [frames, n, c, h, w], images [n, c, h, w]."""
    torch.mul(normals, sd, out=out).add_(images).clamp_(0, 1)


def speckle_noise(images: Tensor, normals: Tensor, sd: float, out: Tensor) -> None:
    """Fill `out` with x + x·sd·N within [0, 1]."""
    torch.addcmul(images, images * sd, normals, out=out).clamp_(0, 1)


def shot_noise(images: Tensor, normals: Tensor, photons: float, out: Tensor) -> None:
    """Fill `out` with Poisson(x·photons)/photons within [0, 1]: a sensor that counts `photons` where it is white."""
    # From `photons` counts on a pixel is white, however many more there are.
    poisson_quantile((images * photons).flatten(), normals.flatten(1), out.flatten(1), most=math.ceil(photons))
    out.div_(photons).clamp_(0, 1)


def poisson_quantile(rates: Tensor, normals: Tensor, out: Tensor, most: int) -> None:
    """Fill `out` with the Poisson counts that stand where the draws stand in the normal distribution, F⁻¹(Φ(N)).

    So Poisson draws cost little more than adding noise does (a sampler per pixel costs ten times that). From a rate of
    4 on it is the Cornish-Fisher expansion of the quantile (Giles 2016, to order 1/rate), off by one for fewer than one
    draw in 500; below it is exact, and not counted beyond `most`. `rates` are [m], `normals` and `out` [frames, m].
    """
    small = (rates < _SMALL_RATE).nonzero().squeeze(1)
    cumulative = _cumulative(rates[small], most)
    powers = _expansion(rates.clamp(min=_SMALL_RATE))
    for draws, counts in zip(normals, out, strict=True):
        if len(small) < len(rates):
            torch.addcmul(powers[3], powers[4], draws, out=counts)
            for power in (powers[2], powers[1], powers[0]):
                torch.addcmul(power, counts, draws, out=counts)
            counts.floor_().clamp_(min=0)
        if len(small):
            counts.index_copy_(0, small, _small_counts(cumulative, draws.index_select(0, small)))


def _expansion(rates: Tensor) -> tuple[Tensor, ...]:
    """What stands before each power of the draw in the expansion, from the zeroth to the fourth."""
    root = rates.sqrt()
    return (
        rates + 1 / 3 - 16 / (810 * rates),
        root - 1 / (36 * root),
        1 / 6 + 7 / (810 * rates),
        -1 / (72 * root),
        1 / (270 * rates),
    )


def _small_counts(cumulative: Tensor, draws: Tensor) -> Tensor:
    """How many values of the cumulative distributions [counts, m] lie below each draw [m]."""
    uniforms = torch.erf(draws * math.sqrt(0.5)).add_(1).mul_(0.5)
    counts, above = torch.zeros_like(uniforms), torch.empty_like(uniforms)
    for step in cumulative:
        counts += torch.gt(uniforms, step, out=above)
    return counts


def _cumulative(rates: Tensor, most: int) -> Tensor:
    """P(X <= count) of every count that matters for any rate, [counts, m]; at most as many as `most`."""
    from scipy.stats import poisson

    probability = torch.exp(-rates)
    steps = [probability]
    last = int(poisson.isf(_TAIL, float(rates.max()))) + 1 if len(rates) else 1
    for count in range(1, min(last, most)):
        probability = probability * rates / count
        # Past its tail a rate counts nothing, however the sum was rounded and whatever the other rates are.
        steps.append(torch.where(probability < _TAIL, 2.0, steps[-1] + probability))
    return torch.stack(steps)


Matrix = npt.NDArray[np.float64]  # [3, 3], of homogeneous coordinates (x, y, 1) counted from the image's centre


def translated(images: Tensor, pixels: int) -> Tensor:
    """The images [n, c, h, w] moved to the right by whole pixels: nothing is interpolated, so nothing is blurred.

    >>> translated(torch.tensor([[[[1, 2, 3, 4]]]]), 2).flatten().tolist()
    [2, 1, 1, 2]
    >>> translated(torch.tensor([[[[1, 2, 3, 4]]]]), -1).flatten().tolist()
    [2, 3, 4, 4]
    """
    if pixels >= 0:
        return torch.cat([images[..., :pixels].flip(-1), images[..., : images.shape[-1] - pixels]], dim=-1)
    return torch.cat([images[..., -pixels:], images[..., pixels:].flip(-1)], dim=-1)


def rotation(degrees: float) -> Matrix:
    """Turns about the centre, counter-clockwise as one sees it."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1.0]])


def shearing(degrees: float) -> Matrix:
    """Moves rows sideways, the more the farther they are from the middle one."""
    return np.array([[1, math.tan(math.radians(degrees)), 0], [0, 1, 0], [0, 0, 1.0]])


def scaling(factor: float) -> Matrix:
    """Makes everything larger (or, below 1, smaller)."""
    return np.diag([factor, factor, 1.0])


def tilting(degrees: float, diagonal: float) -> Matrix:
    """Turns the picture plane in space about both of its axes, seen from as far away as its diagonal is long.

    Hendrycks' code puts the plane one pixel behind its axes, so that its zero tilt shrinks the image by 0.3 %; here the
    axes lie in the plane, and zero tilt is the identity.
    """
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    about_x = np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]])
    about_y = np.array([[cos, 0, -sin], [0, 1, 0], [sin, 0, cos]])
    turned = about_x @ about_y[:, :2]  # where (x, y, 0) goes in space, [3, 2]
    plane = np.zeros((3, 3))
    plane[:2, :2] = turned[:2]
    plane[2] = [turned[2, 0] / diagonal, turned[2, 1] / diagonal, 1]
    return plane


def warped(images: Tensor, matrix: Matrix) -> Tensor:
    """The images [n, c, h, w] with every point moved by `matrix`, read bilinearly from where it came from.

    All images and channels share one grid, so the weights are computed once for all of them.
    """
    n, channels, height, width = images.shape
    grid = _grid(np.linalg.inv(matrix).astype(np.float64), height, width, images)
    stacked = images.reshape(1, n * channels, height, width)
    moved = grid_sample(stacked, grid, mode="bilinear", padding_mode="reflection", align_corners=False)
    return moved.reshape(images.shape)


def warping(perturbation: str, height: int, width: int) -> Callable[[float], Matrix]:
    """The matrix of a geometric perturbation as a function of its amount (degrees, or a share for `scale`)."""
    diagonal = math.hypot(height, width)
    return {
        "rotate": rotation,
        "shear": shearing,
        "scale": lambda amount: scaling(1 + amount),
        "tilt": lambda degrees: tilting(degrees, diagonal),
    }[perturbation]


def _grid(inverse: Matrix, height: int, width: int, images: Tensor) -> Tensor:
    """Where each pixel of the result lies in the image, in the units of grid_sample: -1 to 1 from edge to edge."""
    x = torch.arange(width, dtype=torch.float64, device=images.device) - (width - 1) / 2
    y = torch.arange(height, dtype=torch.float64, device=images.device).unsqueeze(1) - (height - 1) / 2
    across, down, depth = (x * float(row[0]) + (y * float(row[1]) + float(row[2])) for row in inverse)
    grid = images.new_empty(1, height, width, 2)
    grid[0, ..., 0] = across / depth * (2 / width)
    grid[0, ..., 1] = down / depth * (2 / height)
    return grid


def gaussian_blur(images: Tensor, sigma: float) -> Tensor:
    """The images [n, c, h, w] blurred by a Gaussian of `sigma` pixels, cut off at four sigmas."""
    radius = int(4 * sigma + 0.5)
    if radius == 0:
        return images.clone()
    weights = [math.exp(-0.5 * (offset / sigma) ** 2) for offset in range(radius + 1)]
    total = weights[0] + 2 * math.fsum(weights[1:])
    kernel = [weight / total for weight in weights]
    rows = along(pad(images, (radius, radius, 0, 0), mode="replicate"), kernel, -1, images.shape[-1])
    return along(pad(rows, (0, 0, radius, radius), mode="replicate"), kernel, -2, images.shape[-2])


def along(padded: Tensor, kernel: Sequence[float], dim: int, size: int) -> Tensor:
    """A symmetric kernel's weighted sum of shifted images: the same bits however many images there are."""
    radius = len(kernel) - 1
    total = padded.narrow(dim, radius, size) * kernel[0]
    for offset in range(1, radius + 1):
        total.add_(padded.narrow(dim, radius - offset, size), alpha=kernel[offset])
        total.add_(padded.narrow(dim, radius + offset, size), alpha=kernel[offset])
    return total


def motion_blur(images: Tensor, angles: Sequence[float], radius: float, sigmas: Sequence[float]) -> Tensor:
    """Every image [n, c, h, w] smeared along its own angle (degrees), once per sigma, [sigmas, n, c, h, w].

    As in ImageMagick, the kernel is half a Gaussian, 2·radius + 1 pixels long, on the pixels nearest to a line. All
    sigmas share the shifted images, so that one matrix product per image makes all of its frames.
    """
    taps = 2 * round(radius) + 1
    weights = torch.tensor([_half_gaussian(taps, sigma) for sigma in sigmas], dtype=images.dtype, device=images.device)
    frames = images.new_empty(len(sigmas), *images.shape)
    for row, (image, angle) in enumerate(zip(images, angles, strict=True)):
        shifted = _shifted_along(image, angle, taps)
        frames[:, row] = (weights @ shifted.reshape(taps, -1)).reshape(len(sigmas), *image.shape)
    return frames


def _half_gaussian(taps: int, sigma: float) -> list[float]:
    weights = [math.exp(-0.5 * (tap / max(sigma, 1e-9)) ** 2) for tap in range(taps)]
    total = sum(weights)
    return [weight / total for weight in weights]


def _shifted_along(image: Tensor, angle: float, taps: int) -> Tensor:
    """The image [c, h, w] moved by 0, 1, 2 … pixels along the angle, [taps, c, h, w]."""
    down, right = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    height, width = image.shape[-2:]
    border = pad(image.unsqueeze(0), (taps, taps, taps, taps), mode="replicate").squeeze(0)
    shifted = image.new_empty(taps, *image.shape)
    for tap in range(taps):
        dy, dx = math.ceil(tap * down - 0.5), math.ceil(tap * right - 0.5)
        shifted[tap] = border[:, taps + dy : taps + dy + height, taps + dx : taps + dx + width]
    return shifted


def zoom_blurs(images: Tensor, zoom: float, frames: int) -> Tensor:
    """Frame k is the mean of the images zoomed by 1 … the k-th step towards `zoom`, [frames, n, c, h, w]."""
    blurred = images.new_empty(frames, *images.shape)
    total = blurred[0] = images
    for frame in range(1, frames):
        total = total + warped(images, scaling(1 + (zoom - 1) * frame / (frames - 1)))
        torch.div(total, frame + 1, out=blurred[frame])
    return blurred


def brightened(images: Tensor, amount: float) -> Tensor:
    """The images [n, c, h, w] with `amount` added to V, the largest channel of each pixel, within [0, 1].

    Hue and saturation stay when all channels are multiplied by V′/V; black becomes grey.

    >>> brightened(torch.tensor([0.2, 0.4, 0.0]).reshape(1, 3, 1, 1), 0.2).flatten().tolist()
    [0.30000001192092896, 0.6000000238418579, 0.0]
    """
    value = images.amax(dim=1, keepdim=True)
    brighter = (value + amount).clamp_(0, 1)
    if images.shape[1] == 1:
        return brighter
    lit = value > 0
    return torch.where(lit, images * (brighter / torch.where(lit, value, 1.0)), brighter).clamp_(0, 1)
