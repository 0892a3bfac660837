"""Integrated gradients (Sundararajan et al. 2017): how much each pixel adds to what a network says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Values = npt.NDArray[np.float64]
Output = Callable[[Tensor], Tensor]  # images [n, c, h, w] → one number each [n]; a row depends on its image alone

COMPLETE = 1e-3
"""How far the attributions may be from adding up to the change of the output, as a share of it (or of 1, if larger)."""
MOST_STEPS = 4096
_SHARE = 0.8  # of all that is missed: the fewest pieces that miss so much together are halved
_BLOCK = 32  # points of the path at a time: always as many, so that a machine's speed changes no bit


@dataclass(frozen=True)
class Attribution:
    """What each value of an image adds to an output [c, h, w]; `total` is their sum, `expected` what it should be."""

    values: Values
    total: float
    expected: float
    steps: int

    @property
    def complete(self) -> bool:
        """Whether the attributions add up to f(x) − f(x₀)."""
        return abs(self.total - self.expected) <= _tolerance(self.expected)


def integrated_gradients(output: Output, image: Tensor, baseline: Tensor, steps: int) -> Attribution:
    """IG(x) = (x − x₀) ∫₀¹ ∂f/∂x (x₀ + a(x − x₀)) da, by the midpoint rule; `output` gives f of images [n, c, h, w].

    The path is cut into `steps` pieces. As long as completeness fails (Σ IG is f(x) − f(x₀) within a thousandth of it,
    or within 1e-3 where it is below 1), the pieces along which f changes otherwise than their midpoints say, that is
    where units switch on and off, are halved.
    """
    path = _Path(output, image, baseline)
    places = np.linspace(0.0, 1.0, steps + 1)
    outputs = path.outputs(places)
    pieces = path.pieces(places[:-1], np.diff(places), outputs[:-1], outputs[1:])
    expected = float(outputs[-1] - outputs[0])
    while abs(pieces.missed.sum()) > 0.9 * _tolerance(expected) and len(pieces.start) < MOST_STEPS:
        coarse = _worst(pieces.missed)
        rest, split = pieces.of(~coarse), pieces.of(coarse)
        half = split.width / 2
        left = path.pieces(split.start, half, split.before, split.middle)
        right = path.pieces(split.start + half, half, split.middle, split.after)
        pieces = rest.joined(left).joined(right)
    values = path.integrated(pieces)
    return Attribution(values, float(values.sum()), expected, len(pieces.start))


@dataclass(frozen=True)
class _Pieces:
    """Pieces of the path: f at their ends and in the middle, and by how much the midpoint rule misses its change."""

    start: Values
    width: Values
    before: Values
    middle: Values
    after: Values
    missed: Values

    def of(self, some: npt.NDArray[np.bool_]) -> _Pieces:
        return _Pieces(*(column[some] for column in astuple(self)))

    def joined(self, other: _Pieces) -> _Pieces:
        return _Pieces(*(np.concatenate(pair) for pair in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class _Path:
    """The straight line from the baseline to the image, walked in blocks of one fixed size."""

    output: Output
    image: Tensor
    baseline: Tensor

    def outputs(self, places: Values) -> Values:
        """f at places of the path."""
        outputs = []
        with torch.inference_mode():
            for some, count in _blocks(places):
                outputs.append(self.output(self._at(some))[:count].double().cpu().numpy())
        return np.concatenate(outputs)

    def pieces(self, start: Values, width: Values, before: Values, after: Values) -> _Pieces:
        """Pieces with these ends, looked at in their middles."""
        middle, slopes = [], []
        for output, gradient in self._gradients(start + width / 2):
            middle.append(output.double().cpu().numpy())
            slopes.append((gradient.double() * self._line).sum(dim=(1, 2, 3)).cpu().numpy())
        missed = (after - before) - width * np.concatenate(slopes)
        return _Pieces(start, width, before, np.concatenate(middle), after, missed)

    def integrated(self, pieces: _Pieces) -> Values:
        """(x − x₀) times the mean gradient, every piece weighing as much as it is long."""
        total = torch.zeros_like(self._line)
        order = pieces.start.argsort()
        widths = torch.from_numpy(pieces.width[order]).to(self.image.device)
        done = 0
        for _, gradient in self._gradients((pieces.start + pieces.width / 2)[order]):
            weights = widths[done : done + len(gradient), None, None, None]
            total += (gradient.double() * weights).sum(dim=0)
            done += len(gradient)
        return np.asarray((self._line * total).cpu().numpy())

    def _gradients(self, places: Values) -> Iterator[tuple[Tensor, Tensor]]:
        for some, count in _blocks(places):
            along = self._at(some).requires_grad_(True)
            output = self.output(along)
            (gradient,) = torch.autograd.grad(output.sum(), along)
            yield output[:count].detach(), gradient[:count]

    def _at(self, places: Values) -> Tensor:
        weights = torch.from_numpy(places).to(self.image)
        return self.baseline + weights[:, None, None, None] * (self.image - self.baseline)

    @property
    def _line(self) -> Tensor:
        return (self.image - self.baseline).double()


def _blocks(places: Values) -> Iterator[tuple[Values, int]]:
    """The places in blocks of one size, the last filled up by repeating; and how many of each count."""
    for start in range(0, len(places), _BLOCK):
        rows = np.minimum(np.arange(start, start + _BLOCK), len(places) - 1)
        yield places[rows], min(_BLOCK, len(places) - start)


def _worst(missed: Values) -> npt.NDArray[np.bool_]:
    """The fewest pieces that together miss most of what is missed."""
    order = np.abs(missed).argsort()[::-1]
    gathered = np.abs(missed)[order].cumsum()
    chosen = np.zeros(len(missed), bool)
    chosen[order[: int(np.searchsorted(gathered, _SHARE * gathered[-1])) + 1]] = True
    return chosen


def _tolerance(expected: float) -> float:
    return COMPLETE * max(1.0, abs(expected))


def blurred(image: Tensor, share: float = 0.125) -> Tensor:
    """The image without its detail: a Gaussian blur whose σ is a share of the shorter side."""
    side = min(image.shape[-2:])
    sigma = max(1.0, share * side)
    reach = min(int(3 * sigma), side - 1)
    places = torch.arange(-reach, reach + 1, dtype=image.dtype, device=image.device)
    kernel = torch.exp(-(places**2) / (2 * sigma**2))
    kernel = (kernel / kernel.sum()).repeat(len(image), 1)
    padded = torch.nn.functional.pad(image[None], (reach,) * 4, mode="reflect")
    down = torch.nn.functional.conv2d(padded, kernel[:, None, :, None], groups=len(image))
    return torch.nn.functional.conv2d(down, kernel[:, None, None, :], groups=len(image))[0]


def baseline_of(image: Tensor, kind: Literal["black", "blurred"]) -> Tensor:
    """Where the path begins."""
    return torch.zeros_like(image) if kind == "black" else blurred(image)
