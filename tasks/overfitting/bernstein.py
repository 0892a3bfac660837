"""How surprising a mean of bounded values is, by two inequalities that hold for any number of samples.

Both say: with probability 1 − δ the mean lies within a bound B of its expectation. Solved for δ, they give a p-value.
Expectation zero is what independence of model and test set implies for the values of `testing.py`.
"""

from __future__ import annotations

from math import ceil, inf, log, sqrt

NINE_TENTHS = 1.2816
"""What a normal variable exceeds, above zero, once in ten times: of the standard errors that make power 90 %."""


def bernstein_bound(n: int, sigma: float, span: float, delta: float) -> float:
    """B(m, σ², δ, U), how far the mean may lie off with probability 1 − δ (Eq. 4, after Mnih et al., 2008).

    `sigma` divides by n, not n − 1; `span` is U, the difference between the largest and the smallest possible value.

    >>> round(bernstein_bound(2000, 0.15, 1.5, 0.05), 4)
    0.0188
    """
    x = log(3 / delta)
    return sqrt(2 * sigma**2 * x / n) + 3 * span * x / n


def bernstein_log_p(n: int, mean: float, sigma: float, span: float) -> float:
    """The logarithm of the p-value of a mean (Eq. 7), two-sided: never above 0, and finite where p is below 1e-308.

    >>> from math import exp
    >>> round(exp(bernstein_log_p(1000, 0.05, 0.2, 2)), 7)
    0.0202138
    """
    return min(0.0, log(3) - n * _root(sqrt(2) * sigma, 3 * span, abs(mean)) ** 2)


def basic_log_p(n: int, gap: float, sigmas: float, span: float = 1.0) -> float:
    """The logarithm of the p-value of the basic test (section 3.1): two intervals that only just do not overlap.

    `gap` lies between the two estimates, `sigmas` is the sum of their standard deviations; each value is in [0, span].
    """
    return min(0.0, log(6) - n * _root(sqrt(2) * sigmas, 6 * span, abs(gap)) ** 2)


def maurer_pontil_bound(n: int, sigma: float, span: float, delta: float) -> float:
    """How far the mean may lie above its expectation with probability 1 − δ (Maurer and Pontil, 2009, Theorem 4)."""
    if n < 2:
        return inf
    x = log(2 / delta)
    return sqrt(2 * _unbiased(n, sigma) * x / n) + 7 * span * x / (3 * (n - 1))


def maurer_pontil_log_p(n: int, mean: float, sigma: float, span: float) -> float:
    """The logarithm of the one-sided p-value of a mean above zero, after Maurer and Pontil; 0 for a mean below zero."""
    if mean <= 0 or n < 2:
        return 0.0
    steepness = 7 * span * n / (3 * (n - 1))
    return min(0.0, log(2) - n * _root(sqrt(2 * _unbiased(n, sigma)), steepness, mean) ** 2)


def samples_needed(sigma: float, span: float, gap: float, delta: float) -> int:
    """How many samples show a true gap of that size nine times out of ten.

    The observed gap varies by σ/√n around the true one, so `bernstein_bound` must lie below it by 1.28 of these: were
    it only brought down to `gap`, such a gap would be seen half of the time.

    >>> samples_needed(0.15, 1.5, 0.0188, 0.05)
    2697
    """
    x = log(3 / delta)
    return ceil(_root(sigma * (sqrt(2 * x) + NINE_TENTHS), 3 * span * x, gap) ** -2)


def _root(linear: float, square: float, gap: float) -> float:
    """The s ≥ 0 with square·s² + linear·s = gap, without the cancellation of the school formula."""
    if gap == 0:
        return 0.0
    return 2 * gap / (linear + sqrt(linear**2 + 4 * square * gap))


def _unbiased(n: int, sigma: float) -> float:
    return sigma**2 * n / (n - 1)
