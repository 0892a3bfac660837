"""An image model under audit: a Torch network behind the one wrapper that knows value bounds and normalisation.

Images enter as pixels within [0, 1]; what the network was trained to subtract and divide by happens inside. So every
ε in Assay is in pixel space, whatever the network's normalisation (Xu et al. attacked normalised values, so that
their "4/255" was less than one pixel level).
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from assay.infra.engines.devices import seeded_torch, torch_device_here
from assay.infra.errors import InputError, faults_in_words
from assay.infra.user_code.references import CodeReference
from assay.tasks.subjects.addresses.given import GivenModel
from assay.tasks.subjects.networks.libraries import LibraryNetwork, library_network
from assay.tasks.subjects.own_models import built_module, load_weights
from assay.tasks.subjects.predictions import THRESHOLD as THRESHOLD
from assay.tasks.subjects.predictions import answered_classes
from assay.tasks.subjects.trained import CARD, WEIGHTS

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from assay.tasks.subjects.resolved import ResolvedSubject


def network_of(
    subject: ResolvedSubject, *, classes: int, channels: int, size: int, seed: int, names: Sequence[str] = ()
) -> nn.Module:
    """The subject's network with seeded weights, for images of so many channels whose shorter side is `size`; whoever
    answers in words is to know the `names` of the classes."""
    extent = {"classes": classes, "channels": channels, "size": size, "seed": seed}
    match subject.code or subject.library:
        case GivenModel() as given:
            from assay.tasks.subjects.images.given_networks import AskedNetwork

            return AskedNetwork(given, names)
        case LibraryNetwork() as library:
            return library_network(library, **extent)
        case CodeReference() as code:
            return own_network(code, **extent)
    from assay.tasks.subjects.networks.building import build_network

    return build_network(str(subject.settings.network), width=subject.settings.width, **extent)


def own_network(code: CodeReference, *, classes: int, channels: int, size: int, seed: int) -> nn.Module:
    """The module that a user's function builds; of `classes`, `channels` and `size` it gets those that it names."""
    import torch

    build = code.load()
    if not callable(build) or isinstance(build, torch.nn.Module):
        raise InputError(
            f'The network "{code.written}" is a {type(build).__name__}, expected a function that builds a Torch module.'
        )
    offered = {"classes": classes, "channels": channels, "size": size}
    wanted = inspect.signature(build).parameters
    missing = [
        parameter.name
        for parameter in wanted.values()
        if parameter.default is parameter.empty
        and parameter.name not in offered
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if missing:
        raise InputError(
            f'The network "{code.written}" asks for {", ".join(missing)}; Assay can give classes, channels and size.'
        )
    given = {name: value for name, value in offered.items() if name in wanted}
    with seeded_torch(seed):
        return built_module(code, "network", partial(build, **given))


def load_state(network: nn.Module, weights: bytes, who: str, *, assign: bool = False) -> None:
    """Fills the network with the weights of a safetensors file; raises in words where they do not belong to it."""
    load_weights(network, weights, f"of {who}", f"the network of {who}", assign=assign)


def require_output(network: nn.Module, channels: int, height: int, width: int, classes: int, who: str) -> None:
    """Raises unless the network gives one number per class for an image of that shape."""
    import torch

    network.eval()
    shape = f"{channels}×{height}×{width}"
    with (
        faults_in_words(lambda fault: f"{who} raised {type(fault).__name__} on images of {shape}: {fault}."),
        torch.inference_mode(),
    ):
        output = network(torch.zeros(2, channels, height, width))
    if not isinstance(output, torch.Tensor) or tuple(output.shape) != (2, classes):
        returned = list(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise InputError(f"{who} gives {returned} for 2 images, expected [2, {classes}]: one logit per class.")


Pixels = npt.NDArray[np.float32]  # [n, c, h, w] in [0, 1]
Probabilities = npt.NDArray[np.float64]  # [n, k]

BLOCK = 64  # images a network sees at a time unless a subject says otherwise: always as many, so that no cut shows


@dataclass(frozen=True)
class ImageModel:
    """A network in eval mode that takes pixels within [0, 1]; `network` gives logits unless `softmaxed`."""

    network: torch.nn.Module
    classes: int
    multilabel: bool
    mean: tuple[float, ...]
    std: tuple[float, ...]
    device: str = "cpu"
    block: int = BLOCK
    softmaxed: bool = False
    name: str = "subject"
    crop: int | None = None
    ours: bool = False
    """Whether the network is one of ours by name, whose layers may be laid out anew."""
    filled_up: Counter[tuple[int, ...]] = field(default_factory=Counter, init=False, compare=False, repr=False)
    """How often an attack filled a rest up to a whole block, by its rows and the shape of its images."""
    same_bits: dict[tuple[int, ...], bool] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Whether a small block of such a rest gives the bits of a whole one."""

    def logits(self, images: Tensor) -> Tensor:
        """What the network says before softmax or sigmoid [n, k], differentiable in the images [n, c, h, w].

        A network whose last layer is a softmax (`softmaxed`) gives its probabilities here: that is a red flag, since
        their gradients vanish where it is sure, and an attack on them looks weaker than it is.
        """
        mean, std = self._normalisation
        return self.network((self.window(images) - mean) / std)

    def window(self, images: Tensor) -> Tensor:
        """What the network sees of images: their centred square of `crop` pixels, or all where there is no such."""
        if self.crop is None:
            return images
        top, left = ((extent - self.crop) // 2 for extent in images.shape[-2:])
        return images[..., top : top + self.crop, left : left + self.crop]

    def probabilities(self, images: Tensor) -> Tensor:
        """The probability of every class [n, k]: softmax, or one sigmoid per label where images bear several."""
        return self.normalized(self.logits(images))

    def normalized(self, logits: Tensor) -> Tensor:
        """Probabilities from what `logits` gave."""
        if self.softmaxed:
            return logits
        return logits.sigmoid() if self.multilabel else logits.softmax(dim=1)

    def predict(self, pixels: Pixels, ids: Sequence[str] | None = None) -> Probabilities:
        """The probabilities of images [n, c, h, w] as float64 [n, k], computed in blocks of one fixed size.

        Raises where a pixel lies outside [0, 1], or where the network returns something that is no number; `ids`
        name the rows in the error.
        """
        require_pixels(pixels, ids)
        if len(pixels) == 0:
            return np.zeros((0, self.classes))
        import torch

        outputs = []
        with torch.inference_mode():
            for start in range(0, len(pixels), self.block):
                rows = np.minimum(np.arange(start, start + self.block), len(pixels) - 1)
                logits = self.logits(torch.from_numpy(pixels[rows]).to(self.device))[: len(pixels) - start]
                outputs.append(self._probabilities(logits.to(torch.float64).cpu()))
        probabilities = np.concatenate(outputs)
        wrong = np.flatnonzero(~np.isfinite(probabilities).all(axis=1))
        if len(wrong):
            raise InputError(
                f"The subject {self.name} returned {probabilities[wrong[0]].tolist()} for {_row(wrong[0], ids)}, "
                "expected finite numbers."
            )
        return probabilities

    def _probabilities(self, logits: Tensor) -> Probabilities:
        """As `normalized`, and the same bits wherever in a block a row stands: Torch's sigmoid gives others to the last
        few values of a block, which fill no vector register."""
        if self.multilabel and not self.softmaxed:
            with np.errstate(over="ignore"):
                return np.asarray(1 / (1 + np.exp(-logits.numpy())))
        return np.asarray(self.normalized(logits).numpy())

    @cached_property
    def _normalisation(self) -> list[Tensor]:
        import torch

        with torch.inference_mode(False):  # kept for later calls, some of which ask for gradients
            both = torch.tensor([self.mean, self.std], dtype=torch.float32, device=self.device)
            return list(both.reshape(2, 1, -1, 1, 1))


def said(probabilities: Probabilities, multilabel: bool) -> npt.NDArray[Any]:
    """What a model says: the code of the most probable class, int16 [n], or which labels hold, bool [n, k].

    >>> said(np.array([[0.2, 0.8]]), multilabel=False).tolist(), said(np.array([[0.5, 0.2]]), multilabel=True).tolist()
    ([1], [[True, False]])
    """
    if multilabel:
        return np.asarray(probabilities >= THRESHOLD)
    return answered_classes(probabilities).astype(np.int16)


def require_pixels(pixels: Pixels, ids: Sequence[str] | None = None) -> None:
    """Raises where a value is none of a pixel, naming its row."""
    if pixels.size and not (pixels.min() >= 0 and pixels.max() <= 1):  # a comparison with NaN is false
        inside = ((pixels >= 0) & (pixels <= 1)).reshape(len(pixels), -1)
        row = int(np.flatnonzero(~inside.all(axis=1))[0])
        value = float(pixels[row].ravel()[np.flatnonzero(~inside[row])[0]])
        raise InputError(
            f"The image of {_row(row, ids)} holds the value {value:g}, expected values from 0 to 1: scale the pixels, "
            "or store them as whole numbers from 0 to 255."
        )


KEPT_BYTES = 1 << 30  # of weights that stay loaded: subjects take turns on every partition of an audit
_loaded: dict[str, tuple[ImageModel, int]] = {}  # by content, the one that was asked for last at the end


def load_image_model(subject: ResolvedSubject, files: Mapping[str, bytes]) -> ImageModel:
    """The model behind a subject's files (`card.json`, `model.safetensors`), on the device of this call's slot."""
    device = torch_device_here()
    state = hashlib.blake2b(f"{device}\0{subject.settings.name}\0{subject.fingerprint}\0".encode(), digest_size=16)
    for name in (CARD, WEIGHTS):
        state.update(hashlib.blake2b(files[name]).digest())
    state.update(subject.asked_in.encode())
    key = state.hexdigest()
    entry = _loaded.pop(key, None)
    if entry is None:
        size = len(files[WEIGHTS])
        while _loaded and size + sum(held for _, held in _loaded.values()) > KEPT_BYTES:
            del _loaded[next(iter(_loaded))]
        entry = _load(subject, json.loads(files[CARD]), files[WEIGHTS], device), size
    _loaded[key] = entry
    return entry[0]


def _load(subject: ResolvedSubject, card: Mapping[str, Any], weights: bytes, device: str) -> ImageModel:
    import torch

    ours, block = subject.is_ours_by_name, subject.settings.block
    with torch.device("meta" if ours else "cpu"):  # weights that are replaced at once need not be drawn first
        network = _built(subject, card)
    load_state(network, weights, subject.settings.name, assign=ours)
    for weight in network.eval().parameters():  # TorchScript has no requires_grad_ for the whole network
        weight.requires_grad_(False)
    network = on_device(network, device, ours)
    if device == "cuda" and subject.has_gradient:
        block *= fold_on_gpu(block * card["channels"] * card["height"] * card["image_width"])
    return ImageModel(
        network,
        card["classes"],
        card["multilabel"],
        tuple(card["mean"]),
        tuple(card["std"]),
        device,
        block,
        softmaxed=card["softmaxed"],
        name=subject.settings.name,
        crop=subject.settings.crop,
        ours=ours,
    )


def on_device(network: torch.nn.Module, device: str, ours: bool) -> torch.nn.Module:
    """The network there, on a GPU with channels last; but one of a user's own may view its activations as flat."""
    import torch

    return network.to(device, memory_format=torch.channels_last if ours and device == "cuda" else torch.preserve_format)


_GPU_VALUES, _MOST_FOLDS = 1 << 22, 64  # pixel values of a block from which on a GPU is busy


def fold_on_gpu(values: int) -> int:
    """How many times as many images a GPU sees at a time, where a block holds so many pixel values: below some four
    million it would wait for the processor.

    >>> fold_on_gpu(64 * 8 * 8), fold_on_gpu(64 * 3 * 64 * 64), fold_on_gpu(64 * 3 * 224 * 224)
    (64, 5, 1)
    """
    return max(1, min(_MOST_FOLDS, _GPU_VALUES // values))


def _built(subject: ResolvedSubject, card: Mapping[str, Any]) -> torch.nn.Module:
    """The network without its weights: of a Hugging Face model all else stands in the card."""
    if subject.source is not None:
        from assay.tasks.subjects.images.given_networks import ABOUT, network_of_card

        return network_of_card(card[ABOUT])

    extent = {name: card[name] for name in ("classes", "channels", "size")}
    return network_of(subject, **extent, seed=0, names=card.get("class_names", ()))


def _row(row: int, ids: Sequence[str] | None) -> str:
    return f"row {row}" if ids is None else f"sample {ids[row]!r}"
