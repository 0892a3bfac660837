"""The findings on trust labels: what share is trustworthy, how good the oracle and its baselines are where the
truth is known, means over repeats, and the seconds spent; and which predictions a reader should look at, with what the
oracle says of each of their words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
from toolz import groupby

from assay.data.arrays import Bools, Integers
from assay.data.schemas import ListedTable, TrustExamples
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store
from assay.tasks.language.words import spelling, words_of
from assay.tasks.statistics.auc import auc_finding, label_auc
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.clusters import effective_size, share_by
from assay.tasks.statistics.findings import Finding, measured
from assay.tasks.statistics.paired import mean_difference
from assay.tasks.statistics.proportions import Judge, corrected_share, share
from assay.tasks.statistics.resampling import RESAMPLES
from assay.tasks.subjects.holding_out import rows_with_ids
from assay.tasks.subjects.texts.rows import texts_of
from assay.tasks.trust.measures import difference_findings, measure_findings
from assay.tasks.trust.oracle import BY_NAME, NAIVE, TOKI
from assay.tasks.trust.settings import SPREAD

ALL = "all"
_TRUTHS = {"trustworthy": "trustworthy", "untrustworthy": "untrustworthy", None: "unknown"}


@dataclass(frozen=True)
class About:
    """What the findings are about: the subject and the explainer; and the group of each sample by id, if it has one."""

    subject: str
    explainer: str
    of_id: Mapping[str, int] | None = None

    def groups(self, ids: Sequence[str]) -> Integers | None:
        """The groups of some samples, where they have any."""
        return None if self.of_id is None else np.array([self.of_id[sample] for sample in ids], dtype=np.int64)

    def finding(self, metric: str, group: str = "", **measured: Any) -> Finding:
        """A finding `trust.METRIC` about this explainer."""
        return Finding(f"trust.{metric}", self.explainer, group, self.subject, **measured)

    def share(self, metric: str, hits: Sequence[bool], ids: Sequence[str], group: str) -> Finding:
        """The share of the samples that are hits, about this explainer."""
        named = {"of": self.explainer, "group": group, "subject": self.subject}
        return share_by(f"trust.{metric}", hits, self.groups(ids), **named)


def label_findings(
    labels: Sequence[Mapping[str, Any]],
    samples: Sequence[Mapping[str, Any]],
    predicted: Sequence[int],
    classes: Sequence[str],
    about: About,
) -> list[Finding]:
    """The oracle's shares per class and over all: of the correct predictions that were explained; and what share of all
    predictions is out of scope, being wrong or without a known class. `trust.faint` is the share of what was decided
    whose words together weigh next to nothing, as in a saturated model: the oracle still weighs them against each
    other, as Eq. 6 says, but nobody should believe it."""
    toki = [row for row in labels if row["oracle"] == TOKI and row["label"] != "out of scope"]
    findings = []
    for group, rows in _by_class(toki, "predicted", classes):
        ids = [row["id"] for row in rows]
        findings += [about.share(name, [row["label"] == name for row in rows], ids, group) for name in _LABELS]
        if about.explainer in _IN_PROBABILITIES:
            decided = [row for row in rows if row["label"] != "undecided"]
            faint = [row["related_mass"] + row["unrelated_mass"] < FAINT for row in decided]
            findings.append(about.share("faint", faint, [row["id"] for row in decided], group))
    beside = [{**sample, "out": sample["gold"] != code} for sample, code in zip(samples, predicted, strict=True)]
    for group, some in _by_class(beside, "gold", classes):
        out = [bool(row["out"]) for row in some]
        findings.append(about.share("out_of_scope", out, [row["id"] for row in some], group))
    return findings


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
    labels: Sequence[Mapping[str, Any]],
    truths: Mapping[str, str | None],
    precisions: Mapping[str, float],
    about: About,
    generator: np.random.Generator,
) -> list[Finding]:
    """The six measures of the oracle and its baselines, how they differ, and what confidence knows of trust."""
    by_oracle = {
        name: {row["id"]: row for row in labels if row["oracle"] == name and row["label"] != "out of scope"}
        for name in (TOKI, BY_NAME, NAIVE)
    }
    ids = sorted(by_oracle[TOKI])
    known, groups = [truths.get(key) for key in ids], about.groups(ids)
    judged = {name: [str(rows[key]["label"]) for key in ids] for name, rows in by_oracle.items()}
    findings = [
        about.share("truth", [truth == value for truth in known], ids, group) for value, group in _TRUTHS.items()
    ]
    for name in (TOKI, BY_NAME, NAIVE):
        of_oracle = Finding("", name, about.explainer, about.subject)
        findings += measure_findings(judged[name], known, of_oracle, generator, groups)
    findings += _corrected(judged[TOKI], known, about, groups)
    for name in (NAIVE, BY_NAME):
        of_pair = Finding("", f"{TOKI} - {name}", about.explainer, about.subject)
        findings += difference_findings(judged[TOKI], judged[name], known, of_pair, generator, groups)
    confident = [by_oracle[NAIVE][key]["confidence"] for key in ids]
    findings.append(_confidence_auc(confident, known, about, groups))
    if precisions:
        values, together = list(precisions.values()), about.groups(list(precisions))
        mean = mean_difference(values, np.zeros(len(values)), together, generator, RESAMPLES)
        precision = about.finding("explanation_precision", n=mean.n, unit="share")
        findings.append(replace(precision, value=mean.value, low=max(0.0, mean.low), high=mean.high))
    return findings


def _corrected(called: Sequence[str], known: Sequence[str | None], about: About, groups: Groups) -> list[Finding]:
    """What share is untrustworthy in truth, by how often the oracle is right where the truth is known; not measured
    where it is not known to be better than guessing. Of samples in groups as many count as are as uncertain alone."""
    labels, truth = np.array(called, dtype=np.str_), np.array([label or "" for label in known], dtype=np.str_)
    decided = labels != "undecided"
    untrustworthy = labels == "untrustworthy"

    def counted(chosen: Bools, hits: Bools) -> tuple[float, float]:
        return _counted(hits[chosen], None if groups is None else groups[chosen])

    detected, cases = counted(decided & (truth == "untrustworthy"), untrustworthy)
    cleared, others = counted(decided & (truth == "trustworthy"), ~untrustworthy)
    judge = Judge(detected, cases, cleared, others)
    share_in_truth = corrected_share(*counted(decided, untrustworthy), judge)
    blank = about.finding("untrustworthy_corrected", ALL, n=int(decided.sum()))
    if share_in_truth is None:
        why = "TOKI is not known to be better than guessing" if judge.cases and judge.others else "too little is known"
        return [replace(blank, verdict=f"not measured: {why}")]
    return [replace(blank, unit="share").estimated(share_in_truth)]


def _counted(hits: Bools, groups: Groups) -> tuple[float, float]:
    """Hits and samples, as many as would be as uncertain were they independent."""
    if groups is None or not len(hits):
        return float(hits.sum()), float(len(hits))
    counted = effective_size(hits, groups).counted()
    return float(hits.mean()) * counted, counted


def provider_findings(thresholds: Sequence[Mapping[str, Any]], about: About) -> list[Finding]:
    """θ_relate of every provider, and how well it tells synonyms from random pairs."""
    findings = []
    for row in thresholds:
        name, pairs = row["provider"], row["pairs"]
        findings.append(about.finding("theta_relate", name, value=row["theta"], n=pairs or None))
        if row["balance"] is not None:
            named = {"of": about.explainer, "group": name, "subject": about.subject}
            findings.append(share("trust.balance", round(row["balance"] * pairs), pairs, **named))
    return findings


def _confidence_auc(confident: Sequence[float], known: Sequence[str | None], about: About, groups: Groups) -> Finding:
    truth = [-1 if name is None else int(name == "trustworthy") for name in known]
    area = label_auc(np.array(confident, dtype=np.float64)[:, None], np.array(truth)[:, None], groups=groups)
    return auc_finding("trust.confidence_auc", area, (), of=NAIVE, group=about.explainer, subject=about.subject)


def averaged(repeats: Sequence[Sequence[Finding]]) -> list[Finding]:
    """Every finding with the mean of its values over the repeats, followed by their standard deviation.

    The ends of the interval are means as well: they say what the samples leave open, the standard deviation (as
    `…_spread`, its n the repeats) says what the draws do. A finding that some repeat could not measure is averaged over
    the others. No p-value is averaged.

    >>> findings = averaged([[Finding("trust.g_mean", value=0.5)], [Finding("trust.g_mean", value=0.7)]])
    >>> [(finding.metric, round(finding.value, 3), finding.n) for finding in findings]
    [('trust.g_mean', 0.6, None), ('trust.g_mean_spread', 0.141, 2)]
    """
    together = groupby(attrgetter("key"), chain.from_iterable(repeats))
    return [mean for same in together.values() for mean in _average(same)]


def _average(same: Sequence[Finding]) -> list[Finding]:
    known = measured(same)
    if not known:
        return [same[0]]
    value, low, high, n = (_mean([getattr(each, name) for each in known]) for name in ("value", "low", "high", "n"))
    mean = replace(known[0], value=value, low=low, high=high, n=None if n is None else round(n), p_value=None)
    if len(known) < 2:
        return [mean]
    values = np.array([finding.value for finding in known], dtype=np.float64)
    spread = Finding(mean.metric + SPREAD, mean.of, mean.group, mean.subject, n=len(known), verdict=mean.verdict)
    return [mean, replace(spread, value=float(np.std(values, ddof=1)))]


def _mean(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return float(np.mean(known)) if known else None


Step = tuple[str, Artifact[Any]]
"""The name of a stage, and what it made."""


def seconds_spent(made: Mapping[tuple[str, str, str], Sequence[Sequence[Step]]], store: Store) -> list[Finding]:
    """The time columns of Table 3 per subject and explainer, as they were when the stages ran, in this run or before.

    `trust.keyword_seconds` counts the explanation of the training texts, word vectors and keywords; its n are the
    training texts. `trust.label_seconds` counts the explanation of the audited texts and their labels. Word vectors are
    made once for all explainers, and counted for each. Of several repeats it is the mean. `made` is by subject,
    explainer and metric.
    """
    return [
        About(subject, explainer).finding(
            metric,
            n=repeats[0][0][1].rows,
            unit="seconds",
            value=sum(_wall(store, *step) for repeat in repeats for step in repeat) / len(repeats),
        )
        for (subject, explainer, metric), repeats in made.items()
    ]


def _wall(store: Store, stage: str, artifact: Artifact[Any]) -> float:
    manifest = store.manifest(stage, artifact.key)
    return manifest.wall_seconds if manifest is not None else 0.0


PER_CLASS = 4
_BESIDE = 1  # trustworthy ones per class, to compare with


class ChosenTexts(ListedTable):
    """One row per sample that was chosen: its text."""


def most_damning(labels: Sequence[Mapping[str, Any]], per_class: int = PER_CLASS) -> list[Mapping[str, Any]]:
    """Of every class the right predictions that are most confident, and most clearly untrustworthy; then one that is as
    clearly trustworthy. From the oracle's labels, by confidence times what one side of Eq. 6 has over the other.

    >>> rows = [{"id": name, "predicted": 0, "label": "untrustworthy", "confidence": sure, "related_mass": 0.1,
    ...          "unrelated_mass": against} for name, sure, against in (("a", 0.9, 0.2), ("b", 0.9, 0.8))]
    >>> [row["id"] for row in most_damning(rows, per_class=1)]
    ['b']
    """
    chosen: list[Mapping[str, Any]] = []
    for label, most in (("untrustworthy", per_class), ("trustworthy", _BESIDE)):
        labelled = sorted((row for row in labels if row["label"] == label), key=lambda row: (-_clarity(row), row["id"]))
        for code in sorted({int(row["predicted"]) for row in labelled}):
            chosen += [row for row in labelled if row["predicted"] == code][:most]
    return chosen


def _clarity(row: Mapping[str, Any]) -> float:
    return float(row["confidence"]) * abs(float(row["unrelated_mass"]) - float(row["related_mass"]))


def chosen_texts(samples: pa.Table, *, ids: frozenset[str], text: str) -> pa.Table:
    """The texts of those samples of a partition that were chosen."""
    kept = rows_with_ids(samples, ids=ids)
    return pa.table([kept["id"], pa.array(texts_of(kept, text), pa.string())], schema=ChosenTexts.schema)


def example_rows(
    chosen: Sequence[Mapping[str, Any]],
    explained: Mapping[str, Mapping[str, float]],
    texts: Mapping[str, str],
    truths: Mapping[str, str | None],
    *,
    lemmatise: bool,
    masked: bool,
) -> pa.Table:
    """`TrustExamples` of the chosen labels; `explained` holds the signed importance of the words of each sample.

    A word that speaks against the prediction is neither related nor unrelated.
    """
    rows = []
    for label in chosen:
        related = dict(zip(label["words"], label["related"], strict=True))
        scores = {spelling(word, lemmatise): score for word, score in explained[label["id"]].items()}
        scores |= dict(zip(label["words"], label["importance"], strict=True))
        text = texts[label["id"]]
        spans = [
            (word.start, word.end, scores[spelt], related.get(spelt))
            for word in words_of(text)
            if (spelt := spelling(word.text, lemmatise)) in scores
        ]
        if masked:
            spans = [(2 * place, 2 * place + 1, score, yes) for place, (_, _, score, yes) in enumerate(spans)]
        rows.append(
            {
                **{name: label[name] for name in ("id", "explainer", "confidence", "label")},
                **{name: label[name] for name in ("related_mass", "unrelated_mass")},
                "code": label["predicted"],
                "truth": truths.get(label["id"]),
                "text": "" if masked else text,
                **{
                    name: [span[at] for span in spans]
                    for at, name in enumerate(("starts", "ends", "importance", "related"))
                },
            }
        )
    return pa.Table.from_pylist(rows, schema=TrustExamples.schema)
