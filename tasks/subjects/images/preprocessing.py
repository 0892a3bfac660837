"""What a Hugging Face image processor does to a picture before its network sees it, as numbers that can be followed.

The processor is read by transformers out of `preprocessor_config.json`; what it does to pixels is done here in Torch,
so that gradients reach the audited image and ε stays in its pixels. A processor of a class that does something else
is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from torch import Tensor
from torch.nn.functional import pad

from assay.infra.errors import InputError
from assay.tasks.subjects.images.resampling import FILTERS, resampled

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

    @classmethod
    def of_card(cls, written: Mapping[str, Any]) -> Self:
        """What a subject's card says."""
        pairs: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in written.items()
        }
        return cls(**pairs)

    def to_card(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def __call__(self, images: Tensor) -> Tensor:
        """What the network sees of images [n, c, h, w] within [0, 1]; grey ones are shown in as many channels as it
        has."""
        import torch

        images = images.expand(-1, len(self.mean), -1, -1) if images.shape[1] == 1 else images
        height, width = self.extent(images.shape[-2], images.shape[-1])
        shown = resampled(images, height, width, self.resample)
        if self.crop is not None:
            shown = _middle(shown, *self.crop)
        with torch.inference_mode(False):
            mean, std = (torch.tensor(one, device=shown.device).reshape(1, -1, 1, 1) for one in (self.mean, self.std))
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
        above, left = (-(-one // 2) for one in short)
        images = pad(images, (left, short[1] - left, above, short[0] - above))
    top, left = ((there - side) // 2 for side, there in zip((height, width), images.shape[-2:], strict=True))
    return images[..., top : top + height, left : left + width]


def preprocessing_of(processor: Any, channels: int, who: str) -> Preprocessing:
    """What a processor of transformers does, for a network of so many channels; refused where that is not known."""
    kind = type(processor).__name__.removesuffix("Fast")
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
    if len(mean) != channels or len(std) != channels or not all(one > 0 for one in std):
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
