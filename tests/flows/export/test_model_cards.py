"""Model cards are what their formats' own schemas and readers take, number for number."""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from huggingface_hub import ModelCard

from assay.data.schemas import Samples, SubjectFiles
from assay.flows.export.model_cards import export_model_cards, subject_lines
from assay.flows.kind import Outcomes
from assay.infra.errors import InputError
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage, write_files, write_table
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding, findings_table

EVIL = 'a | b <script> "x"\n---\nlicense: mine'
FINDINGS = [
    Finding("subject.accuracy", "clean", subject="net", value=0.9, low=0.8, high=0.95, n=100),
    Finding("subject.worst_recall", "clean", subject="net", value=0.1 + 0.2, low=0.2, high=math.inf, verdict=EVIL),
    Finding("attack.accuracy", "pgd", "eps=0.1", "net", 0.25, 0.2, 0.3, 100),
    Finding("attack.accuracy", "pgd", "eps=0.1", "net+standard", 0.5, n=100),
    Finding("along.accuracy", "pgd", "eps=0.1, D1", "net", 0.75),
    Finding("subject.auc", "clean", subject="net", value=math.nan, n=3),
    Finding("subject.ece", "clean", subject="net", n=0, verdict="not measured"),
    Finding("labeling.coverage", value=1.0, n=100),
]


@stage(version=1, title="ingest")
def ingest() -> Artifact[Samples]:
    return write_table(pa.table({"id": ["a"], "gold": pa.array([0], pa.int16())}), into=Samples)


@stage(version=1, title="train")
def train() -> Artifact[SubjectFiles]:
    return write_files({"model.safetensors": b"weights"}, into=SubjectFiles)


@stage(version=1, title="predict")
def predict(files: Artifact[SubjectFiles]) -> Artifact[Samples]:
    return write_table(pa.table({"id": ["a"], "gold": pa.array([files.rows % 2], pa.int16())}), into=Samples)


@pytest.fixture
def night(make_run: Callable[..., Run]) -> tuple[Store, Run]:
    with make_run("night") as run:
        ingest()
        answers = Outcomes("subject.accuracy", "net", "", {"predictions": predict(train())})
        run.record.outcomes = [answers.to_json()]
        run.record.settings = {"source": {"csv": EVIL}, "subjects": [{"name": "net", "network": "small-cnn"}]}
        with run.store.folder.writing(f"runs/{run.id}/findings.parquet") as sink:
            pq.write_table(findings_table(FINDINGS), sink)
    return run.store, run


def test_the_bill_of_materials_is_cyclonedx_1_7_by_its_own_schema(night: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = night
    said = export_model_cards(store, run.record, "cyclonedx", tmp_path / "cards")
    assert said.endswith("2 model cards of run " + run.id + ": net, net+standard")
    text = (tmp_path / "cards" / "models.cdx.json").read_text(encoding="utf-8")
    validator = JsonStrictValidator(SchemaVersion.V1_7)
    assert validator.validate_str(text) is None
    assert validator.validate_str(text.replace('"performanceMetrics"', '"metrics"')) is not None
    net, defended = json.loads(text)["components"]
    checksum = hashlib.sha256(b"weights").hexdigest()
    hashes = [{"alg": "SHA-256", "content": checksum}]
    assert net["components"] == [{"type": "file", "name": "model.safetensors", "hashes": hashes}]
    assert defended["components"] == []
    metrics = net["modelCard"]["quantitativeAnalysis"]["performanceMetrics"]
    assert metrics[0] == {
        "type": "subject.accuracy",
        "value": "0.9",
        "slice": "clean, n = 100",
        "confidenceInterval": {"lowerBound": "0.8", "upperBound": "0.95"},
    }
    assert [metric["slice"] for metric in metrics[2:]] == ["pgd, eps=0.1, n = 100", "pgd, eps=0.1, D1"]
    assert float(metrics[1]["value"]) == 0.1 + 0.2
    assert net["modelCard"]["modelParameters"]["task"] == "image-classification"
    assert net["modelCard"]["modelParameters"]["datasets"][0]["name"] == f"csv: {EVIL}"
    about = {each["name"]: each["value"] for each in json.loads(text)["metadata"]["properties"]}
    assert (about["assay:run"], len(about["assay:data"])) == (run.id, 64)
    assert "confidenceInterval" not in defended["modelCard"]["quantitativeAnalysis"]["performanceMetrics"][0]
    export_model_cards(store, run.record, "cyclonedx", tmp_path / "again")
    assert (tmp_path / "again" / "models.cdx.json").read_text(encoding="utf-8") == text


def test_hugging_face_reads_the_numbers_from_the_model_index(night: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = night
    export_model_cards(store, run.record, "huggingface", tmp_path / "cards")
    card = ModelCard.load(tmp_path / "cards" / "net" / "README.md")
    assert card.data.model_name == "net"
    read = [(one.dataset_config, one.metric_type, one.metric_value, one.task_type) for one in card.data.eval_results]
    assert read == [
        ("clean", "accuracy", 0.9, "image-classification"),
        ("clean", "worst_recall", 0.1 + 0.2, "image-classification"),
        ("pgd, eps=0.1", "attack.accuracy", 0.25, "image-classification"),
    ]
    assert card.data.eval_results[0].metric_name.endswith("95 % interval 0.8 to 0.95, n = 100")
    assert {one.dataset_name for one in card.data.eval_results} == {f"csv: {EVIL}"}
    assert (card.data.license, "<script>" in card.text) == (None, False)
    assert ModelCard.load(tmp_path / "cards" / "net+standard" / "README.md").data.model_name == "net+standard"


def test_a_run_without_a_model_has_no_card(night: tuple[Store, Run], tmp_path: Path) -> None:
    store, run = night
    run.record.settings["subjects"] = []
    with pytest.raises(InputError, match="measured no model"):
        export_model_cards(store, run.record, "cyclonedx", tmp_path / "cards")
    assert not (tmp_path / "cards").exists()


def test_a_scorer_that_was_defended_is_refused_as_what_it_is(tmp_path: Path) -> None:
    card = {"defence": {"defense": "attacked-copies"}, "pair": ["first", "second"]}
    with pytest.raises(InputError, match="a scorer"):
        subject_lines("mine+on-swap", card, {"config.json": b"{}"}, tmp_path)
