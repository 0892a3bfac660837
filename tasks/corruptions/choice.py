"""What a perturbation is to everybody else: how it is called and listed, how its frames are made, and how strong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.infra.choices import Named
from assay.tasks.corruptions.constants import Levels
from assay.tasks.corruptions.kinds import Kind

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.corruptions.draws import Draws

Constants = dict[str, float]
Maker = Callable[["Constants", "Tensor", "Draws", Sequence[float]], "Tensor"]
"""The frames of images [n, c, h, w] at the constants of a severity: one per strength, [frames, n, c, h, w]."""


@dataclass(frozen=True)
class Corruption(Named):
    """A perturbation that `corruptions.perturbations` can name; `make` imports Torch when it is called.

    `kind` says where the clean frame is and how strong the others are, as shares of the constants.
    """

    category: str
    kind: Kind
    make: Maker
    levels: Levels

    def conformance(self) -> list[str]:
        """What keeps the perturbation from being one, a sentence each: it is tried on a few images."""
        from assay.tasks.corruptions.conformance import corruption_conformance

        return corruption_conformance(self)
