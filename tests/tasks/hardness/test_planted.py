"""What is planted is found, what is not is not: the whole table of a subject, corrected as a run corrects it."""

import numpy as np
import pytest
from hardness_draws import draw, unrelated

from assay.tasks.hardness.association import association_findings
from assay.tasks.hardness.measures import Columns
from assay.tasks.statistics.multiplicity import corrected

LEVEL = 0.01
PLANTED = 1.0
"""The shared hardness is as strong as each measure's own noise."""


def shown(measures, alike=1):
    """The pairs that the corrected table shows, by metric."""
    clusters = np.arange(len(measures["confidence"])) // alike
    found = corrected(list(association_findings(Columns(measures), clusters, LEVEL)), LEVEL)
    return {(one.metric, one.of, one.group) for one in found if one.verdict in ("together", "opposite")}


def rates(make, repeats):
    """How often each pair is shown, and how often any is, plainly or beyond the confidence."""
    tables = [shown(make(seed)) for seed in range(repeats)]
    of_pair = {pair: np.mean([pair in table for table in tables]) for pair in set().union(*tables)}
    any_of = {
        name: np.mean([any(metric == f"hardness.{name}_p" for metric, *_ in table) for table in tables])
        for name in ("association", "partial")
    }
    return of_pair, any_of


def holds(repeats):
    planted, _ = rates(lambda seed: draw(seed, PLANTED), repeats)
    assert planted["hardness.association_p", "theta_l", "eps"] >= 0.9
    assert planted["hardness.partial_p", "theta_l", "eps"] >= 0.9
    of_pair, by_one_margin = rates(lambda seed: draw(seed, 0.0), repeats)
    assert of_pair["hardness.association_p", "theta_l", "eps"] >= 0.9, "they do agree, for nothing"
    assert by_one_margin["partial"] <= 0.05
    _, nothing = rates(unrelated, repeats)
    assert nothing["association"] <= 0.05
    assert nothing["partial"] <= 0.05


def test_shared_hardness_is_found_and_a_shared_margin_is_not_taken_for_it():
    holds(repeats=25)


@pytest.mark.slow
def test_planted_hardness_over_two_hundred_draws():
    holds(repeats=200)


@pytest.mark.slow
def test_samples_that_are_alike_count_together():
    """Four copies of every sample are no more evidence than one."""
    tables = [shown({name: np.repeat(one, 4) for name, one in unrelated(seed, 100).items()}, 4) for seed in range(200)]
    assert np.mean([bool(table) for table in tables]) <= 0.05
