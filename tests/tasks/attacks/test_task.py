"""The attack stages: a record per sample and ε, whatever the cut; the worst of several; transfer by exact counts."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch
from tiny_subjects import SUBJECT, tiny_classes, tiny_files, tiny_samples

from assay.data.images import pixels_of
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.tasks.attacks.apgd import APGD
from assay.tasks.attacks.pgd import FGSM, PGD
from assay.tasks.attacks.random_search import SparseRS, Square
from assay.tasks.attacks.task import _rows_for, attack_subject, measure_attacks, transfer_attacks, worst_case
from assay.tasks.statistics.findings import findings_from

torch.set_num_threads(1)
ONE = PGD(eps=(0.1, 0.02), steps=5, keep=1)


def attacked(cuts=(30,), attack=ONE, **options):
    samples = tiny_samples(list(cuts), options.get("multilabel", False), options.get("unlabelled", 0))
    files = tiny_files(0, 3, options.get("multilabel", False), options.get("broken", False))
    return samples, attack_subject(samples, tiny_classes(), files, SUBJECT, attack, "tiny")


def test_every_sample_has_a_record_at_every_eps_and_at_the_clean_point(run):
    samples, found = attacked()
    table = collect(found.attacked, None)
    ids = collect(samples, ["id"])["id"].to_pylist()
    assert table["id"].to_pylist() == [sample for sample in ids for _ in range(3)]
    assert table["eps"].to_pylist() == [0.0, 0.02, 0.1] * 30
    assert set(table["subject"].to_pylist()) == {"tiny"}
    assert set(table["attack"].to_pylist()) == {"pgd"}
    rows = table.to_pylist()
    for row in rows:
        assert row["distance"] <= row["eps"]
        assert row["success"] == (row["attacked"] != row["gold"] or row["clean"] != row["gold"])
        assert row["attacked"] == int(np.argmax(row["attacked_probabilities"]))
        if row["eps"] == 0:
            assert row["attacked_probabilities"] == row["clean_probabilities"]
            assert (row["steps"], row["distance"]) == (0, 0.0)
    fell = Counter(row["eps"] for row in rows if row["success"])
    assert fell[0.0] == 5 < fell[0.02] < fell[0.1]  # every seventh gold label is wrong on purpose


@pytest.mark.parametrize("attack", [ONE, APGD(eps=(0.05,), steps=6), Square(eps=(0.05,), queries=30)], ids=str)
def test_records_and_images_are_the_same_for_any_cut_of_the_samples(make_run, attack):
    digests = set()
    for at, cuts in enumerate([[30], [7, 0, 23], [1, 13, 16]]):
        with make_run(f"cut{at}", fresh=True):
            found = attacked(cuts, attack)[1]
            digests.add((found.attacked.digest, found.images.digest))
    assert len(digests) == 1


def test_another_seed_draws_other_starts_and_the_same_seed_the_same(make_run):
    digests = []
    for seed in (0, 0, 1):
        with make_run(seed=seed, fresh=True):
            digests.append(attacked()[1].attacked.digest)
    assert digests[0] == digests[1] != digests[2]


def test_a_few_images_of_every_class_are_kept_with_their_clean_ones(run):
    samples, found = attacked(attack=ONE.model_copy(update={"keep": 2}))
    images = collect(found.images, None)
    gold = dict(zip(*(collect(samples, ["id", "gold"])[name].to_pylist() for name in ("id", "gold")), strict=True))
    per_class = Counter((gold[row["id"]], row["eps"]) for row in images.select(["id", "eps"]).to_pylist())
    there = Counter(gold.values())
    assert per_class == {(code, eps): min(2, n) for code, n in there.items() for eps in (0.0, 0.02, 0.1)}
    clean = images.filter(pa.array([eps == 0 for eps in images["eps"].to_pylist()]))
    whole = collect(samples, None)
    for sample, pixels in zip(clean["id"].to_pylist(), pixels_of(clean), strict=True):
        assert np.array_equal(pixels, pixels_of(whole)[whole["id"].to_pylist().index(sample)])


def test_all_images_are_kept_on_request_and_none_without(run):
    every = attacked(attack=ONE.model_copy(update={"keep": 0, "keep_all": True}))[1].images
    assert collect(every, ["eps"])["eps"].to_pylist().count(0.1) == 30 == every.rows / 2
    assert attacked(attack=ONE.model_copy(update={"keep": 0}))[1].images.rows == 0


def test_the_accuracy_with_active_sets_is_that_of_the_full_attack(run):
    rows = {}
    for fast in (False, True):
        found = attacked(attack=ONE.model_copy(update={"only_accuracy": fast}))[1].attacked
        rows[fast] = collect(found, ["eps", "gold", "clean", "attacked", "success", "distance"]).to_pylist()
    assert [r["success"] for r in rows[True]] == [r["success"] for r in rows[False]]
    right = {fast: [r["attacked"] == r["gold"] == r["clean"] for r in rows[fast]] for fast in rows}
    assert right[True] == right[False]
    still = {fast: [r["distance"] == 0 for r in rows[fast] if r["eps"] > 0] for fast in rows}
    assert sum(still[True]) == 10  # wrong before the attack, at two ε
    assert sum(still[False]) == 0


def test_a_sample_without_a_class_is_attacked_away_from_what_the_subject_says(run):
    table = collect(attacked(unlabelled=10)[1].attacked, ["gold", "clean", "attacked", "success", "eps"]).to_pylist()
    unknown = [row for row in table if row["gold"] is None]
    assert len(unknown) == 30
    assert all(row["success"] == (row["attacked"] != row["clean"]) for row in unknown)
    assert any(row["success"] for row in unknown)


def test_partitions_are_large_where_samples_are_dropped_and_images_small_enough():
    assert [
        _rows_for(attack, n, (1, 16))
        for attack, n in ((PGD(), 5000), (PGD(only_accuracy=True), 5000), (Square(), 100_000), (Square(), 300))
    ] == [None, 1024, 1024, None]
    assert _rows_for(Square(), 5000, (3, 224)) is None  # they would not fit in memory


def test_several_labels_stand_in_lists(run):
    table = collect(attacked(multilabel=True)[1].attacked, None).to_pylist()
    assert {row["attacked"] for row in table} == {-1}
    assert {row["gold"] for row in table} == {None}
    for row in table:
        flips = [
            (a >= 0.5) != (c >= 0.5)
            for a, c in zip(row["attacked_probabilities"], row["clean_probabilities"], strict=True)
        ]
        assert row["success"] == any(flips)  # here the labels are what the subject says of the clean image
    assert any(row["success"] for row in table)


def test_the_worst_case_names_the_attack_that_won_and_is_no_better_than_any(run):
    tables = [
        attacked(attack=one)[1].attacked
        for one in (FGSM(eps=(0.02, 0.05)), PGD(eps=(0.02, 0.1), steps=5), Square(eps=(0.05,), queries=20))
    ]
    worst = collect(worst_case(tables), None)
    assert set(worst["attack"].to_pylist()) == {"worst-case"}
    assert set(worst["winner"].to_pylist()) <= {"fgsm", "pgd", "square"}
    fell = {(row["id"], row["eps"]): row["success"] for row in worst.to_pylist()}
    assert {eps for _, eps in fell} == {0.0, 0.02, 0.05, 0.1}
    for table in tables:
        for row in collect(table, None).to_pylist():
            assert fell[row["id"], row["eps"]] >= row["success"]
    for sample in {sample for sample, _ in fell}:
        curve = [fell[sample, eps] for eps in (0.0, 0.02, 0.05, 0.1)]
        assert curve == sorted(curve)  # what fooled within a smaller ε fools within a larger one


def test_the_worst_case_is_the_same_for_any_cut(make_run):
    digests = set()
    for at, cuts in enumerate([[30], [11, 19]]):
        with make_run(f"cut{at}", fresh=True):
            tables = [attacked(cuts, one)[1].attacked for one in (FGSM(eps=(0.05,)), ONE)]
            digests.add(worst_case(tables).digest)
    assert len(digests) == 1


def test_images_made_for_one_subject_are_shown_to_all(run):
    samples, classes = tiny_samples([20, 10]), tiny_classes()
    files = {"first": tiny_files(0), "second": tiny_files(1)}
    found = findings_from(collect(transfer_attacks(samples, classes, ONE, files, dict.fromkeys(files, SUBJECT)), None))
    assert len(found) == 3 * 2 * 2
    assert {one.metric for one in found} == {"attack.transfer"}
    assert {one.of for one in found} == {"pgd"}
    assert all(one.n == 30 and one.low <= one.value <= one.high for one in found)
    matrix = {(one.group, one.subject): one.value for one in found}
    assert matrix["eps=0, made for first", "second"] == matrix["eps=0, made for second", "second"]
    own = collect(attack_subject(samples, classes, files["first"], SUBJECT, ONE, "first").attacked, None).to_pylist()
    right = [row["attacked"] == row["gold"] == row["clean"] for row in own if row["eps"] == 0.1]
    assert matrix["eps=0.1, made for first", "first"] == pytest.approx(np.mean(right))
    assert matrix["eps=0.1, made for second", "first"] > matrix["eps=0.1, made for first", "first"]


def test_transfer_counts_are_the_same_for_any_cut(make_run):
    digests = set()
    for at, cuts in enumerate([[30], [7, 0, 23]]):
        with make_run(f"cut{at}", fresh=True):
            files = {"a": tiny_files(0), "b": tiny_files(1)}
            one = transfer_attacks(tiny_samples(cuts), tiny_classes(), ONE, files, dict.fromkeys(files, SUBJECT))
            digests.add(one.digest)
    assert len(digests) == 1


def test_a_subject_that_returns_nan_is_named_with_the_sample(run):
    with pytest.raises(InputError, match=r"returned \[nan, nan, nan\] for sample 's000'"):
        attacked(broken=True)


def test_a_target_or_a_subject_that_does_not_fit_the_classes_is_refused(run):
    with pytest.raises(InputError, match="aims at class 3, and the subject has the classes 0 to 2"):
        attacked(attack=PGD(goal="targeted", target=3))
    with pytest.raises(InputError, match="knows 3 classes, and the pipeline has 2"):
        attack_subject(tiny_samples([4]), tiny_classes(2), tiny_files(), SUBJECT, ONE, "tiny")


@pytest.mark.parametrize("attack", [SparseRS(eps=(5,), queries=20), PGD(norm="patch", eps=(0.1,), steps=3)])
def test_attacks_on_few_pixels_say_how_many_they_changed(run, attack):
    samples, made = attacked(attack=attack.model_copy(update={"keep_all": True}))
    table, kept = collect(made.attacked, None), collect(made.images, None)
    clean = dict(zip(collect(samples, ["id"])["id"].to_pylist(), pixels_of(collect(samples, None)), strict=True))
    moved = kept.filter(pc.greater(kept["eps"], 0))
    changed = {
        sample: int((image != clean[sample]).any(axis=0).sum())
        for sample, image in zip(moved["id"].to_pylist(), pixels_of(moved), strict=True)
    }
    rows = table.filter(pc.greater(table["eps"], 0))
    assert dict(zip(rows["id"].to_pylist(), rows["distance"].to_pylist(), strict=True)) == changed
    findings = findings_from(collect(measure_attacks([made.attacked], tiny_classes(), [attack], "tiny", []), None))
    (mean,) = [one for one in findings if one.metric == "attack.changed_pixels" and not one.group.endswith("=0")]
    assert (mean.value, mean.unit) == (pytest.approx(np.mean([*changed.values()])), "pixels")
    assert not any(one.metric == "attack.distance" for one in findings)
