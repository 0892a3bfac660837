"""The embedded pipelines on medical terms, as they stand: every attack on entities does harm, and training helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.flows.audit import audit
from assay.flows.pipeline import load_project
from assay.infra.partitions import collect
from assay.tasks.statistics.findings import Finding, findings_from

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
FIRST = "share=1, changes=1"


def measured(name: str, overrides: tuple[str, ...]) -> dict[tuple[str, str, str, str], Finding]:
    project = load_project(ROOT / "pipelines.yaml", pipeline=name, overrides=overrides)
    made = audit(project.pipeline(name), project.folder)
    assert made.failures == []
    assert made.findings is not None
    found = findings_from(collect(made.findings, None))
    return {(one.metric, one.subject, one.of, one.group): one for one in found}


def test_entities_are_lost_under_every_attack_and_training_on_swaps_brings_some_back(run):
    found = measured("abstracts-ner", ("defenses=[{defense: attacked-copies, attack: swap}]", "gates=[]"))
    drops = {key[2:]: one.verdict for key, one in found.items() if key[:2] == ("ner.drop", "small")}
    assert {of for of, _ in drops} == {"swap", "keyboard", "synonymy"}
    assert {drops["swap", FIRST], drops["keyboard", FIRST], drops["synonymy", "share=1"]} == {"lower"}
    more = [found["ner.f1", "small", "swap", f"share={share}, changes=1"].value for share in ("0.25", "0.5", "1")]
    assert more == sorted(more, reverse=True)
    assert found["ner.own_gain", "small+on-swap", "swap", FIRST].verdict == "helps"
    assert 0.2 < found["ner.recovered", "small+on-swap", "swap", FIRST].value < 1.1
    unseen, seen = (found["ner.recall", "small", "clean", name].value for name in ("unseen", "seen"))
    assert unseen < seen


def test_scores_follow_people_less_under_typing_errors(run):
    found = measured("abstracts-sts", ("defenses=[]",))
    assert found["sts.pearson", "small", "clean", ""].low > 0.3
    assert found["sts.drop", "small", "swap", FIRST].verdict == "lower"
    assert found["sts.drop", "small", "keyboard", FIRST].verdict == "lower"
