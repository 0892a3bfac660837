"""Slices in whole nights: found, shown, gated, the same for every cut; and what cannot be is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from direct_nights import latest, perform_night

from assay.flows.configuration.loading import load_project
from assay.flows.yaml_document import ConfigurationError
from assay.tasks.statistics.findings import findings_of

NIGHT = """
compute: {engine: serial, %s}
pipelines:
  night:
    source: {jsonl: notes.jsonl, label: label, id: name, group: patient}
    subjects: [{name: reader, classifier: "reader.py:predict", text: text}]
    slices: [site, sex, age]
    gates:
      - {finding: slices.worst_accuracy, at_least: 0.9}
"""
READER = """
import numpy as np
def predict(texts):
    first = np.array([0.9 if ("yes" in one) != ("smudged" in one) else 0.1 for one in texts])
    return np.stack([first, 1 - first], axis=1)
"""


def put(folder: Path, compute: str = "at_once: 1") -> Path:
    """2400 notes of 800 patients; the women of site B have smudged ones, which the reader gets wrong half the time."""
    folder.mkdir()
    lines = []
    for at in range(2400):
        patient = at // 3
        site, sex = "AB"[patient % 2], "fm"[patient // 2 % 2]
        smudged = " smudged" if (site, sex) == ("B", "f") and patient % 8 < 4 else ""
        word, label = ("yes", "a") if at % 2 else ("no", "b")
        lines.append(
            f'{{"name": "t{at}", "label": "{label}", "text": "{word}{smudged}", "site": "{site}", "sex": "{sex}", '
            f'"age": {20 + patient % 60}, "patient": "p{patient}"}}'
        )
    (folder / "notes.jsonl").write_text("\n".join(lines))
    (folder / "reader.py").write_text(READER)
    (folder / "pipelines.yaml").write_text(NIGHT % compute)
    return folder


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = put(tmp_path_factory.mktemp("slices") / "one")
    assert perform_night(folder, "night").status == "gate failed"
    return folder


def digest(folder: Path) -> str:
    _, record = latest(folder, "night")
    (made,) = [one for one in record.stages if one.stage == "measure_slices"]
    return next(iter(made.outputs.values()))["digest"]


def test_the_planted_slice_is_confirmed_and_gated(night: Path) -> None:
    found = findings_of(*latest(night, "night"))
    worse = {one.of for one in found if one.metric == "slices.worse_p" and one.verdict == "worse"}
    assert "sex = f, site = B" in worse
    shares = {(one.of, one.group): one for one in found if one.metric == "slices.accuracy"}
    assert shares["site", "A"].value == 1.0
    assert 0.7 < shares["site", "B"].value < 0.8
    assert {group for of, group in shares if of == "age"} == {"20 to 34", "35 to 49", "50 to 64", "65 to 79"}
    (worst,) = [one for one in found if one.metric == "slices.worst_accuracy"]
    assert worst.value == min(one.value for one in shares.values())


def test_the_page_has_a_part_about_it(night: Path) -> None:
    (page,) = [one.read_text() for one in night.rglob("reports/*/index.html")]
    assert "Half of the samples were searched" in page
    assert "sex = f, site = B" in page


@pytest.mark.parametrize(
    "compute",
    [
        pytest.param("at_once: 4", marks=pytest.mark.slow),
        "partitions: 7",
        pytest.param("partitions: 40", marks=pytest.mark.slow),
    ],
)
def test_neither_partitions_nor_what_goes_on_at_once_show(night: Path, tmp_path: Path, compute: str) -> None:
    again = put(tmp_path / "again", compute)
    perform_night(again, "night")
    assert digest(again) == digest(night)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("[site, sex, age]", "[patient]"), "source.group"),
        (("[site, sex, age]", "[]"), "slices"),
        (('    subjects: [{name: reader, classifier: "reader.py:predict", text: text}]\n', ""), "add a subject"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    folder = put(tmp_path / "wrong")
    text = (folder / "pipelines.yaml").read_text()
    (folder / "pipelines.yaml").write_text(text.replace(*change))
    with pytest.raises(ConfigurationError, match=expected):
        load_project(folder / "pipelines.yaml", pipeline="night")
