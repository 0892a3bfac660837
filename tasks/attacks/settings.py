"""Options of the image attacks. An attack is an immutable settings object; every ε is in pixel values of [0, 1]."""

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
    """Whether its images are shown to the other subjects as well: who falls for images made against another."""

    only_accuracy: bool = False
    """Whether only the robust accuracy counts: a sample that is wrong, or made wrong, is not attacked any further. It
    is the same accuracy for a fraction of the time; AUC, fooling rate and pictures then show where each attack stopped.
    Not for several labels per image, each of which has an accuracy of its own."""

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


class PGD(ImageAttack):
    """Projected gradient descent (Xu et al., Eq. 1-2): uniform start, sign steps, projection, clip to the bounds."""

    attack: Literal["pgd"] = "pgd"
    """Which attack it is."""
    steps: int = Field(default=20, ge=1, le=100_000)
    """How many steps it takes."""
    step_size: Eps | None = None
    """How far a step goes; left out, max(1/255, 2.5·ε/steps)."""
    restarts: int = Field(default=1, ge=1, le=1000)
    """How many random starts are tried; the first success counts."""
    random_start: bool = True
    """Whether it starts at a random point within ε, or at the image."""
    last: bool = False
    """Whether the last point counts even where only an earlier one was a success, as it does in other libraries."""

    @model_validator(mode="after")
    def _last_point_needs_every_step(self) -> Self:
        if self.last and (self.only_accuracy or self.restarts > 1):
            raise ValueError("`last` takes every step of one start: leave out `only_accuracy` and `restarts`")
        return self


class FGSM(ImageAttack):
    """The fast gradient sign method: one step of ε from the image itself."""

    attack: Literal["fgsm"] = "fgsm"
    """Which attack it is."""


class MomentumPGD(ImageAttack):
    """PGD that follows a running mean of the normalised gradients (Dong et al. 2018)."""

    attack: Literal["momentum-pgd"] = "momentum-pgd"
    """Which attack it is."""
    steps: int = Field(default=20, ge=1, le=100_000)
    """How many steps it takes."""
    step_size: Eps | None = None
    """How far a step goes; left out, max(1/255, 2.5·ε/steps)."""
    decay: float = Field(default=1.0, ge=0, le=10)
    """How much of the earlier gradients is kept."""


class APGD(ImageAttack):
    """Auto-PGD (Croce and Hein 2020): halves its step where progress stalls, and restarts from the best point."""

    attack: Literal["apgd"] = "apgd"
    """Which attack it is."""
    steps: int = Field(default=50, ge=2, le=100_000)
    """How many steps it takes."""
    loss: Literal["cross-entropy", "margin"] = "cross-entropy"
    """What it climbs: cross-entropy, or the difference of logits ratio (the plain margin with two classes)."""


class ClassByClass(ImageAttack):
    """What attacks have that go for the likeliest wrong classes, one after the other; any wrong answer is a success."""

    steps: int = Field(default=50, ge=2, le=100_000)
    """How many steps it takes towards each class."""
    classes: int = Field(default=9, ge=1, le=10_000)
    """How many wrong classes it goes for, the likeliest first; fewer where there are fewer."""

    @model_validator(mode="after")
    def _any_wrong_class_will_do(self) -> Self:
        if self.goal != "untargeted":
            raise ValueError(f"goes for one wrong class after the other, not for `goal: {self.goal}`: leave `goal` out")
        return self


class APGDT(ClassByClass):
    """Auto-PGD up the targeted difference of logits ratio (Croce and Hein 2020, Eq. 6), class by class."""

    attack: Literal["apgd-t"] = "apgd-t"
    """Which attack it is."""


class FABT(ClassByClass):
    """FAB (Croce and Hein 2020), class by class: the nearest point on the other side of the boundary."""

    attack: Literal["fab-t"] = "fab-t"
    """Which attack it is."""


class Square(ImageAttack):
    """The Square attack (Andriushchenko et al. 2020): random squares, no gradients, only queries."""

    attack: Literal["square"] = "square"
    """Which attack it is."""
    queries: int = Field(default=500, ge=1, le=1_000_000)
    """How many times it may ask the subject per image."""
    share: float = Field(default=0.3, gt=0, le=1)
    """The share of the image that the first squares cover."""


class GAP(ImageAttack):
    """Generative adversarial perturbations (Xu et al., Eq. 4): a U-Net trained on the training split makes them."""

    attack: Literal["gap"] = "gap"
    """Which attack it is."""
    epochs: int = Field(default=10, ge=1, le=10_000)
    """How often the generator sees every training sample."""
    batch_size: int = Field(default=64, ge=1, le=4096)
    """Samples per step of the generator's training."""
    learning_rate: float = Field(default=2e-4, gt=0, le=1)
    """The step size of Adam."""
    loss: Literal["true-label", "least-likely"] = "true-label"
    """What the generator minimises: the mean log probability of the true label (Eq. 4), or the least-likely loss."""
    width: int = Field(default=64, ge=4, le=256)
    """The channels of the generator's first layer."""


def _paper(levels: int, steps: int) -> PGD:
    return PGD(name=f"xu-pgd-{levels}", eps=(levels / 255,), steps=steps, step_size=1 / 255, last=True)


PRESETS: dict[str, ImageAttack] = {
    **{f"xu-pgd-{levels}": _paper(levels, steps) for levels, steps in ((2, 1), (4, 4), (5, 40), (10, 60))},
    **{f"xu-gap-{levels}": GAP(name=f"xu-gap-{levels}", eps=(levels / 255,)) for levels in (7, 11, 13)},
}
"""The attacks of Xu et al. by name, called after their ε in levels of 255 (section 5.1): PGD with t = 1, 4, 40 and 60
steps of 1/255 (components 1 to 4; component 4 is component 1's second), of which the last image counts, and GAP at the
three norms."""

BUNDLES: dict[str, tuple[ImageAttack, ...]] = {
    "autoattack": (
        APGD(name="apgd-ce", steps=100, only_accuracy=True),
        APGDT(steps=100, only_accuracy=True),
        FABT(steps=100, only_accuracy=True),
        Square(queries=5000, share=0.8, only_accuracy=True),
    )
}
"""Several attacks by one name: the standard ensemble of AutoAttack (Croce and Hein 2020, section 6), whose robust
accuracy is that of the worst case over the four."""

AnyImageAttack = ImageAttack
"""Any attack on images."""
