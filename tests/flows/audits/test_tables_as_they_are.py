"""A model of a table is measured without any rule, and on later rows than those it learned from."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from direct_nights import Heard, perform_night
from team_project import team_project

from assay.infra.errors import InputError
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import findings_of

NIGHT = """pipelines:
  night:
    source: {csv: rows.csv, id: name, label: state}
    subject: {model: logistic, features: [x]}
    gates: [{finding: subject.accuracy, of: clean, at_least: 0.7}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """120 rows, 40 of them ill; from March on the column says the opposite of what it said before."""
    draw, lines = np.random.default_rng(3), ["name,day,x,state"]
    for row in range(120):
        ill, day = row % 3 == 0, f"2026-{1 + row // 40:02d}-{1 + row % 28:02d}"
        x = draw.normal((2 if ill else -2) * (1 if row < 80 else -1))
        lines.append(f"r{row},{day},{x:.3f},{'ill' if ill else 'well'}")
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def night(folder: Path, text: str) -> dict[str, tuple[float | None, int]]:
    (folder / "pipelines.yaml").write_text(text)
    perform_night(folder, "night")
    store = Store(str(folder / "store"))
    found = findings_of(store, store.runs("night")[-1])
    return {one.metric: (one.value, one.n) for one in found if one.of == "clean" and not one.group}


def test_samples_without_a_label_are_counted_on_the_page(folder: Path) -> None:
    rows = (folder / "rows.csv").read_text()
    (folder / "rows.csv").write_text(re.sub("^(r[0-9],.*),well$", r"\1,None", rows, flags=re.M))
    assert night(folder, NIGHT)["subject.accuracy"][1] == 114
    (page,) = [one.read_text() for one in folder.rglob("reports/*/index.html")]
    assert "120 samples entered, 114 of them with a known true class." in page


def test_samples_without_a_number_are_counted_on_the_page(folder: Path) -> None:
    rows = [f"r{at},{at},{'' if at % 10 == 0 else at + at % 7}" for at in range(60)]
    (folder / "rows.csv").write_text("\n".join(["name,said,price", *rows]) + "\n")
    subject = "    source: {csv: rows.csv, id: name, score: price}\n    subject: {predictions: said, predicts: price}\n"
    night(folder, f"pipelines:\n  night:\n{subject}")
    (page,) = [one.read_text() for one in folder.rglob("reports/*/index.html")]
    assert "60 samples entered, 54 of them with a known true number." in page


def test_without_rules_a_table_is_measured_on_all_samples(folder: Path) -> None:
    assert night(folder, NIGHT)["subject.accuracy"][1] == 120


def test_since_a_date_later_rows_are_audited_and_earlier_ones_train(folder: Path) -> None:
    found = night(folder, NIGHT + '    evaluation: {column: day, since: "2026-03-01"}\n')
    right, n = found["subject.accuracy"]
    assert n == 40
    assert right is not None
    assert right < 0.3  # what it learned before March is the opposite of what holds then


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("of: clean", "of: gold"), "without an order tables are measured as they are; write of: clean"),
        (("    gates", "    evaluation: {split: test}\n    gates"), "give source.gold_in: [test], or since"),
        (("label: state", "labels: state"), "gives one class a sample: only of images several labels are measured"),
        (("    gates", "    evaluation: {since: 3}\n    gates"), "`evaluation.since` needs the `column`"),
        (("    gates", "    evaluation: {column: x, since: May}\n    gates"), "`evaluation.since` is May, and its"),
    ],
)
def test_what_cannot_be_is_a_sentence(folder: Path, change: tuple[str, str], says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        night(folder, NIGHT.replace(*change))


def test_a_file_that_a_model_opens_when_it_is_asked_is_refused_before_anything_else_is_computed(tmp_path: Path) -> None:
    team_project(tmp_path)
    (tmp_path / "sure.txt").write_text("38.0")
    model = (tmp_path / "model.py").read_text()
    (tmp_path / "model.py").write_text(model.replace("38.0", "float(open('su' + 're.txt').read())"))
    heard = Heard()
    with pytest.raises(InputError, match=r"opened sure\.txt.*files: \[sure\.txt\]"):
        perform_night(tmp_path, "night", heard=heard)
    assert [stage.partition(":")[0] for stage in heard.stages] == ["ingest"]
