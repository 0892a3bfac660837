"""Options of the overfitting test."""

from __future__ import annotations

from math import inf
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from assay.infra.settings import EachOnce, Settings

Generator = Literal["strongest", "nearest", "random", "random2"]
Bound = Literal["paper", "maurer-pontil", "betting"]
Distances = Annotated[tuple[float, ...], Field(min_length=1), EachOnce]


class Dishonest(Settings):
    """A copy of each subject, fitted to the very crops it is then tested on."""

    epochs: int = Field(default=10, ge=1, le=1000)
    """How often the copy sees every test sample's centred window."""

    learning_rate: float = Field(default=1e-3, gt=0, le=10)
    """The highest step size (Adam, up and down once)."""

    batch_size: int = Field(default=64, ge=1, le=65_536)
    """Samples per step."""


class Translations(Settings):
    """The paper's test for images: the window that a subject sees (its `crop`) is shifted, and nothing is padded."""

    eps: int = Field(default=2, ge=1, le=16)
    """How many pixels the window may move each way; images need a margin of three times as many."""

    generators: Annotated[tuple[Generator, ...], Field(min_length=1), EachOnce] = ("strongest",)
    """How the shift is chosen. More than one is corrected for (Holm)."""

    retrain: int = Field(default=1, ge=1, le=1000)
    """How many seeds each subject is trained with, for the N-model test."""

    fresh: str | None = Field(default=None, min_length=1)
    """The part with samples that nobody ever measured a subject on: the negative control."""

    training: bool = True
    """Whether it is also tested on its training samples: a positive control."""

    dishonest: Dishonest | None = None
    """Whether a copy fitted to the test samples must be found: a positive control."""


class Orbit(Settings):
    """The exact test for closed symmetries: samples that come in several forms which mean the same."""

    orbit: str = Field(min_length=1)
    """The column that names the sample that a form is of."""

    original: str = Field(min_length=1)
    """The column that says which form stands in the test set (true or false)."""


class Synthetic(Settings):
    """The experiment of section 4: a linear classifier in 500 dimensions, independent of its test set or not."""

    eps: Distances = (0.1, 1.0, 5.0, 10.0, 20.0, 30.0, 50.0, 75.0, 100.0, 200.0)
    """How far an adversarial point lies from the original."""

    runs: int = Field(default=100, ge=1, le=10_000)
    """How often data are drawn and a classifier is trained."""

    models: Annotated[tuple[int, ...], Field(min_length=1), EachOnce] = (1, 2, 10, 25, 100)
    """Over how many classifiers the N-model test goes; each must divide `runs`."""

    steps: int = Field(default=50_000, ge=1, le=10_000_000)
    """How many steps of RMSProp a training takes."""

    fixed_test_set: bool = False
    """Whether all classifiers are tested on one test set, or each on its own as in the paper."""

    @model_validator(mode="after")
    def _bins_are_whole(self) -> Self:
        if wrong := [eps for eps in self.eps if not 0 < eps < inf]:
            raise ValueError(f"each eps is a distance above zero, and {wrong[0]:g} is none")
        if uneven := [models for models in self.models if models < 1 or self.runs % models]:
            raise ValueError(f"{self.runs} runs cannot be cut into bins of {uneven[0]}; name divisors of {self.runs}")
        return self


class Overfitting(Settings):
    """Whether the subject was fitted to the samples it is measured on.

    At least one test is made.
    """

    translations: Translations | None = None
    """Shifted windows, for image subjects."""

    orbit: Orbit | None = None
    """The exact test for closed symmetries."""

    synthetic: Synthetic | None = None
    """The paper's synthetic experiment; it draws its own data."""

    bound: Bound = "paper"
    """Which inequality gives p: the paper's (empirical Bernstein), Maurer and Pontil's, or an e-value by betting. The
    synthetic experiment always takes the paper's."""

    alpha: float = Field(default=0.05, gt=0, lt=1)
    """The level, for one test set and all nights together: night t may spend alpha / (t (t + 1))."""

    gap: float = Field(default=0.05, gt=0, lt=1)
    """The smallest gap worth finding; where none of this size could show, the test is underpowered."""

    @model_validator(mode="after")
    def _something_is_tested(self) -> Self:
        if self.translations is None and self.orbit is None and self.synthetic is None:
            raise ValueError("name a test: `translations` (images), `orbit` (closed symmetries) or `synthetic`")
        if self.bound != "paper" and self.translations is None and self.orbit is None:
            raise ValueError(f"`synthetic` is tested by the paper's inequality, so `bound: {self.bound}` does nothing")
        return self
