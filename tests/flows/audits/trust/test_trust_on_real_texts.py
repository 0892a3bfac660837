"""The oracle on the catalogue's texts; of hateful posts and posts about suicide not one word is in any output."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from grounds import with_results
from repository import ROOT

from assay.flows.audits.data import ingest_samples
from assay.flows.audits.subjects_flow import examine
from assay.flows.audits.trust import TRUST
from assay.flows.audits.trust_flow import show_trust_page
from assay.flows.configuration.loading import load_project
from assay.flows.kind import Ground
from assay.infra.stages.partitions import collect
from assay.tasks.language.words import words_of
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_from

pytestmark = [pytest.mark.slow, pytest.mark.mirror, pytest.mark.timeout(1800)]

QUICK = (
    "evaluation.limit=60",
    "trust.explainers=[omission, gradient]",
    "trust.training_texts=90",
    "trust.providers=[fasttext, ppmi, subject]",
)


def audited(run: Any, name: str) -> tuple[Any, str, list[Finding]]:
    """The samples, everything that is said of them (page, lines of the stages), and the findings."""
    pipeline = load_project(ROOT / "pipelines.yaml", pipeline=name, overrides=QUICK).pipeline(name)
    assert pipeline.trust is not None
    ground = with_results(Ground(pipeline, ROOT), data=ingest_samples(Ground(pipeline, ROOT)))
    examination = examine(ground)
    audit = TRUST.perform(with_results(ground, subjects=examination))
    assert run.failures == []
    found = [one for artifact in audit.findings for one in findings_from(collect(artifact, None))]
    parts = tuple(show_trust_page(ground, audit, FindingIndex(found)))
    report = Report("run", name, "2026-01-01T00:00:00", 1.0, 0, "done", [], parts, findings=found)
    lines = "\n".join(stage.summary for stage in run.record.stages)
    return examination.evaluation, render_report(report) + lines, found


def metrics(found: list[Finding], explainer: str) -> dict[tuple[str, str], Finding]:
    return {(one.metric, one.of): one for one in found if explainer in (one.group, one.of) and one.value is not None}


@pytest.mark.parametrize("name", ["hatexplain", "cams"])
def test_rationales_are_the_yardstick_and_no_word_of_the_texts_is_shown(run, name):
    samples, said, found = audited(run, name)
    page = html.unescape(re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", said, flags=re.DOTALL))
    ours = " ".join(path.read_text() for folder in ("tasks", "flows", "data") for path in (ROOT / folder).rglob("*.py"))
    ours += (ROOT / "pipelines.yaml").read_text()
    allowed = {word.normalised for word in words_of(ours)} | set(re.findall(r"[a-z]+|\d+", ours.lower()))
    theirs = {word.normalised for text in collect(samples, ["text"])["text"].to_pylist() for word in words_of(text)}
    shown = {word.normalised for word in words_of(page)}
    leaked = {word for word in (theirs & shown) - allowed if not any(sign.isdigit() for sign in word)}
    assert len(leaked) == 0, "words of the texts are in the output"  # which ones, nobody should have to read
    assert len(theirs - allowed) > 200, "the texts have words that could have been shown"
    measured = metrics(found, "omission")
    for difference in ("toki - naive", "toki - toki-ki"):  # whatever the sign
        one = measured["trust.accuracy_difference", difference]
        assert -1 <= one.low <= one.value <= one.high <= 1
        assert one.n > 5
    assert 0 < measured["trust.explanation_precision", "omission"].value < 1


@pytest.mark.parametrize(("name", "classes"), [("rotten-tomatoes", 2), ("ag-news", 4), ("emotion", 6)])
def test_texts_without_known_truth_are_labelled_all_the_same(run, name, classes):
    _, said, found = audited(run, name)
    shares = [one for one in found if one.metric == "trust.untrustworthy" and one.of == "omission"]
    assert len(shares) == classes + 1
    assert 0 < shares[0].value < 1
    assert not any(one.metric == "trust.g_mean" for one in found)
    assert "The truth is not known" in said
