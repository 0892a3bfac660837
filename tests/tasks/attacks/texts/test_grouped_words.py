"""Word attacks on texts that stand in groups: coverage by simulation, tests by group, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from assay.tasks.attacks.texts.measures import comparison_findings, word_findings

PATIENTS, EACH, ICC = 75, 4, 0.3
CLASSES = ["a", "b"]


def attacked(won: np.ndarray, changed: np.ndarray) -> pa.Table:
    """A table of attacked texts, as far as its figures go."""
    n = len(won)
    return pa.table(
        {
            "id": [str(at) for at in range(n)],
            "gold": [0] * n,
            "attacked": won.astype(int),
            "status": np.where(won, "success", "failed"),
            "reason": [""] * n,
            "changed": changed,
            "originals": [["word"]] * n,
            "modified": changed / 40,
            "similarity": 1 - changed / 100,
            "second_similarity": [None] * n,
            "encoder": ["e"] * n,
            "second_encoder": ["f"] * n,
            "queries": 10 * changed,
            "refused": [0] * n,
            "providers": [["lists"]] * n,
            "limits": [[None]] * n,
            "attacked_probabilities": np.where(won[:, None], [0.3, 0.7], [0.8, 0.2]).tolist(),
        }
    )


def drawn(rng: np.random.Generator, patients: int, each: int, rate: float) -> tuple[pa.Table, np.ndarray]:
    """Texts of patients, as much alike as the correlation says; the true means are the rate, and 5 words changed."""
    strength = (1 - ICC) / ICC
    won = rng.random((patients, each)) < rng.beta(rate * strength, (1 - rate) * strength, patients)[:, None]
    own, other = rng.normal(size=(patients, 1)), rng.normal(size=(patients, each))
    changed = np.maximum(1, np.rint(5 + 1.5 * (np.sqrt(ICC) * own + np.sqrt(1 - ICC) * other)))
    return attacked(won.ravel(), changed.ravel()), np.repeat(np.arange(patients), each)


def coverage(draws: int, rate: float = 0.6) -> dict[str, float]:
    """How often the intervals hold the truth, by group, and the success rate's where texts are counted one by one."""
    rng = np.random.default_rng(7)
    truth = {"success_rate": rate, "accuracy": 1 - rate, "perturbed_words": 5.0, "queries": 50.0}
    held = dict.fromkeys([*truth, "one by one"], 0)
    for _ in range(draws):
        table, groups = drawn(rng, PATIENTS, EACH, rate)
        found = {one.metric: one for one in word_findings(table, "a2t", "bert", CLASSES, groups)}
        for name, value in truth.items():
            held[name] += found[f"attack.{name}"].low <= value <= found[f"attack.{name}"].high
        plain = word_findings(table, "a2t", "bert", CLASSES)[0]
        held["one by one"] += plain.low <= rate <= plain.high
    return {name: count / draws for name, count in held.items()}


@pytest.mark.slow
def test_75_patients_of_four_texts_are_covered():
    held = coverage(25)
    assert held.pop("one by one") < 0.93
    assert min(held.values()) >= 0.84


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_coverage_by_group_over_600_draws():
    """At least .93 (600 draws: ± .01), where counting texts holds about .86."""
    held = coverage(600)
    assert held.pop("one by one") <= 0.9
    assert min(held.values()) >= 0.93


def test_groups_change_no_value_and_widen_what_goes_together():
    rng = np.random.default_rng(0)
    won, changed = np.repeat(rng.random(75) < 0.6, 4), np.repeat(rng.integers(1, 9, 75), 4).astype(float)
    table, groups = attacked(won, changed), np.repeat(np.arange(75), 4)
    for alone, grouped in zip(
        word_findings(table, "a2t", "bert", CLASSES), word_findings(table, "a2t", "bert", CLASSES, groups), strict=True
    ):
        assert (alone.metric, alone.n) == (grouped.metric, grouped.n)
        if not alone.metric.startswith("attack.ece"):  # what chance adds to it depends on how many go together
            assert alone.value == pytest.approx(grouped.value, nan_ok=True)
        if alone.low is not None and 0 < alone.value < 1 and alone.metric != "attack.similarity":
            assert grouped.high - grouped.low > 1.7 * (alone.high - alone.low)


def test_of_fewer_than_thirty_groups_a_mean_stands_without_an_interval():
    table, _ = drawn(np.random.default_rng(1), PATIENTS, EACH, 0.9)
    few = {one.metric: one for one in word_findings(table, "a2t", "bert", CLASSES, np.arange(300) % 29)}
    assert few["attack.queries"].value is not None
    assert few["attack.queries"].low is None


def test_two_attacks_are_compared_patient_by_patient():
    """Ten patients whose four texts all fall to the first attack alone: ten signs, not forty."""
    first = np.repeat(np.arange(60) < 40, 4)
    second = np.repeat((np.arange(60) >= 10) & (np.arange(60) < 40), 4)
    words = np.full(240, 3.0)
    tables = attacked(first, words), attacked(second, words + np.repeat(np.arange(60) % 3, 4))
    found = {
        name: {
            one.metric: one
            for one in comparison_findings(*tables, "a - b", "bert", np.random.default_rng(0), groups=groups)
        }
        for name, groups in (("by text", None), ("by patient", np.repeat(np.arange(60), 4)))
    }
    p = {name: one["attack.mcnemar_p"].value for name, one in found.items()}
    assert p == {"by text": pytest.approx(1 / 2**40), "by patient": pytest.approx(1 / 2**10)}  # mid-p
    apart = [one["attack.success_difference"] for one in found.values()]
    assert apart[0].value == apart[1].value
    assert apart[1].high - apart[1].low > 1.7 * (apart[0].high - apart[0].low)
    fewer = [one["attack.perturbed_words_difference"] for one in found.values()]
    assert fewer[1].p_value > 1e3 * fewer[0].p_value
