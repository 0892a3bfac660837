"""The trust page of a run: what the oracle made is collected and handed to its room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from assay.data.samples.registry import EMBEDDED
from assay.flows.audits.trust.flow import Opinion, TrustAudit
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.partitions import collect
from assay.infra.runs import current_run
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.run_findings import findings_of
from assay.tasks.trust.page import page
from assay.tasks.trust.page_findings import Explained


def trust_parts(audit: TrustAudit, classes: Sequence[str], masked: bool, findings: FindingIndex) -> Iterator[Part]:
    """The part about trust, where a subject came through."""
    if audit.opinions:
        explained = [
            _explained(subject, explainer, opinion, classes, masked)
            for subject, opinions in audit.opinions.items()
            for explainer, opinion in opinions.items()
        ]
        yield page(findings, explained, planted_strengths(findings))


def planted_strengths(findings: FindingIndex) -> dict[float, FindingIndex]:
    """Where the texts have planted shortcuts: by their strength, these findings and those of the latest run on each
    other strength, for the plot of one against the other."""
    run = current_run()
    here = _strength(run.record)
    if here is None:
        return {}
    others: dict[float, FindingIndex] = {}
    for record in run.store.runs():
        strength = _strength(record)
        if strength is not None and record.findings and record.id != run.id and record.share == run.record.share:
            with suppress(InputError):  # a damaged earlier run costs its point in the plot, not this report
                others[strength] = FindingIndex(findings_of(run.store, record))
    return dict(sorted((others | {here: findings}).items()))


def _strength(record: RunRecord) -> float | None:
    """How often a shortcut holds in the texts of a run, where it is a setting of an embedded data set."""
    source = (record.settings or {}).get("source") or {}
    sample = EMBEDDED.get(str(source.get("dataset")))
    strength = None if sample is None else sample.arguments.get("strength")
    return strength if isinstance(strength, float) else None


def _explained(subject: str, explainer: str, opinion: Opinion, classes: Sequence[str], masked: bool) -> Explained:
    first = opinion.first
    return Explained(
        subject,
        explainer,
        classes,
        labels=collect(first.labels, ["id", "oracle", "predicted", "confidence", "label"]),
        keywords=collect(first.keywords, None),
        thresholds=collect(first.embedded.thresholds, None),
        settings=collect(opinion.thresholds, None),
        examples=collect(opinion.examples, None),
        truth=None if first.truth is None else collect(first.truth, ["id", "truth"]),
        masked=masked,
    )
