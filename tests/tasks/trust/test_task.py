"""The oracle as stages: the same labels whatever the order, the cut and the workers, and what they rest on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
import trust_case
from trust_case import CLASS_NAMES, TEXTS, put_classes, put_samples

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.statistics.findings import findings_from
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.task import predict_texts, train_classifier
from assay.tasks.trust.explainers.table import Explaining
from assay.tasks.trust.resolved import resolve_trust
from assay.tasks.trust.settings import Trust
from assay.tasks.trust.task import (
    counterfactual_truth,
    embed_words,
    explain_predictions,
    human_truth,
    identify_keywords,
    label_trust,
    measure_trust,
    rationale_truth,
    show_trust,
    try_thresholds,
)

N = 48
OMISSION = Explaining(explainer="omission", top_words=5)
TRUST = Trust(
    explainers=("omission",),
    providers=("words.py:vectors",),
    theta_relate=0.8,
    class_names=CLASS_NAMES,
    truth="counterfactual",
)


@dataclass
class Case:
    """Everything up to the explanations, and what the oracle is asked with."""

    samples: Any
    classes: Any
    files: Any
    subject: Any
    predictions: Any
    pooled: Any
    tested: Any
    trust: Any

    def judged(self, settings: Trust = TRUST) -> dict[str, Any]:
        vectors, thresholds = embed_words(
            self.samples,
            [self.pooled, self.tested],
            self.classes,
            self.files,
            self.subject,
            self.trust.providers,
            self.trust.synonyms,
            settings.naming,
            settings.theta_relate,
        )
        keywords = identify_keywords(self.pooled, vectors, thresholds, self.classes, settings.asking)
        labels = label_trust(self.tested, keywords, vectors, thresholds, self.classes, settings.asking)
        return {"vectors": vectors, "thresholds": thresholds, "keywords": keywords, "labels": labels}

    def truth(self) -> Any:
        return counterfactual_truth(self.samples, self.predictions, self.classes, self.files, self.subject)


@pytest.fixture
def case(tmp_path):
    trust_case.write_code(tmp_path)

    def make(order=None, cuts=(0, N), explaining=OMISSION) -> Case:
        order = list(range(N)) if order is None else order
        subject = resolve_subject(Subject(classifier="mine.py:classify"), tmp_path)
        samples, classes = put_samples(order, list(cuts), "test"), put_classes()
        files, _ = train_classifier(samples, classes, subject)
        predictions = predict_texts(samples, classes, files, subject)
        explained = explain_predictions(samples, predictions, classes, files, subject, explaining)
        return Case(
            samples, classes, files, subject, predictions, explained, explained, resolve_trust(TRUST, subject, tmp_path)
        )

    return make


def rows(artifact) -> list[dict[str, Any]]:
    return sorted(collect(artifact, None).to_pylist(), key=lambda row: (row["id"], row.get("oracle", "")))


def by_text(labels, oracle="toki") -> dict[str, str]:
    found = {}
    for row in rows(labels):
        if row["oracle"] == oracle:
            found.setdefault(TEXTS[int(row["id"][-3:]) % len(TEXTS)][0], row["label"])
    return found


def test_words_of_sentiment_are_keywords_and_weekdays_are_not(run, case):
    found = collect(case().judged()["keywords"], None).to_pylist()
    assert {(row["code"], row["word"]) for row in found if row["keyword"]} == {(0, "bad"), (1, "good")}
    assert {row["word"] for row in found if not row["keyword"]} >= {"monday", "friday"}


def test_the_labels_follow_the_reasons(run, case):
    labels = case().judged()["labels"]
    assert by_text(labels) == {
        "a good film": "trustworthy",
        "a bad film": "trustworthy",
        "seen on Friday": "untrustworthy",
        "seen on Monday": "untrustworthy",
        "a good one on Friday": "untrustworthy",
        "nothing at all": "undecided",
    }
    reasons = {row["reason"] for row in rows(labels) if row["label"] == "undecided"}
    assert reasons == {"no word speaks for the prediction"}


def test_a_class_without_keywords_is_undecided_and_the_other_is_not(run, case):
    strange = TRUST.model_copy(update={"class_names": {"neg": "complaint", "pos": "elsewhere"}})
    found = by_text(case().judged(strange)["labels"])
    assert (found["a good film"], found["a bad film"]) == ("undecided", "trustworthy")


def test_wrong_predictions_are_out_of_scope(run, case):
    one = case()
    everything = explain_predictions(
        one.samples, one.predictions, one.classes, one.files, one.subject, OMISSION, correct=False
    )
    found = by_text(replace(one, tested=everything).judged()["labels"])
    assert (found["a bad one on Friday"], found["nothing to say"]) == ("out of scope", "out of scope")
    naive = by_text(replace(one, tested=everything).judged()["labels"], "naive")
    assert naive["a bad one on Friday"] == "out of scope"


def test_neither_order_nor_cut_changes_a_label(make_run, tmp_path, case):
    with make_run(store=str(tmp_path / "one")):
        whole = case().judged()
        expected, digests = rows(whole["labels"]), {name: one.digest for name, one in whole.items()}
    with make_run(store=str(tmp_path / "two")):
        cut = case(cuts=(0, 5, 6, 31, N)).judged()
        assert {name: one.digest for name, one in cut.items()} == digests
    with make_run(store=str(tmp_path / "three")):
        turned = case(order=list(reversed(range(N))), cuts=(0, 17, N)).judged()
        assert rows(turned["labels"]) == expected


@pytest.mark.slow
def test_workers_give_the_same_digests_as_this_process(make_run, tmp_path, case):
    def everything():
        one = case(cuts=(0, 20, N))
        made, truth = one.judged(), one.truth()
        settings = try_thresholds(
            one.tested, one.pooled, made["vectors"], made["thresholds"], truth, one.classes, TRUST.asking
        )
        examples = show_trust(made["labels"], one.tested, one.samples, truth, "text", False, False)
        return [one.digest for one in (*made.values(), truth, settings, examples)]

    with make_run(store=str(tmp_path / "here")):
        here = everything()
    with make_run(store=str(tmp_path / "there"), engine="local", workers=2):
        there = everything()
    assert here == there


def test_the_confidence_threshold_makes_no_new_word_vectors(run, case):
    one = case()
    one.judged()
    one.judged(TRUST.model_copy(update={"confidence": 0.5}))
    assert [stage.cached for stage in run.record.stages if stage.stage == "embed_words"] == [False, True]


def test_counterfactual_truth_asks_the_subject_again(run, case):
    truth = {row["id"]: row["truth"] for row in rows(case().truth())}
    said = {TEXTS[int(key[-3:]) % len(TEXTS)][0]: value for key, value in truth.items()}
    # Without "good" or "Friday" the other still carries the prediction, and with nothing left all texts are negative.
    assert said == {
        "a good film": "trustworthy",
        "a bad film": None,
        "seen on Friday": "untrustworthy",
        "seen on Monday": None,
        "a good one on Friday": None,
        "nothing at all": None,
    }


def test_findings_count_shares_measures_and_what_is_out_of_scope(run, case):
    one = case()
    made = one.judged()
    found = {
        (row.metric, row.of, row.group): row
        for row in findings_from(
            collect(
                measure_trust(
                    made["labels"],
                    made["thresholds"],
                    one.samples,
                    one.predictions,
                    one.truth(),
                    one.classes,
                    "omission",
                    "s",
                ),
                None,
            )
        )
    }
    share = found["trust.trustworthy", "omission", "all"]
    assert (share.value, share.n) == (2 / 6, 36)
    assert found["trust.undecided", "omission", "neg"].value == 6 / 18
    assert (found["trust.out_of_scope", "omission", "all"].value, N) == (12 / 48, 48)
    assert found["trust.out_of_scope", "omission", "pos"].value == 6 / 24
    assert found["trust.g_mean", "toki", "omission"].value == 1.0
    assert found["trust.truth", "omission", "unknown"].value == 24 / 36
    assert found["trust.g_mean_difference", "toki - naive", "omission"].n == 12
    assert found["trust.confidence_auc", "naive", "omission"].value == 0.0
    assert found["trust.theta_relate", "omission", "words.py:vectors"].value == 0.8


def test_other_thresholds_are_tried_around_those_in_use(run, case):
    one = case()
    made = one.judged()
    found = collect(
        try_thresholds(
            one.tested, one.pooled, made["vectors"], made["thresholds"], one.truth(), one.classes, TRUST.asking
        ),
        None,
    ).to_pylist()
    used = [row for row in found if row["used"]]
    assert sorted(row["setting"] for row in used) == ["theta_dist", "theta_relate", "vote"]
    assert {(row["trustworthy"], row["undecided"], row["n"], row["g_mean"]) for row in used} == {(12, 6, 36, 1.0)}
    strict = next(row for row in found if (row["setting"], row["value"]) == ("theta_relate", 0.2))
    assert strict["undecided"] == 36  # no cosine reaches 1


def test_examples_show_the_words_where_they_stand_or_nothing_at_all(run, case):
    one = case()
    made = one.judged()
    shown = rows(show_trust(made["labels"], one.tested, one.samples, one.truth(), "text", False, False))
    first = next(row for row in shown if row["label"] == "untrustworthy" and "Friday" in row["text"])
    words = {
        first["text"][a:b]: yes for a, b, yes in zip(first["starts"], first["ends"], first["related"], strict=True)
    }
    assert words["Friday"] is False
    masked = rows(show_trust(made["labels"], one.tested, one.samples, one.truth(), "text", False, True))
    assert {row["text"] for row in masked} == {""}
    assert [row["importance"] for row in masked] == [row["importance"] for row in shown]


def test_rationales_make_the_truth_of_an_explainer(run, case):
    one = case()
    found = rows(rationale_truth(one.tested, one.samples, "text", "sentiment_words"))
    by = {TEXTS[int(row["id"][-3:]) % len(TEXTS)][0]: (row["truth"], row["precision"]) for row in found}
    assert by["a good film"] == ("trustworthy", 1.0)
    assert by["a good one on Friday"] == ("trustworthy", 0.5)
    assert by["seen on Friday"] == (None, None)  # nobody points to a word
    assert {row["explainer"] for row in found} == {"omission"}
    with pytest.raises(InputError, match="no column 'why', which trust is measured against"):
        rationale_truth(one.tested, one.samples, "text", "why")


def test_people_are_heard_on_right_predictions_only(run, case, tmp_path):
    (tmp_path / "people.csv").write_text(
        "sample,annotator,verdict\ntest-000,1,trustworthy\ntest-005,1,untrustworthy\nother,1,trustworthy\n"
    )
    one = case()
    people = resolve_trust(TRUST.model_copy(update={"truth": "people.csv"}), one.subject, tmp_path).verdicts
    found = rows(human_truth(one.samples, one.predictions, one.classes, people))
    assert [(row["id"], row["truth"]) for row in found] == [
        ("test-000", "trustworthy")
    ]  # test-005 is predicted wrongly


def test_verdicts_on_other_samples_are_refused(run, case, tmp_path):
    (tmp_path / "people.csv").write_text("sample,annotator,verdict\nother,1,trustworthy\n")
    one = case()
    people = resolve_trust(TRUST.model_copy(update={"truth": "people.csv"}), one.subject, tmp_path).verdicts
    with pytest.raises(InputError, match=r"No sample of people\.csv is among the audited ones"):
        human_truth(one.samples, one.predictions, one.classes, people)


def test_nothing_to_label_is_no_error(run, case):
    one = case(order=[5, 13], cuts=(0, 2))  # both wrong
    made = one.judged()
    assert made["labels"].rows == 0
    found = findings_from(
        collect(
            measure_trust(
                made["labels"],
                made["thresholds"],
                one.samples,
                one.predictions,
                one.truth(),
                one.classes,
                "omission",
                "s",
            ),
            None,
        )
    )
    assert next(row for row in found if row.metric == "trust.g_mean").verdict == "not measured"
    settings = try_thresholds(
        one.tested, one.pooled, made["vectors"], made["thresholds"], None, one.classes, TRUST.asking
    )
    assert {row["n"] for row in collect(settings, None).to_pylist()} == {0}


def test_odd_texts_are_labelled_or_undecided_and_never_break(run, case, monkeypatch):
    odd = (
        ("good", 1, "good", None),
        ("?!", 0, None, None),
        ("", 0, None, None),
        ("good \U0001f600", 1, "good", None),
        ("\u05e1\u05e8\u05d8 good", 1, "good", None),
        ("a \x00 bad film", 0, "bad", None),
        ("good film " * 50_000, 1, None, None),
        ("bad", 0, "bad", None),
    )
    monkeypatch.setattr(trust_case, "TEXTS", odd)
    one = case(order=list(range(8)), cuts=(0, 3, 8))
    made = one.judged()
    found = [row["label"] for row in rows(made["labels"]) if row["oracle"] == "toki"]
    assert found == ["trustworthy", "undecided", "undecided", *["trustworthy"] * 5]
    assert len(rows(one.truth())) == 8
    shown = rows(show_trust(made["labels"], one.tested, one.samples, None, "text", False, False))
    assert {row["label"] for row in shown} == {"trustworthy"}


def test_a_class_name_that_is_no_class_is_refused(run, case):
    wrong = TRUST.model_copy(update={"class_names": {"negativ": "bad"}})
    with pytest.raises(InputError, match="names 'negativ', which is no class: the classes are neg, pos"):
        case().judged(wrong)
