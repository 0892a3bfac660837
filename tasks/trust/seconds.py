"""What keyword identification and labelling took: read from the manifests, so that no artifact depends on the clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assay.infra.artifacts import Artifact
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding

Step = tuple[str, Artifact[Any]]
"""The name of a stage, and what it made."""


@dataclass(frozen=True)
class Asked:
    """What was made on the way to keywords, and to labels, in every repeat, about one subject by one explainer."""

    subject: str
    explainer: str
    keywords: Sequence[Sequence[Step]]
    labels: Sequence[Sequence[Step]]


def seconds_spent(asked: Iterable[Asked], store: Store) -> list[Finding]:
    """The time columns of Table 3 per subject and explainer, as they were when the stages ran, in this run or before.

    `trust.keyword_seconds` counts the explanation of the training texts, word vectors and keywords; its n are the
    training texts. `trust.label_seconds` counts the explanation of the audited texts and their labels. Word vectors are
    made once for all explainers, and counted for each. Of several repeats it is the mean.
    """
    return [
        Finding(
            metric,
            of=one.explainer,
            subject=one.subject,
            n=repeats[0][0][1].rows,
            unit="seconds",
            value=sum(_wall(store, *step) for repeat in repeats for step in repeat) / len(repeats),
        )
        for one in asked
        for metric, repeats in (("trust.keyword_seconds", one.keywords), ("trust.label_seconds", one.labels))
    ]


def _wall(store: Store, stage: str, artifact: Artifact[Any]) -> float:
    manifest = store.manifest(stage, artifact.key)
    return manifest.wall_seconds if manifest is not None else 0.0
