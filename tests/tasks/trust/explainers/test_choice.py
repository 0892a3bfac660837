"""Explainers of one's own: named beside ours, in the key, and held to what is relied on."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.infra.errors import InputError
from assay.infra.storage.keys import key_part
from assay.tasks.trust.explainers.choice import ExplainerChoice
from assay.tasks.trust.explainers.documents import most_important
from assay.tasks.trust.explainers.explaining import explain
from assay.tasks.trust.explainers.table import EXPLAINERS, Explaining
from assay.tasks.trust.settings import Trust

LONGEST = """
import numpy as np
from assay.tasks.trust.explainers.choice import ExplainerChoice
from assay.tasks.trust.explainers.documents import most_important

def longest(model, document, target, settings, generator):
    return most_important(document, np.array([len(word.text) for word in document.words]), settings.top_words)

LONGEST = ExplainerChoice("longest", longest)
"""


def test_an_explainer_of_ones_own_is_listed_beside_ours_and_knows_its_file(tmp_path: Path, black_box) -> None:
    (tmp_path / "mine.py").write_text(LONGEST)
    wider = EXPLAINERS.with_plugins(tmp_path, ["mine.py:LONGEST"]).settings_with(Trust, "explainers")
    trust = wider(explainers=("omission", "mine.py:LONGEST"), top_words=2)
    settings = trust.explaining("longest")
    travelled = pickle.loads(pickle.dumps(settings))
    found = explain(black_box({}), "a good film", 1, travelled, np.random.default_rng(0))
    assert [word.text for word in found.words] == ["good", "film"]
    assert "longest" in key_part(settings)["settings"]["plugins"]
    ours = trust.explaining("omission")
    assert key_part(ours) == key_part(Explaining(explainer="omission", top_words=2))


def test_one_that_looks_inside_is_refused_for_a_function(tmp_path: Path, black_box) -> None:
    (tmp_path / "mine.py").write_text(LONGEST.replace("longest)", "longest, looks_inside=True)"))
    wider = EXPLAINERS.with_plugins(tmp_path, ["mine.py:LONGEST"]).settings_with(Explaining, "explainer")
    with pytest.raises(InputError, match="`longest` needs to see inside the subject"):
        explain(black_box({}), "a good film", 1, wider(explainer="longest"), np.random.default_rng(0))


def test_importance_that_is_no_number_is_refused_in_a_run_too(tmp_path: Path, black_box) -> None:
    (tmp_path / "mine.py").write_text(LONGEST.replace("[len(word.text) for", "[np.nan for"))
    wider = EXPLAINERS.with_plugins(tmp_path, ["mine.py:LONGEST"]).settings_with(Explaining, "explainer")
    with pytest.raises(InputError, match="longest gave 3 numbers for 3 words, expected a finite one for each"):
        explain(black_box({}), "a good film", 1, wider(explainer="longest"), np.random.default_rng(0))


@pytest.mark.parametrize("choice", list(EXPLAINERS), ids=lambda choice: choice.word)
def test_ours_keep_what_is_relied_on(choice: ExplainerChoice) -> None:
    assert choice.conformance() == []


def _numbers(document, value=1.0):
    return np.full(len(document.words), value)


def drawn(model, document, target, settings, generator, own=np.random.default_rng(0)):  # noqa: B008
    return most_important(document, own.random(len(document.words)), settings.top_words)


def all_words(model, document, target, settings, generator):
    return most_important(document, _numbers(document), 100)


def no_numbers(model, document, target, settings, generator):
    return most_important(document, _numbers(document, np.nan), settings.top_words)


def fewer_numbers(model, document, target, settings, generator):
    return replace(most_important(document, _numbers(document), settings.top_words), importance=())


def backwards(model, document, target, settings, generator):
    found = most_important(document, np.arange(len(document.words)) + 1.0, settings.top_words)
    return replace(found, words=found.words[::-1], importance=found.importance[::-1])


def strangers(model, document, target, settings, generator):
    found = most_important(document, _numbers(document), settings.top_words)
    return replace(found, words=tuple(replace(word, text=word.text + "!") for word in found.words))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda *_: {"good": 1.0}, "gave dict, expected an Explanation."),
        (lambda *_: 1 / 0, "ZeroDivisionError"),
        (all_words, "words, expected at most 4, each once."),
        (no_numbers, "expected a finite one for each."),
        (fewer_numbers, "gave 0 numbers for 4 words"),
        (backwards, "the largest importance comes first."),
        (strangers, "which is no word of the document."),
        (drawn, "when it is asked again with the same generator"),
    ],
)
def test_a_broken_one_is_caught_in_one_sentence(function, said) -> None:
    (sentence,) = ExplainerChoice("mine", function).conformance()
    assert said in sentence
    assert "\n" not in sentence
