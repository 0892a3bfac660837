"""The lattice of shifts: exact on a torus, equal to the definition on open windows, and no dearer than it must be."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from assay.tasks.overfitting.settings import Generator
from assay.tasks.overfitting.translations import Lattice, chosen, in_turn, offsets_by_distance, shift, shifts, span

GENERATORS: tuple[Generator, ...] = ("strongest", "nearest", "random", "random2")


SIDE = 9


def fields(count: int, side: int, seed: int, tied: bool):
    """l_exc and who is wrong, at every place of `count` images; with ties, many values are equal and some are 0."""
    rng = np.random.default_rng(seed)
    excess = rng.normal(-0.6, 1.0, (count, side, side))
    if tied:
        excess = np.round(excess)
    wrong = (excess > 0) | ((excess == 0) & (rng.random(excess.shape) < 0.5))
    return excess, wrong


def seen(excess, wrong, reach):
    """A classifier that answers from fields whose middle is the unshifted image."""
    return lambda rows, down, right: (
        excess[rows, down + reach, right + reach],
        wrong[rows, down + reach, right + reach],
    )


@pytest.mark.parametrize("generator", GENERATORS)
def test_on_a_torus_the_weighted_errors_add_up_to_the_errors(generator):
    """Every shift of every image is a sample of its own, so that the density is exact: E L(g) h(g) = E L."""
    excess, wrong = fields(12, SIDE, seed=0, tied=False)
    excess[6:], wrong[6:] = (field[6:] for field in fields(12, SIDE, seed=1, tied=True))
    images, places = np.divmod(np.arange(12 * SIDE * SIDE), SIDE * SIDE)
    rows, columns = np.divmod(places, SIDE)

    def look(which, down, right):
        at = images[which], (rows[which] + down) % SIDE, (columns[which] + right) % SIDE
        return excess[at], wrong[at]

    _, found = shift(len(images), 2, (generator,), look)
    weighted = found[generator].weighted.reshape(12, -1).sum(axis=1)
    np.testing.assert_allclose(weighted, wrong.sum(axis=(1, 2)), rtol=0, atol=1e-12)
    assert found[generator].attackable.sum() > 100


def goals(excess, wrong, eps, generator, at):
    """g by its definition: where the image at `at` is sent, as a list of (place, probability)."""
    if wrong[at]:
        return [(at, 1.0)]
    around = [(at[0] + dy, at[1] + dx) for dy in range(-eps, eps + 1) for dx in range(-eps, eps + 1)]
    others = [place for place in around if place != at]
    if generator in ("random", "random2"):
        drawn = others if generator == "random" else around
        return [(place, 1 / len(drawn)) for place in drawn]
    misses = [place for place in others if wrong[place]]
    if not misses:
        return [(at, 1.0)]
    if generator == "strongest":
        return [(max(misses, key=lambda place: excess[place]), 1.0)]  # max and min take the first of equal ones
    return [(min(misses, key=lambda place: (place[0] - at[0]) ** 2 + (place[1] - at[1]) ** 2), 1.0)]


def differences(shifted):
    """T = L(f, g(x)) h(g(x)) − L(f, x) [n]."""
    return shifted.weighted - shifted.wrong


def difference(excess, wrong, eps, generator):
    """T of the image in the middle by its definition, the mean over g."""
    middle = (3 * eps, 3 * eps)
    total = 0.0
    for goal, likely in goals(excess, wrong, eps, generator, middle):
        if not wrong[goal]:
            continue
        arriving = 0.0
        for dy in range(-eps, eps + 1):
            for dx in range(-eps, eps + 1):
                neighbour = goal[0] + dy, goal[1] + dx
                if (dy, dx) == (0, 0) or wrong[neighbour]:
                    continue
                arriving += sum(p for place, p in goals(excess, wrong, eps, generator, neighbour) if place == goal)
        total += likely / (1 + arriving)
    return total - wrong[middle]


@pytest.mark.parametrize("generator", GENERATORS)
def test_the_lattice_gives_what_the_definition_gives_on_open_windows_with_ties(generator):
    eps, count = 1, 300
    excess, wrong = fields(count, 6 * eps + 1, seed=2, tied=True)
    _, found = shift(count, eps, (generator,), seen(excess, wrong, 3 * eps))
    by_definition = [difference(excess[at], wrong[at], eps, generator) for at in range(count)]
    if generator in ("strongest", "nearest"):
        assert differences(found[generator]).tolist() == by_definition
    np.testing.assert_allclose(differences(found[generator]), by_definition, rtol=0, atol=1e-12)
    assert len(set(by_definition)) > 5


def test_two_pixels_give_what_the_definition_gives_as_well():
    excess, wrong = fields(25, 13, seed=3, tied=True)
    _, found = shift(25, 2, ("strongest", "nearest"), seen(excess, wrong, 6))
    for generator, one in found.items():
        assert differences(one).tolist() == [difference(excess[at], wrong[at], 2, generator) for at in range(25)]


def test_all_generators_together_say_what_each_says_alone():
    excess, wrong = fields(40, 13, seed=4, tied=True)
    _, together = shift(40, 2, GENERATORS, seen(excess, wrong, 6))
    for generator in GENERATORS:
        _, alone = shift(40, 2, (generator,), seen(excess, wrong, 6))
        assert np.array_equal(alone[generator].weighted, together[generator].weighted)


def test_a_random_generator_is_the_mean_of_what_it_would_have_drawn():
    """T under one drawn shift after the other, by hand for an image with two wrong neighbours that lie apart."""
    eps = 1
    wrong = np.zeros((1, 7, 7), bool)
    wrong[0, 2, 2] = wrong[0, 4, 4] = True
    _, found = shift(1, eps, ("random", "random2"), seen(wrong.astype(float) - 0.5, wrong, 3))
    # Each wrong neighbour has 8 right ones around it, each of which comes with probability 1/8 (or 1/9).
    assert found["random"].weighted[0] == pytest.approx(2 / 8 * 1 / (1 + 8 / 8))
    assert found["random"].adversarial[0] == pytest.approx(2 / 8)
    assert found["random2"].weighted[0] == pytest.approx(2 / 9 * 1 / (1 + 8 / 9))


def test_at_five_pixels_an_image_costs_121_looks_or_441_and_never_961():
    eps = 5
    excess = np.full((3, 31, 31), -1.0)
    excess[1, 15, 15] = 1.0  # wrong where it is
    excess[2, 10, 19] = 1.0  # wrong after a shift by (−5, 4): its box reaches to the edge of the lattice
    counted = []

    def look(rows, down, right):
        assert max(np.abs(down).max(), np.abs(right).max()) <= 3 * eps
        counted.extend(zip(rows.tolist(), down.tolist(), right.tolist(), strict=True))
        return excess[rows, down + 15, right + 15], excess[rows, down + 15, right + 15] > 0

    lattice, found = shift(3, eps, ("strongest",), look)
    assert lattice.looks.tolist() == [121, 441, 441]
    assert len(counted) == len(set(counted)) == 121 + 441 + 441
    assert found["strongest"].attackable.tolist() == [False, False, True]
    # 121 right places reach the only wrong one, (2ε + 1)² less itself; so h = 1/121.
    assert found["strongest"].weighted[2] == pytest.approx(1 / 121)
    assert differences(found["strongest"])[1] == pytest.approx(1 / 121 - 1)


def test_of_equal_shifts_the_first_from_top_to_bottom_and_left_to_right_is_taken():
    excess = np.full((1, 3, 3), -1.0)
    excess[0, 0, 2] = excess[0, 2, 0] = 4.0
    excess[0, 1, 0] = 1.0
    assert shifts(1)[chosen(excess, excess > 0, 1, "strongest")[0, 0, 0]].tolist() == [-1, 1]
    assert shifts(1)[chosen(excess, excess > 0, 1, "nearest")[0, 0, 0]].tolist() == [0, -1]
    level = np.where(np.isin(np.arange(9).reshape(1, 3, 3), [1, 3, 5]), 1.0, -1.0)
    assert shifts(1)[chosen(level, level > 0, 1, "nearest")[0, 0, 0]].tolist() == [-1, 0]


def test_who_is_wrong_is_never_moved_and_who_cannot_be_made_wrong_stays():
    wrong = np.zeros((2, 3, 3), bool)
    wrong[0] = True
    assert chosen(wrong.astype(float), wrong, 1, "strongest").ravel().tolist() == [4, 4]


def test_logits_as_high_as_the_truth_decide_by_the_flag_and_not_by_their_excess():
    """At l_exc = 0 the classifier's own rule for ties decides: a right place with 0 is no goal, a wrong one is."""
    excess = np.zeros((1, 7, 7))
    wrong = np.zeros((1, 7, 7), bool)
    wrong[0, 4, 4] = True
    _, found = shift(1, 1, ("strongest",), seen(excess, wrong, 3))
    assert found["strongest"].attackable[0]
    assert found["strongest"].weighted[0] == pytest.approx(1 / 9)


def test_no_image_is_no_work():
    lattice = Lattice(0, 2, seen(np.zeros((0, 13, 13)), np.zeros((0, 13, 13), bool), 6))
    assert differences(lattice.under("strongest")).tolist() == []
    assert differences(lattice.under("random")).tolist() == []


@pytest.mark.parametrize("generator", GENERATORS)
def test_differences_stay_within_the_span(generator):
    excess, wrong = fields(400, 13, seed=5, tied=True)
    _, found = shift(400, 2, (generator,), seen(excess, wrong, 6))
    spread = np.ptp(differences(found[generator]))
    assert 0.5 < spread <= span(generator)


def test_offsets_are_sorted_by_how_far_they_go():
    assert [len(ring) for ring in offsets_by_distance(3)] == [1, 8, 16, 24]
    assert shifts(3)[offsets_by_distance(3)[0]].tolist() == [[0, 0]]


@pytest.mark.parametrize("generator", GENERATORS)
def test_fields_that_are_taken_in_turn_give_the_same(generator, monkeypatch):
    excess, wrong = fields(60, 13, seed=3, tied=True)
    look = seen(excess, wrong, 6)
    at_once = Lattice(60, 2, look).under(generator)
    monkeypatch.setattr("assay.tasks.overfitting.translations._BYTES", 100_000)
    assert len(list(in_turn(60, 2))) == 12
    in_parts = Lattice(60, 2, look).under(generator)
    assert in_parts.weighted.tolist() == at_once.weighted.tolist()


def test_memory_does_not_grow_with_the_number_of_images():
    excess, wrong = fields(120, 49, seed=3, tied=False)
    tracemalloc.start()
    Lattice(120, 8, seen(excess, wrong, 24)).under("strongest")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # all 120 at once would take twice that
