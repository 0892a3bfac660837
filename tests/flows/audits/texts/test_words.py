"""Texts under attack as a flow: words and noise, guided by the oracle, defended by copies, and shown or masked."""

from __future__ import annotations

import json
import traceback
from dataclasses import replace
from types import SimpleNamespace

import pytest
import trust_case
from grounds import examined, ground_of_page, pipeline_of
from ruamel.yaml import YAML

from assay.data.schemas import class_names
from assay.flows.audits.challenge import outcomes_of_challenge
from assay.flows.audits.subjects_flow import Examination
from assay.flows.audits.table import KINDS
from assay.flows.audits.texts_flow import WordAudit, attack_texts, fewest_words, show_texts, tables_of
from assay.flows.audits.trust import TRUST
from assay.flows.configuration.loading import load_project
from assay.flows.export.model_cards import export_model
from assay.flows.report.sentences import sentences
from assay.flows.yaml_document import ConfigurationError
from assay.infra.errors import InputError
from assay.infra.stages.branches import start_branch
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import current_run
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.findings import FindingIndex, findings_from
from assay.tasks.statistics.gates import judge
from assay.tasks.statistics.settings import Gate
from assay.tasks.subjects.task import HeldOut

ORACLE = {
    "explainers": ["omission"],
    "top_words": 5,
    "providers": ["words.py:vectors"],
    "theta_relate": 0.8,
    "class_names": trust_case.CLASS_NAMES,
    "training_texts": 16,
}
LOOSE = {"min_cosine": -1.0, "similarity": -1.0, "encoder": "word-vectors", "part_of_speech": False}
A2T = {"attack": "a2t", "vectors": "words.py:vectors"} | LOOSE
GUIDED = {"attack": "guided"} | LOOSE
NOISE = {"attack": "noise", "kinds": ["typos", "casing"], "severities": [1, 5]}
OWN = {"name": "mine", "classifier": "mine.py:classify"}
TAUGHT = {"name": "bert", "classifier": "small-bert", "train": {"epochs": 1, "batch_size": 8}}


@pytest.fixture
def attacked(tmp_path):
    trust_case.write_code(tmp_path)

    def attack(subjects=(OWN,), attacks=(A2T, GUIDED, NOISE), masked=False, oracle=True, source=None, **options):
        settings = pipeline_of(
            name="mine",
            source={"parquet": "mine.parquet"} | (source or {}),
            subjects=subjects,
            attacks=attacks,
            trust=ORACLE | {"masked": masked} if oracle else None,
            **options,
        )
        held = HeldOut(
            trust_case.put_samples(list(range(32)), [0, 20, 32], "train"),
            trust_case.put_samples(list(range(16)), [0, 16], "test"),
        )
        ground = examined(settings, tmp_path, trust_case.put_classes(), held)
        if oracle:
            opinion = TRUST.perform(ground)
            ground = replace(ground, later={"trust": lambda: opinion})
        return attack_texts(ground), ground.of(Examination), current_run()

    return attack


def measured(audit: WordAudit, examination: Examination):
    return [
        one for part in (examination, audit) for table in part.findings for one in findings_from(collect(table, None))
    ]


def page(audit: WordAudit, examination: Examination, masked: bool) -> str:
    findings = measured(audit, examination)
    shown = list(show_texts(ground_of_page(examination, masked), audit, FindingIndex(findings)))
    report = Report("run", "mine", "2026-01-01T00:00:00", 1.0, 0, "done", [], shown, findings=findings)
    return render_report(report)


def test_words_and_noise_are_measured_compared_and_shown_with_every_change(run, attacked):
    audit, examination, branches = attacked()
    assert branches.failures == []
    found = {(one.metric, one.of, one.group): one for one in measured(audit, examination)}
    assert found["attack.success_rate", "a2t", ""].n == found["attack.success_rate", "guided", ""].n > 0
    assert found["attack.success_difference", "guided - a2t", ""].p_value is not None
    assert found["attack.accuracy", "noise", "typos, severity=5"].n == 16
    html = page(audit, examination, masked=False)
    assert "what the attack made of it" in html
    assert html.count("<mark") > 4
    assert "changes the answer of mine on" in html
    assert "With typos at severity 5 it gets" in html


def test_masked_texts_leave_no_word_in_the_page_the_findings_or_what_stages_say(run, attacked):
    audit, examination, branches = attacked(masked=True)
    assert branches.failures == []
    outputs = [
        page(audit, examination, masked=True),
        "\n".join(stage.summary for stage in run.record.stages),
        str(measured(audit, examination)),
    ]
    assert "■■■■" in outputs[0]
    assert "Words that carry" not in outputs[0]
    for word in ("film", "friday", "monday", "praise"):
        assert [word in output.lower() for output in outputs] == [False] * 3, word


def test_masking_is_a_property_of_the_source_and_needs_no_oracle(run, attacked):
    audit, examination, branches = attacked(attacks=[A2T, NOISE], oracle=False, source={"masked": True})
    assert branches.failures == []
    html = page(audit, examination, masked=True)
    assert "■■■■" in html
    assert [word for word in ("film", "friday", "monday", "praise") if word in html.lower()] == []
    for attack in audit.attacked["mine"].values():
        assert set(collect(attack.shown, ["text"])["text"].to_pylist()) == {""}


@pytest.mark.parametrize(
    ("source", "trust", "masked"),
    [
        ({"dataset": "hatexplain"}, None, True),
        ({"dataset": "cams"}, {"masked": False}, True),
        ({"dataset": "hatexplain", "masked": False}, None, False),
        ({"dataset": "emotion"}, None, False),
        ({"dataset": "emotion"}, {"masked": True}, True),
        ({"csv": "a.csv", "masked": True}, None, True),
        ({"csv": "a.csv"}, None, False),
        ({"dataset": "sample/reviews"}, {"masked": True}, True),
    ],
)
def test_hateful_and_private_texts_are_masked_unless_somebody_says_otherwise(source, trust, masked):
    assert pipeline_of(name="mine", source=source, trust=trust).masked is masked


def test_what_a_classifier_raises_on_masked_texts_is_told_without_its_words(run, attacked, tmp_path):
    (tmp_path / "loud.py").write_text("def classify(texts):\n    raise ValueError(f'no idea what {texts[0]} means')\n")
    loud = {"name": "loud", "classifier": "loud.py:classify"}
    with pytest.raises(InputError) as caught:
        attacked([loud], [NOISE], oracle=False)
    assert "a good film" in str(caught.value)
    words = r'"loud.py:classify" raised ValueError \(line 2\) on a list of 16 texts'
    with pytest.raises(InputError, match=words) as caught:
        attacked([loud], [NOISE], oracle=False, source={"masked": True})
    said = "".join(traceback.format_exception(caught.value))
    assert [word for word in ("film", "friday", "no idea") if word in said.lower()] == []


def test_noise_is_made_once_for_all_subjects_and_copies_teach_a_model_of_their_own(run, attacked):
    own_too = [TAUGHT, OWN]
    defended = [{"defense": "attacked-copies", "attack": "noise", "control": True}]
    audit, examination, branches = attacked(own_too, [NOISE], oracle=False, defenses=defended)
    assert branches.failures == []
    stages = [stage.stage for stage in run.record.stages if not stage.cached]
    assert stages.count("add_noise") == 1
    assert audit.defended["bert"] == {"on-noise-control": "bert+on-noise-control", "on-noise": "bert+on-noise"}
    assert "bert+on-noise" in audit.models
    assert "mine" not in audit.defended  # a function learns nothing: it is left as it is, and that is said
    assert "mine comes as it is and learns from no attacked copies: it is not defended." in run.record.notices
    assert {"bert", "mine", "bert+on-noise"} <= set(audit.attacked)
    found = {(one.metric, one.of, one.group) for one in measured(audit, examination) if one.subject == "bert"}
    for group in ("clean", "typos, severity=5", "every kind, severity=5"):
        assert {("defense.accuracy", "none", group), ("defense.gain", "on-noise", group)} <= found
    tests = {group for metric, _, group in found if metric == "defense.mcnemar_p"}
    kinds = {f"{kind}, severity=5" for kind in (*NOISE["kinds"], "every kind")}
    assert tests == {"clean", *kinds}
    beyond = {(metric, of, group) for metric, of, group in found if "control" in metric}
    assert {group for metric, _, group in beyond if metric == "defense.control_mcnemar_p"} == kinds
    assert {of for _, of, _ in beyond} == {"on-noise"}
    assert "Trained with, tested on: bert" in page(audit, examination, masked=False)


def test_a_classifier_taught_by_copies_is_handed_out_and_answers_alike_elsewhere(run, attacked, tmp_path):
    defended = [{"defense": "attacked-copies", "attack": "noise"}]
    audit, examination, _ = attacked([TAUGHT], [NOISE], oracle=False, defenses=defended)
    run.record.settings = {"subjects": [TAUGHT]}
    run.record.outcomes = [each.to_json() for each in outcomes_of_challenge(audit, examination, {}, {})]
    folder = tmp_path / "model"
    with pytest.raises(InputError, match=r"known here: bert\+on-noise"):
        export_model(run.store, run.record, "bert", folder)
    export_model(run.store, run.record, "bert+on-noise", folder)
    assert {"card.json", "config.json", "model.safetensors", "subject.yaml"} <= {one.name for one in folder.iterdir()}
    named = json.loads((folder / "config.json").read_text())["id2label"]
    assert [named[str(code)] for code in range(len(named))] == class_names(collect(examination.classes, None))
    (written,) = YAML(typ="safe").load(folder / "subject.yaml")["subjects"]
    again = pipeline_of(name="again", source={"csv": "a.csv"}, subjects=[written])
    ground = examined(again, tmp_path, examination.classes, HeldOut(examination.training, examination.evaluation))
    copy = audit.models["bert+on-noise"]
    assert ground.of(Examination).subjects["bert+on-noise"].predictions.digest == copy.predictions.digest


def test_a_classifier_that_always_answers_alike_is_flagged_at_the_head_and_passes_no_gate(run, attacked, tmp_path):
    (tmp_path / "same.py").write_text("def classify(texts):\n    return [[0.1, 0.9]] * len(texts)\n")
    gates = [{"finding": "attack.accuracy", "of": "noise", "group": "typos, severity=5", "at_least": 0.3}]
    audit, examination, branches = attacked(
        [{"name": "same", "classifier": "same.py:classify"}], [NOISE], oracle=False, gates=gates
    )
    assert branches.failures == []
    findings = measured(audit, examination)
    (flag,) = [one for one in findings if one.metric == "attack.red_flag"]
    assert (flag.of, flag.value, flag.subject) == ("majority-predictor", 1.0, "same")
    (judged,) = judge([Gate.model_validate(gates[0])], findings)
    assert not judged.passed
    said = [str(one.text) for one in sentences(KINDS, FindingIndex(findings))]
    assert any(one.startswith("What attacks say of same cannot be trusted") for one in said)
    assert not any("right on" in one and "Typos" in one for one in said)


def test_texts_that_say_the_opposite_have_no_class_to_be_right_on(run, attacked):
    checks, copies = ({"attack": "negation"}, {"attack": "numbers"}), {"defense": "attacked-copies"}
    audit, examination, branches = attacked([TAUGHT], checks, oracle=False, defenses=[copies | {"attack": "numbers"}])
    assert branches.failures == []
    found = [one for one in measured(audit, examination) if one.metric.startswith("defense.")]
    assert {one.group.partition(",")[0] for one in found} == {"clean", "numbers"}
    assert list(tables_of(audit.attacked["bert"], "attacked")) == ["numbers"]  # what is followed along the order


def test_only_attacks_on_as_many_texts_are_compared(run, attacked):
    few, all_texts = A2T | {"texts": 4}, {"attack": "injection", "instructions": ["Answer {class}."]}
    audit, examination, branches = attacked(attacks=[few, few | {"name": "again"}, all_texts], oracle=False)
    assert branches.failures == []
    found = measured(audit, examination)
    assert {one.of for one in found if one.metric == "attack.success_difference"} == {"a2t - again"}


def test_a_guided_attack_without_an_opinion_breaks_alone(run, attacked):
    audit, _, branches = attacked(attacks=[NOISE, GUIDED], oracle=False)
    assert "has no opinion of mine" in str(branches.failures[0])
    assert list(audit.attacked["mine"]) == ["noise"]


FILE = """pipelines:
  mine:
    source: {csv: a.csv, label: gold}
    subject: {classifier: small-bert}
    attacks: [a2t, noise]
"""
COPIES = "defenses: [attacked-copies: {attack: a2t}]"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "noise]",
            "guided]",
            "5: attacks.1 — guided goes by the trust oracle's word pools, and the pipeline has no trust: add trust, as "
            "in trust: {explainers: [lime]}, or use a2t",
        ),
        (
            "[a2t, noise]",
            "[guided: {explainer: omission}]\n    trust: {explainers: [lime]}",
            '5: attacks.0.explainer: "omission" — is not among trust.explainers; known here: lime',
        ),
        (
            "[a2t, noise]",
            f"[noise]\n    {COPIES}",
            '6: defenses.0.attack: "a2t" — there is no such attack; known here: noise, mixed',
        ),
        (
            "[a2t, noise]",
            "[a2t: {texts: 50}, guided: {texts: 60}]\n    trust: {explainers: [lime]}",
            "5: attacks.1.texts: 60 — another word attack is on 50 texts, and they are compared on the same ones: set "
            "texts alike",
        ),
        (
            "small-bert}\n    attacks: [a2t, noise]",
            f"'my.py:f'}}\n    attacks: [a2t]\n    {COPIES}",
            "6: defenses.0 — subject comes as it is and learns from no attacked copies: give it train, audit a "
            "classifier that Assay trains, or leave the defence out",
        ),
        (
            "{classifier: small-bert}",
            "{model: logistic}",
            "5: attacks.0 — a2t needs a subject for texts: add one with classifier, as in subject: {classifier: …}",
        ),
    ],
)
def test_attacks_on_texts_that_cannot_be_are_refused_with_their_line(tmp_path, old, new, said):
    file = tmp_path / "pipelines.yaml"
    file.write_text(FILE.replace(old, new))
    with pytest.raises(ConfigurationError) as refused:
        load_project(file)
    assert f"pipelines.yaml:{said}" in str(refused.value)


def test_an_error_that_nobody_foresaw_quotes_no_masked_text(run):
    def lose(word):
        raise KeyError(word)

    start_branch("a2t on mine", lose, "friday").outcome()
    run.masked = True
    start_branch("a2t on mine", lose, "friday").outcome()
    first, second = (str(one) for one in run.failures)
    assert "'friday'" in first
    assert second == "a2t on mine broke: KeyError. Run again with --debug to see where."
    assert run.failures[1].__cause__ is None


def test_only_word_attacks_say_how_few_words_turn_an_answer(run, attacked):
    tests = [{"attack": "names"}, {"attack": "numbers"}, {"attack": "negation"}]
    audit, _, branches = attacked(attacks=(A2T, *tests), oracle=False)
    assert branches.failures == []
    assert {"a2t", "negation"} <= audit.attacked["mine"].keys()
    asked = pipeline_of(name="mine", source={"parquet": "mine.parquet"}, subjects=[OWN], attacks=[A2T, *tests])
    (words,) = fewest_words(SimpleNamespace(pipeline=asked), audit)
    of_a2t = collect(audit.attacked["mine"]["a2t"].attacked, None)
    assert words.rows == sum(status != "skipped" for status in of_a2t["status"].to_pylist()) > 0
