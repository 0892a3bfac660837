"""Options of the defences of images and of texts, and of randomised smoothing.

A defence is an immutable settings object; every ε is in pixel values of [0, 1].
"""

from __future__ import annotations

from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from assay.infra.settings import EachOnce, Settings
from assay.tasks.statistics.metrics import control_of
from assay.tasks.subjects.settings import Eps, EpsGrid, Training, as_tuple, eps_name

Start = Literal["subject", "scratch"]
Starts = Annotated[tuple[Start, ...], BeforeValidator(as_tuple), Field(min_length=1), EachOnce]
Stop = Literal["last", "best"]
Stops = Annotated[tuple[Stop, ...], BeforeValidator(as_tuple), Field(min_length=1), EachOnce]
Weight = Annotated[float, Field(ge=0, le=1000)]
Weights = Annotated[tuple[Weight, ...], BeforeValidator(as_tuple), Field(min_length=1), EachOnce]


class Defence(Settings):
    """What every defence has. Of several values (`eps: [0.05, 0.1]`) each makes a model of its own."""

    model_config = ConfigDict(populate_by_name=True)

    name: str | None = Field(default=None, min_length=1, max_length=60)
    """What findings call it (the model is `subject+name`); left out, the kind of defence."""

    eps: EpsGrid | None = None
    """The ε to defend against; left out, the largest that all attacks try."""

    start: Starts = ("subject",)
    """Where training starts: at the `subject`'s weights, or from `scratch` (Algorithms 1 and 2)."""

    step_size: Eps | None = None
    """A step of the attack inside the training; left out, max(1/255, 2.5·ε/steps)."""

    warmup: int = Field(default=0, ge=0, le=10_000)
    """Over how many epochs the attack grows to its full ε; from `scratch`, without it, a network may settle on one
    answer."""

    stop: Stops = Field(default=("last",), exclude_if=lambda stop: stop == ("last",))
    """Which epoch's weights count: the `last`, or the `best`, at which most of the held-out training samples withstand
    PGD with 10 steps; both show robust overfitting."""

    awp: float | None = Field(default=None, gt=0, le=1, exclude_if=lambda awp: awp is None)
    """Adversarial weight perturbation (Wu et al. 2020): how far weights are moved, as a share of their length, to where
    the batch is known worst, before each step is taken; the authors take 0.005. Left out, weights are not attacked."""

    train: Training | None = None
    """How it is trained; left out, as the subject was (one that came with weights: by the defaults)."""

    @property
    def called(self) -> str:
        """What findings call it."""
        return self.name or str(getattr(self, "defense", "defence"))

    def variants(self, audited: float) -> tuple[Self, ...]:
        """The defence once for every combination of its values, each with a name of its own.

        >>> [one.called for one in Standard(eps=(0.05, 0.1)).variants(0.1)]
        ['standard-eps=0.05', 'standard-eps=0.1']
        """
        grids = {"eps": self.eps or (audited,), "start": self.start, "stop": self.stop, **self._grids()}
        several = [name for name, values in grids.items() if len(values) > 1]
        variants = []
        for values in product(*grids.values()):
            chosen: dict[str, Any] = dict(zip(grids, values, strict=True))
            name = "-".join([self.called, *(_name_part(option, chosen[option]) for option in several)])
            single = {option: (value,) for option, value in chosen.items()}
            variants.append(self.model_copy(update={"name": name} | single))
        return tuple(variants)

    def _grids(self) -> dict[str, tuple[Any, ...]]:
        """Further options that may have several values."""
        return {}

    def reach(self, epoch: int) -> float:
        """The share of ε that the attack inside the training has in an epoch, counted from 0.

        >>> [Standard(warmup=4).reach(epoch) for epoch in (0, 1, 4, 9)], Standard().reach(0)
        ([0.0, 0.25, 1.0, 1.0], 1.0)
        """
        return min(1.0, epoch / self.warmup) if self.warmup else 1.0

    @property
    def budget(self) -> float:
        """The ε of a variant: the only one it has."""
        return (self.eps or (0.0,))[0]

    @model_validator(mode="after")
    def _defends_against_something(self) -> Self:
        if self.eps is not None and 0 in self.eps:
            raise ValueError("an ε of 0 is no attack to defend against: leave it out")
        return self


class Standard(Defence):
    """Adversarial training (Madry et al. 2017; Xu et al., Eq. 6): every batch is attacked by PGD with one ε."""

    defense: Literal["standard"] = "standard"
    """Which defence it is."""
    steps: int = Field(default=5, ge=1, le=1000)
    """How many steps the attack inside the training takes."""


class MPAdvT(Defence):
    """Multi-Perturbations Adversarial Training (Xu et al., Algorithm 1): about half of the batches are attacked, each
    with an ε and a number of steps drawn anew."""

    defense: Literal["mpadvt"] = "mpadvt"
    """Which defence it is."""
    scale: tuple[Annotated[float, Field(ge=0, le=10)], Annotated[float, Field(gt=0, le=10)]] = (0.5, 2.0)
    """The range of the drawn ε in multiples of `eps`."""
    range: tuple[Eps, Eps] | None = None
    """The range of the drawn ε itself, in place of `scale`; the paper's is [0.01, 0.04]."""
    steps: tuple[Annotated[int, Field(ge=1, le=1000)], Annotated[int, Field(ge=1, le=1000)]] = (1, 5)
    """The smallest and the largest number of steps that a batch may draw."""
    attacked: float = Field(default=0.5, gt=0, le=1)
    """The share of batches that are attacked; the others stay clean."""

    def bounds(self) -> tuple[float, float]:
        """Between what ε are drawn, within [0, 1].

        >>> MPAdvT(eps=0.1).bounds()
        (0.05, 0.2)
        """
        low, high = self.range or (self.scale[0] * self.budget, self.scale[1] * self.budget)
        return min(low, 1.0), min(high, 1.0)

    @model_validator(mode="after")
    def _ranges_rise(self) -> Self:
        for name in ("scale", "range", "steps"):
            given = getattr(self, name)
            if given is not None and given[0] > given[1]:
                raise ValueError(f"`{name}` goes from {given[0]:g} down to {given[1]:g}: write the smaller one first")
        if self.range is not None and self.range[1] == 0:
            raise ValueError("`range` ends at 0, which is no attack to defend against")
        return self


class MisclassificationAware(Defence):
    """What MAAdvT and MART have; for one class per image."""

    steps: int = Field(default=5, ge=1, le=1000)
    """How many steps the attack inside the training takes."""
    lambda_: Weights = Field(default=(6.0,), alias="lambda")
    """λ of Eq. 10: how much the answers to an image and its attacked self are held together, most for images not known
    yet."""

    @property
    def weight(self) -> float:
        """The λ of a variant: the only one it has."""
        return self.lambda_[0]

    def _grids(self) -> dict[str, tuple[Any, ...]]:
        return {"lambda_": self.lambda_}


class MAAdvT(MisclassificationAware):
    """Misclassification-Aware Adversarial Training (Xu et al., Algorithm 2 and Eq. 7-10)."""

    defense: Literal["maadvt"] = "maadvt"
    """Which defence it is."""


class MART(MisclassificationAware):
    """Misclassification-Aware adveRsarial Training (Wang et al. 2020): MAAdvT, and the strongest wrong class is
    pushed down as well."""

    defense: Literal["mart"] = "mart"
    """Which defence it is."""
    lambda_: Weights = Field(default=(5.0,), alias="lambda")
    """λ, as of `maadvt`."""


class TRADES(Defence):
    """Accuracy on clean images, and answers that stay what they are around them (Zhang et al. 2019); for one
    class per image."""

    defense: Literal["trades"] = "trades"
    """Which defence it is."""
    steps: int = Field(default=5, ge=1, le=1000)
    """Steps of the attack inside the training, which drives the answer away from that to the clean image."""
    beta: Weights = (6.0,)
    """β, 1/λ in the paper: how much the answers to an image and its attacked self are held together."""

    def _grids(self) -> dict[str, tuple[Any, ...]]:
        return {"beta": self.beta}


def _name_part(option: str, value: Any) -> str:
    if option == "eps":
        return eps_name(value)
    return value if isinstance(value, str) else f"{option.rstrip('_')}={value:g}"


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
    """Whether one more model learns from unchanged copies of the same samples, with as many steps and the same seed:
    what attacked copies gain over it is due to the attack."""

    @property
    def called(self) -> str:
        """What findings call it."""
        return self.name or f"on-{self.attack}"

    @property
    def control_called(self) -> str:
        """What findings call its control."""
        return control_of(self.called)


class Smoothing(Settings):
    """How far image subjects can be certified in L2, by randomised smoothing; `{}` takes every default.

    Certified accuracy (Cohen et al. 2019) is a bound in L2 that no attack can break.
    """

    sigma: float = Field(default=0.25, gt=0, le=2)
    """The standard deviation of the Gaussian noise, in pixel values of [0, 1]."""

    train: bool = True
    """Whether a subject that Assay trained is trained anew under this noise, or certified as it is."""

    defended: bool = False
    """Whether defended models are certified, as they are."""

    selection: int = Field(default=100, ge=1, le=100_000)
    """Noisy copies from which the class is guessed (n0 of Algorithm CERTIFY)."""

    draws: int = Field(default=1000, ge=10, le=10_000_000)
    """Noisy copies from which the probability of that class is bounded (n)."""

    alpha: float = Field(default=0.001, gt=0, lt=0.5)
    """How likely a certificate may be wrong, per sample."""

    limit: int = Field(default=100, ge=1)
    """At most so many audited samples are certified, evenly over the classes."""

    radii: tuple[float, ...] = Field(default=(0.0, 0.25, 0.5), min_length=1)
    """The L2 radii at which certified accuracy is reported."""

    def for_certifying(self) -> Self:
        """As it enters the stages that certify: which subjects are certified changes nothing about any of them."""
        return self.model_copy(update={"defended": False, "train": True})
