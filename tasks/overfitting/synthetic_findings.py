"""What the runs of a synthetic experiment come to: means over runs, and how often the test rejects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import exp

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.overfitting_schemas import SyntheticRuns
from assay.tasks.overfitting.bernstein import bernstein_bound
from assay.tasks.overfitting.translation_of_points import SPAN
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share

WITHOUT_VALUES = [name for name in SyntheticRuns.schema.names if name != "values"]
ERRORS = ("error", "adversarial_error", "estimate", "risk")
DENSITIES = ("h_original", "h_adversarial")
_TAIL = 0.025


@dataclass(frozen=True)
class Spread:
    """The mean of some numbers, and between which values 95 % of them lie."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Runs:
    """The runs of one experiment, without their values; columns as arrays [runs], by ε."""

    table: pa.Table
    tests: pa.Table

    @cached_property
    def experiment(self) -> str:
        """Which experiment it is."""
        return str(self.table["experiment"][0])

    @cached_property
    def eps(self) -> list[float]:
        """The distances, ascending."""
        return sorted(set(self.table["eps"].to_pylist()))

    @cached_property
    def models(self) -> list[int]:
        """The numbers of models that were averaged, ascending."""
        return sorted(set(self.tests["models"].to_pylist()))

    def column(self, name: str, eps: float) -> npt.NDArray[np.float64]:
        """A number per run at one ε; runs in which there is none are left out."""
        values = self._columns[name][self._columns["eps"] == eps]
        known: npt.NDArray[np.float64] = values[~np.isnan(values)]
        return known

    def p(self, eps: float, models: int = 1) -> npt.NDArray[np.float64]:
        """The p-values of the N-model test, one per bin (N = 1: one per run)."""
        if models == 1:
            p_values: npt.NDArray[np.float64] = np.exp(self.column("log_p", eps))
            return p_values
        return np.array(
            [exp(row["log_p"]) for row in self.tests.to_pylist() if row["eps"] == eps and row["models"] == models]
        )

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[np.float64]]:
        names = [name for name in self.table.column_names if name != "experiment"]
        return {name: self.table[name].to_numpy().astype(np.float64) for name in names}


def spread(values: npt.NDArray[np.float64], extremes: bool = False) -> Spread | None:
    """Mean and the middle 95 % (or the extremes, where values are few); None of nothing.

    >>> spread(np.array([0.0, 1.0]), extremes=True)
    Spread(mean=0.5, low=0.0, high=1.0, n=2)
    """
    if not len(values):
        return None
    low, high = (0.0, 1.0) if extremes else (_TAIL, 1 - _TAIL)
    return Spread(float(values.mean()), float(np.quantile(values, low)), float(np.quantile(values, high)), len(values))


def synthetic_findings(table: pa.Table, tests: pa.Table, alpha: float) -> list[Finding]:
    """The findings on one experiment; `of` is the experiment, `group` the ε (and N, where models were averaged)."""
    return list(_findings(Runs(table, tests), alpha))


def _findings(runs: Runs, alpha: float) -> Iterator[Finding]:
    of = runs.experiment
    for eps in runs.eps:
        group = f"eps={eps:g}"
        p = runs.p(eps)
        yield _finding("p_value", of, group, spread(p))
        yield share("overfitting.rejected", int((p <= alpha).sum()), len(p), of=of, group=group)
        basic = runs.column("basic_p", eps)
        yield share("overfitting.rejected_basic", int((basic <= alpha).sum()), len(basic), of=of, group=group)
        yield _finding("gap", of, group, spread(runs.column("mean", eps)))
        floors = [
            bernstein_bound(int(n), sigma, SPAN, alpha)
            for n, sigma in zip(runs.column("n", eps), runs.column("sigma", eps), strict=True)
        ]
        yield _finding("minimum_gap", of, group, spread(np.array(floors)))
        for name in (*ERRORS, *DENSITIES):
            yield _finding(name, of, group, spread(runs.column(name, eps)))
        for models in runs.models:
            if models > 1:
                bins = spread(runs.p(eps, models), extremes=True)
                yield _finding("p_value", of, f"{group}, N={models}", bins)


def _finding(metric: str, of: str, group: str, spread: Spread | None) -> Finding:
    if spread is None:
        return Finding(f"overfitting.{metric}", of=of, group=group, n=0, verdict="not measured")
    return Finding(
        f"overfitting.{metric}", of=of, group=group, value=spread.mean, low=spread.low, high=spread.high, n=spread.n
    )
