"""Networks of images that came made: Hugging Face's classifiers with their preprocessing, and models at an address.

An image processor is read by transformers out of `preprocessor_config.json`; what it does to pixels is done here in
Torch, so that gradients reach the audited image and ε stays in its pixels; one that does something else is refused.
Images are resampled as Pillow does it, by two matrices: Torch's own has no deterministic gradient on a GPU.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
import torch
from pydantic import TypeAdapter
from torch import Tensor, nn
from torch.nn.functional import pad

from assay.infra.engines.devices import seeded_torch, transformers_library
from assay.infra.errors import InputError, faults_in_words
from assay.tasks.language.embeddings.encoder import LOADING
from assay.tasks.subjects.predictions import in_the_order_of
from assay.tasks.subjects.token_networks.hugging_face import columns_for, read_network
from assay.tasks.subjects.token_networks.sources import PROCESSOR, made_of_files, require_processor

if TYPE_CHECKING:
    from assay.tasks.subjects.addresses.given import GivenModel
    from assay.tasks.subjects.resolved import ResolvedSubject


Curve = npt.NDArray[np.floating[Any]]


def _cubic(at: Curve) -> Curve:
    """Keys's kernel with a = -1/2."""
    x = np.abs(at)
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


FILTERS: dict[int, tuple[str, float, Callable[[Curve], Curve]]] = {
    1: ("lanczos", 3.0, lambda at: np.where(np.abs(at) < 3, np.sinc(at) * np.sinc(at / 3), 0)),
    2: ("bilinear", 1.0, lambda at: np.asarray(np.maximum(0, 1 - np.abs(at)))),
    3: ("bicubic", 2.0, _cubic),
}
"""Pillow's filters by their number: the name, how far each reaches, and its curve."""


def resampling_matrix(before: int, after: int, resample: int) -> npt.NDArray[np.float64]:
    """What each pixel of a side is of those that were there, [after, before]; its rows add up to one.

    >>> resampling_matrix(4, 2, 2).round(3).tolist()
    [[0.429, 0.429, 0.143, 0.0], [0.0, 0.143, 0.429, 0.429]]
    """
    scale = before / after
    weights = np.zeros((after, before))
    _, reach, curve = FILTERS[resample]
    stretched = max(scale, 1.0)
    for pixel in range(after):
        centre = (pixel + 0.5) * scale
        first = max(0, math.floor(centre - reach * stretched + 0.5))
        last = min(before, math.floor(centre + reach * stretched + 0.5))
        taken = curve((np.arange(first, last) - centre + 0.5) / stretched)
        weights[pixel, first:last] = taken / taken.sum()
    return weights


def resampled(images: Tensor, height: int, width: int, resample: int) -> Tensor:
    """Images [n, c, h, w] of that size, within [0, 1] as Pillow keeps them."""
    if tuple(images.shape[-2:]) == (height, width):
        return images
    down = _matrix(images.shape[-2], height, resample, str(images.device))
    across = _matrix(images.shape[-1], width, resample, str(images.device))
    return (down @ (images @ across.T)).clamp(0, 1)


@lru_cache(maxsize=32)
def _matrix(before: int, after: int, resample: int, device: str) -> Tensor:
    with torch.inference_mode(False):  # kept for later calls, some of which ask for gradients
        return torch.from_numpy(resampling_matrix(before, after, resample)).to(torch.float32).to(device)


MOST = 4096
"""Pixels of a side, at most, that a network is shown."""
_LEVELS = 255.0
_SQUARED = 384  # from this edge on, ConvNeXt's processor squeezes to a square and cuts nothing away


@dataclass(frozen=True)
class Preprocessing:
    """In this order: drawn to `size`, or to a shorter side of `edge`; its middle cut out; scaled; mean and std."""

    size: tuple[int, int] | None
    edge: int | None
    crop: tuple[int, int] | None
    resample: int
    scale: float
    """What pixels within [0, 1] are multiplied with; 1 where the processor divides levels by 255."""
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __call__(self, images: Tensor) -> Tensor:
        """What the network sees of images [n, c, h, w] within [0, 1]; grey ones are shown in as many channels as it
        has."""
        images = images.expand(-1, len(self.mean), -1, -1) if images.shape[1] == 1 else images
        height, width = self.extent(images.shape[-2], images.shape[-1])
        shown = resampled(images, height, width, self.resample)
        if self.crop is not None:
            shown = _middle(shown, *self.crop)
        with torch.inference_mode(False):
            mean, std = (
                torch.tensor(values, device=shown.device).reshape(1, -1, 1, 1) for values in (self.mean, self.std)
            )
        return (shown * self.scale - mean) / std

    def extent(self, height: int, width: int) -> tuple[int, int]:
        """To how many pixels an image of that shape is drawn.

        >>> Preprocessing(None, 8, None, 3, 1.0, (0.5,), (0.5,)).extent(20, 30)
        (8, 12)
        """
        if self.size is not None:
            return self.size
        if self.edge is None:
            return height, width
        longer = int(self.edge * max(height, width) / min(height, width))
        return (self.edge, longer) if height <= width else (longer, self.edge)


def _middle(images: Tensor, height: int, width: int) -> Tensor:
    """The centred window, with zeros around what is smaller than it."""
    short = [max(0, side - there) for side, there in zip((height, width), images.shape[-2:], strict=True)]
    if any(short):
        above, left = (-(-side // 2) for side in short)
        images = pad(images, (left, short[1] - left, above, short[0] - above))
    top, left = ((there - side) // 2 for side, there in zip((height, width), images.shape[-2:], strict=True))
    return images[..., top : top + height, left : left + width]


def preprocessing_of(processor: Any, channels: int, who: str) -> Preprocessing:
    """What a processor of transformers does, for a network of so many channels; refused where that is not known."""
    kind = type(processor).__name__.removesuffix("Fast").removesuffix("Pil")
    geometry = _GEOMETRIES.get(kind)
    if geometry is None:
        raise InputError(
            f"{who} has the image processor {kind}, of which Assay does not know what it does to pixels; known are "
            f"{', '.join(_GEOMETRIES)}: build the network in a function of your own instead (file.py:build)."
        )
    size, edge, crop = geometry(processor)
    resample = int(getattr(processor, "resample", None) or 0)
    if (size or edge) and resample not in FILTERS:
        names = ", ".join(f"{number} ({name})" for number, (name, _, _) in FILTERS.items())
        raise InputError(f"{who} is shown images resampled by filter {resample}; known are {names}.")
    if not all(1 <= side <= MOST for side in (*(size or ()), *(crop or ()), *((edge,) if edge is not None else ()))):
        raise InputError(f"{who} wants images of {size or edge or crop} pixels, and 1 to {MOST} are shown on a side.")
    scale = _LEVELS * (float(processor.rescale_factor) if processor.do_rescale else 1.0)
    normal = processor.do_normalize
    mean = tuple(map(float, processor.image_mean)) if normal else (0.0,) * channels
    std = tuple(map(float, processor.image_std)) if normal else (1.0,) * channels
    if len(mean) != channels or len(std) != channels or not all(spread > 0 for spread in std):
        raise InputError(
            f"{who} looks at {channels} channels, and its preprocessor_config.json has the image_mean {list(mean)} and "
            f"the image_std {list(std)}: expected {channels} numbers each, the latter above 0."
        )
    return Preprocessing(size, edge, crop, resample, 1.0 if abs(scale - 1) < 1e-9 else scale, mean, std)


Geometry = tuple[tuple[int, int] | None, int | None, tuple[int, int] | None]


def _drawn_and_cut(processor: Any) -> Geometry:
    """Drawn to its size or its shortest edge; then, where it says so, the middle is cut out."""
    size = _sides(processor.size) if processor.do_resize else None
    edge = int(processor.size["shortest_edge"]) if processor.do_resize and size is None else None
    return size, edge, _sides(processor.crop_size) if getattr(processor, "do_center_crop", False) else None


def _as_for_convnext(processor: Any) -> Geometry:
    """ConvNeXt's: a little larger than the network sees, and the middle of that; large ones are only drawn."""
    if not processor.do_resize:
        return None, None, None
    edge = int(processor.size["shortest_edge"])
    if edge >= _SQUARED:
        return (edge, edge), None, None
    return None, int(edge / processor.crop_pct), (edge, edge)


def _sides(size: Mapping[str, int]) -> tuple[int, int] | None:
    return (int(size["height"]), int(size["width"])) if "height" in size and "width" in size else None


_PLAIN = ("ViT", "DeiT", "Beit", "Bit", "CLIP", "Siglip", "Pvt", "Segformer", "MobileNetV1", "MobileNetV2")
_GEOMETRIES: dict[str, Callable[[Any], Geometry]] = {
    **{f"{name}ImageProcessor": _drawn_and_cut for name in _PLAIN},
    "ConvNextImageProcessor": _as_for_convnext,
}
"""The image processors whose work is known, by their class."""


ABOUT = "hugging_face"
"""The entry of a subject's card from which such a network is built again."""
_WHAT = "classifier of images"


class HuggingFaceNetwork(nn.Module):  # type: ignore[misc]
    """Shows its network what the processor would, and gives its logits in the order of the audit's classes."""

    def __init__(self, network: nn.Module, shown: Preprocessing, columns: Sequence[int]) -> None:
        super().__init__()
        self.network, self._shown, self._columns = network, shown, list(columns)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k] of images [n, c, h, w] within [0, 1]."""
        return self.network(pixel_values=self._shown(images)).logits[:, self._columns]

    @property
    def about(self) -> dict[str, Any]:
        """What the card of a subject says of it besides, so that it can be built again without its folder."""
        config = json.loads(self.network.config.to_json_string(use_diff=False))
        return {ABOUT: {"config": config, "shown": asdict(self._shown), "columns": self._columns}}


def network_as_it_came(subject: ResolvedSubject, classes: Sequence[str], seed: int) -> HuggingFaceNetwork:
    """The network in the subject's source with its weights; one that is to be trained gets a last layer for these
    classes, drawn from the seed where its own does not fit."""
    assert subject.source is not None
    who, files = f'The network "{subject.source.written}"', subject.source.read()
    require_processor(files, subject.source.written)
    trains = subject.settings.train is not None
    with seeded_torch(seed):
        network = read_network(files, who, "images", len(classes) if trains else None)
    with made_of_files(who, _WHAT):
        if trains:
            network.config.id2label = dict(enumerate(classes))
            network.config.label2id = {name: code for code, name in enumerate(classes)}
        columns = columns_for(network.config, classes, who)
        shown = preprocessing_of(_processor(files, who), int(getattr(network.config, "num_channels", 3)), who)
    return HuggingFaceNetwork(network.float(), shown, columns)


def network_of_card(about: Mapping[str, Any]) -> HuggingFaceNetwork:
    """The network that a card describes; its weights are still to be loaded."""
    transformers, config = transformers_library(), dict(about["config"])
    built = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    network = transformers.AutoModelForImageClassification.from_config(
        built, trust_remote_code=False, attn_implementation=LOADING["attn_implementation"]
    )
    return HuggingFaceNetwork(network, TypeAdapter(Preprocessing).validate_python(about["shown"]), about["columns"])


def _processor(files: Mapping[str, bytes], who: str) -> Any:
    """The image processor among the files, as transformers reads it; nothing of it is run."""
    processors = transformers_library().AutoImageProcessor
    with tempfile.TemporaryDirectory() as folder:
        for name in ("config.json", PROCESSOR):
            Path(folder, name).write_bytes(files[name])
        with made_of_files(who, _WHAT, hide=folder):
            return processors.from_pretrained(folder, use_fast=False, local_files_only=True, trust_remote_code=False)


class AskedNetwork(nn.Module):  # type: ignore[misc]
    """Gives what the model says of images [n, c, h, w]; it has no weights, and nothing can be followed through it."""

    def __init__(self, given: GivenModel, classes: Sequence[str]) -> None:
        super().__init__()
        self._given, self._classes, self.in_words = given, classes, given.asking.in_words
        self._ask = cast("Callable[[npt.NDArray[np.float32]], object]", given.load())

    def forward(self, images: Tensor) -> Tensor:
        """One row per image."""
        if images.requires_grad:
            raise InputError(
                f'The model "{self._given.written}" is only asked and has no gradient to follow: take attacks that '
                "need none, as square."
            )
        given = self._given
        with faults_in_words(lambda fault: f'The model "{given.written}" raised {given.raised(fault)} on images.'):
            asked = self._ask(images.detach().cpu().numpy())
            answers = np.asarray(in_the_order_of(self._classes, asked, f'The model "{given.written}"'))
        return torch.from_numpy(answers.astype(np.float32)).to(images.device)
