"""Options of the Robust-Benchmark: which perturbations, how strong, how long a sequence is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator

from assay.infra.settings import Settings
from assay.tasks.corruptions.table import CORRUPTIONS

if TYPE_CHECKING:
    Perturbation = str
else:
    Perturbation = CORRUPTIONS.literal


class Corruptions(Settings):
    """The 14 perturbations of Xu et al. as sequences of frames, one of which is the clean image, bit for bit."""

    perturbations: tuple[Perturbation, ...] = Field(default=CORRUPTIONS.words, min_length=1)
    """Which perturbations are tried."""

    severities: tuple[Annotated[int, Field(ge=1, le=5)], ...] = Field(default=(1, 2, 3, 4, 5), min_length=1)
    """How strong they are, from 1 (slight) to 5."""

    frames: int = Field(default=31, ge=3, le=1001)
    """How many frames a sequence has, the clean one among them; an odd number."""

    reference: str | None = Field(default=None, min_length=1)
    """The subject whose flip probability the relative ones are divided by; left out, the first."""

    show: int = Field(default=1, ge=0, le=8)
    """How many images are kept for the report as the subjects saw them."""

    @model_validator(mode="after")
    def _sequences_can_be_made(self) -> Self:
        if self.frames % 2 == 0:
            raise ValueError(
                f"frames is {self.frames}: a sequence has as many frames before its clean one as after it, so the "
                f"number must be odd; write {self.frames + 1}"
            )
        for option, given in (("perturbations", self.perturbations), ("severities", self.severities)):
            twice = [one for place, one in enumerate(given) if one in given[:place]]
            if twice:
                raise ValueError(f"{option} lists {twice[0]} more than once")
        return self
