"""The oracle as a flow: from a pipeline to findings, seconds and a page; every explainer and repeat in its place."""

from __future__ import annotations

import pytest
import trust_case
from grounds import examined, ground_of_page, pipeline_of

from assay.flows.audits.subjects_flow import Examination
from assay.flows.audits.trust import TRUST
from assay.flows.audits.trust_flow import TrustAudit, show_trust_page
from assay.flows.pipeline import Pipeline
from assay.flows.reproduce.tables import reproduce
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import Run, current_run
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.findings import FindingIndex, findings_from, findings_table
from assay.tasks.subjects.task import HeldOut
from assay.tasks.trust.findings import seconds_spent

SETTINGS = {
    "explainers": ["omission", "lime"],
    "samples": 40,
    "top_words": 5,
    "providers": ["words.py:vectors"],
    "theta_relate": 0.8,
    "class_names": trust_case.CLASS_NAMES,
    "truth": "counterfactual",
    "training_texts": 16,
}


def pipeline(**trust) -> Pipeline:
    return pipeline_of(
        name="mine",
        source={"parquet": "mine.parquet"},
        subjects=[{"name": "mine", "classifier": "mine.py:classify"}],
        trust=SETTINGS | trust,
    )


@pytest.fixture
def asked(tmp_path):
    trust_case.write_code(tmp_path)

    def ask(**trust) -> tuple[TrustAudit, Examination, Run]:
        settings = pipeline(**trust)
        training = trust_case.put_samples(list(range(32)), [0, 20, 32], "train")
        evaluation = trust_case.put_samples(list(range(24)), [0, 24], "test")
        ground = examined(settings, tmp_path, trust_case.put_classes(), HeldOut(training, evaluation))
        return TRUST.perform(ground), ground.of(Examination), current_run()

    return ask


def measured(audit: TrustAudit):
    return [one for artifact in audit.findings for one in findings_from(collect(artifact, None))]


def test_every_explainer_has_an_opinion_and_words_are_embedded_once(run, asked):
    audit, _, branches = asked()
    assert branches.failures == []
    assert list(audit.opinions["mine"]) == ["omission", "lime"]
    found = {(one.of, one.group): one for one in measured(audit) if one.metric == "trust.g_mean"}
    assert found["toki", "omission"].value == found["toki", "lime"].value == 1.0
    assert [stage.stage for stage in run.record.stages].count("embed_words") == 1
    assert [stage.stage for stage in run.record.stages].count("counterfactual_truth") == 1


def test_the_seconds_are_those_of_the_stages_also_when_nothing_is_computed_again(make_run, asked):
    with make_run() as run:
        audit, _, _ = asked()
        first = {(one.metric, one.of): one for one in seconds_spent(audit.asked, run.store)}
    assert set(first) == {
        (f"trust.{what}_seconds", who) for what in ("keyword", "label") for who in ("omission", "lime")
    }
    assert all(one.value > 0 and one.unit == "seconds" for one in first.values())
    assert (first["trust.keyword_seconds", "lime"].n, first["trust.label_seconds", "lime"].n) == (16, 18)
    with make_run() as run:
        audit, _, _ = asked()
        assert all(stage.cached for stage in run.record.stages)
        assert {(one.metric, one.of): one for one in seconds_spent(audit.asked, run.store)} == first


def test_repeats_draw_anew_and_are_averaged(run, asked):
    audit, _, _ = asked(repeats=3, explainers=["lime"], training_texts=8)
    one = audit.opinions["mine"]["lime"]
    assert len(one.repeats) == 3
    assert len({repeat.explained.pooled.digest for repeat in one.repeats}) == 3
    found = {one.metric: one for one in measured(audit) if one.of == "toki"}
    assert found["trust.g_mean_spread"].n == 3


def test_rationales_make_a_truth_per_explainer(run, asked):
    audit, _, _ = asked(truth=None, rationales="sentiment_words")
    opinions = audit.opinions["mine"]
    assert opinions["omission"].first.truth.digest != opinions["lime"].first.truth.digest
    assert {one.of for one in measured(audit) if one.metric == "trust.explanation_precision"} == {"omission", "lime"}


def test_without_a_truth_there_are_shares_and_no_measures(run, asked):
    audit, examination, _ = asked(truth=None)
    names = {one.metric for one in measured(audit)}
    assert "trust.trustworthy" in names
    assert "trust.g_mean" not in names
    (part,) = parts(audit, examination)
    assert "G-mean" not in part.sentence


def test_what_cannot_be_asked_does_not_take_other_subjects_along(run, asked):
    audit, _, branches = asked(explainers=["gradient"])
    assert audit.opinions == {}
    assert "trust in mine" in run.record.failures[0]
    assert "needs to see inside the subject" in str(branches.failures[0])


def parts(audit: TrustAudit, examination: Examination, masked: bool = False):
    return list(show_trust_page(ground_of_page(examination, masked), audit, FindingIndex(measured(audit))))


def page(audit: TrustAudit, examination: Examination, masked: bool = False) -> str:
    shown = parts(audit, examination, masked)
    report = Report("run", "mine", "2026-01-01T00:00:00", 1.0, 0, "done", [], shown, findings=measured(audit))
    return render_report(report)


def test_the_page_shows_the_words_and_what_the_oracle_thinks_of_them(run, asked):
    audit, examination, _ = asked()
    html = page(audit, examination)
    assert '<mark class="bad w5">Friday<sup role="img"' in html
    assert '<mark class="good w5">good<sup' in html
    (part,) = parts(audit, examination)
    assert "relate to the class, by omission (n = 18)" in part.sentence
    assert "says nothing of the model" in part.sentence  # six known truths do not tell how good the oracle is


def test_where_texts_are_masked_no_word_of_them_is_in_any_output(run, asked):
    audit, examination, _ = asked(masked=True)
    said = "\n".join(stage.summary for stage in run.record.stages)
    outputs = [page(audit, examination, masked=True), said, str(findings_table(measured(audit)).to_pylist())]
    assert "■■■■" in outputs[0]
    for word in ("film", "friday", "monday"):  # `good` is also what the page calls a tone
        assert [word in output.lower() for output in outputs] == [False] * 3, word


def test_table_three_is_reproduced_from_the_latest_runs(run, asked):
    text = reproduce("toki-3", run.store)
    assert "HateXplain" in text
    assert "0.854" in text  # the paper's G-mean of TOKI with LIME on CAMS
    assert "assay run cams" in text


def test_a_part_without_subjects_is_left_out():
    assert list(show_trust_page(ground_of_page(None, masked=False), TrustAudit({}), FindingIndex())) == []
