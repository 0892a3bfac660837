"""Taggers and scorers by document: coverage by simulation, and what is drawn together."""

from __future__ import annotations

import numpy as np
import pytest

from assay.tasks.attacks.terms import measures
from assay.tasks.statistics.correlation import measured, resamples_of
from assay.tasks.statistics.entities import by_group, percentiles, randomisation_p, resampled, scores

CLEAN, SWAP = ("clean", ""), ("swap", "share=1")
DOCUMENTS, EACH, ICC = 75, 4, 0.3
FOUND = {CLEAN: 0.85, SWAP: 0.65}


def counted(rng: np.random.Generator, documents: int = DOCUMENTS) -> dict[tuple[str, str], np.ndarray]:
    """Two entities a sentence; how many are found goes with the document, and so does what an attack takes."""
    strength, sets = (1 - ICC) / ICC, {}
    for key, rate in FOUND.items():
        known = rng.beta(rate * strength, (1 - rate) * strength, documents).repeat(EACH)
        found = rng.binomial(2, known)
        named = found + rng.binomial(1, 0.15, len(found))
        sets[key] = np.stack([found, named, np.full(len(found), 2)], axis=1)
    return sets


def coverage(draws: int, documents: int = DOCUMENTS, resamples: int = 10_000) -> dict[str, float]:
    """How often intervals by document, and those by sentence, hold the true F1 and drop."""
    rng = np.random.default_rng(4)
    truth = {key: scores(one.sum(axis=0)).f1 for key, one in counted(rng, 40_000).items()}
    groups, held = (
        np.arange(documents).repeat(EACH),
        dict.fromkeys(("f1", "drop", "f1 by sentence", "drop by sentence"), 0),
    )
    for _ in range(draws):
        sets = counted(rng, documents)
        for name, unit in (("", groups), (" by sentence", None)):
            counts = [by_group(one, unit) for one in sets.values()]
            sums = resampled(counts, rng, resamples)
            tested = dict(zip(sets, map(measures.tested_by, counts, sums), strict=True))
            low, high = tested[CLEAN].f1.interval
            held[f"f1{name}"] += low <= truth[CLEAN] <= high
            low, high = (tested[CLEAN].f1 - tested[SWAP].f1).interval
            held[f"drop{name}"] += low <= truth[CLEAN] - truth[SWAP] <= high
    return {name: count / draws for name, count in held.items()}


def test_f1_and_drops_of_ten_documents_are_covered():
    held = coverage(300, documents=10, resamples=1000)
    assert min(held["f1"], held["drop"]) >= 0.9


@pytest.mark.slow
def test_f1_and_drops_of_75_documents_are_covered():
    held = coverage(60)
    assert min(held["f1"], held["drop"]) >= 0.88
    assert max(held["f1 by sentence"], held["drop by sentence"]) < 0.9


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_coverage_by_document_over_600_draws():
    """At least .92 (600 draws: ± .01), where sentences hold .75 to .88."""
    held = coverage(600)
    assert min(held["f1"], held["drop"]) >= 0.92
    assert max(held["f1 by sentence"], held["drop by sentence"]) <= 0.9


def test_documents_of_one_sentence_are_sentences_in_any_order():
    rng = np.random.default_rng(0)
    counts = counted(rng)[CLEAN]
    shuffled = rng.permutation(len(counts))
    alone, each = (
        measures.tested_by(rows, resampled([rows], np.random.default_rng(1))[0])
        for rows in (counts, by_group(counts[shuffled], shuffled))
    )
    assert alone.f1.value == each.f1.value
    assert alone.f1.interval == each.f1.interval


def test_a_document_of_many_differences_is_one_swap():
    found, missed = np.array([[1, 1, 1]] * 24), np.array([[0, 0, 1]] * 24)
    groups = np.arange(24) // 4
    p = randomisation_p(by_group(found, groups), by_group(missed, groups), np.random.default_rng(0))
    assert p == 2 / 2**6


def test_pairs_of_one_group_are_drawn_together_and_groups_are_counted():
    rng = np.random.default_rng(2)
    patient = rng.normal(size=60).repeat(4)
    gold = patient + 0.3 * rng.normal(size=240)
    said = rng.normal(size=60).repeat(4) + gold
    groups = np.arange(60).repeat(4)
    times = resamples_of(240, np.random.default_rng(0), groups=groups)
    grouped = np.ptp(percentiles(measured("pearson", gold, said, times)))
    single = resamples_of(240, np.random.default_rng(0))
    assert grouped > 1.5 * np.ptp(percentiles(measured("pearson", gold, said, single)))
    assert len(resamples_of(240, rng, groups=np.arange(240) % 29)) == 0
