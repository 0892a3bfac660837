"""Changes planted in a night of images: labels flipped in the table, weights of an earlier epoch, and both."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from blamed import asked, attributed, shared
from direct_nights import perform_night
from planted_images import EPS, PARTS, among_all_images, plant_images

from assay.flows.blame.shares import blame_sentence

pytestmark = pytest.mark.slow

NIGHTS = (("labels",), ("epoch",), ("labels", "epoch"))
ATTACKED = {"finding": "attack.accuracy", "of": "pgd", "group": "eps=2/255"}
CLEAN = {"finding": "subject.accuracy", "of": "clean"}


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[str, ...], str]]:
    """A night without a change and one with each; the project is then as it was at first."""
    folder, ran = tmp_path_factory.mktemp("nights"), dict[tuple[str, ...], str]()
    for changes in ((), *NIGHTS):
        ran[changes] = perform_night(plant_images(folder, *changes), "night").run
    return plant_images(folder), ran


@pytest.mark.parametrize("finding", [ATTACKED, CLEAN])
@pytest.mark.parametrize("change", ["labels", "epoch"])
def test_a_change_alone_is_to_blame_for_everything_and_nothing_is_computed(nights, change: str, finding) -> None:
    folder, ran = nights
    found = shared(folder, ran[()], ran[change,], **finding)
    assert [(one.part, one.interval.value) for one in found.shares] == [(PARTS[change], found.total.value)]
    assert found.total.value < -0.03
    assert found.computed == 0


@pytest.mark.parametrize(("finding", "eps"), [(ATTACKED, EPS), (CLEAN, 0.0)])
def test_each_of_both_changes_is_attributed_within_its_interval(nights, finding, eps: float) -> None:
    folder, ran = nights
    # the two nights themselves are not computed again
    assert asked(folder, ran[()], ran["labels", "epoch"], **finding).forecast().hybrids <= 2**2 - 2
    found = shared(folder, ran[()], ran["labels", "epoch"], **finding)
    assert attributed(found, PARTS, among_all_images(eps))
    assert all(one.interval.high - one.interval.low < 0.1 for one in found.shares)
    assert sum(one.interval.value for one in found.shares) == pytest.approx(found.total.value, abs=1e-12)


def test_images_whose_label_changed_are_counted_and_the_weights_are_named(nights) -> None:
    folder, ran = nights
    changes = asked(folder, ran[()], ran["labels", "epoch"], **ATTACKED).changes
    assert [one.words for one in changes.parts] == ["60 altered samples", "the weights (weights.safetensors)"]


def test_the_sentence_names_both(nights) -> None:
    folder, ran = nights
    told = blame_sentence(shared(folder, ran[()], ran["labels", "epoch"], **ATTACKED))
    assert told.startswith("attack.accuracy (own, pgd, eps=2/255): of \N{MINUS SIGN}")
    assert "the weights (weights.safetensors)" in told
    assert "60 altered samples" in told


@pytest.mark.parametrize(("finding", "has_intervals"), [("subject.auc", True), ("subject.balanced_accuracy", False)])
def test_only_what_has_no_single_outcomes_is_shared_out_without_intervals(nights, finding, has_intervals) -> None:
    folder, ran = nights
    found = shared(folder, ran[()], ran["labels", "epoch"], finding=finding, of="clean", group="")
    assert {one.part for one in found.shares} == set(PARTS.values())
    assert sum(one.interval.value for one in found.shares) == pytest.approx(found.total.value, abs=1e-12)
    assert all(math.isfinite(one.interval.low) == has_intervals for one in found.shares)
    if has_intervals:
        assert all(one.interval.low <= one.interval.value <= one.interval.high for one in found.shares)
