"""Nights are held against the last that passed: the first against none, and a shifted one is no baseline."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import numpy as np
import pytest
from direct_nights import latest, perform_night

from assay.flows.blame.changes import changes_between
from assay.flows.configuration.loading import load_project
from assay.infra.errors import InputError
from assay.infra.storage.sweep import clean
from assay.tasks.statistics.findings import findings_of
from assay.tasks.statistics.gates import NO_BASELINE

NIGHT = """
compute: {engine: serial}
alarms: {false: 1, per: quarter}
pipelines:
  night:
    source: {csv: cells.csv, id: cell, label: kind}
    subjects: [{name: ours, model: logistic}]
    drift: {}
    gates: [{finding: drift.auc, of: inputs, rise_at_most: 0.05, against: last-passed}]
"""


@pytest.mark.parametrize(
    ("shifts", "endings"),
    [
        ((0.0, 1.5), ["done", "done"]),  # the gate on a rise needs an area of the night before
        pytest.param((0.0, 0.0, 1.5, 0.0), ["done", "done", "gate failed", "done"], marks=pytest.mark.slow),
    ],
)
def test_a_shift_fails_the_gate_and_the_next_night_is_held_against_the_one_before(
    tmp_path: Path, shifts: tuple[float, ...], endings: list[str]
) -> None:
    (tmp_path / "pipelines.yaml").write_text(NIGHT)
    ended, baselines = list[str](), list[str]()
    for night, shift in enumerate(shifts):
        rng = np.random.default_rng(night)
        kind = rng.integers(0, 2, 200)
        size, age = 2 * kind + rng.normal(size=200), shift + rng.normal(size=200)
        rows = [f"{night}-{at},{size[at]:.3f},{age[at]:.3f},{'xy'[kind[at]]}" for at in range(200)]
        (tmp_path / "cells.csv").write_text("\n".join(["cell,size,age,kind", *rows]) + "\n")
        ended.append(perform_night(tmp_path, "night").status)
        store, record = latest(tmp_path, "night")
        text = unescape(store.folder.read(f"reports/{record.id}/index.html").decode())
        found = {(each.metric, each.of, each.group): each for each in findings_of(store, record)}
        area = found["drift.auc", "inputs", ""]
        if night == 0:
            assert area.value is None
            assert area.verdict == NO_BASELINE
            assert f"Nothing to hold tonight's inputs against: {NO_BASELINE}" in text
        elif shift:
            assert area.low > 0.7
            assert found["drift.feature_auc", "inputs", "age"].low > 0.5
            assert f"A classifier can tell tonight's inputs from those of run {baselines[-1]}" in text
            assert "by themselves these part the nights: age." in text
        else:
            good = [run for run, status in zip(baselines, ended, strict=False) if status == "done"]
            assert f"A classifier cannot tell tonight's inputs from those of run {good[-1]}" in text
        baselines.append(record.id)
    assert ended == endings
    first, second = (store.run(run) for run in baselines[:2])
    (change,) = changes_between(store, first, second).parts
    assert change.words == "200 new samples and 200 removed samples"
    assert change.details == (("drift: told from its baseline by age",) if shifts[1] else ())


def test_several_labels_are_refused_at_the_door(tmp_path: Path) -> None:
    lines = "source: {csv: a.csv, labels: [x, y]}\n    subject: {network: small-cnn, train: {}}\n    drift: {}"
    (tmp_path / "pipelines.yaml").write_text(f"pipelines:\n  night:\n    {lines}\n")
    with pytest.raises(InputError, match="drift — compares answers of one class a sample"):
        load_project(tmp_path / "pipelines.yaml")


def test_columns_that_are_gone_new_or_of_another_type_are_counted_and_named(tmp_path: Path) -> None:
    gate = "{finding: drift.columns, of: inputs, at_most: 0}"
    (tmp_path / "pipelines.yaml").write_text(NIGHT.split("    gates")[0] + f"    gates: [{gate}]\n")
    forms = ["cell,size,age,old,kind", "cell,size,age,old,kind", "cell,size,age,new,kind"]
    ended = list[str]()
    for night, heading in enumerate(forms):
        rng = np.random.default_rng(night)
        kind, size = rng.integers(0, 2, 200), rng.normal(size=200)
        unit = " years" if night == 2 else ""
        rows = [f"{night}-{at},{size[at]:.3f},{at % 7}{unit},{at % 3},{'xy'[kind[at]]}" for at in range(200)]
        (tmp_path / "cells.csv").write_text("\n".join([heading, *rows]) + "\n")
        ended.append(perform_night(tmp_path, "night").status)
    assert ended == ["done", "done", "gate failed"]
    store, record = latest(tmp_path, "night")
    (found,) = [each for each in findings_of(store, record) if each.metric == "drift.columns"]
    said = "age was int64 and is string, new is new, old is gone"
    assert (found.value, found.verdict) == (3, said)
    text = unescape(store.folder.read(f"reports/{record.id}/index.html").decode())
    assert f"Columns differ from those of run {store.runs()[1].id}: {said}." in text


def test_a_new_class_is_told_and_a_gate_on_answers_fails(tmp_path: Path) -> None:
    gate = "{finding: drift.auc, of: answers, at_most: 0.9}"
    (tmp_path / "pipelines.yaml").write_text(NIGHT.split("    gates")[0] + f"    gates: [{gate}]\n")
    ended = list[str]()
    for night, classes in enumerate(("xy", "xyz")):
        rng = np.random.default_rng(night)
        rows = [f"{night}-{at},{rng.normal():.3f},{classes[at % len(classes)]}" for at in range(120)]
        (tmp_path / "cells.csv").write_text("\n".join(["cell,size,kind", *rows]) + "\n")
        ended.append(perform_night(tmp_path, "night").status)
    store, record = latest(tmp_path, "night")
    why = f"the classes are others than in run {store.runs()[0].id}"
    assert ended == ["done", "gate failed"]
    assert f"drift: ours: {why}." in record.notices
    assert any(look["sentence"].endswith(f"was not measured: {why}.") for look in record.gates)


def test_the_baseline_is_no_trial_and_stays_in_the_store_while_later_nights_fail(tmp_path: Path) -> None:
    gate = "{finding: drift.auc, of: inputs, at_most: 0.8}"
    (tmp_path / "pipelines.yaml").write_text(NIGHT.split("    gates")[0] + f"    gates: [{gate}]\n")
    ended = list[str]()
    for night, shift in enumerate((0.0, 5.0, 5.0, 5.0)):
        rng = np.random.default_rng(night)
        rows = [f"{night}-{at},{shift + rng.normal():.3f},{'xy'[at % 2]}" for at in range(120)]
        (tmp_path / "cells.csv").write_text("\n".join(["cell,size,kind", *rows]) + "\n")
        ended.append(perform_night(tmp_path, "night").status)
        store, record = latest(tmp_path, "night")
        if night == 1:  # as a trial would have ended whose gate allows more
            record.status, record.overrides = "done", ["gates"]
            store.save_run(record)
        elif night == 2:
            assert store.runs()[0].id not in clean(store, keep=1).runs
    assert ended == ["done", "gate failed", "gate failed", "gate failed"]
