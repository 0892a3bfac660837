"""The tables of the trust page, and the findings and artifacts that the page looks up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.reporting.estimates import About, ColumnOver, column, table_of
from assay.tasks.reporting.parts import Block, Cell, DataTable, Mark
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
        self.findings = findings
        self.subjects = findings.distinct("subject", "trust")

    @property
    def explained(self) -> list[tuple[str, str]]:
        """Every subject with each of its explainers."""
        return [(subject, explainer) for subject in self.subjects for explainer in self.explainers(subject)]

    def explainers(self, subject: str) -> list[str]:
        """The explainers of a subject, in the order of the settings."""
        return self.findings.distinct("of", "trust.trustworthy", subject=subject)

    def get(self, metric: str, subject: str, of: str, group: str = "") -> Finding | None:
        """The finding, if it was made."""
        return self.findings.entry(f"trust.{metric}", subject, of, group)

    def constant(self, subject: str) -> bool:
        """Whether a subject (almost) always gives the same answer, so that it is right for no reason at all."""
        return any(finding.degenerate for finding in self.findings.select("subject.degenerate", subject=subject))

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
        column("Explainer", "of"),
        column("Class", "group"),
        column("Trustworthy", "trust.trustworthy", "percent", "Of the right predictions that were explained"),
        column("Untrustworthy", "trust.untrustworthy", "percent"),
        column("Undecided", "trust.undecided", "percent", "The oracle has nothing to go by"),
        column("Hardly weighed", "trust.faint", "percent", _FAINT_HELP),
        column("Out of scope", "trust.out_of_scope", "percent", _OUT_HELP),
    ]
    rows = [About(*pair, group) for pair in trust.explained for group in ("all", *classes)]
    note = (
        "A prediction is trustworthy if the words that speak for it and are related to its class weigh at least as "
        "much as the others (Eq. 6). Only right predictions are judged. Where words hardly weigh anything, because the "
        "subject stays sure whatever is left out, Eq. 6 still names a side; do not believe it."
    )
    return table_of("What the oracle says", rows, columns, note, findings=trust.findings, collapsed=len(rows) > 30)


_FAINT_HELP = "Of what was decided: all words together weigh less than 0.005"
_OUT_HELP = "Of all predictions: wrong ones, and those whose class is not known"


def measures_table(trust: TrustFindings) -> list[Block]:
    """Table 3 of the paper: the six measures of every oracle."""
    columns = [
        *_subject_column(trust),
        column("Oracle", lambda row: ORACLES[row.of]),
        column("Explainer", "group"),
        *(column("G-mean" if name == "g_mean" else name.capitalize(), f"trust.{name}", "number") for name in MEASURES),
    ]
    rows = [About(subject, oracle, explainer) for subject, explainer in trust.explained for oracle in ORACLES]
    rows = [row for row in rows if trust.get("g_mean", *row) is not None]
    note = (
        "The measures of Table 3 of Nguyen Tung et al.; “positive” is trustworthy. Rows of different explainers have "
        "different true labels where these come from rationales, and are not comparable then."
    )
    return [table_of("The oracles against the truth", rows, columns, note, findings=trust.findings)] if rows else []


def work_table(trust: TrustFindings) -> DataTable:
    """Per explainer the true labels behind the measures, and the time columns of Table 3."""

    def in_truth(truth: str) -> Callable[[About], Cell]:
        def count(row: About) -> Cell:
            share = trust.get("truth", row.subject, row.of, truth)
            return None if share is None or share.value is None else round(share.value * (share.n or 0))

        return count

    def spent(metric: str, field: str) -> Callable[[About], Cell]:
        return lambda row: getattr(trust.get(metric, *row), field, None)

    columns = [
        *_subject_column(trust),
        column("Explainer", "of"),
        column("Trustworthy in truth", in_truth("trustworthy"), "integer"),
        column("Untrustworthy in truth", in_truth("untrustworthy"), "integer"),
        column("Not known", in_truth("unknown"), "integer"),
        column("Explanation precision", "trust.explanation_precision", "percent", _PRECISION_HELP),
        column("Training texts", spent("keyword_seconds", "n"), "integer"),
        column("Keywords, s", spent("keyword_seconds", "value"), "number", _KEYWORDS_HELP),
        column("Audited texts", spent("label_seconds", "n"), "integer"),
        column("Labels, s", spent("label_seconds", "value"), "number", _LABELS_HELP),
    ]
    rows = [About(*pair) for pair in trust.explained]
    note = (
        "Seconds are those of the stages when they ran, in this run or an earlier one. Word vectors are made once for "
        "all explainers and counted for each."
    )
    return table_of("What it rests on, and what it took", rows, columns, note, findings=trust.findings)


_PRECISION_HELP = "Of an explanation's words, those in the human rationale; the mean"
_KEYWORDS_HELP = "Seconds spent on explaining training texts and finding keywords"
_LABELS_HELP = "Seconds spent on explaining the audited texts and labelling them"


def differences_table(trust: TrustFindings) -> list[Block]:
    """What TOKI has over its baselines, paired."""
    columns = [
        *_subject_column(trust),
        column("Explainer", "group"),
        column("Difference", lambda row: f"TOKI − {ORACLES[row.of.removeprefix('toki - ')]}"),
        column("Accuracy", "trust.accuracy_difference", "number"),
        column("p", lambda row: getattr(trust.get("accuracy_difference", *row), "p_value", None), "p", _MCNEMAR_HELP),
        column("G-mean", "trust.g_mean_difference", "number"),
    ]
    baselines = ("naive", "toki-ki")
    rows = [About(subject, f"toki - {name}", explainer) for subject, explainer in trust.explained for name in baselines]
    rows = [row for row in rows if trust.get("accuracy_difference", *row) is not None]
    note = (
        "On the predictions that both decide; 95 % intervals, Tango's score interval of accuracy, of G-mean those "
        "of resampled predictions. Above zero TOKI is better."
    )
    return [table_of("TOKI beside its baselines", rows, columns, note, findings=trust.findings)] if rows else []


_MCNEMAR_HELP = "McNemar's mid-p test"


def providers_table(explained: Explained) -> DataTable:
    """θ_relate of every provider, what it rests on, and how many keywords the provider would have."""

    def count(name: str) -> Callable[[dict[str, Any]], Cell]:
        def keywords_of(row: dict[str, Any]) -> Cell:
            own = pc.equal(explained.keywords["provider"], row["provider"])
            return int(sum(explained.keywords.filter(own)[name].to_pylist()))

        return keywords_of

    columns = [
        column("Word embedding", "provider"),
        column("θ relate", "theta", "number", "The least cosine of related words"),
        column("Balance", _balance, "percent", _BALANCE_HELP),
        column("Pairs", "pairs", "integer"),
        column("Pairs not known", "unknown", "integer"),
        column("Words", "words", "integer"),
        column("Words not known", "words_unknown", "integer"),
        column("Keywords by it", count("elected"), "integer"),
        column("By the vote", count("keyword"), "integer"),
    ]
    note = (
        "Each embedding has one vote. θ relate is the median of the similarities of synonym and random pairs, where "
        "precision and recall of both are equal."
    )
    return table_of(f"Word embeddings, {explained.subject}", explained.thresholds.to_pylist(), columns, note)


_BALANCE_HELP = "Of synonyms at or above θ, and of random pairs below it; 50 % is guessing"


def _balance(row: dict[str, Any]) -> Cell:
    balance: float | None = row["balance"]
    if balance is None or balance >= 0.6:
        return balance
    return Mark(f"{100 * balance:.1f} %", "bad", "little better than guessing", balance)


def clusters_table(explained: Explained) -> DataTable:
    """Per class the clusters of words that weigh most, keywords and others, by the best provider; masked: counts."""
    provider = best_provider(explained)
    keywords, others = Mark("keywords", "good"), Mark("no keywords")
    columns = [
        column("Class", "class"),
        column("Keywords?", lambda row: keywords if row["keyword"] else others, help="By the vote of all embeddings"),
        column("Words", "n", "integer"),
        column("Cluster", lambda row: "masked" if explained.masked else _listed(row["words"])),
        column("Importance", "importance", "number", "The sum of the mean importance of its words"),
        column("Relatedness", "relatedness", "number", "The cosine of its mean vector with the class name's"),
    ]
    rows: list[dict[str, Any]] = []
    for code, name in enumerate(explained.classes):
        ranked = [{"class": name, **cluster} for cluster in _clusters(explained, provider, code)]
        for keyword in (True, False):
            rows += [cluster for cluster in ranked if cluster["keyword"] == keyword][:_CLUSTERS]
    note = f"The clusters that {provider} makes, the heaviest first, keywords and other words of a cluster apart."
    if explained.masked:
        note += " The texts of this audit are masked, and so are their words."
    title = f"Clusters of words, {explained.subject}, {explained.explainer}"
    return table_of(title, rows, columns, note, collapsed=len(rows) > 36)


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


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:_WORDS]) + (f" and {len(words) - _WORDS} more" if len(words) > _WORDS else "")


def _subject_column(trust: TrustFindings) -> list[ColumnOver]:
    return [column("Subject", "subject")] if trust.subjects[1:] else []
