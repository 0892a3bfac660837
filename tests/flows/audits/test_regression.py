"""Nights with a subject that predicts a number: a linear model whose errors, intervals and order are planted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from direct_nights import latest, perform_night

from assay.flows.configuration.loading import load_project
from assay.flows.running import check_inputs
from assay.infra.errors import InputError
from assay.tasks.statistics.findings import FindingIndex, findings_of

NIGHT = """
compute: {engine: serial}
pipelines:
  night:
    source: {csv: houses.csv, id: house%s}
    subjects: [{name: ours, model: "mine.py:predict", predicts: price%s}]
%s
"""
ORDERED = """
    labeling:
      classes: [cheap, dear]
      rules:
%s
    weak_labels: {labelers: [majority]}
    ordering: {datasets: 4}
"""
RULE = """
      - {name: r%d, when: {column: s%d, above: 0.5}, vote: dear}
      - {name: n%d, when: {column: s%d, below: 0.5}, vote: cheap}"""
MODEL = """
import numpy as np

def predict(table):
    value = %s * table["size"].to_numpy()
    return %s
"""


def houses(
    folder: Path, night: str, answer: str = "np.stack([value, value - 1, value + 1], axis=1)", factor: str = "2"
) -> None:
    """600 houses, price = 2·size + ε; rules disagree more on the later ones, whose ε is larger."""
    rng = np.random.default_rng(0)
    size, far = rng.normal(size=600), np.linspace(0, 1, 600)
    price = 2 * size + rng.normal(size=600) * (0.2 + 1.6 * far)
    signs = [(rng.random(600) < 0.98 - 0.45 * far).astype(int) for _ in range(8)]
    rows = ["house,kind,site,size,price," + ",".join(f"s{at}" for at in range(8))]
    for at in range(600):
        votes = ",".join(str(sign[at]) for sign in signs)
        rows.append(
            f"h{at},{'cheap' if at % 2 else 'dear'},{'north' if at % 3 else 'south'},{size[at]},{price[at]},{votes}"
        )
    (folder / "houses.csv").write_text("\n".join(rows) + "\n")
    (folder / "mine.py").write_text(MODEL % (factor, answer))
    (folder / "pipelines.yaml").write_text(night)


def night_of(folder: Path) -> FindingIndex:
    """The findings of a night that went through."""
    assert perform_night(folder, "night").status == "done"
    return FindingIndex(findings_of(*latest(folder, "night")))


def test_planted_errors_are_measured_and_found_to_grow_along_the_order(tmp_path: Path) -> None:
    rules = "\n".join(RULE % (at, at, at, at) for at in range(8))
    houses(tmp_path, NIGHT % (", label: kind", ", interval: 0.9, features: [size]", ORDERED % rules))
    found = night_of(tmp_path)
    scale = 0.2 + 1.6 * np.linspace(0, 1, 600)
    rmse, r2, held = (found.get(f"regression.{name}", "ours", "clean") for name in ("rmse", "r2", "coverage"))
    assert rmse.low <= np.sqrt((scale**2).mean()) <= rmse.high
    assert r2.low <= 1 - (scale**2).mean() / (4 + (scale**2).mean()) <= r2.high
    assert held.verdict == "less than promised (90 %)"
    assert found.get("regression.trend_p", "ours", "along").verdict == "adverse"
    ends = [found.get("regression.mae", "ours", "along", f"stratum {at}").value for at in (1, 4)]
    assert ends[1] > 1.3 * ends[0]
    (page,) = [each.read_text() for each in tmp_path.rglob("reports/*/index.html")]
    assert "The intervals of ours hold" in page
    assert "Errors along the order" in page


def test_noise_on_a_column_adds_what_its_weight_says_and_on_another_nothing(tmp_path: Path) -> None:
    """ŷ = 2·size and size + noise of s standard deviations: the prediction strays by 2·s·sd(size)."""
    (tmp_path / "one").mkdir()
    noise = ", features: [size, s0], noise: [0.5, 1]"
    houses(tmp_path / "one", NIGHT % (", score: price", noise, ""), "value")
    found = night_of(tmp_path / "one")
    rows = np.genfromtxt(tmp_path / "one" / "houses.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    scale, spread = 0.2 + 1.6 * np.linspace(0, 1, 600), rows["size"].std()
    clean = np.sqrt(2 / np.pi) * scale.mean()
    for amount, called in ((0.5, "0.5 sd"), (1.0, "1 sd")):
        rise = found.get("regression.noise_rise", "ours", "noise", called)
        expected = np.sqrt(2 / np.pi) * np.sqrt(scale**2 + (2 * amount * spread) ** 2).mean() - clean
        assert rise.low <= expected <= rise.high
        assert rise.verdict == "more than without noise"
    (page,) = [each.read_text() for each in tmp_path.rglob("reports/*/index.html")]
    assert "With normal noise on each column that it reads, 100 % of its standard deviation" in page
    (tmp_path / "none").mkdir()
    houses(tmp_path / "none", NIGHT % (", score: price", noise, ""), "value", factor="0")
    rise = night_of(tmp_path / "none").get("regression.noise_rise", "ours", "noise", "1 sd")
    assert (rise.value, rise.verdict) == (0, "not shown to be more than without noise")


def test_a_table_with_a_number_and_no_class_is_enough_and_a_worse_model_is_seen_by_pairs(tmp_path: Path) -> None:
    gate = "    gates: [{finding: regression.mae, of: clean, rise_at_most: 0.02, against: last-passed}]"
    houses(tmp_path, NIGHT % (", score: price", "", gate), "value")
    first = night_of(tmp_path)
    assert first.get("regression.coverage", "ours", "clean") is None
    assert first.get("regression.mae", "ours", "clean").n == 600
    houses(tmp_path, NIGHT % (", score: price", "", gate), "value", "1.5")
    assert perform_night(tmp_path, "night").status == "gate failed"
    store, record = latest(tmp_path, "night")
    assert "paired" in store.folder.read(f"reports/{record.id}/index.html").decode()


def test_a_model_that_says_one_number_is_not_better_than_one_number(tmp_path: Path) -> None:
    houses(tmp_path, NIGHT % (", score: price", "", ""), "0 * value")
    assert night_of(tmp_path).get("regression.r2", "ours", "clean").verdict.startswith("not shown")
    (page,) = [each.read_text() for each in tmp_path.rglob("reports/*/index.html")]
    assert "ours is not shown to predict better than one constant number" in page


def load_and_check(file: Path) -> None:
    """What a run does before anything is computed."""
    project = load_project(file, pipeline="night")
    check_inputs(project, project.pipeline("night"))


def test_where_only_numbers_are_known_a_subject_says_which_it_predicts(tmp_path: Path) -> None:
    houses(tmp_path, NIGHT % (", score: price", "", ""))
    file = tmp_path / "pipelines.yaml"
    file.write_text(file.read_text().replace(", predicts: price", ""))
    with pytest.raises(InputError, match=r"gives classes, and source.score numbers: say predicts: price"):
        load_and_check(file)


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        ("model: logistic, predicts: price", "logistic is asked for classes"),
        ("model: m.onnx, features: [size], predicts: price", "m.onnx is asked for classes"),
        ("model: 'https://host/predict', features: [size], predicts: price", "is asked for classes"),
        ("model: 'models:/houses@night', predicts: price", "is asked for classes"),
        ("model: 'mine.py:predict', interval: 0.9", "say with `predicts` which column"),
        ("model: 'mine.py:predict', predicts: price, features: [price]", "may neither see nor be"),
        ("network: small-cnn, train: {}, predicts: price", "only about `model` and `predictions`"),
        ("model: 'mine.py:predict', predicts: prise", "Did you mean price"),
        ("model: 'mine.py:predict', predicts: site", "'site' holds string, and a regression is of numbers"),
        ("predictions: site, predicts: price", "'site' holds string, and a regression is of numbers"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(tmp_path: Path, subject: str, why: str) -> None:
    houses(tmp_path, NIGHT % (", label: kind", "", ""))
    file = tmp_path / "pipelines.yaml"
    file.write_text(file.read_text().replace('model: "mine.py:predict", predicts: price', subject))
    with pytest.raises(InputError, match=why):
        load_and_check(file)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("np.stack([value, value - 1, value + 1], axis=1)", "say with `interval: 0.9`"),
        ("value[:3]", "returned the shape"),
        ("value * np.nan", "expected one number per sample"),
        ("[str(each) for each in table['house' if False else 'id'].to_pylist()]", "expected one number"),
    ],
)
def test_wrong_answers_are_named(tmp_path: Path, answer: str, why: str) -> None:
    houses(tmp_path, NIGHT % (", label: kind", "", ""), answer)
    with pytest.raises(InputError, match=why):
        perform_night(tmp_path, "night")


@pytest.mark.parametrize(
    ("subject", "finding", "why"),
    [
        ("predicts: price", "subject.accuracy", "a number is predicted: write regression.mae or regression.r2"),
        ("features: [size]", "regression.mae", "is about subjects that predict a number; there is none"),
    ],
)
def test_a_gate_is_about_what_its_subject_says(tmp_path: Path, subject: str, finding: str, why: str) -> None:
    gate = f"    gates: [{{finding: {finding}, of: clean, at_most: 1}}]"
    houses(tmp_path, (NIGHT % (", label: kind", "", gate)).replace("predicts: price", subject))
    with pytest.raises(InputError, match=why):
        load_and_check(tmp_path / "pipelines.yaml")
