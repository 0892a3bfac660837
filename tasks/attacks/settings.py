"""The options of attacks on images: those that all have, each an immutable settings object, how ε is written in every
norm, and those of the attack that is trained."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from assay.infra.settings import EachOnce, Settings
from assay.tasks.statistics.findings import Slice, slice_of
from assay.tasks.subjects.settings import as_number, as_tuple
from assay.tasks.subjects.settings import eps_name as eps_in_pixels

Goal = Literal["untargeted", "targeted", "least-likely"]
Norm = Literal["linf", "l2", "l0", "patch"]
COUNTED = ("l0", "patch")
"""The norms in which pixels are counted: one that is changed may become anything."""


def as_radius(value: object, norm: object) -> object:
    """An ε in its norm as a number: a share of [0, 1] or of the picture, a length in L2, a number of pixels in L0."""
    if norm == "linf":
        return as_number(value)
    try:
        number = Fraction(str(value).replace(" ", ""))
        radius = float(number)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"{value!r} is no number such as 0.5 or 128/255") from error
    if norm == "patch" and radius > 1:
        raise ValueError(f"of a patch, ε is the share of the picture that it covers, such as 0.05, and {value} is none")
    if norm == "l0" and number.denominator != 1:
        raise ValueError(f"in l0, ε is how many pixels may change, such as 20, and {value} is no whole number")
    return radius


Radius = Annotated[
    float,  # of a norm that was refused, any number will do
    BeforeValidator(lambda value, info: as_radius(value, info.data.get("norm"))),
    Field(ge=0),
]
RadiusGrid = Annotated[tuple[Radius, ...], BeforeValidator(as_tuple), Field(min_length=1), EachOnce]
IN_NORM = {"eps": "", "l2": " in L2", "l0": " in L0", "patch": " of the picture"}
"""What groups write before an ε, and how a sentence goes on behind it."""


def eps_name(eps: float, norm: str = "linf") -> str:
    """How an ε is written in findings and gates; one that is no bound on each pixel by its norm.

    >>> eps_name(4 / 255), eps_name(128 / 255, "l2")
    ('eps=4/255', 'l2=128/255')
    """
    plain = eps_in_pixels(eps)
    return plain if norm == "linf" else f"{norm}={plain.removeprefix('eps=')}"


@cache
def norm_and_slice(group: str) -> tuple[str, Slice]:
    """The norm of the ε in a group, and the group in fields; without an ε no norm.

    >>> norm, fields = norm_and_slice("l2=0.5, melanoma")
    >>> norm, fields.eps, fields.eps_text, fields.name, norm_and_slice("eps=0.1")[0]
    ('l2', 0.5, '0.5 in L2', 'melanoma', 'linf')
    """
    key, _, rest = group.partition("=")
    if key not in IN_NORM:
        return "", slice_of(group)
    fields = slice_of(f"eps={rest}")
    return "linf" if key == "eps" else key, replace(fields, eps_text=fields.eps_text + IN_NORM[key])


def step_size_for(eps: float, steps: int, given: float | None) -> float:
    """α: what is given, else max(1/255, 2.5·ε/steps).

    >>> step_size_for(0.1, 20, None), step_size_for(0.001, 20, None) == 1 / 255
    (0.0125, True)
    """
    return given if given is not None else max(1 / 255, 2.5 * eps / steps)


class NamedAttack(Settings):
    """An attack that may be given a name."""

    name: str | None = Field(default=None, min_length=1, max_length=80)
    """What findings call it; left out, the kind of attack."""

    @property
    def called(self) -> str:
        """What findings call it."""
        return self.name or str(getattr(self, "attack", "attack"))


class ImageAttack(NamedAttack):
    """What every image attack has."""

    norms: ClassVar[tuple[Norm, ...]] = ("linf",)
    """Those that it can be asked for in."""

    norm: Norm = Field(default="linf", exclude_if=lambda norm: norm == "linf")
    """What ε bounds: how far any pixel moves (`linf`), the length of the change (`l2`), how many pixels change (`l0`),
    or the share that a square covers (`patch`)."""

    eps: RadiusGrid = (4 / 255,)
    """How far any pixel may move, of [0, 1], or what else `norm` bounds; several give a curve."""

    goal: Goal = "untargeted"
    """Any wrong class, `target`, or the class the subject finds least likely."""

    target: int | None = Field(default=None, ge=0)
    """The code of the class of a targeted attack."""

    keep: int = Field(default=4, ge=0)
    """Adversarial images kept for the report, per class and ε."""

    keep_all: bool = False
    """Whether every adversarial image is kept."""

    transfer: bool = False
    """Whether its images are shown to the other subjects as well."""

    only_accuracy: bool = False
    """Whether a sample that is wrong is attacked no further: the same robust accuracy in a fraction of the time, but
    AUC, fooling rate and pictures show where each attack stopped. Not for several labels per image."""

    def for_attacking(self, keep_all: bool = False) -> Self:
        """As it enters a stage that attacks: what happens to the images afterwards changes nothing about them."""
        return self.model_copy(update={"transfer": False, "keep_all": self.keep_all or keep_all})

    def for_transfer(self) -> Self:
        """As it enters a stage that keeps no images."""
        return self.model_copy(update={"transfer": False, "keep": 0, "keep_all": False})

    def for_training(self, eps: float) -> Self:
        """As it enters the training of the generator for one ε: nothing but what that generator depends on."""
        return self.for_transfer().model_copy(update={"name": None, "eps": (eps,), "only_accuracy": False})

    @model_validator(mode="after")
    def _norm_is_known_and_has_an_eps(self) -> Self:
        if self.norm not in self.norms:
            raise ValueError(f"`norm: {self.norm}` is none of its norms ({', '.join(self.norms)})")
        if self.norm != self.norms[0] and "eps" not in self.model_fields_set:
            raise ValueError(f"`norm: {self.norm}` needs an `eps` of its own, such as 0.5: it is no bound on a pixel")
        return self

    @model_validator(mode="after")
    def _target_fits_the_goal(self) -> Self:
        if self.target is not None and self.goal != "targeted":
            raise ValueError(f"`target: {self.target}` is aimed at only with `goal: targeted`, not `{self.goal}`")
        if self.only_accuracy and self.keep_all:
            raise ValueError("`only_accuracy` stops early, so there is no point in `keep_all`: leave one of them out")
        return self


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

    @field_validator("goal")
    @classmethod
    def _aims_at_no_class(cls, goal: Goal) -> Goal:
        if goal == "targeted":
            raise ValueError("a generator aims at no class: leave goal out, or use another attack")
        return goal
