"""Tests of behaviour, with subjects that are known to pass or to fail them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.texts import rewriting
from assay.tasks.attacks.texts.checklist import Names, Negation, Numbers, negate, rename, renumber
from assay.tasks.attacks.texts.measures import word_findings
from assay.tasks.attacks.texts.page import page
from assay.tasks.attacks.texts.rewriting import rewrite_rows
from assay.tasks.attacks.texts.settings import MUST_CHANGE
from assay.tasks.language.words import given_names
from assay.tasks.statistics.findings import FindingIndex

TEXTS = [
    "Maria said that it was good, 12 of 12.",
    "It was good, and James paid 30 dollars.",
    "A good film, and no one is bored.",
    "Nothing to see.",
]


class Reads:
    """A subject that says 1 of texts of which a rule holds."""

    def __init__(self, rule):
        self.rule = rule

    def probabilities(self, texts):
        return np.array([[0.1, 0.9] if self.rule(text) else [0.8, 0.2] for text in texts])


def negated(text):
    return any(word in text for word in (" not ", "n't "))


def rows_of(attack, rule, monkeypatch):
    monkeypatch.setattr(rewriting, "load_text_model", lambda *_: Reads(rule))
    gold = [int(rule(text)) for text in TEXTS]
    samples = pa.table({"id": list("abcd"), "text": TEXTS, "gold": pa.array(gold, pa.int16())})
    subject = SimpleNamespace(settings=SimpleNamespace(text="text"), gives_chances=True, masked=False)
    options = {"subject": subject, "files": {}, "classes": 2, "seeds": Seeds(0, "attack"), "names": ("bad", "good")}
    return rewrite_rows(samples, attack=attack, **options)


def rate(attack, rule, monkeypatch):
    table = rows_of(attack, rule, monkeypatch)
    (found,) = (
        finding
        for finding in word_findings(table, attack.called, "it", ("bad", "good"))
        if finding.metric == "attack.success_rate"
    )
    return found


@pytest.mark.parametrize(
    ("attack", "rule", "failures", "tried"),
    [
        (Names(), lambda text: "good" in text, 0.0, 2),
        (Names(), lambda text: "Maria" in text or "James" in text, 1.0, 2),
        (Numbers(), lambda text: "good" in text, 0.0, 2),
        (Numbers(), lambda text: "30" in text or "12" in text, 1.0, 2),
        (Negation(), lambda text: "good" in text, 1.0, 3),
        (Negation(), lambda text: not negated(text), 0.0, 3),
    ],
)
def test_planted_truth_is_found(attack, rule, failures, tried, monkeypatch):
    found = rate(attack, rule, monkeypatch)
    assert (found.value, found.n) == (failures, tried)
    assert (found.verdict == MUST_CHANGE) == isinstance(attack, Negation)


def test_a_negated_text_has_no_class_that_an_answer_could_be_right_by(monkeypatch):
    table = rows_of(Negation(), lambda text: "good" in text, monkeypatch)
    accuracy = [f for f in word_findings(table, "negation", "it", ("bad", "good")) if f.metric == "attack.accuracy"]
    assert [finding.value for finding in accuracy] == [None]
    sentence = page(FindingIndex(word_findings(table, "negation", "it", ("bad", "good")))).sentence
    assert sentence.startswith("Negation leaves the answer of it as it was on 100\u202f%")
    assert "changes the answer" not in sentence


def test_a_name_is_the_same_name_everywhere_and_no_number_stays():
    generator = np.random.default_rng(0)
    new = rename("Maria saw Maria, and Olga.", 0, None, Names(), generator)
    first, second, third = (word.strip(",.") for word in new.split() if word.strip(",.") in given_names())
    assert first == second != third
    assert not {first, third} & {"Maria", "Olga"}
    for seed in range(20):
        number = renumber("5 of 10", 0, None, Numbers(), np.random.default_rng(seed))
        assert number.split()[0] != "5"
        assert len(number) == len("5 of 10")


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("I can't say it isn't good", "I can say it is good"),
        ("It will not do.", "It will do not."),
        ("Wasn\u2019t it fun?", "Was it fun?"),
        ("Great film", "Great film"),
        ("It is a toy. I love it.", "It is a toy. I love it."),
    ],
)
def test_statements_are_turned_round(text, turned):
    assert negate(text, 0, None, Negation(), np.random.default_rng(0)) == turned


@pytest.mark.parametrize("text", ["Maria's film, it was good.", "A film by Anna-Maria.", "Maria\u2019s film"])
def test_a_name_gives_way_also_where_it_owns_something_or_is_half_of_one(text):
    assert "Maria" not in rename(text, 0, None, Names(), np.random.default_rng(0))


def test_long_texts_that_repeat_themselves_are_held_against_what_became_of_them_in_no_time():
    text = "the invoice was charged twice " * 1500
    changes = list(rewriting.changed_stretches(text, text.replace("was", "was not")))
    assert len(changes) == 1500
    assert (changes[-1].position, changes[-1].replacement.strip()) == (1499 * 5 + 3, "not")
    assert list(rewriting.changed_stretches(text, text)) == []
