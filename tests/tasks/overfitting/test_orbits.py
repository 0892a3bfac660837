"""Closed symmetries: the exact test against enumeration and scipy, and what its stage refuses."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data.schemas import Predictions, Samples
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.overfitting.independence import Orbits, exact_gap, exact_p, gather, orbit_records, records_from
from assay.tasks.overfitting.settings import Orbit
from assay.tasks.overfitting.task import compare_orbits
from assay.tasks.overfitting.verdicts import at_level, spent_level

SETTINGS = Orbit(orbit="question", original="asked")


def simulated(n: int, size: int, memorised: float, seed: int) -> Orbits:
    """n orbits with errors on every form, of which some originals have been learned by heart."""
    generator = np.random.default_rng(seed)
    chances = generator.beta(1, 3, n)
    wrong = generator.random((n, size)) < chances[:, None]
    wrong[:, 0] &= generator.random(n) >= memorised
    return Orbits(np.full(n, size), wrong.sum(axis=1), wrong[:, 0])


def by_enumeration(chances: list[float], errors: int) -> float:
    """P(at most so many errors), over all outcomes of all coins."""
    return sum(
        prod(p if hit else 1 - p for p, hit in zip(chances, hits, strict=True))
        for hits in product([False, True], repeat=len(chances))
        if sum(hits) <= errors
    )


@given(st.lists(st.tuples(st.integers(2, 6), st.integers(0, 6), st.booleans()), min_size=1, max_size=9))
@settings(max_examples=60)
def test_the_exact_p_is_that_of_all_outcomes(rows):
    sizes = np.array([size for size, _, _ in rows])
    errors = np.minimum([errors for _, errors, _ in rows], sizes)
    orbits = Orbits(sizes, errors, np.array([wrong for *_, wrong in rows]) & (errors > 0) | (errors == sizes))
    expected = by_enumeration((errors / sizes).tolist(), int(orbits.original.sum()))
    assert exact_p(orbits) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("n", "wrong"), [(20, 4), (400, 170)])
def test_for_pairs_it_is_mcnemars_exact_test(n, wrong):
    from scipy.stats import binom

    orbits = Orbits(np.full(n, 2), np.ones(n, int), np.arange(n) < wrong)
    assert exact_p(orbits) == pytest.approx(binom.cdf(wrong, n, 0.5), rel=1e-9)


def test_thousands_of_orbits_neither_overflow_nor_vanish():
    from scipy.stats import binom

    orbits = Orbits(np.full(5000, 2), np.ones(5000, int), np.arange(5000) < 2300)
    assert exact_p(orbits) == pytest.approx(binom.cdf(2300, 5000, 0.5), rel=1e-6)


def test_honest_models_are_rejected_as_often_as_the_level_says_and_memory_shows():
    honest = [exact_p(simulated(500, 6, 0.0, seed)) for seed in range(200)]
    fitted = [exact_p(simulated(2000, 24, 0.1, seed)) for seed in range(10)]
    assert sum(p <= 0.05 for p in honest) <= 17  # of 200: the binomial's 97.5 % point at the level
    assert np.mean(honest) == pytest.approx(0.5, abs=0.08)
    assert sum(p <= 0.05 for p in fitted) >= 8


def test_the_papers_test_on_the_same_values_is_far_more_cautious():
    exact, paper = orbit_records(simulated(2000, 24, 0.15, 0), "m", "paper", 0.05, "set")
    assert exact.tested.p < 1e-3 < paper.tested.p
    assert (exact.bound, paper.bound, exact.tested.mean) == ("exact", "paper", paper.tested.mean)
    assert paper.tested.span == pytest.approx(2 * (1 - 1 / 24))


def test_values_average_to_the_difference_of_both_estimates():
    orbits = simulated(300, 4, 0.2, 1)
    exact, _ = orbit_records(orbits, "m", "paper", 0.05, "set")
    assert exact.tested.mean == pytest.approx(exact.estimate - exact.error)
    assert orbits.values.min() >= orbits.lowest


@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_the_smallest_gap_is_the_first_that_the_exact_test_finds(alpha):
    orbits = simulated(200, 3, 0.0, 2)
    gap = exact_gap(orbits.shares, alpha)
    most = round(orbits.shares.sum() - gap * 200)

    def with_errors(errors: int) -> Orbits:
        return Orbits(orbits.sizes, orbits.errors, np.arange(200) < errors)

    assert exact_p(with_errors(most)) <= alpha < exact_p(with_errors(most + 1))


def test_no_gap_shows_where_no_outcome_is_rare_enough():
    assert exact_gap(np.array([0.5]), 0.05) == 1.0


def test_forms_are_gathered_in_any_order_and_single_ones_left_out():
    names = ["b", "a", "c", "a", "b", "b"]
    original, wrong = np.array([0, 1, 1, 0, 1, 0], bool), np.array([1, 0, 1, 1, 0, 1], bool)
    found = gather(names, original, wrong)
    assert found.sizes.tolist() == [2, 3]
    assert found.errors.tolist() == [1, 2]
    assert found.original.tolist() == [False, False]


@pytest.mark.parametrize(
    ("names", "original", "said"),
    [
        (["a", "a", "b", "b"], [1, 1, 1, 0], "question 'a' has 2 forms"),
        (["a", "a", "b", "b"], [1, 0, 0, 0], "question 'b' has 0 forms"),
        (["a", "b"], [1, 1], "one form only"),
    ],
)
def test_orbits_without_one_original_are_refused_by_name(names, original, said):
    with pytest.raises(InputError, match=said):
        gather(names, np.array(original, bool), np.zeros(len(names), bool), "question")


@stage(version=1)
def given_forms(rows: list[tuple[str, int | None, str | None, str]]) -> Artifact[Samples]:
    ids, gold, orbits, original = zip(*rows, strict=True)
    return write_table(
        pa.table({"id": ids, "gold": pa.array(gold, pa.int16()), "question": orbits, "asked": original}), into=Samples
    )


@stage(version=1)
def given_answers(ids: list[str], said: list[int]) -> Artifact[Predictions]:
    table = pa.table([ids, said, [None] * len(ids)], schema=Predictions.schema)
    return write_table(table, into=Predictions)


FORMS = [("q1a", 1, "q1", "true"), ("q1b", 1, "q1", "false"), ("q2a", 0, "q2", "False"), ("q2b", 0, "q2", "1")]


def compared(rows=FORMS, said=(1, 0, 1, 0), settings_=SETTINGS):
    ids = [one[0] for one in rows]
    tests = compare_orbits(given_forms(rows), given_answers(ids, list(said)), settings_, "paper", 0.05, "m")
    return records_from(collect(tests, None))


@pytest.mark.usefixtures("run")
def test_the_stage_writes_the_exact_test_and_the_papers_beside_it():
    exact, paper = compared()
    assert (exact.generator, exact.bound, paper.bound, exact.tested.n) == ("orbit", "exact", "paper", 2)
    assert (exact.error, exact.estimate, exact.tested.mean, exact.tested.p) == (0.0, 0.5, 0.5, 0.25)
    assert exact.test_set == paper.test_set
    assert len({one.test_set for one in (exact, *compared(list(reversed(FORMS)), (0, 1, 0, 1)))}) == 1


@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("q2b", None, "q2", "1"), "'q2b' has no gold label"),
        (("q2b", 0, None, "1"), "'q2b' has no value in the column 'question'"),
        (("q2b", 0, "q2", "maybe"), "Row 4 of the column 'asked' holds 'maybe'"),
    ],
)
def test_forms_that_cannot_be_are_named(row, said):
    with pytest.raises(InputError, match=said):
        compared([*FORMS[:3], row])


@pytest.mark.usefixtures("run")
def test_reordered_options_have_another_right_letter_in_every_form():
    letters = [("q1a", 2, "q1", "true"), ("q1b", 0, "q1", "false"), ("q2a", 3, "q2", "true"), ("q2b", 1, "q2", "false")]
    exact, _ = compared(letters, said=(2, 1, 3, 0))  # both right as they were asked, and wrong the other way round
    assert (exact.error, exact.estimate, exact.tested.p) == (0.0, 0.5, 0.25)


@pytest.mark.usefixtures("run")
def test_a_column_that_is_missing_is_named_with_those_there_are():
    with pytest.raises(InputError, match=r"no column 'prompt', which `overfitting.orbit` names.*question"):
        compared(settings_=Orbit(orbit="prompt", original="asked"))


def test_at_every_look_the_exact_test_rejects_from_its_smallest_gap_on():
    rng = np.random.default_rng(0)
    for _ in range(25):
        n = int(rng.integers(20, 300))
        wrong = rng.random((n, 3)) < rng.beta(1, 3, n)[:, None]
        wrong[:, 0] &= rng.random(n) > 0.35
        one = orbit_records(Orbits(np.full(n, 3), wrong.sum(axis=1), wrong[:, 0]), "m", "paper", 0.05, "s")[0]
        for look in (1, 5, 100):
            level = spent_level(0.05, look)
            found = at_level(one, level, 0.05).tested
            assert found.minimum_gap <= 1
            assert (found.p <= level) == (found.mean >= found.minimum_gap - 1e-12)
