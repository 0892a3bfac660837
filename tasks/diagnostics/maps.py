"""What comes out of a network's layers, and where it looks: features to embed, feature maps, saliency, integrated
gradients and attention.

Saliency maps are Simonyan et al. (2013): which pixels the loss would follow first. Integrated gradients are
Sundararajan et al. (2017): how much each pixel adds to what a network says. Attention is that of AttnMel's two gates
(Yan et al. 2019; Xu et al., figure 6 d and e).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from assay.infra.errors import InputError
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.subjects.images.model import ImageModel, Pixels
from assay.tasks.subjects.images.training import loss_for

Features = npt.NDArray[np.float32]  # [n, d]
Maps = npt.NDArray[np.float32]  # [n, h, w]

BEFORE = "before "  # `before head`: what enters the layer `head`
_WIDEST = 1024  # values of a sample in one layer: more are averaged over neighbouring places
_NAMED = 30  # layers in an error


@contextmanager
def recorded(network: nn.Module, layers: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Within the block, every call of the network leaves here what came out of these layers; then the hooks are gone.

    >>> network = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    >>> with recorded(network, ["0", "before 1"]) as outputs:
    ...     logits = network(torch.ones(1, 1, 2, 2))
    >>> list(outputs["0"].shape), list(outputs["before 1"][0].shape), len(network[1]._forward_pre_hooks)
    ([1, 4], [1, 4], 0)
    """
    modules = dict(network.named_modules())
    outputs: dict[str, Any] = {}
    hooks = []
    for layer in layers:
        module = modules.get(layer.removeprefix(BEFORE)) if layer.removeprefix(BEFORE) else None
        if module is None:
            raise InputError(f"The network has no layer {layer!r}: its layers are {_listed(modules)}.")
        if layer.startswith(BEFORE):
            hooks.append(module.register_forward_pre_hook(partial(_keep, outputs, layer)))
        else:
            hooks.append(module.register_forward_hook(partial(_keep, outputs, layer)))
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


def features_of(model: ImageModel, pixels: Pixels, layers: Sequence[str]) -> dict[str, Features]:
    """What comes out of the layers for images [n, c, h, w], a row per image; computed in blocks of one fixed size."""
    blocks: dict[str, list[Features]] = {layer: [] for layer in layers}
    with torch.inference_mode(), recorded(model.network, layers) as outputs:
        for start in range(0, len(pixels), model.block):
            rows = np.minimum(np.arange(start, start + model.block), len(pixels) - 1)
            model.logits(torch.from_numpy(pixels[rows]).to(model.device))
            for layer in layers:
                out = narrowed(_tensor(outputs, layer, model.block))
                blocks[layer].append(out[: len(pixels) - start].cpu().numpy())
    return {layer: np.concatenate(some) if some else np.zeros((0, 0), np.float32) for layer, some in blocks.items()}


def narrowed(output: Tensor) -> Tensor:
    """A layer's output as one row per image: maps averaged over neighbouring places until at most 1024 values are left.

    >>> list(narrowed(torch.zeros(2, 64, 8, 8)).shape), list(narrowed(torch.zeros(2, 2048, 7, 7)).shape)
    ([2, 1024], [2, 2048])
    """
    output = output.float()
    if output.ndim == 4:
        channels, extent = output.shape[1], min(output.shape[2:])
        side = next((side for side in (8, 4, 2) if side <= extent and channels * side**2 <= _WIDEST), 1)
        output = nn.functional.adaptive_avg_pool2d(output, side)
    return output.flatten(1)


def feature_maps(model: ImageModel, images: Tensor, layer: str) -> Maps:
    """Where a layer is active [n, h, w]: the mean over its channels of what is above zero."""
    with torch.inference_mode(), recorded(model.network, [layer]) as outputs:
        model.logits(images)
        out = _tensor(outputs, layer, len(images))
    if out.ndim != 4:
        raise InputError(
            f"The layer {layer!r} gives {'×'.join(map(str, out.shape[1:]))} values per image, and no map: name a "
            "convolutional layer as diagnostics.feature_map."
        )
    return np.asarray(out.float().clamp(min=0).mean(dim=1).cpu().numpy())


def _keep(outputs: dict[str, Any], layer: str, _module: nn.Module, *passed: Any) -> None:
    """Keep what came out of a layer or, called before the layer, what goes in."""
    outputs[layer] = passed[-1]


def _tensor(outputs: dict[str, Any], layer: str, images: int) -> Tensor:
    """What a layer gave, a row per image; of several tensors (a gate gives its map and its features) the last."""
    if layer not in outputs:
        raise InputError(f"The network has a layer {layer!r} and never calls it: name another one.")
    output = outputs[layer][-1] if isinstance(outputs[layer], tuple | list) else outputs[layer]
    if not isinstance(output, Tensor) or output.ndim < 2 or len(output) != images:
        shape = list(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise InputError(f"The layer {layer!r} gives {shape} for {images} images, expected a row each: name another.")
    return output


def _listed(modules: dict[str, nn.Module]) -> str:
    """The layers that exist, the outer ones first; not all where there are hundreds."""
    names = sorted((name for name in modules if name), key=lambda name: name.count("."))
    more = f" and {len(names) - _NAMED} inside these" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


@dataclass(frozen=True)
class Layers:
    """The layers that are embedded, and the one whose feature map is drawn (None where none has a map)."""

    embedded: tuple[str, ...]
    mapped: str | None


# AttnMel's are those of Xu et al., figures 6 and 7: in their numbering of VGG16, feature(13) is drawn, feature(33) and
# feature(43) are embedded, and then the attention module, which is what enters the head together with the last stage.
_ATTNMEL = Layers(("stages.3", "stages.4", "before head"), "stages.1")
_VGG = Layers(("stages.2", "stages.4", "before classifier.6"), "stages.1")
_RESNET = Layers(("stages.1", "stages.3", "before head"), "stages.0")
_KNOWN = {
    "small-cnn": Layers(("convolutions.0", "convolutions.2", "before head"), "convolutions.1"),
    "attnmel": _ATTNMEL,
    "attnmel-softmax": _ATTNMEL,
    "vgg19": _VGG,
    "vgg19-bn": _VGG,
    "resnet50": _RESNET,
    "resnet101": _RESNET,
    "resnet152": _RESNET,
    "inception-v3": Layers(("features.3", "features.8", "before head"), "features.0.4"),
    "chexnet": Layers(("blocks.1", "blocks.3", "before head"), "blocks.0"),
}


def layers_of(network: nn.Module, name: str, settings: Diagnostics) -> Layers:
    """The layers that the settings ask for, or those that tell most about the network of that name."""
    usual = _KNOWN.get(name) or _evenly_spaced(network)
    return Layers(settings.layers or usual.embedded, settings.feature_map or usual.mapped)


def _evenly_spaced(network: nn.Module) -> Layers:
    """Of a network of one's own: the layers with weights at a third and two thirds of the way, and what enters the
    last; the map of an early convolution.

    >>> _evenly_spaced(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 8, 3), nn.Flatten(), nn.Linear(8, 2)))
    Layers(embedded=('0', '2', 'before 4'), mapped='0')
    """
    weighted = [name for name, layer in network.named_modules() if isinstance(layer, nn.Conv2d | nn.Linear) and name]
    if not weighted:
        raise InputError("The network has no convolution and no linear layer: name those to look at as `layers`.")
    inner, last = weighted[:-1], weighted[-1]
    chosen = [inner[len(inner) // 3], inner[2 * len(inner) // 3]] if inner else []
    modules = dict(network.named_modules())
    maps = [name for name in weighted if isinstance(modules[name], nn.Conv2d)]
    return Layers(tuple(dict.fromkeys([*chosen, BEFORE + last])), maps[len(maps) // 4] if maps else None)


def saliency_maps(model: ImageModel, images: Tensor, targets: Tensor) -> Maps:
    """|∂loss/∂x| of every image at its truth, the largest over the channels [n, h, w]; image by image.

    `targets` are class codes [n], or labels [n, k] of 1, 0 and −1 (unknown).
    """
    loss_of = loss_for("cross-entropy", multilabel=model.multilabel, softmaxed=model.softmaxed)
    maps = []
    for at in range(len(images)):
        image = images[at : at + 1].clone().requires_grad_(True)
        (gradient,) = torch.autograd.grad(loss_of(model.logits(image), targets[at : at + 1]), image)
        maps.append(gradient[0].abs().amax(dim=0).cpu().numpy())
    return np.stack(maps) if maps else np.zeros((0, *images.shape[2:]), np.float32)


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
    tolerance = COMPLETE * max(1.0, abs(expected))
    while abs(pieces.missed.sum()) > 0.9 * tolerance and len(pieces.start) < MOST_STEPS:
        coarse = _worst(pieces.missed)
        rest, split = pieces.of(~coarse), pieces.of(coarse)
        half = split.width / 2
        left = path.pieces(split.start, half, split.before, split.middle)
        pieces = rest.joined(left).joined(path.pieces(split.start + half, half, split.middle, split.after))
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


def blurred(image: Tensor) -> Tensor:
    """The image without its detail: a Gaussian blur whose σ is an eighth of the shorter side."""
    side = min(image.shape[-2:])
    sigma = max(1.0, side / 8)
    reach = min(int(3 * sigma), side - 1)
    places = torch.arange(-reach, reach + 1, dtype=image.dtype, device=image.device)
    kernel = torch.exp(-(places**2) / (2 * sigma**2))
    kernel = (kernel / kernel.sum()).repeat(len(image), 1)
    padded = torch.nn.functional.pad(image[None], (reach,) * 4, mode="reflect")
    down = torch.nn.functional.conv2d(padded, kernel[:, None, :, None], groups=len(image))
    return torch.nn.functional.conv2d(down, kernel[:, None, None, :], groups=len(image))[0]


GATES = ("fine", "coarse")


def attention_maps(model: ImageModel, images: Tensor) -> dict[str, Maps]:
    """The attention of every gate [n, h, w], as coarse as it is; nothing for networks that have no gates.

    A sigmoid gate gives every place its own weight within [0, 1]; a softmax gate shares one unit out over the image.
    """
    from assay.tasks.subjects.networks.convolutional import AttnMel

    if not isinstance(model.network, AttnMel):
        return {}
    with torch.inference_mode(), recorded(model.network, GATES) as outputs:
        model.logits(images)
    return {gate: np.asarray(outputs[gate][0].float()[:, 0].cpu().numpy()) for gate in GATES}


def upsampled(maps: Maps, height: int, width: int) -> Maps:
    """The maps at the size of the image, values between places interpolated.

    >>> upsampled(np.array([[[0.0, 1.0]]], np.float32), 1, 4).tolist()
    [[[0.0, 0.25, 0.75, 1.0]]]
    """
    grown = torch.nn.functional.interpolate(
        torch.from_numpy(maps.copy())[:, None], size=(height, width), mode="bilinear", align_corners=False
    )
    return np.asarray(grown[:, 0].numpy())
