"""Labels that are wrong in the file are doubted by a subject that has not seen them, on the page and as hardness."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from direct_nights import latest, perform_night

from assay.flows.configuration.loading import load_project
from assay.infra.errors import InputError
from assay.tasks.statistics.findings import findings_of

NIGHT = """
compute: {engine: serial}
pipelines:
  night:
    source: {csv: cells.csv, id: cell, label: kind}
    subjects:
      - {name: ours, model: logistic}
      - {name: theirs, model: "mine.py:answer", features: [size]}
      - {name: classes_alone, predictions: kind_by_eye}
    label_errors: {shown: 3}
    hardness: {}
"""


def test_labels_flipped_in_the_file_are_doubted_and_shown(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    size, wrong = truth * 4 + rng.normal(0, 1, 300), rng.random(300) < 0.1
    rows = [f"c{at},{size[at]:.3f},{'xy'[truth[at] ^ wrong[at]]},x" for at in range(300)]
    (tmp_path / "cells.csv").write_text("\n".join(["cell,size,kind,kind_by_eye", *rows]) + "\n")
    (tmp_path / "mine.py").write_text("def answer(table):\n    return [[0.5, 0.5]] * table.num_rows\n")
    (tmp_path / "pipelines.yaml").write_text(NIGHT)
    assert perform_night(tmp_path, "night").status == "done"
    store, record = latest(tmp_path, "night")
    said = "\n".join(stage.summary for stage in record.stages)
    line = r"^\d+ of 300 gold labels are doubtful by ours · 157 of 300 .* by theirs · classes_alone gives no"
    assert re.search(line, said, re.M), said
    assert "gold_doubt · 600 answers" in said
    found = {(one.metric, one.subject): one for one in findings_of(store, record)}
    doubtful = found["label_errors.doubtful", "ours"]
    assert doubtful.low < wrong.mean() < doubtful.high
    assert found["label_errors.recall", "ours"].value > 0.8
    assert any(one.of == "gold_doubt" or one.group == "gold_doubt" for one in found.values())
    assert ("hardness.auc", "ours") not in found or found["hardness.auc", "ours"].of != "gold_doubt"
    (page,) = [one.read_text() for one in tmp_path.rglob("reports/*/index.html")]
    assert "Doubtful labels, ours" in page
    assert "theirs came trained: if it has learned from these labels, it doubts too few of them." in page
    assert "classes_alone came trained" not in page


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("source: {csv: a.csv, label: kind}", "nothing is audited: add a subject"),
        (
            "source: {csv: a.csv, labels: [x, y]}\n    subject: {network: small-cnn, train: {}}",
            "source.labels has several",
        ),
    ],
)
def test_what_cannot_be_doubted_is_refused_at_the_door(tmp_path: Path, lines: str, words: str) -> None:
    (tmp_path / "pipelines.yaml").write_text(f"pipelines:\n  night:\n    {lines}\n    label_errors: {{}}\n")
    with pytest.raises(InputError, match=words):
        load_project(tmp_path / "pipelines.yaml")
