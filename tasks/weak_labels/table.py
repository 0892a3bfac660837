"""The labelers that a pipeline can name, and the options of weak labelling.

A new labeler is a module of its own, and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from assay.infra.settings import EachOnce, Settings
from assay.infra.user_code.choices import NamedChoices
from assay.tasks.weak_labels.label_models import DAWID_SKENE, TRIPLETS
from assay.tasks.weak_labels.labelers import GROUP, LabelerChoice
from assay.tasks.weak_labels.snorkel import SNORKEL

LABELERS: NamedChoices[LabelerChoice] = NamedChoices(
    "labeler", GROUP, LabelerChoice, (LabelerChoice("majority"), SNORKEL, DAWID_SKENE, TRIPLETS)
)


Share = Annotated[float, Field(gt=0, lt=1)]
_NEARLY = 1e-3


if TYPE_CHECKING:
    LabelerName = str
else:
    LabelerName = LABELERS.literal


class WeakLabelling(Settings):
    """How votes become a label and a confidence."""

    labelers: Annotated[tuple[LabelerName, ...], Field(min_length=1), EachOnce] = ("majority", "snorkel")
    """Which labelers run: every vote counts the same (`majority`), Snorkel's model, Dawid and Skene's (abstaining is an
    answer), or FlyingSquid's, for two classes (`triplets`). The first one's order counts."""

    epochs: int = Field(default=500, ge=1)
    """Steps of Snorkel's training, and at most of Dawid and Skene's; the report says whether the loss converged."""

    learning_rate: float = Field(default=0.01, gt=0.0)
    """The step size of that training."""

    seed: int = Field(default=0, ge=0, lt=2**32)
    """Where the training starts."""

    default_label: str | int = 0
    """The class, by name or code, of a sample on which all classes are equal; of several that tie it wins."""

    class_balance: Annotated[
        Mapping[str, Share] | tuple[Share, ...] | Literal["estimated", "uniform", "gold"],
        BeforeValidator(lambda balance: "estimated" if balance == "estimate" else balance),
    ] = Field(default="estimated", exclude_if=lambda balance: balance == "uniform")
    """How frequent the classes are, for labelers that learn: `estimated` from votes cast together, where they tell it
    clearly (else `uniform`); `uniform`; as in `gold`; or by name (`{spam: 0.2, ham: 0.8}`) or code."""

    @field_validator("class_balance")
    @classmethod
    def _adds_up(cls, balance: object) -> object:
        shares = balance.values() if isinstance(balance, Mapping) else balance if isinstance(balance, tuple) else ()
        if shares and abs(sum(shares) - 1) > _NEARLY:
            raise ValueError(f"the shares of all classes add up to {sum(shares):g}, expected 1")
        return balance
