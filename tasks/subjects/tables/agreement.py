"""How a subject fares on D1…DN: agreement with weak labels, accuracy by gold, and whether they fall along the order.

A robust model's agreement with the weak labels falls along the order, because the labels themselves get worse: that
is why both are measured wherever gold exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import RunError
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share
from assay.tasks.statistics.trend import permutation_p

Counts = npt.NDArray[np.int64]  # [N], one per stratum: the samples that D_i adds to D_{i−1}
YARDSTICKS = ("weak", "gold")


def count_agreement(predictions: pa.Table, curated: pa.Table, *, datasets: int) -> dict[str, Counts]:
    """Per stratum: the curated samples with a label of each yardstick, and on how many of them the subject is right."""
    at = pc.index_in(curated["id"], value_set=predictions["id"].combine_chunks())
    if at.null_count:
        sample = curated["id"].filter(pc.is_null(at))[0].as_py()
        raise RunError(f"The sample {sample!r} is in the curated data sets, but the subject has not predicted it.")
    predicted = predictions["predicted"].take(at).to_numpy()
    stratum = curated["dataset"].to_numpy() - 1
    counts = {}
    for yardstick, column in zip(YARDSTICKS, ("label", "gold"), strict=True):
        truth = pc.fill_null(curated[column], -1).to_numpy()
        known = truth >= 0
        counts[f"{yardstick}_n"] = _per_stratum(stratum[known], datasets)
        counts[f"{yardstick}_hits"] = _per_stratum(stratum[known & (truth == predicted)], datasets)
    return counts


def count_beside(predictions: pa.Table, curated: pa.Table, *, datasets: int) -> dict[str, Counts | int]:
    """As `count_agreement`, of the curated samples that are among these predictions; and how many they are, `found`."""
    there = curated.filter(pc.is_in(curated["id"], value_set=predictions["id"].combine_chunks()))
    return {**count_agreement(predictions, there, datasets=datasets), "found": there.num_rows}


def count_predictions(predictions: pa.Table, *, classes: int) -> dict[str, Counts]:
    """How often the subject says each class, as `said` [k]."""
    return {"said": np.bincount(predictions["predicted"].to_numpy(), minlength=classes).astype(np.int64)}


def agreement_findings(
    counts: Mapping[str, Counts],
    *,
    subject: str,
    permutations: int,
    generator: np.random.Generator,
) -> list[Finding]:
    """Accuracy on every D_i and on every stratum, by both yardsticks, and the trend with its permutation test.

    Without gold labels, what gold would say is there as "not measured".
    """
    findings = []
    for yardstick in YARDSTICKS:
        hits, n = counts[f"{yardstick}_hits"], counts[f"{yardstick}_n"]
        findings += _accuracies(hits, n, yardstick, subject)
        findings += _trend(hits, n, yardstick, subject, permutations, generator)
    return findings


def degenerate_finding(counts: Counts, classes: Sequence[str], *, subject: str) -> Finding:
    """The share of the class that the subject says most, and a red flag where it says nothing else."""
    total, most = int(counts.sum()), int(counts.argmax())
    constant = total > 0 and int(counts[most]) == total
    verdict = f"degenerate: every sample is called {classes[most]}" if constant else "varied"
    return Finding(
        "subject.degenerate",
        subject=subject,
        value=int(counts[most]) / total if total else None,
        n=total,
        verdict=verdict if total else "not measured",
        unit="share",
    )


def _accuracies(hits: Counts, n: Counts, yardstick: str, subject: str) -> list[Finding]:
    metric = "subject.accuracy"
    nested = [
        share(metric, int(h), int(m), of=yardstick, group=f"D{i}", subject=subject)
        for i, (h, m) in enumerate(zip(np.cumsum(hits), np.cumsum(n), strict=True), start=1)
    ]
    strata = [
        share(metric, int(h), int(m), of=yardstick, group=f"stratum {i}", subject=subject)
        for i, (h, m) in enumerate(zip(hits, n, strict=True), start=1)
    ]
    return nested + strata


def _trend(
    hits: Counts, n: Counts, yardstick: str, subject: str, permutations: int, generator: np.random.Generator
) -> list[Finding]:
    """ρ of accuracy along D1…DN, and how rare so low a ρ is among random orders: described, nothing is concluded."""
    total = int(n.sum())
    if total == 0:
        silent = "not measured"
        return [
            Finding("subject.spearman", of=yardstick, subject=subject, n=0, verdict=silent),
            Finding("subject.permutation_p", of=yardstick, subject=subject, n=0, verdict=silent),
        ]
    test = permutation_p(hits, n, permutations, generator)
    return [
        Finding("subject.spearman", of=yardstick, subject=subject, value=test.rho, n=total),
        Finding("subject.permutation_p", of=yardstick, subject=subject, value=test.p_adverse, n=total, unit="p"),
    ]


def _per_stratum(stratum: npt.NDArray[np.int32], datasets: int) -> Counts:
    return np.bincount(stratum, minlength=datasets).astype(np.int64)
