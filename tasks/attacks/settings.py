"""The options that every attack on images has, an immutable settings object; every ε is in pixel values of [0, 1]."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from assay.infra.settings import Settings
from assay.tasks.subjects.settings import Eps as Eps
from assay.tasks.subjects.settings import EpsGrid as EpsGrid
from assay.tasks.subjects.settings import eps_name as eps_name

Goal = Literal["untargeted", "targeted", "least-likely"]


def step_size_for(eps: float, steps: int, given: float | None) -> float:
    """α: what is given, else max(1/255, 2.5·ε/steps).

    >>> step_size_for(0.1, 20, None), step_size_for(0.001, 20, None) == 1 / 255
    (0.0125, True)
    """
    return given if given is not None else max(1 / 255, 2.5 * eps / steps)


class ImageAttack(Settings):
    """What every image attack has."""

    name: str | None = Field(default=None, min_length=1, max_length=80)
    """What findings call it; left out, the kind of attack."""

    eps: EpsGrid = (4 / 255,)
    """How far any pixel may move, of [0, 1]: one number or several (a robustness curve); `4/255` is legal."""

    goal: Goal = "untargeted"
    """Any wrong class, the class `target`, or the class the subject finds least likely."""

    target: int | None = Field(default=None, ge=0)
    """The code of the class that a targeted attack aims at."""

    keep: int = Field(default=4, ge=0)
    """Adversarial images kept for the report, per class and ε."""

    keep_all: bool = False
    """Whether every adversarial image is kept."""

    transfer: bool = False
    """Whether its images are shown to the other subjects as well."""

    only_accuracy: bool = False
    """Whether a sample that is wrong is not attacked any further: the same robust accuracy for a fraction of the time,
    but AUC, fooling rate and pictures show where each attack stopped. Not for several labels per image."""

    @property
    def called(self) -> str:
        """What findings call it."""
        return self.name or str(getattr(self, "attack", "attack"))

    def for_attacking(self) -> Self:
        """As it enters a stage that attacks: what happens to the images afterwards changes nothing about them."""
        return self.model_copy(update={"transfer": False})

    def for_transfer(self) -> Self:
        """As it enters a stage that keeps no images."""
        return self.model_copy(update={"transfer": False, "keep": 0, "keep_all": False})

    def for_training(self, eps: float) -> Self:
        """As it enters the training of the generator for one ε: nothing but what that generator depends on."""
        return self.for_transfer().model_copy(update={"name": None, "eps": (eps,), "only_accuracy": False})

    @model_validator(mode="after")
    def _target_fits_the_goal(self) -> Self:
        if self.target is not None and self.goal != "targeted":
            raise ValueError(f"`target: {self.target}` is aimed at only with `goal: targeted`, not `{self.goal}`")
        if self.only_accuracy and self.keep_all:
            raise ValueError("`only_accuracy` stops early, so there is no point in `keep_all`: leave one of them out")
        return self
