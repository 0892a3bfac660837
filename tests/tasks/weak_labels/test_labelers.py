"""Labelers of one's own: named beside ours, through the same stages, in the key, and held to what is relied on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.weak_labels.labelers import Labeler, LabelerChoice
from assay.tasks.weak_labels.page import page
from assay.tasks.weak_labels.table import LABELERS, WeakLabelling
from assay.tasks.weak_labels.task import _trained_in_words, label_probabilistically, train_labeler
from tests.tasks.weak_labels.test_task import VOTES, given_classes, given_panel, given_votes

CAUTIOUS = """
import numpy as np
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.weak_labels.labelers import LabelerChoice

def smoothed(votes, classes):
    counts = (votes[:, :, None] == np.arange(classes)).sum(axis=1) + 1.0
    return counts / counts.sum(axis=1, keepdims=True)

CAUTIOUS = LabelerChoice("cautious", probabilities=smoothed)
"""


@pytest.fixture
def settings(tmp_path: Path) -> WeakLabelling:
    """Settings that name a labeler in a file of the user's."""
    (tmp_path / "mine.py").write_text(CAUTIOUS)
    wider = LABELERS.with_plugins(tmp_path, ["mine.py:CAUTIOUS"]).settings_with(WeakLabelling, "labelers")
    return wider(labelers=("majority", "mine.py:CAUTIOUS"))


@pytest.mark.parametrize("cuts", [[0, 90], [0, 1, 40, 90]])
def test_a_labeler_of_ones_own_labels_through_the_same_stages(run, settings, cuts):
    votes, classes = given_votes(cuts), given_classes()
    model = train_labeler(votes, given_panel(["rule 1", "rule 4"]), classes, settings, "cautious", "panel")
    table = collect(label_probabilistically(votes, model, classes, settings), None)
    heard = VOTES[:, [1, 4]]
    ones = (heard == 1).sum(axis=1) + 1.0
    zeros = (heard == 0).sum(axis=1) + 1.0
    np.testing.assert_array_equal(table["confidence"].to_numpy(), np.maximum(ones, zeros) / (ones + zeros))
    np.testing.assert_array_equal(table["votes_cast"].to_numpy(), (heard >= 0).sum(axis=1))
    np.testing.assert_array_equal(table["undecided"].to_numpy(), ones == zeros)
    part = page(FindingIndex(()), {"cautious": collect(model, None)})
    assert part.sentence == "Cautious makes probabilities of the votes of 2 labelling functions in a way of its own."


def test_its_source_is_in_the_key(run, settings, tmp_path):
    def key(options):
        return train_labeler(given_votes([0, 90]), None, given_classes(), options, "cautious", "all").key

    assert key(settings) == key(settings)
    (tmp_path / "mine.py").write_text(CAUTIOUS.replace("+ 1.0", "+ 2.0"))
    changed = LABELERS.with_plugins(tmp_path, ["mine.py:CAUTIOUS"]).settings_with(WeakLabelling, "labelers")
    assert key(changed(labelers=("majority", "cautious"))) != key(settings)


LEARNING = """
import numpy as np
from assay.tasks.weak_labels.labelers import Labeler, LabelerChoice

def learned(counts, options):
    return WHAT

LEARNING = LabelerChoice("learning", learn=learned)
"""


def trained_as(what, folder):
    (folder / "learning.py").write_text(LEARNING.replace("WHAT", what))
    settings = LABELERS.with_plugins(folder, ["learning.py:LEARNING"]).settings_with(WeakLabelling, "labelers")
    options = settings(labelers=("learning",))
    return train_labeler(given_votes([0, 90]), None, given_classes(), options, "learning", "all")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("Labeler(counts.functions, np.full(len(counts.functions), np.nan))", "learned the weights .*nan.* expected"),
        ("Labeler(counts.functions, np.ones(1))", "expected a finite weight for each of rule 0"),
        ("None", "The labeler learning learned a NoneType, expected a Labeler"),
        ("1 / 0", r'The plug-in "learning.py:LEARNING" raised ZeroDivisionError: division by zero \(line 6\)'),
    ],
)
def test_what_one_learns_is_seen_to_be_weights_before_anything_is_labelled(run, tmp_path, what, said):
    with pytest.raises(InputError, match=said):
        trained_as(what, tmp_path)


def test_weights_that_one_learned_are_not_called_equal_for_want_of_votes():
    choice = LabelerChoice("learning", learn=lambda counts, options: Labeler(counts.functions, np.ones(1)))
    learned = Labeler(("a", "b", "c"), np.array([1.0, 2.0, 3.0]))
    assert _trained_in_words(learned, choice, 2) == "learning · 3 rules · weights learned from votes"


@pytest.mark.parametrize("choice", list(LABELERS), ids=lambda choice: choice.word)
def test_ours_keep_what_is_relied_on(choice):
    assert choice.conformance() == []


def votes_of_the_batch(votes, classes):
    share = np.full((len(votes), classes), 1.0) + (np.arange(classes) == 0) * (votes >= 0).mean()
    return share / share.sum(axis=1, keepdims=True)


def drawn(votes, classes, generator=np.random.default_rng(0)):  # noqa: B008  the state that it should not have
    return generator.dirichlet(np.ones(classes), size=len(votes))


def drawn_weights(counts, settings, generator=np.random.default_rng(0)):  # noqa: B008
    return Labeler(counts.functions, generator.random(len(counts.functions)))


@pytest.mark.parametrize(
    ("labeler", "said"),
    [
        ({"probabilities": lambda votes, _: np.full((len(votes), 1), 1.0)}, "gave the shape [60, 1] for 60 samples"),
        ({"probabilities": lambda votes, k: np.full((len(votes), k), 0.5)}, "none below 0, together 1."),
        ({"probabilities": lambda votes, k: np.full((len(votes), k), np.nan)}, "none below 0, together 1."),
        ({"probabilities": drawn}, "gives the same votes other probabilities when it is asked again."),
        ({"probabilities": votes_of_the_batch}, "a sample's may not depend on the others."),
        ({"learn": lambda counts, _: Labeler(counts.functions[:2], np.ones(2))}, "expected a finite weight for each"),
        ({"learn": lambda counts, _: Labeler(counts.functions, np.ones(5), np.zeros((5, 3, 3)))}, "positive numbers"),
        ({"probabilities": lambda votes, _: votes.nothing}, "AttributeError"),
        ({"learn": drawn_weights}, "learns other weights from the same votes"),
    ],
)
def test_a_broken_one_is_caught_in_one_sentence(labeler, said):
    (sentence,) = LabelerChoice("mine", **labeler).conformance()
    assert said in sentence
    assert "\n" not in sentence


def test_a_labeler_is_one_thing_or_the_other():
    with pytest.raises(InputError, match="give it `learn` or `probabilities`"):
        LabelerChoice("mine", learn=lambda counts, _: Labeler(counts.functions, np.ones(5)), probabilities=drawn)
