"""Figures 5 and 6 of Werpachowski et al.: the synthetic experiment in numbers, and what the paper says of it."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from statistics import median

from assay.data.published import (
    BASIC_MISSES_EPS,
    INDEPENDENT_EPS,
    REJECTED_EPS,
    TRANSITION_EPS,
    TRANSITION_MEDIAN,
    TRANSITION_P,
)
from assay.flows.reproduce.paper_table import Line, Ours, Result, Source, paper_table, share, small
from assay.tasks.statistics.findings import Finding

PIPELINES = {"overfitting-synthetic": "sample/half-spaces", "overfitting-synthetic-quick": "sample/half-spaces"}
BECAUSE = "where the dependent model switches to rejection depends on what the paper leaves open"
_REJECTED = ("rejected", "rejected_basic")
_ERRORS = ("error", "adversarial_error", "estimate", "risk")
_PAPERS_EPS = (1.0, TRANSITION_EPS, *REJECTED_EPS, 75.0, 200.0)
_LEVEL = 0.05


def _over_eps(result: Result | None) -> list[Line]:
    """p, rejections and errors of both models over ε."""
    return [_at_eps(model, eps) for model in ("independent", "dependent") for eps in _eps_of(result, model)]


def _eps_of(result: Result | None, model: str) -> list[float]:
    if result is None:
        return list(_PAPERS_EPS)
    groups = result.findings.distinct("group", "overfitting", of=model)
    return [float(group.removeprefix("eps=")) for group in groups if "N=" not in group]


def _at_eps(model: str, eps: float) -> Line:
    words, claim = _papers(model, eps)
    group = f"eps={eps:g}"
    p = Ours("overfitting.p_value", model, group, write=_without_interval(small), claim=claim)
    rejected = [Ours(f"overfitting.{name}", model, group, write=share()) for name in _REJECTED]
    errors = [Ours(f"overfitting.{name}", model, group, write=_without_interval(share())) for name in _ERRORS]
    return Line((model, f"{eps:g}", p, *rejected, *errors, words))


def _papers(model: str, eps: float) -> tuple[str, Callable[[float], bool] | None]:
    """What the paper says of a model at ε, and whether a mean p is in accord with it."""
    if model == "independent":
        return "p near 1", lambda p: p >= 0.9
    if eps in REJECTED_EPS:
        return "rejected" + (", basic test: not" if eps in BASIC_MISSES_EPS else ""), lambda p: p <= _LEVEL
    if eps in BASIC_MISSES_EPS:
        return "one run rejected, basic test: not", None
    if eps == TRANSITION_EPS:
        return "in between", lambda p: _LEVEL < p < 0.95
    return ("not rejected", lambda p: p > _LEVEL) if eps <= 1 or eps >= 200 else ("", None)


def _of_n_models(result: Result | None) -> list[Line]:
    """The p-values of N models, independent at ε = 10, dependent where one model is not settled."""
    places = [("independent", INDEPENDENT_EPS), ("dependent", TRANSITION_EPS)]
    if result is None:
        return [_n_models(model, eps, models, []) for model, eps in places for models in TRANSITION_P]
    lines = []
    for model, eps in (*places, *_least_settled(result)):
        groups = result.findings.distinct("group", "overfitting.p_value", of=model)
        numbers = [group.partition("N=")[2] for group in groups if group.partition(", ")[0] == f"eps={eps:g}"]
        lines += [
            _n_models(model, eps, models, _p_values(result, model, eps, models))
            for models in sorted({int(number or 1) for number in numbers})
        ]
    return lines


def _p_values(result: Result, model: str, eps: float, models: int) -> list[float]:
    """Every p that the run itself kept; a published result has none."""
    asked = (model, eps, models)
    return [
        exp(row["log_p"])
        for table in result.tables("SyntheticTests")
        for row in table.to_pylist()
        if (row["experiment"], row["eps"], row["models"]) == asked
    ]


def _n_models(model: str, eps: float, models: int, p: list[float]) -> Line:
    group = f"eps={eps:g}" + (f", N={models}" if models > 1 else "")
    papers = TRANSITION_P.get(models, ()) if (model, eps) == ("dependent", TRANSITION_EPS) else ()
    words = ", ".join(f"{value:.4f}" for value in papers)
    words += f" (median {TRANSITION_MEDIAN})" if papers and models == 1 else ""
    claim = (lambda value: value >= 0.9) if model == "independent" else None
    mean = Ours("overfitting.p_value", model, group, write=_without_interval(small), paper=papers, claim=claim)
    bins = Ours("overfitting.p_value", model, group, write=lambda finding: str(finding.n))
    spread = [small(Finding("p", value=value)) for value in ((median(p), min(p), max(p)) if p else ())] or ["", "", ""]
    return Line((model, f"{eps:g}", str(models), bins, mean, *spread, "near 1" if model == "independent" else words))


def _least_settled(result: Result) -> list[tuple[str, float]]:
    """Our own ε at which one dependent model is least settled, where it is another than the paper's."""
    means = {
        eps: finding.value
        for eps in _eps_of(result, "dependent")
        if (finding := result.findings.get("overfitting.p_value", of="dependent", group=f"eps={eps:g}"))
    }
    eps = min(means, key=lambda eps: abs((means[eps] or 0.0) - 0.5)) if means else TRANSITION_EPS
    return [("dependent", eps)] if eps != TRANSITION_EPS else []


def _without_interval(write: Callable[[Finding], str]) -> Callable[[Finding], str]:
    """Only the mean: what findings of this experiment hold beside it is the spread over runs, no interval of it."""
    return lambda finding: write(Finding(finding.metric, value=finding.value))


def _models_and_steps(result: Result) -> list[str]:
    runs = max((finding.n or 0 for finding in result.findings.select("overfitting.rejected")), default=0)
    synthetic = (result.settings.get("overfitting") or {}).get("synthetic") or {}
    return [f"{runs} models of {synthetic.get('steps', '?')} steps each"]


TABLES = tuple(
    paper_table(name, [Source("the experiment", PIPELINES, lines, BECAUSE, about=_models_and_steps)])
    for name, lines in (("werpachowski-5", _over_eps), ("werpachowski-6", _of_n_models))
)
