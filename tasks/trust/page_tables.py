"""The tables of the trust page, and the findings and artifacts that the page looks up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.reporting.estimates import estimate
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Mark
from assay.tasks.statistics.findings import Finding, FindingIndex

ORACLES = {"toki": "TOKI", "toki-ki": "TOKI without keywords", "naive": "Naive (confidence)"}
"""The oracles as the report calls them."""


@dataclass(frozen=True)
class Explained:
    """One subject by one explainer: its labels, keywords, thresholds, what other settings say, and examples."""

    subject: str
    explainer: str
    classes: Sequence[str]
    labels: pa.Table
    keywords: pa.Table
    thresholds: pa.Table
    settings: pa.Table
    examples: pa.Table
    truth: pa.Table | None = None
    masked: bool = False

    def labelled(self, oracle: str) -> list[dict[str, Any]]:
        """What an oracle says of every correct prediction: rows with id, predicted, confidence and label."""
        rows: list[dict[str, Any]] = self.labels.filter(pc.equal(self.labels["oracle"], oracle)).to_pylist()
        return [row for row in rows if row["label"] != "out of scope"]

    @cached_property
    def truths(self) -> dict[str, str]:
        """The true label of every prediction where it is known."""
        if self.truth is None:
            return {}
        rows = self.truth.select(["id", "truth"]).to_pylist()
        return {row["id"]: row["truth"] for row in rows if row["truth"] is not None}


class TrustFindings:
    """The findings `trust.*`, as the page asks for them."""

    def __init__(self, findings: FindingIndex) -> None:
        self._findings = findings
        self.subjects = findings.distinct("subject", "trust")

    def explainers(self, subject: str) -> list[str]:
        """The explainers of a subject, in the order of the settings."""
        return self._findings.distinct("of", "trust.trustworthy", subject=subject)

    def get(self, metric: str, subject: str, of: str, group: str = "") -> Finding | None:
        """The finding, if it was made."""
        return self._findings.entry(f"trust.{metric}", subject, of, group)

    def constant(self, subject: str) -> bool:
        """Whether a subject (almost) always gives the same answer, so that it is right for no reason at all."""
        return any(finding.degenerate for finding in self._findings.select("subject.degenerate", subject=subject))

    def value(self, metric: str, subject: str, of: str, group: str = "") -> float | None:
        """The value of the finding, if it was measured."""
        finding = self.get(metric, subject, of, group)
        return None if finding is None else finding.value


MEASURES = ("g_mean", "accuracy", "precision", "sensitivity", "f1", "specificity")
_CLUSTERS, _WORDS = 6, 8


def shares_table(trust: TrustFindings, classes: Sequence[str]) -> DataTable:
    """Trustworthy, untrustworthy and undecided per subject, explainer and class."""
    columns = [
        *_subject_column(trust),
        Column("Explainer"),
        Column("Class"),
        Column("Trustworthy", "percent", "Of the right predictions that were explained"),
        Column("Untrustworthy", "percent"),
        Column("Undecided", "percent", "The oracle has nothing to go by"),
        Column("Hardly weighed", "percent", "Of what was decided: all words together weigh less than 0.005"),
        Column("Out of scope", "percent", "Of all predictions: wrong ones, and those whose class is not known"),
    ]
    rows: list[list[Cell]] = [
        [
            *_subject(trust, subject),
            explainer,
            group,
            *(
                estimate(trust.get(name, subject, explainer, group))
                for name in ("trustworthy", "untrustworthy", "undecided", "faint", "out_of_scope")
            ),
        ]
        for subject in trust.subjects
        for explainer in trust.explainers(subject)
        for group in ("all", *classes)
    ]
    note = (
        "A prediction is trustworthy if the words that speak for it and are related to its class weigh at least as "
        "much as the others (Eq. 6). Only right predictions are judged. Where words hardly weigh anything, because the "
        "subject stays sure whatever is left out, Eq. 6 still names a side; do not believe it."
    )
    return DataTable("What the oracle says", columns, rows, note, collapsed=len(rows) > 30)


def measures_table(trust: TrustFindings) -> list[Block]:
    """Table 3 of the paper: the six measures of every oracle."""
    columns = [
        *_subject_column(trust),
        Column("Oracle"),
        Column("Explainer"),
        *(Column("G-mean" if name == "g_mean" else name.capitalize(), "number") for name in MEASURES),
    ]
    rows: list[list[Cell]] = [
        [
            *_subject(trust, subject),
            name,
            explainer,
            *(estimate(trust.get(measure, subject, oracle, explainer)) for measure in MEASURES),
        ]
        for subject in trust.subjects
        for explainer in trust.explainers(subject)
        for oracle, name in ORACLES.items()
        if trust.get("g_mean", subject, oracle, explainer) is not None
    ]
    note = (
        "The measures of Table 3 of Nguyen Tung et al.; “positive” is trustworthy. Rows of different explainers have "
        "different true labels where these come from rationales, and are not comparable then."
    )
    return [DataTable("The oracles against the truth", columns, rows, note)] if rows else []


def work_table(trust: TrustFindings) -> DataTable:
    """Per explainer the true labels behind the measures, and the time columns of Table 3."""
    columns = [
        *_subject_column(trust),
        Column("Explainer"),
        Column("Trustworthy in truth", "integer"),
        Column("Untrustworthy in truth", "integer"),
        Column("Not known", "integer"),
        Column("Explanation precision", "percent", "Of an explanation's words, those in the human rationale; the mean"),
        Column("Training texts", "integer"),
        Column("Keywords, s", "number", "Seconds spent on explaining training texts and finding keywords"),
        Column("Audited texts", "integer"),
        Column("Labels, s", "number", "Seconds spent on explaining the audited texts and labelling them"),
    ]
    rows: list[list[Cell]] = []
    for subject in trust.subjects:
        for explainer in trust.explainers(subject):
            row: list[Cell] = [*_subject(trust, subject), explainer]
            for truth in ("trustworthy", "untrustworthy", "unknown"):
                share = trust.get("truth", subject, explainer, truth)
                row.append(None if share is None or share.value is None else round(share.value * (share.n or 0)))
            row.append(estimate(trust.get("explanation_precision", subject, explainer)))
            for name in ("keyword", "label"):
                spent = trust.get(f"{name}_seconds", subject, explainer)
                row += [spent.n, spent.value] if spent is not None else [None, None]
            rows.append(row)
    note = (
        "Seconds are those of the stages when they ran, in this run or an earlier one. Word vectors are made once for "
        "all explainers and counted for each."
    )
    return DataTable("What it rests on, and what it took", columns, rows, note)


def differences_table(trust: TrustFindings) -> list[Block]:
    """What TOKI has over its baselines, paired."""
    columns = [
        *_subject_column(trust),
        Column("Explainer"),
        Column("Difference"),
        Column("Accuracy", "number"),
        Column("p", "p", "McNemar's exact test"),
        Column("G-mean", "number"),
    ]
    rows: list[list[Cell]] = []
    for subject in trust.subjects:
        for explainer in trust.explainers(subject):
            for oracle in ("naive", "toki-ki"):
                of = f"toki - {oracle}"
                accuracy = trust.get("accuracy_difference", subject, of, explainer)
                if accuracy is not None:
                    g_mean = trust.get("g_mean_difference", subject, of, explainer)
                    rows.append(
                        [
                            *_subject(trust, subject),
                            explainer,
                            f"TOKI − {ORACLES[oracle]}",
                            estimate(accuracy),
                            accuracy.p_value,
                            estimate(g_mean),
                        ]
                    )
    note = (
        "On the predictions that both decide; 95 % intervals, Newcombe's paired one of accuracy, of G-mean those "
        "of resampled predictions. Above zero TOKI is better."
    )
    return [DataTable("TOKI beside its baselines", columns, rows, note)] if rows else []


def providers_table(explained: Explained) -> DataTable:
    """θ_relate of every provider, what it rests on, and how many keywords the provider would have."""
    columns = [
        Column("Word embedding"),
        Column("θ relate", "number", "The least cosine of related words"),
        Column("Balance", "percent", "Of synonyms at or above θ, and of random pairs below it; 50 % is guessing"),
        Column("Pairs", "integer"),
        Column("Pairs not known", "integer"),
        Column("Words", "integer"),
        Column("Words not known", "integer"),
        Column("Keywords by it", "integer"),
        Column("By the vote", "integer"),
    ]
    rows: list[list[Cell]] = []
    for row in explained.thresholds.to_pylist():
        mine = explained.keywords.filter(pc.equal(explained.keywords["provider"], row["provider"]))
        elected, keywords = (sum(mine[name].to_pylist()) for name in ("elected", "keyword"))
        balance: Cell = row["balance"]
        if row["balance"] is not None and row["balance"] < 0.6:
            balance = Mark(f"{100 * row['balance']:.1f} %", "bad", "little better than guessing", row["balance"])
        rows.append(
            [
                row["provider"],
                row["theta"],
                balance,
                row["pairs"],
                row["unknown"],
                row["words"],
                row["words_unknown"],
                elected,
                keywords,
            ]
        )
    note = (
        "Each embedding has one vote. θ relate is the median of the similarities of synonym and random pairs, where "
        "precision and recall of both are equal."
    )
    return DataTable(f"Word embeddings, {explained.subject}", columns, rows, note)


def clusters_table(explained: Explained) -> DataTable:
    """Per class the clusters of words that weigh most, keywords and others, by the best provider; masked: counts."""
    provider = best_provider(explained)
    columns = [
        Column("Class"),
        Column("Keywords?", help="By the vote of all embeddings"),
        Column("Words", "integer"),
        Column("Cluster"),
        Column("Importance", "number", "The sum of the mean importance of its words"),
        Column("Relatedness", "number", "The cosine of its mean vector with the class name's"),
    ]
    rows: list[list[Cell]] = []
    for code, name in enumerate(explained.classes):
        ranked = _clusters(explained, provider, code)
        for keyword in (True, False):
            alike = [cluster for cluster in ranked if cluster["keyword"] == keyword]
            rows += [_cluster_row(name, cluster, explained.masked) for cluster in alike[:_CLUSTERS]]
    note = f"The clusters that {provider} makes, the heaviest first, keywords and other words of a cluster apart."
    if explained.masked:
        note += " The texts of this audit are masked, and so are their words."
    return DataTable(
        f"Clusters of words, {explained.subject}, {explained.explainer}", columns, rows, note, collapsed=len(rows) > 36
    )


def best_provider(explained: Explained) -> str:
    """The provider that tells synonyms from random pairs best; the first where θ was given."""
    rows = explained.thresholds.to_pylist()
    return str(max(rows, key=lambda row: row["balance"] or 0.0)["provider"]) if rows else ""


def _clusters(explained: Explained, provider: str, code: int) -> list[dict[str, Any]]:
    chosen = pc.and_(pc.equal(explained.keywords["provider"], provider), pc.equal(explained.keywords["code"], code))
    together: dict[tuple[int, bool], list[dict[str, Any]]] = defaultdict(list)
    for row in explained.keywords.filter(chosen).to_pylist():
        together[row["cluster"], row["keyword"]].append(row)
    clusters = [
        {
            "keyword": keyword,
            "importance": sum(row["importance"] for row in rows),
            "relatedness": rows[0]["relatedness"],
            "n": len(rows),
            "words": [row["word"] for row in sorted(rows, key=lambda row: (-row["importance"], row["word"]))],
        }
        for (_, keyword), rows in together.items()
    ]
    return sorted(clusters, key=lambda cluster: (-cluster["importance"], cluster["words"]))


def _cluster_row(name: str, cluster: dict[str, Any], masked: bool) -> list[Cell]:
    words = cluster["words"]
    more = f" and {len(words) - _WORDS} more" if len(words) > _WORDS else ""
    listed = "masked" if masked else ", ".join(words[:_WORDS]) + more
    keyword = Mark("keywords", "good") if cluster["keyword"] else Mark("no keywords")
    return [name, keyword, cluster["n"], listed, cluster["importance"], cluster["relatedness"]]


def _subject_column(trust: TrustFindings) -> list[Column]:
    return [Column("Subject")] if trust.subjects[1:] else []


def _subject(trust: TrustFindings, subject: str) -> list[Cell]:
    return [subject] if trust.subjects[1:] else []
