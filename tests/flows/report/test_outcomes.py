"""What single samples add to findings can be reached from a run's record, and comes to the findings themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from assay.flows.audits import curation_flow, subjects_flow
from assay.flows.kind import SAMPLES, Outcomes
from assay.flows.report.comparison import KeptOutcomes
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean
from assay.tasks.ordering.settings import OURS
from assay.tasks.statistics.findings import Finding, findings_of
from tests.support.direct_nights import latest, perform_night
from tests.support.image_project import image_project
from tests.support.team_project import team_project

DEFENDED = """
    defenses:
      - standard: {}
"""


def reached(store: Store, record: RunRecord) -> dict[str, list[Finding]]:
    """The findings whose outcomes can be had, by metric; each is what its outcomes come to."""
    kept, found = KeptOutcomes(store, record), dict[str, list[Finding]]()
    for finding in findings_of(store, record):
        sampled = kept.of(finding)
        if sampled is not None and finding.value is not None:
            assert sampled.value == pytest.approx(finding.value, abs=1e-12), finding
            found.setdefault(finding.metric, []).append(finding)
    assert not kept.gone
    return found


def test_accuracy_along_the_order_is_that_of_single_samples(tmp_path: Path) -> None:
    team_project(tmp_path)
    perform_night(tmp_path, "night")
    found = reached(*latest(tmp_path, "night"))
    assert {(one.of, one.group) for one in found["subject.accuracy"]} >= {
        (of, f"{group}{number}") for of in ("weak", "gold") for group in ("D", "stratum ") for number in range(1, 6)
    }
    assert {f"ordering.{name}" for name in ("auc", "accuracy", "first_tenth", "last_tenth")} <= found.keys()


@dataclass(frozen=True)
class Kept:
    """Tables of outcomes, as a store would hand them out."""

    tables: dict[str, pa.Table]

    def read(self, name: str, columns: Sequence[str]) -> pa.Table:
        return self.tables[name].select([column for column in columns if column in self.tables[name].column_names])


def test_samples_of_a_partition_that_was_let_go_are_neither_right_nor_wrong() -> None:
    samples = pa.table({"id": ["a", "b", "c", "d"], "gold": [0, 1, 0, 1]})
    weak = {"label": [1, 1, 1], OURS.score: [0.9, 0.8, 0.7], "tie_break": [1, 2, 3], "undecided": [False] * 3}
    order = Kept({SAMPLES: samples, "intervals": pa.table({"id": ["b", "c", "d"], **weak})})
    about = Outcomes("ordering.accuracy", "", "together", {}, OURS.name, key="majority")
    of_order = curation_flow.sampled(about, order, "", "majority")
    curated = samples.append_column("dataset", pa.array([1, 1, 1, 1]))
    answers = pa.table({"id": ["b", "c", "d"], "predicted": [1, 1, 1]})
    along = Outcomes("subject.accuracy", "own", "along", {}, "gold")
    of_subject = subjects_flow.sampled(along, Kept({"curated": curated, "predictions": answers}), "gold", "D1")
    for sampled in (of_order, of_subject):
        assert sampled is not None
        assert sampled.ids.tolist() == ["b", "c", "d"]
        assert sampled.above.tolist() == [1, 0, 1]


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A night of images: attacks, their worst case, a defence, corruptions."""
    folder = image_project(tmp_path_factory.mktemp("scans"))
    file = folder / "pipelines.yaml"
    file.write_text(file.read_text().replace("    gates:\n", DEFENDED.lstrip("\n") + "    gates:\n"))
    perform_night(folder, "scans")
    return folder


@pytest.mark.slow
def test_outcomes_of_images_reach_every_headline_finding(scans: Path) -> None:
    store, record = latest(scans, "scans")
    found = reached(store, record)
    everything = findings_of(store, record)
    for metric in ("subject.accuracy", "attack.accuracy", "defense.accuracy", "corruption.accuracy"):
        wanted = [one for one in everything if one.metric == metric and one.value is not None]
        assert found[metric] == wanted != [], metric
    assert "ours" in {one.subject for one in found["subject.auc"]}
    assert "worst-case" in {one.of for one in found["attack.accuracy"]}
    assert "mean" in {one.of for one in found["corruption.flip_probability"]}


@pytest.mark.slow
def test_what_the_kept_runs_are_compared_by_stays_after_a_clean_up(scans: Path) -> None:
    perform_night(scans, "scans")
    perform_night(scans, "scans")
    store, _ = latest(scans, "scans")
    clean(store, keep=2)
    runs = store.runs("scans")
    assert len(runs) == 2
    for record in runs:
        assert reached(store, record)["attack.accuracy"]


def test_groups_of_the_user_come_with_the_samples(tmp_path: Path) -> None:
    team_project(tmp_path)
    lines = (tmp_path / "patients.csv").read_text().splitlines()
    rows = [f"{line},site{number % 40}" for number, line in enumerate(lines[1:])]
    (tmp_path / "patients.csv").write_text("\n".join([f"{lines[0]},site", *rows]) + "\n")
    file = tmp_path / "pipelines.yaml"
    file.write_text(file.read_text().replace("label: label}", "label: label, group: site}"))
    perform_night(tmp_path, "night")
    store, record = latest(tmp_path, "night")
    kept = KeptOutcomes(store, record)
    (finding,) = [
        one
        for one in findings_of(store, record)
        if (one.metric, one.of, one.group) == ("subject.accuracy", "gold", "D5")
    ]
    sampled = kept.of(finding)
    assert sampled is not None
    assert sampled.groups is not None
    assert len(np.unique(sampled.groups)) == 40


TEXTS = """
compute: {engine: serial}
pipelines:
  texts:
    source: {csv: texts.csv, id: id, label: label, split: part}
    evaluation: {}
    subject: {name: small, classifier: small-bert, train: {epochs: 1, batch_size: 16}}
    attacks:
      - noise: {kinds: [typos, casing], severities: [1, 5]}
    defenses:
      - attacked-copies: {attack: noise, control: false}
"""


@pytest.mark.slow
def test_outcomes_of_texts_under_noise_reach_the_matrix_of_defences(tmp_path: Path) -> None:
    words = {"good": ["great", "fine", "lovely", "bright"], "bad": ["awful", "dull", "boring", "grim"]}
    rng = np.random.default_rng(0)
    rows = ["id,text,label,part"]
    for number in range(120):
        label = ("good", "bad")[number % 2]
        text = " ".join(
            rng.choice([*words[label], "film", "plot", "actor", words["bad" if label == "good" else "good"][0]], 7)
        )
        rows.append(f"t{number},{text},{label},{'train' if number < 80 else 'test'}")
    (tmp_path / "texts.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "pipelines.yaml").write_text(TEXTS)
    perform_night(tmp_path, "texts")
    store, record = latest(tmp_path, "texts")
    found, everything = reached(store, record), findings_of(store, record)
    for metric in ("subject.accuracy", "attack.accuracy", "defense.accuracy"):
        wanted = [one for one in everything if one.metric == metric and one.value is not None]
        assert found[metric] == wanted != [], metric
