"""Are a model and its test set independent? The pairwise, the basic and the N-model test (section 3).

All of them look at T_i = L(f, g(X_i)) h(g(X_i)) − L(f, X_i): the weighted error on the adversarial version of a sample
less the error on the sample. Under independence its expectation is zero. A mean well above zero is what a model shows
that was fitted to the samples and not to their neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from assay.infra.errors import InputError
from assay.tasks.overfitting.bernstein import (
    basic_log_p,
    bernstein_bound,
    bernstein_log_p,
    maurer_pontil_bound,
    maurer_pontil_log_p,
)
from assay.tasks.overfitting.betting import betting_gap, betting_log_e
from assay.tasks.overfitting.settings import Bound

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Tested:
    """What a test of independence found, and how small a gap it could have found."""

    __test__: ClassVar[bool] = False  # no test of pytest's, whatever it is called

    n: int
    """Samples."""
    mean: float
    """T̄, the adversarial estimate of the error less the error on the test set; only above zero is it overfitting."""
    sigma: float
    """Standard deviation of the T_i (dividing by n)."""
    span: float
    """U, the largest possible T_i less the smallest."""
    log_p: float
    """Logarithm of the p-value."""
    minimum_gap: float
    """The smallest mean that would have been significant, with this n and this spread."""
    reach: float
    """The largest mean that the adversarial examples found could have given: the mean of the T_i above zero."""

    @property
    def p(self) -> float:
        """The p-value."""
        return exp(self.log_p)


def pairwise_test(
    values: Values, span: float, bound: Bound = "paper", alpha: float = 0.05, lowest: float = -1.0
) -> Tested:
    """The test on the differences T_i, one per sample (section 3.2).

    `span` is 2 in general, and 3/2 for a deterministic generator that preserves the density. No value is below
    `lowest`. `alpha` only says at which level the smallest gap is given. `paper` is two-sided, the other two bounds
    look for a mean above zero only.

    >>> tested = pairwise_test(np.repeat([0.5, 0.0], [300, 700]), span=1.5)
    >>> tested.mean, tested.p < 1e-9, tested.minimum_gap < tested.mean
    (0.15, True, True)
    """
    if len(values) == 0:
        raise InputError("There is no sample to test: the test set is empty.")
    n, mean, sigma = len(values), float(values.mean()), float(values.std())
    reach = float(np.maximum(values, 0).mean())
    if bound == "maurer-pontil":
        log_p, gap = maurer_pontil_log_p(n, mean, sigma, span), maurer_pontil_bound(n, sigma, span, alpha)
    elif bound == "betting":
        log_p, gap = min(0.0, -betting_log_e(values, lowest)), betting_gap(values, alpha, lowest)
    else:
        log_p, gap = bernstein_log_p(n, mean, sigma, span), bernstein_bound(n, sigma, span, alpha)
    return Tested(n, mean, sigma, span, log_p, gap, reach)


def n_model_test(
    values: npt.NDArray[np.float64], span: float, bound: Bound = "paper", alpha: float = 0.05, lowest: float = -1.0
) -> Tested:
    """The test of an architecture and its training (section 3.3): T of N models on one test set, [N, n], averaged.

    It asks whether the models are fitted to the test set all in the same way; what only one seed did is averaged out.
    """
    return pairwise_test(values.mean(axis=0), span, bound, alpha, lowest)


def basic_p(errors: Values, weighted: Values) -> float:
    """The p-value of the basic test (section 3.1): the intervals of both estimates do not overlap.

    `errors` are L(f, X_i), `weighted` are L(f, g(X_i)) h(g(X_i)). It sees less than the pairwise test and is there for
    comparison.
    """
    gap = float(weighted.mean() - errors.mean())
    return exp(basic_log_p(len(errors), gap, float(errors.std() + weighted.std())))
