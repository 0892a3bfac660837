"""A model of images at an address, in the place of a network: asked for what it says, without a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from assay.infra.errors import AssayError, InputError

if TYPE_CHECKING:
    from assay.tasks.subjects.addresses.given import GivenModel


class AskedNetwork(nn.Module):  # type: ignore[misc]
    """Gives what the model says of images [n, c, h, w]; it has no weights, and nothing can be followed through it."""

    def __init__(self, given: GivenModel) -> None:
        super().__init__()
        self._given = given
        self._ask = cast("Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float64]]", given.load())

    def forward(self, images: Tensor) -> Tensor:
        """One row per image."""
        if images.requires_grad:
            raise InputError(
                f'The model "{self._given.written}" is only asked and has no gradient to follow: take attacks that '
                "need none, as square."
            )
        try:
            answers = np.asarray(self._ask(images.detach().cpu().numpy()))
        except AssayError:
            raise
        except Exception as fault:
            raise InputError(
                f'The model "{self._given.written}" raised {self._given.raised(fault)} on images.'
            ) from fault
        return torch.from_numpy(answers.astype(np.float32)).to(images.device)
