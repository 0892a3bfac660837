"""Randomised smoothing (Cohen, Rosenfeld and Kolter 2019): a class that no perturbation within a radius can change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from assay.tasks.subjects.images.model import ImageModel

ABSTAINS = -1


@dataclass(frozen=True)
class Certificate:
    """The class that the smoothed subject gives, or −1, and the L2 radius within which it gives no other.

    `lower` bounds the probability of the class under noise from below, from `hits` of so many `draws`.
    """

    predicted: int
    radius: float
    lower: float
    hits: int
    draws: int

    @property
    def abstains(self) -> bool:
        """Whether nothing could be certified."""
        return self.predicted == ABSTAINS


def certify(
    model: ImageModel, image: Tensor, sigma: float, n0: int, n: int, alpha: float, generator: np.random.Generator
) -> Certificate:
    """CERTIFY of Cohen et al. for one image [c, h, w]: wrong with probability `alpha` at most.

    The class is guessed from `n0` noisy copies; of `n` others, its share bounds p_A from below (Clopper-Pearson). Where
    that is above a half, the smoothed subject gives this class within the radius σ·Φ⁻¹(p_A); else it abstains.
    """
    guess = int(sample_under_noise(model, image, sigma, n0, generator).argmax())
    hits = int(sample_under_noise(model, image, sigma, n, generator)[guess])
    lower = lower_bound(hits, n, alpha)
    if lower <= 0.5:
        return Certificate(ABSTAINS, 0.0, lower, hits, n)
    return Certificate(guess, radius_of(lower, sigma), lower, hits, n)


def sample_under_noise(
    model: ImageModel, image: Tensor, sigma: float, n: int, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """How often each class is said of `n` copies of an image under N(0, σ²) noise [k]; in blocks of one fixed size.

    Noisy pixels are not clipped to [0, 1]: the proof needs the noise as it is.
    """
    counts = np.zeros(model.classes, np.int64)
    with torch.inference_mode():
        for start in range(0, n, model.block):
            noise = generator.standard_normal((model.block, *image.shape), dtype=np.float32)
            noisy = image + sigma * torch.from_numpy(noise).to(image.device)
            predicted = model.logits(noisy)[: n - start].argmax(dim=1).cpu().numpy()
            counts += np.bincount(predicted, minlength=model.classes)
    return counts


def lower_bound(hits: int, n: int, alpha: float) -> float:
    """The one-sided lower end of Clopper and Pearson's interval of hits/n at confidence 1 − α.

    >>> round(lower_bound(999, 1000, 0.001), 5), lower_bound(0, 10, 0.001)
    (0.9908, 0.0)
    """
    from scipy.stats import beta

    return 0.0 if hits == 0 else float(beta.ppf(alpha, hits, n - hits + 1))


def radius_of(lower: float, sigma: float) -> float:
    """σ·Φ⁻¹(p_A), Theorem 1 with p_B = 1 − p_A.

    >>> round(radius_of(0.9908, 0.25), 3)
    0.589
    """
    from scipy.stats import norm

    return float(sigma * norm.ppf(lower))
