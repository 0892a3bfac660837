"""Options of the defence of texts: training on attacked copies of the training samples."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from assay.infra.settings import Settings
from assay.tasks.statistics.controls import control_of

MIXED = "mixed"
"""In place of an attack: one of all, drawn for each sample."""


class AttackedCopies(Settings):
    """Adversarial training for texts (Araujo et al.; Yoo and Qi 2021): the training samples and one attacked copy."""

    defense: Literal["attacked-copies"] = "attacked-copies"
    """Which defence it is."""

    name: str | None = Field(default=None, min_length=1, max_length=60)
    """What findings call it; left out, `on-` and the attack. The defended model is called `subject+name`."""

    attack: str = Field(min_length=1)
    """The attack, by its name under `attacks`, that makes the copy; `mixed` draws one of them all for each sample."""

    share: float = Field(default=1.0, gt=0, le=1)
    """The share of the training samples that get an attacked copy."""

    control: bool = False
    """Whether one more model learns from the same samples and unchanged copies of the very same ones: as many samples,
    as many steps, the same seed. What attacked copies gain over that model is due to the attack."""

    @property
    def called(self) -> str:
        """What findings call it."""
        return self.name or f"on-{self.attack}"

    @property
    def control_called(self) -> str:
        """What findings call its control."""
        return control_of(self.called)
