"""What the trust page is made of: its findings, and the tables of one subject and explainer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
        return any(one.degenerate for one in self._findings.select("subject.degenerate", subject=subject))

    def value(self, metric: str, subject: str, of: str, group: str = "") -> float | None:
        """The value of the finding, if it was measured."""
        finding = self.get(metric, subject, of, group)
        return None if finding is None else finding.value
