"""Options of randomised smoothing: the noise, how often it is drawn, how many samples are certified."""

from typing import Self

from pydantic import Field

from assay.infra.settings import Settings


class Smoothing(Settings):
    """Certified accuracy by randomised smoothing (Cohen et al. 2019): a bound in L2 that no attack can break."""

    sigma: float = Field(default=0.25, gt=0, le=2)
    """The standard deviation of the Gaussian noise, in pixel values of [0, 1]."""

    train: bool = True
    """Whether each subject that Assay trained is trained anew under this noise; without, it is certified as it is."""

    defended: bool = False
    """Whether the models that `defenses` trained are certified as well, as they are."""

    selection: int = Field(default=100, ge=1, le=100_000)
    """Noisy copies from which the class is guessed (n0 of Algorithm CERTIFY)."""

    draws: int = Field(default=1000, ge=10, le=10_000_000)
    """Noisy copies from which the probability of that class is bounded (n)."""

    alpha: float = Field(default=0.001, gt=0, lt=0.5)
    """How likely a certificate may be wrong, per sample."""

    limit: int = Field(default=100, ge=1)
    """At most so many audited samples are certified, evenly over the classes."""

    radii: tuple[float, ...] = Field(default=(0.0, 0.25, 0.5), min_length=1)
    """The L2 radii, over all pixel values of an image, at which the certified accuracy is reported."""

    def for_certifying(self) -> Self:
        """As it enters the stages that certify: which subjects are certified changes nothing about any of them."""
        return self.model_copy(update={"defended": False, "train": True})
