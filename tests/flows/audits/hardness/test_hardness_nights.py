"""Hardness in whole nights: the same for every cut and however much goes on at once; shown, masked, handed out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from direct_nights import latest, perform_night

from assay.flows.configuration.loading import load_project
from assay.flows.export.samples_to_review import export_hardest
from assay.flows.yaml_document import ConfigurationError
from assay.infra.errors import InputError
from assay.tasks.statistics.findings import findings_of

TABLES = """
compute: {engine: serial, %s}
pipelines:
  night:
    source: {dataset: sample/breast-cancer}
    labeling: {functions: breast-cancer}
    pruning: {correlation: 0.5}
    weak_labels: {labelers: [majority]}
    ordering: {datasets: 5, permutations: 2000}
    subjects: [{name: gold, model: logistic}, {name: weak, model: logistic, train_on: weak}]
    hardness: {}
"""


def night(folder: Path, compute: str, text: str = TABLES) -> Path:
    folder.mkdir()
    (folder / "pipelines.yaml").write_text(text % compute)
    assert perform_night(folder, "night").status == "done"
    return folder


def said(folder: Path) -> dict[str, Any]:
    """Digests of what the audit of hardness made."""
    _, record = latest(folder, "night")
    stages = [one for one in record.stages if one.stage in ("find_hardness", "find_disagreement", "relate_hardness")]
    return {
        f"{at} {one.stage} {name}": handle["digest"]
        for at, one in enumerate(stages)
        for name, handle in one.outputs.items()
    }


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return night(tmp_path_factory.mktemp("hardness") / "tables", "at_once: 1")


@pytest.mark.parametrize(
    "compute",
    [
        pytest.param("at_once: 4", marks=pytest.mark.slow),
        "partitions: 7",
        pytest.param("partitions: 40", marks=pytest.mark.slow),
    ],
)
def test_neither_partitions_nor_what_goes_on_at_once_show(tables: Path, tmp_path: Path, compute: str) -> None:
    assert said(night(tmp_path / "again", compute)) == said(tables)


def test_the_findings_name_both_measures_and_the_subject(tables: Path) -> None:
    found = {(one.metric, one.subject, one.of, one.group): one for one in findings_of(*latest(tables, "night"))}
    pair = found["hardness.association", "gold", "theta_l", "confidence"]
    assert pair.n == 512  # undecided labels are in no measure
    assert pair.low < pair.value < pair.high
    test = found["hardness.association_p", "gold", "theta_l", "confidence"]
    assert test.p_value <= test.p_adjusted
    assert ("hardness.partial", "gold", "theta_l", "confidence") not in found
    assert found["hardness.auc", "gold", "confidence", ""].value > 0.9
    gain = found["hardness.auc_gain", "gold", "confidence", "theta_l"]
    assert gain.low > 0.2, "the confidence ranks its errors better than the rules' order does"
    assert not any("margin" in place for place in found), "of two classes, the confidence says the same"


def test_the_pairs_are_corrected_among_themselves_only(tables: Path) -> None:
    findings = findings_of(*latest(tables, "night"))
    family = [one for one in findings if one.unit == "p, related" and one.p_value is not None]
    strongest = min(family, key=lambda one: one.p_value)
    assert strongest.p_adjusted == pytest.approx(len(family) * strongest.p_value)


@pytest.mark.slow
def test_the_page_says_it_and_shows_the_samples(tables: Path) -> None:
    _, record = latest(tables, "night")
    page = Path(str(record.report)).read_text()
    assert "Rank against rank" in page
    assert "ranks the errors of gold best: an error is harder than an answer that is right" in page
    assert "Hard by every measure, gold" in page
    assert any(
        "rank correlation" in verdict["text"] if isinstance(verdict, dict) else "rank correlation" in verdict
        for verdict in record.verdicts
    )


def test_the_hardest_are_handed_out_with_why(tables: Path, tmp_path: Path) -> None:
    store, record = latest(tables, "night")
    told = export_hardest(store, record, 3, tmp_path / "out")
    assert "3 samples" in told
    rows = pq.read_table(tmp_path / "out" / "hardest.parquet").to_pylist()
    assert [row["place"] for row in rows] == [1, 2, 3]
    assert all(row["harder_than_confidence"] >= 0.7 for row in rows)
    assert "mean radius" in rows[0]
    with pytest.raises(InputError, match="no hard samples of the subject 'wek'"):
        export_hardest(store, record, 3, tmp_path / "other", "wek")


@pytest.mark.slow
def test_a_run_without_the_audit_says_how_to_have_it(tmp_path: Path) -> None:
    folder = night(tmp_path / "bare", "at_once: 1", TABLES.replace("    hardness: {}\n", ""))
    with pytest.raises(InputError, match=r"add `hardness: \{\}`"):
        export_hardest(*latest(folder, "night"), 3, tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("hardness: {}", "hardness: {subjects: [gild]}"), "there is no such subject; did you mean gold"),
        (
            ("subjects: [{name: gold, model: logistic}, {name: weak, model: logistic, train_on: weak}]", ""),
            "add a subject",
        ),
        (("hardness: {}", "hardness: {hardest: 2}"), "hardest"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: tuple[str, str], expected: str) -> None:
    (tmp_path / "pipelines.yaml").write_text((TABLES % "at_once: 1").replace(*change))
    with pytest.raises(ConfigurationError, match=expected):
        load_project(tmp_path / "pipelines.yaml", pipeline="night")


SECRET = "zyzzyva"
TEXTS = """
compute: {engine: serial, %s}
pipelines:
  night:
    source: {jsonl: texts.jsonl, label: label, id: name, masked: MASKED}
    subjects: [{name: reader, classifier: "reader.py:predict", text: text}]
    attacks: []
    hardness: {}
"""


@pytest.mark.parametrize("masked", [True, False])
def test_masked_texts_are_neither_shown_nor_handed_out(tmp_path: Path, masked: bool) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    lines = [
        f'{{"name": "t{at}", "label": "{"abc"[at % 3]}", "text": "{SECRET} {"word " * (at % 17)}"}}' for at in range(60)
    ]
    (folder / "texts.jsonl").write_text("\n".join(lines))
    (folder / "reader.py").write_text(
        "import numpy as np\n"
        "def predict(texts):\n"
        "    first = np.array([0.5 + 0.02 * (len(one.split()) % 17) for one in texts])\n"
        "    return np.stack([first, 0.7 * (1 - first), 0.3 * (1 - first)], axis=1)\n"
    )
    (folder / "pipelines.yaml").write_text(TEXTS.replace("MASKED", str(masked).lower()) % "at_once: 1")
    assert perform_night(folder, "night").status == "done"
    store, record = latest(folder, "night")
    assert (SECRET in Path(str(record.report)).read_text()) is not masked
    export_hardest(store, record, 5, tmp_path / "out")
    texts = [path.read_text() for path in (tmp_path / "out").glob("*.txt")]
    columns = pq.read_table(tmp_path / "out" / "hardest.parquet").to_pylist()
    assert (SECRET in str((texts, columns))) is not masked
    assert SECRET not in (tmp_path / "out" / "README.md").read_text()
