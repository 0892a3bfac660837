"""The test for closed symmetries: samples that come in |O| forms which mean the same and are equally likely.

If a benchmark chose the form of each sample by lot, then under independence the form that stands in the test set is
misclassified with probability |E| / |O|, E being the misclassified forms. A model fitted to the test set errs less
often on just those forms. No margin, no density estimate and no assumption on the data beyond the lot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np
import numpy.typing as npt

from assay.infra.errors import InputError
from assay.tasks.overfitting.independence import Record, Tested, fingerprint, mean_or_none, pairwise_test
from assay.tasks.overfitting.settings import Bound

GENERATOR = "orbit"
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
    names = np.array([str(orbit) for orbit in orbits])
    known, place = np.unique(names, return_inverse=True)
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
    if not len(significant):
        return 1.0
    return float((chances.sum() - significant[-1]) / len(chances))


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
        GENERATOR,
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
