"""Are a model and its test set independent? The pairwise, the basic and the N-model test (section 3), with the
inequalities that give p, and their records; and the test for closed symmetries, without any inequality.

All of them look at T_i = L(f, g(X_i)) h(g(X_i)) − L(f, X_i): the weighted error on the adversarial version of a
sample less the error on the sample. Under independence its expectation is zero. A mean well above zero is what a
model shows that was fitted to the samples and not to their neighbours. Two inequalities say that with probability 1 −
δ the mean lies within a bound B of its expectation, for any number of samples; solved for δ, they give a p-value. The
third way is an e-value: what a gambler who bets against independence would have won.

Where samples come in |O| forms which mean the same and are equally likely, and a benchmark chose the form of each by
lot, under independence the form that stands in the test set is misclassified with probability |E| / |O|, E being the
misclassified forms. A model fitted to the test set errs less often on just those forms. No margin, no density estimate
and no assumption on the data beyond the lot.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import ceil, exp, inf, isfinite, log, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import IndependenceTests
from assay.infra.errors import InputError
from assay.tasks.overfitting.settings import Bound

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
    return 0.0 if gap == 0 else 2 * gap / (linear + sqrt(linear**2 + 4 * square * gap))


def _unbiased(n: int, sigma: float) -> float:
    return sigma**2 * n / (n - 1)


STAKES = np.geomspace(1e-3, 0.9, 40)
"""The shares of the fortune that are staked, one gambler each; their average fortune is the e-value."""


def betting_log_e(values: npt.NDArray[np.float64], lowest: float = -1.0) -> float:
    """The logarithm of the e-value, the mean over stakes λ of Π (1 + λ T_i) (after Waudby-Smith and Ramdas, 2024).

    No value may be below `lowest`. If their expectation is zero or less, the e-value exceeds 1/α with probability α at
    most (Markov), so 1/e is a p-value. A fixed mixture of stakes, so the order of the samples does not matter.

    >>> abs(betting_log_e(np.zeros(10))) < 1e-12, betting_log_e(np.repeat([0.5, 0.0], [30, 70])) > 3
    (True, True)
    """
    fortunes = np.array([float(np.log1p(stake / -lowest * values).sum()) for stake in STAKES])
    return float(np.logaddexp.reduce(fortunes) - np.log(len(STAKES)))


def betting_gap(values: npt.NDArray[np.float64], alpha: float, lowest: float = -1.0) -> float:
    """The smallest mean at which values spread like these would give an e-value of 1/α: they are shifted until so."""
    spread, low, high = values - values.mean(), 0.0, -lowest
    for _ in range(40):
        middle = (low + high) / 2
        shifted = np.maximum(spread + middle, lowest)
        low, high = (low, middle) if betting_log_e(shifted, lowest) >= -np.log(alpha) else (middle, high)
    return float(high)


Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Tested:
    """What a test of independence found, and how small a gap it could have found."""

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

    @property
    def finite_gap(self) -> float | None:
        """The smallest significant mean; None where no mean would have been."""
        return self.minimum_gap if isfinite(self.minimum_gap) else None


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


def n_model_test(values: Values, span: float, bound: Bound = "paper", alpha: float = 0.05) -> Tested:
    """The test of an architecture and its training (section 3.3): T of N models on one test set, [N, n], averaged.

    It asks whether the models are fitted to the test set all in the same way; what only one seed did is averaged out.
    """
    return pairwise_test(values.mean(axis=0), span, bound, alpha)


def basic_p(errors: Values, weighted: Values) -> float:
    """The p-value of the basic test (section 3.1): the intervals of both estimates do not overlap.

    `errors` are L(f, X_i), `weighted` are L(f, g(X_i)) h(g(X_i)). It sees less than the pairwise test and is there for
    comparison.
    """
    gap, sigmas = float(weighted.mean() - errors.mean()), float(errors.std() + weighted.std())
    return exp(min(0.0, log(6) - len(errors) * _root(sqrt(2) * sigmas, 6.0, abs(gap)) ** 2))


Role = Literal["test", "training", "fresh", "dishonest"]


@dataclass(frozen=True)
class Record:
    """A test, what it was made on, and what lies behind it; the columns of `IndependenceTests` say what each is."""

    subject: str
    generator: str
    tested: Tested
    error: float
    estimate: float
    test_set: str
    model: str
    role: Role = "test"
    models: int = 1
    bound: str = "paper"
    adversarial_error: float | None = None
    h_original: float | None = None
    h_adversarial: float | None = None
    moved: int | None = None
    basic_p: float | None = None
    chances: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Answers:
    """What a model answers to n samples and to their adversarial versions."""

    errors: npt.NDArray[np.bool_]
    """L(f, X_i)."""
    adversarial: npt.NDArray[np.bool_]
    """L(f, g(X_i)); misclassified samples stay where they are."""
    densities: Values
    """h(g(X_i)); what it is where g(X_i) is classified rightly does not matter."""

    @property
    def values(self) -> Values:
        """T_i = L(f, g(X_i)) h(g(X_i)) − L(f, X_i)."""
        return np.asarray(self.adversarial * self.densities - self.errors)


def fingerprint(values: Values) -> str:
    """What tells one model from another on the same samples: a hash of the T_i."""
    return hashlib.blake2b(np.ascontiguousarray(values, "<f8").tobytes(), digest_size=16).hexdigest()


def samples_fingerprint(ids: Sequence[str], gold: Sequence[int | None]) -> str:
    """What tells one test set from another, whatever the order: a hash of the ids and labels.

    >>> fingerprint = samples_fingerprint(["a", "b"], [0, 1])
    >>> fingerprint == samples_fingerprint(["b", "a"], [1, 0]), fingerprint == samples_fingerprint(["a", "b"], [1, 1])
    (True, False)
    """
    digest = hashlib.blake2b(digest_size=16)
    for line in sorted(zip(ids, gold, strict=True), key=lambda pair: pair[0]):
        digest.update(repr(line).encode())
    return digest.hexdigest()


def records_table(records: Sequence[Record]) -> pa.Table:
    """The records as the table that `IndependenceTests` declares."""
    rows = [{**asdict(record), **asdict(record.tested)} for record in records]
    columns = {name: [row[name] for row in rows] for name in IndependenceTests.schema.names}
    return pa.table(columns, schema=IndependenceTests.schema)


def records_from(table: pa.Table) -> list[Record]:
    """The records that a table holds."""
    tested = [field.name for field in fields(Tested)]
    others = [field.name for field in fields(Record) if field.name != "tested"]
    rows = [{**row, "chances": None if row["chances"] is None else tuple(row["chances"])} for row in table.to_pylist()]
    return [
        Record(tested=Tested(**{name: row[name] for name in tested}), **{name: row[name] for name in others})
        for row in rows
    ]


def mean_or_none(values: Values) -> float | None:
    """The mean; None of nothing."""
    return float(values.mean()) if len(values) else None


ORBIT = "orbit"
_TINY = 1e-300


@dataclass(frozen=True)
class Orbits:
    """One entry per orbit: its forms, how many of them are misclassified, and whether the test set's own form is."""

    sizes: npt.NDArray[np.int64]
    errors: npt.NDArray[np.int64]
    original: npt.NDArray[np.bool_]

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """|E| / |O|, the probability of an error on a form chosen by lot."""
        return self.errors / self.sizes

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """T_i = |E_i| / |O_i| − L_i: the generator moves to a misclassified form, any of them with equal chance."""
        return self.shares - self.original

    @property
    def lowest(self) -> float:
        """The smallest value that T_i can have, −(1 − 1/|O|)."""
        return -(1 - 1 / int(self.sizes.max()))


def gather(
    orbits: Sequence[object], original: npt.NDArray[np.bool_], wrong: npt.NDArray[np.bool_], column: str = "orbit"
) -> Orbits:
    """The orbits of samples that name theirs; exactly one form of each is the original. Orbits of one form say nothing.

    >>> orbits = gather(["a", "a", "b", "b"], np.array([1, 0, 1, 0], bool), np.array([0, 1, 1, 1], bool))
    >>> orbits.values.tolist()
    [0.5, 0.0]
    """
    known, place = np.unique(np.array([str(orbit) for orbit in orbits]), return_inverse=True)
    originals = np.bincount(place, weights=original, minlength=len(known))
    if len(odd := np.flatnonzero(originals != 1)):
        raise InputError(
            f"The {column} {str(known[odd[0]])!r} has {int(originals[odd[0]])} forms that are marked as the original; "
            "exactly one form of each stands in the test set. Correct the column that `original` names; or, where "
            "samples are held out by chance, keep the forms together by a split column."
        )
    sizes = np.bincount(place, minlength=len(known))
    if not (sizes > 1).any():
        raise InputError(f"Every {column} has one form only, so there is nothing to compare: add the other forms.")
    errors = np.bincount(place, weights=wrong, minlength=len(known)).astype(np.int64)
    own = np.bincount(place, weights=wrong & original, minlength=len(known)) > 0
    return Orbits(sizes[sizes > 1], errors[sizes > 1], own[sizes > 1])


def exact_p(orbits: Orbits) -> float:
    """The probability of no more errors on the originals than there are, under independence (one-sided).

    Their number is then a sum of independent coins with chances |E_i| / |O_i| (Poisson-binomial). For pairs this is
    McNemar's exact test.

    >>> exact_p(Orbits(np.array([2, 2, 2]), np.array([1, 1, 1]), np.array([False, False, False])))
    0.125
    """
    return float(np.clip(_at_most(orbits.shares)[int(orbits.original.sum())], 0.0, 1.0))


def exact_gap(chances: npt.NDArray[np.float64], alpha: float) -> float:
    """The smallest mean of the T_i that the exact test finds significant, given |E| / |O| of every orbit; 1 if none."""
    significant = np.flatnonzero(_at_most(chances) <= alpha)
    return float((chances.sum() - significant[-1]) / len(chances)) if len(significant) else 1.0


def orbit_records(orbits: Orbits, subject: str, bound: Bound, alpha: float, test_set: str) -> list[Record]:
    """The exact test, and the paper's on the same values beside it."""
    values, model = orbits.values, fingerprint(orbits.values)
    paper = pairwise_test(values, -2 * orbits.lowest, bound, alpha, orbits.lowest)
    exact = replace(paper, log_p=log(max(exact_p(orbits), _TINY)), minimum_gap=exact_gap(orbits.shares, alpha))
    first, second = (
        _record(orbits, tested, subject, kind, test_set, model) for tested, kind in ((exact, "exact"), (paper, bound))
    )
    return [replace(first, chances=tuple(orbits.shares.tolist())), second]


def _record(orbits: Orbits, tested: Tested, subject: str, bound: str, test_set: str, model: str) -> Record:
    fooled = ~orbits.original & (orbits.errors > 0)
    return Record(
        subject,
        ORBIT,
        tested,
        error=float(orbits.original.mean()),
        estimate=float(orbits.shares.mean()),
        test_set=test_set,
        model=model,
        bound=bound,
        adversarial_error=float((orbits.errors > 0).mean()),
        h_original=mean_or_none(orbits.shares[orbits.original]),
        h_adversarial=mean_or_none(orbits.shares[fooled]),
        moved=int(fooled.sum()),
    )


def _at_most(chances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """P(at most k of the coins fall on their side) for k = 0 … n, exactly: one coin after the other."""
    mass = np.zeros(len(chances) + 1)
    mass[0] = 1.0
    for done, chance in enumerate(chances, start=1):
        mass[1 : done + 1] = mass[1 : done + 1] * (1 - chance) + mass[:done] * chance
        mass[0] *= 1 - chance
    return np.cumsum(mass)
