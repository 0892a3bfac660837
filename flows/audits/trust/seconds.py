"""What keyword identification and labelling took: read from the manifests, so that no artifact depends on the clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assay.flows.audits.trust.flow import Oracle, TrustAudit
from assay.infra.artifacts import Artifact
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding


def seconds_spent(audit: TrustAudit, store: Store) -> list[Finding]:
    """The time columns of Table 3 per subject and explainer, as they were when the stages ran, in this run or before.

    `trust.keyword_seconds` counts the explanation of the training texts, word vectors and keywords; its n are the
    training texts. `trust.label_seconds` counts the explanation of the audited texts and their labels. Word vectors are
    made once for all explainers, and counted for each. Of several repeats it is the mean.
    """
    found = []
    for subject, opinions in audit.opinions.items():
        for explainer, opinion in opinions.items():
            for metric, spent in (("trust.keyword_seconds", _keywords), ("trust.label_seconds", _labels)):
                runs = [list(spent(one)) for one in opinion.repeats]
                total = sum(_wall(store, stage, made) for run in runs for stage, made in run)
                n = runs[0][0][1].rows
                found.append(
                    Finding(metric, of=explainer, subject=subject, value=total / len(runs), n=n, unit="seconds")
                )
    return found


def _keywords(one: Oracle) -> Iterator[tuple[str, Artifact[Any]]]:
    yield "explain_predictions", one.explained.pooled
    yield "embed_words", one.embedded.vectors
    yield "identify_keywords", one.keywords


def _labels(one: Oracle) -> Iterator[tuple[str, Artifact[Any]]]:
    yield "explain_predictions", one.explained.tested
    yield "label_trust", one.labels


def _wall(store: Store, stage: str, made: Artifact[Any]) -> float:
    manifest = store.manifest(stage, made.key)
    return manifest.wall_seconds if manifest is not None else 0.0
