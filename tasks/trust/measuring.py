"""The findings on one explainer's trust labels: what share is trustworthy, and where the truth is known, how good the
oracle and its baselines are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.tasks.statistics.auc import auc_finding, binary_auc
from assay.tasks.statistics.corrected_share import Judge, corrected_share
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.paired import bootstrap_difference
from assay.tasks.statistics.proportions import share, unvaried
from assay.tasks.trust.comparing import difference_findings
from assay.tasks.trust.labelling import BY_NAME, NAIVE, TOKI
from assay.tasks.trust.measures import RESAMPLES, confusion, measure_findings

ALL = "all"
_TRUTHS = {"trustworthy": "trustworthy", "untrustworthy": "untrustworthy", None: "unknown"}


@dataclass(frozen=True)
class About:
    """What the findings are about: the subject and the explainer."""

    subject: str
    explainer: str

    def share(self, metric: str, hits: int, n: int, group: str) -> Finding:
        """The finding "hits of n" about this explainer."""
        return share(f"trust.{metric}", hits, n, of=self.explainer, group=group, subject=self.subject)


def label_findings(
    labels: Sequence[Mapping[str, Any]], golds: Sequence[int | None], said: Sequence[int], classes: Sequence[str],
    about: About,
) -> list[Finding]:  # fmt: skip
    """The oracle's shares per class and over all: of the correct predictions that were explained; and what share of all
    predictions is out of scope, being wrong or without a known class. `trust.faint` is the share of what was decided
    whose words together weigh next to nothing, as in a saturated model: the oracle still weighs them against each
    other, as Eq. 6 says, but nobody should believe it."""
    toki = [row for row in labels if row["oracle"] == TOKI and row["label"] != "out of scope"]
    found = []
    for group, mine in _by_class(toki, "predicted", classes):
        counts = Counter(row["label"] for row in mine)
        found += [about.share(name, counts[name], len(mine), group) for name in _LABELS]
        if about.explainer in _IN_PROBABILITIES:
            decided = [row for row in mine if row["label"] != "undecided"]
            faint = sum(row["related_mass"] + row["unrelated_mass"] < FAINT for row in decided)
            found.append(about.share("faint", faint, len(decided), group))
    beside = [{"gold": gold, "out": gold != code} for gold, code in zip(golds, said, strict=True)]
    for group, some in _by_class(beside, "gold", classes):
        found.append(about.share("out_of_scope", sum(bool(row["out"]) for row in some), len(some), group))
    return found


_LABELS = ("trustworthy", "untrustworthy", "undecided")
FAINT = 0.005
"""Where all words of an explanation together weigh less, in probability, the label hangs on next to nothing."""
_IN_PROBABILITIES = ("lime", "lime-package", "omission")  # how a gradient is scaled is the network's own business


def _by_class(
    rows: Sequence[Mapping[str, Any]], column: str, classes: Sequence[str]
) -> list[tuple[str, list[Mapping[str, Any]]]]:
    groups = [(name, [row for row in rows if row[column] == code]) for code, name in enumerate(classes)]
    return [(ALL, list(rows)), *groups]


def truth_findings(
    labels: Sequence[Mapping[str, Any]], truths: Mapping[str, str | None], precisions: Sequence[float], about: About,
    generator: np.random.Generator,
) -> list[Finding]:  # fmt: skip
    """The six measures of the oracle and its baselines, how they differ, and what confidence knows of trust."""
    by_oracle = {
        name: {row["id"]: row for row in labels if row["oracle"] == name and row["label"] != "out of scope"}
        for name in (TOKI, BY_NAME, NAIVE)
    }
    ids = sorted(by_oracle[TOKI])
    known = [truths.get(key) for key in ids]
    said = {name: [str(rows[key]["label"]) for key in ids] for name, rows in by_oracle.items()}
    found = [
        about.share("truth", sum(truth == value for truth in known), len(ids), group)
        for value, group in _TRUTHS.items()
    ]
    for name in (TOKI, BY_NAME, NAIVE):
        found += measure_findings(
            confusion(said[name], known), oracle=name, explainer=about.explainer, subject=about.subject,
            generator=generator,
        )  # fmt: skip
    found += _corrected(said[TOKI], known, about)
    for name in (NAIVE, BY_NAME):
        found += difference_findings(
            said[TOKI], said[name], known, of=f"{TOKI} - {name}", group=about.explainer, subject=about.subject,
            generator=generator,
        )  # fmt: skip
    confident = [by_oracle[NAIVE][key]["confidence"] for key in ids]
    found.append(_confidence_auc(confident, known, about))
    if precisions:
        mean = bootstrap_difference(precisions, np.zeros(len(precisions)), generator, RESAMPLES)
        low, high = (mean.low, mean.high) if mean.low < mean.high else unvaried(mean.value, mean.n)
        found.append(
            Finding(
                "trust.explanation_precision", of=about.explainer, subject=about.subject, value=mean.value,
                low=max(0.0, low), high=high, n=mean.n, unit="share",
            )
        )  # fmt: skip
    return found


def _corrected(called: Sequence[str], known: Sequence[str | None], about: About) -> list[Finding]:
    """What share is untrustworthy in truth, by how often the oracle is right where the truth is known; not measured
    where it is not known to be better than guessing."""
    found = confusion(called, known)
    judge = Judge(found=found.tn, cases=found.tn + found.fp, cleared=found.tp, others=found.tp + found.fn)
    decided = [label for label in called if label != "undecided"]
    share_in_truth = corrected_share(decided.count("untrustworthy"), len(decided), judge)
    of = Finding("trust.untrustworthy_corrected", of=about.explainer, group=ALL, subject=about.subject, n=len(decided))
    if share_in_truth is None:
        why = "TOKI is not known to be better than guessing" if judge.cases and judge.others else "too little is known"
        return [replace(of, verdict=f"not measured: {why}")]
    return [replace(of, value=share_in_truth.value, low=share_in_truth.low, high=share_in_truth.high, unit="share")]


def provider_findings(thresholds: Sequence[Mapping[str, Any]], about: About) -> list[Finding]:
    """θ_relate of every provider, and how well it tells synonyms from random pairs."""
    found = []
    for row in thresholds:
        name, pairs = row["provider"], row["pairs"]
        found.append(
            Finding(
                "trust.theta_relate", of=about.explainer, group=name, subject=about.subject, value=row["theta"],
                n=pairs or None,
            )
        )  # fmt: skip
        if row["balance"] is not None:
            found.append(about.share("balance", round(row["balance"] * pairs), pairs, name))
    return found


def _confidence_auc(confident: Sequence[float], known: Sequence[str | None], about: About) -> Finding:
    pairs = [(score, truth == "trustworthy") for score, truth in zip(confident, known, strict=True) if truth]
    metric = "trust.confidence_auc"
    if len({positive for _, positive in pairs}) < 2:
        return Finding(
            metric, of=NAIVE, group=about.explainer, subject=about.subject, n=len(pairs), verdict="not measured"
        )
    scores, positive = zip(*pairs, strict=True)
    return auc_finding(metric, binary_auc(scores, positive), (), of=NAIVE, group=about.explainer, subject=about.subject)
