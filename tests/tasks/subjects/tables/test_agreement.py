from __future__ import annotations

import numpy as np
import pyarrow as pa

from assay.tasks.ordering.ranges import Pools
from assay.tasks.statistics.findings import Finding
from assay.tasks.subjects.tables.along_order import (
    agreement_findings,
    count_agreement,
    count_predictions,
    degenerate_finding,
)

CURATED = pa.table(
    {
        "id": ["c", "a", "b", "d", "e", "f"],
        "dataset": pa.array([1, 1, 2, 2, 3, 3], pa.int32()),
        "label": pa.array([0, 1, 1, 0, 0, 1], pa.int16()),
        "gold": pa.array([0, 1, None, 1, None, 0], pa.int16()),
    }
)
PREDICTIONS = pa.table({"id": list("abcdefgh"), "predicted": pa.array([1, 1, 0, 1, 1, 0, 0, 0], pa.int16())})


HOW = {"datasets": 3, "classes": 2, "pools": Pools((7, 9), grouped=True)}


def counted(predictions: pa.Table = PREDICTIONS, curated: pa.Table = CURATED) -> dict[str, list[int]]:
    counts = count_agreement(predictions, curated, **HOW)
    return {name: counts[name][0].tolist() for name in counts if name != "found"}


def measured(counts: dict[str, list[int]]) -> dict[tuple[str, str, str], Finding]:
    arrays, drawn = {name: np.array([values]) for name, values in counts.items()}, np.random.default_rng(0)
    found = agreement_findings(arrays, subject="mine", permutations=500, generator=drawn, grouped=False)
    return {(f.metric, f.of, f.group): f for f in found}


def test_hits_are_counted_per_stratum_by_hand() -> None:
    by_stratum = {"weak_n": [2, 2, 2], "weak_hits": [2, 1, 0], "gold_n": [2, 1, 1], "gold_hits": [2, 1, 1]}
    assert counted() == by_stratum | {"class_n": [2, 2], "class_hits": [2, 2]}


def test_counts_do_not_depend_on_the_order_of_either_table() -> None:
    assert counted(PREDICTIONS.take([3, 1, 0, 2, 7, 5, 4, 6]), CURATED.take([5, 0, 3, 1, 2, 4])) == counted()


def test_counts_of_partitions_add_up() -> None:
    parts = [counted(PREDICTIONS, CURATED.slice(start, 2)) for start in (0, 2, 4)]
    whole = counted()
    assert all(np.sum([part[name] for part in parts], axis=0).tolist() == whole[name] for name in whole)


def test_what_is_counted_beside_predictions_is_of_the_samples_among_them() -> None:
    parts = [count_agreement(PREDICTIONS.slice(start, 4), CURATED, **HOW) for start in (0, 4)]
    assert [part.pop("found") for part in parts] == [4, 2]
    assert {name: (parts[0][name] + parts[1][name])[0].tolist() for name in parts[0]} == counted()
    nothing = count_agreement(PREDICTIONS.slice(6), CURATED, **HOW)
    assert nothing.pop("found") == sum(counts.sum() for counts in nothing.values()) == 0


def test_groups_are_counted_apart() -> None:
    clusters = pa.table({"id": list("abcdefgh"), "cluster": [7, 7, 7, 9, 9, 9, 9, 9]})
    by_group = count_agreement(PREDICTIONS, CURATED, clusters, **HOW)
    assert by_group.pop("found") == 6
    assert by_group["gold_n"].tolist() == [[2, 0, 0], [0, 1, 1]]
    assert by_group["weak_hits"].tolist() == [[2, 1, 0], [0, 0, 0]]
    assert {name: counts.sum(axis=0).tolist() for name, counts in by_group.items()} == counted()


def test_data_sets_are_nested_and_strata_are_not() -> None:
    found = measured(counted())
    accuracy = {group: f for (metric, of, group), f in found.items() if metric == "subject.accuracy" and of == "weak"}
    assert [(accuracy[f"D{i}"].value, accuracy[f"D{i}"].n) for i in (1, 2, 3)] == [(1.0, 2), (0.75, 4), (0.5, 6)]
    assert [(accuracy[f"stratum {i}"].value, accuracy[f"stratum {i}"].n) for i in (1, 2, 3)] == [
        (1, 2),
        (0.5, 2),
        (0, 2),
    ]
    assert all(f.low is not None and f.high is not None and f.low <= f.value <= f.high for f in accuracy.values())
    assert found["subject.spearman", "weak", ""].value == -1.0


def test_without_gold_what_gold_would_say_is_not_measured() -> None:
    found = measured({"weak_n": [5, 5], "weak_hits": [5, 3], "gold_n": [0, 0], "gold_hits": [0, 0]})
    gold = [f for (_, of, _), f in found.items() if of == "gold"]
    assert len(gold) == 6
    assert all((f.value, f.verdict, f.n) == (None, "not measured", 0) for f in gold)
    assert found["subject.permutation_p", "weak", ""].value is not None


def test_agreement_that_falls_along_the_order_is_rare_by_chance() -> None:
    falling = [57, 56, 54, 53, 51, 50, 47, 44, 40, 35]
    found = measured({"weak_n": [57] * 10, "weak_hits": falling, "gold_n": [57] * 10, "gold_hits": [55] * 10})
    described = found["subject.permutation_p", "weak", ""]
    assert described.value <= 0.01 < found["subject.permutation_p", "gold", ""].value
    assert (described.p_value, described.verdict) == (None, "")  # a description: nothing is concluded from it


def test_a_subject_that_always_says_the_same_is_flagged() -> None:
    constant = pa.table({"predicted": pa.array([1] * 7, pa.int16())})
    flag = degenerate_finding(count_predictions(constant, classes=2)["said"], ["well", "ill"], subject="mine")
    assert (flag.value, flag.n, flag.verdict) == (1.0, 7, "degenerate: every sample is called ill")
    varied = degenerate_finding(count_predictions(PREDICTIONS, classes=2)["said"], ["well", "ill"], subject="mine")
    assert (varied.value, varied.verdict) == (0.5, "varied")
