"""Tables of public benchmarks: their entries as they print them, ours beneath, and no claim that the two compare."""

from __future__ import annotations

from pathlib import Path

import pytest
from finished_runs import leave_run

from assay.data.published import MEDMNIST_C, ROBUSTBENCH
from assay.flows.reproduce.tables import reproduce
from assay.infra.storage.store import Store
from assay.tasks.corruptions.table import MEDMNIST_C as CORRUPTIONS
from assay.tasks.statistics.findings import Finding


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store")).open()


def lines(text: str) -> dict[str, list[str]]:
    """The cells of every line by the first of them."""
    split = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()]
    return {cells[0]: cells[1:] for cells in split if len(cells) > 1}


def test_entries_of_robustbench_stand_in_the_column_of_their_norm_and_ours_beneath(store: Store) -> None:
    found = [Finding("subject.accuracy", "clean", "", "plain", 0.9, 0.85, 0.94, 200)]
    for attack, group, value in (("autoattack", "eps=0.1", 0.25), ("autoattack-l2", "l2=1", 0.5)):
        found.append(Finding("attack.accuracy", attack, group, "plain", value, value - 0.1, value + 0.1, 200))
    leave_run(store, "digits-robust", found, settings={"source": {"dataset": "sample/digits"}})
    text = reproduce("robustbench", store)
    rows = lines(text)
    assert rows["Wong2020Fast (PGD)"] == ["ResNet-18", "83.3%", "43.2%", "–"]
    assert rows["Rice2020Overfitting (PGD)"] == ["ResNet-18", "88.7%", "–", "67.7%"]
    assert rows["plain"] == ["small-cnn (ours)", "90.0% [85.0, 94.0]", "25.0% [15.0, 35.0]", "50.0% [40.0, 60.0]"]
    assert "Nothing of ours here may be compared with an entry" in text
    assert "Where they differ" not in text  # nothing is held against a number that does not compare
    assert {entry.norm for entry in ROBUSTBENCH} == {"linf", "l2"}


def test_the_benchmarks_alexnet_has_a_number_for_every_corruption_of_its_set() -> None:
    own = [each.word.removeprefix("pneumoniamnist/") for each in CORRUPTIONS["pneumoniamnist"]]
    assert list(MEDMNIST_C) == ["clean", *own]


def accuracies(subject: str, error: float) -> list[Finding]:
    """As many times AlexNet's balanced error under every corruption."""
    return [
        Finding("corruption.balanced_accuracy", f"pneumoniamnist/{name}", "all", subject, 1 - error * theirs, n=624)
        for name, theirs in MEDMNIST_C.items()
        if name != "clean"
    ]


def test_bmce_over_alexnets_errors_is_the_mean_of_ratios_and_needs_all_of_them(store: Store) -> None:
    ratio = Finding("corruption.balanced_error", "mean", "all", "vgg-cifar", 0.75, 0.7, 0.8, 624)
    found = [*accuracies("small-cnn", 2), *accuracies("vgg-cifar", 1.5)[1:], ratio]
    leave_run(store, "pneumonia-c", found, settings={"source": {"dataset": "pneumonia-mnist"}})
    rows = lines(reproduce("medmnist-c", store))
    assert rows["pixelate"] == ["77.9%", "55.8%"]  # the other network was not measured there
    assert rows["bmCE over AlexNet’s errors"] == ["1", "2.00"]
    assert rows["bmCE beside small-cnn"] == ["1 (the reference)", "0.75 [0.70, 0.80]"]
