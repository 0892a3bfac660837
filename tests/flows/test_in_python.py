"""`from assay import audit`: three lines of Python, with the run's own numbers, and nothing on the terminal."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import torch
import transformers as hf
from made_data import patients
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from small_architectures import save_of_texts

from assay import audit, audit_model, votes
from assay.flows.configuration.loading import load_project
from assay.flows.in_python import Audited
from assay.flows.starting.brought_model import look_at_model
from assay.flows.yaml_document import ConfigurationError
from assay.infra.errors import InputError
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import findings_of

PIPELINES = """\
compute: {{engine: serial}}
pipelines:
  night:
    source: {{csv: patients.csv, id: patient_id, label: diagnosis}}
    labeling:
      rules:
        - {{name: hot, when: {{column: temperature, above: 38}}, vote: ill}}
        - {{name: cold, when: {{column: temperature, below: 37.5}}, vote: well}}
    subject: {{model: logistic, features: [temperature]}}
    weak_labels: {{labelers: [majority]}}
    ordering: {{datasets: 3}}
    gates: [{{finding: labeling.coverage, of: "", at_least: {least}}}]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    patients(tmp_path)
    (tmp_path / "pipelines.yaml").write_text(PIPELINES.format(least=0.5))
    return tmp_path / "pipelines.yaml"


def test_importing_assay_imports_nothing_else() -> None:
    script = "import sys, assay; print([name for name in sys.modules if name.split('.')[0] in %r])"
    heavy = ("numpy", "pandas", "pyarrow", "pydantic", "prefect", "dask", "torch", "rich")
    done = subprocess.run([sys.executable, "-c", script % (heavy,)], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_an_audit_gives_what_the_store_has_and_says_nothing(
    file: Path, on_teams_prefect: object, capfd: pytest.CaptureFixture[str]
) -> None:
    made = audit("night", file)
    assert capfd.readouterr() == ("", "")
    assert isinstance(made, Audited)
    assert (made.status, made.passed, made.pipeline) == ("done", True, "night")
    store = Store(made.store)
    kept = findings_of(store, store.run(made.run))
    assert made.findings["metric"].tolist() == [one.metric for one in kept]
    coverage = made.findings.query("metric == 'labeling.coverage' and of == ''").iloc[0]
    assert 0.5 < coverage.low < coverage.value < coverage.high <= 1
    assert Path(made.report).read_text().startswith("<!doctype html>")
    assert made.verdicts
    assert len(made.gates) == 1
    shown = made._repr_html_()
    assert Path(made.report).as_uri() in shown
    assert made.verdicts[0].replace("'", "&#39;") in shown
    assert str(made).splitlines()[0] == f"night · run {made.run} · done"


def test_a_gate_that_fails_is_no_error_and_a_loop_at_work_no_hindrance(
    file: Path, on_teams_prefect: object, recwarn: pytest.WarningsRecorder
) -> None:
    file.write_text(PIPELINES.format(least=1))

    async def as_in_a_notebook() -> Audited:
        return audit("night", file, store=str(file.parent / "elsewhere"))

    made = asyncio.run(as_in_a_notebook())
    assert (made.status, made.passed) == ("gate failed", False)
    assert made.store == str(file.parent / "elsewhere")
    assert any("below 1" in gate for gate in made.gates)
    assert [one for one in recwarn if "never awaited" in str(one.message)] == []


@pytest.mark.parametrize(
    ("pipeline", "overrides", "fault", "says"),
    [
        ("nigth", [], InputError, "Did you mean night?"),
        ("night", ["ordering.datasets=0"], ConfigurationError, "ordering.datasets: 0 — expected"),
        ("night", ["source.csv=none.csv"], InputError, "There is no file none.csv"),
    ],
)
def test_wrong_input_raises_the_sentence_of_the_command_line(
    file: Path, pipeline: str, overrides: list[str], fault: type[InputError], says: str
) -> None:
    with pytest.raises(fault) as error:
        audit(pipeline, file, overrides=overrides)
    assert says in str(error.value)


def doubled(rows: Any) -> Any:
    """A function as a notebook defines it."""
    return 2 * rows


doubled.__module__ = "__main__"


def fitted_on_patients(folder: Path) -> tuple[Any, Any]:
    """A classifier at hand, and the data frame that it learned from a part of."""
    patients(folder)
    frame = pd.read_csv(folder / "patients.csv")
    frame["part"] = ["test" if number % 2 else "train" for number in range(len(frame))]
    train = frame[frame.part == "train"]
    return LogisticRegression().fit(train[["temperature"]], train["diagnosis"]), frame


def files_in(folder: Path) -> dict[str, bytes]:
    """The files of a folder that an audit is read from, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_model_at_hand_is_audited_on_a_frame_and_again_from_what_was_written(
    tmp_path: Path, on_teams_prefect: object, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted, frame = fitted_on_patients(tmp_path)
    asked: dict[str, Any] = {"name": "fever", "label": "diagnosis", "split": "part", "folder": tmp_path / "fever"}
    (tmp_path / "fever").mkdir()
    (tmp_path / "fever" / "data.parquet").write_text("somebody's own")
    made = audit_model(fitted, frame, **asked)
    assert (tmp_path / "fever" / "data.parquet").read_text() == "somebody's own"
    assert capfd.readouterr() == ("", "")
    test = frame[frame.part == "test"]
    right = float((fitted.predict(test[["temperature"]]) == test["diagnosis"]).mean())
    accuracy = made.findings.query("metric == 'subject.accuracy' and of == 'gold'").nlargest(1, "n").iloc[0]
    assert (accuracy["value"], accuracy["n"]) == (pytest.approx(right), len(test))
    again = audit("fever", tmp_path / "fever" / "pipelines.yaml")
    assert again.findings["value"].equals(made.findings["value"])
    before = files_in(tmp_path / "fever")
    with pytest.raises(InputError, match="says something else: run it with audit"):
        audit_model(fitted, frame.iloc[:-9], **asked)
    with pytest.raises(InputError, match="no column"):
        audit_model(fitted, frame, overwrite=True, **asked | {"label": "diagnose"})
    assert files_in(tmp_path / "fever") == before
    page = (tmp_path / "fever" / "pipelines.yaml").read_text()
    monkeypatch.setattr("assay.flows.in_python.audit", lambda name, *_, **__: name)
    assert str(audit_model(fitted, pa.table(frame.iloc[:-9]), overwrite=True, **asked)) == "fever"
    assert (tmp_path / "fever" / "pipelines.yaml").read_text() != page


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": 3}, "The model is of the type int: give a fitted estimator of scikit-learn"),
        ({"data": [1]}, "The data is of the type list: give a data frame"),
        ({"data": pd.DataFrame([[1.0, 2.0]], columns=["heat", "heat"])}, "The data has two columns 'heat'"),
        ({"model": make_pipeline(FunctionTransformer(doubled)).fit([[1.0]])}, "which this script or notebook defines"),
        ({"model": doubled}, "The model is doubled, which this script or notebook defines, and workers cannot import"),
        ({"model": "none.onnx"}, 'none.onnx"; paths start beside'),
        ({"label": "diagnose"}, "no column 'diagnose' for label; did you mean"),
        ({"data": pd.DataFrame({"odd": [1, "a"]})}, "Parquet (Conversion failed for column odd with type object)"),
        ({"data": pd.Series([1.0])}, "The data, of the type Series, cannot be written as Parquet"),
        ({"label": None, "data": {"temperature": [1.0, 2.0]}}, "say it with label."),
        ({"budget": "soon"}, "budget 'soon': expected hours, minutes or seconds"),
        ({"name": "../up"}, "names no pipeline"),
    ],
)
def test_what_cannot_be_audited_at_hand_is_refused_in_a_sentence(
    tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    fitted, frame = fitted_on_patients(tmp_path)
    asked: dict[str, Any] = {
        "model": fitted,
        "data": frame,
        "label": "diagnosis",
        "folder": tmp_path / "at-hand",
    } | change
    if isinstance(asked["data"], dict):
        asked["data"] = pa.table(asked["data"])
    with pytest.raises(InputError, match=re.escape(says)):
        audit_model(**asked)


def test_what_a_model_at_hand_is_made_of_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, frame = fitted_on_patients(tmp_path)
    forest = RandomForestClassifier(3).fit(frame[["temperature"]], frame["diagnosis"])
    monkeypatch.setattr("assay.flows.in_python.audit", lambda *_, **__: "audited")
    assert str(audit_model(forest, frame, label="diagnosis", folder=tmp_path / "forest")) == "audited"
    file = tmp_path / "forest" / "pipelines.yaml"
    (subject,) = load_project(file, pipeline="model").pipeline("model").subjects
    assert subject.trusted == ("sklearn.tree._tree.Tree",)


OWN = """\
import numpy as np
import torch


class Net(torch.nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.first, self.last = torch.nn.Linear(1, width), torch.nn.Linear(width, 2)

    def forward(self, rows):
        return self.last(torch.relu(self.first(rows - 37.8)))


def hot(table):
    ill = (table["temperature"].to_numpy() > 37.8).astype(float)
    return np.stack([ill, 1 - ill], axis=1)
"""


def test_what_is_imported_from_a_file_is_audited_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = fitted_on_patients(tmp_path)[1].drop(columns="part")
    (tmp_path / "own_model_at_hand.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    own = importlib.import_module("own_model_at_hand")
    torch.manual_seed(0)
    net = own.Net()
    rows = torch.tensor(frame[["temperature"]].to_numpy(), dtype=torch.float32)
    ill = {"net": net(rows).argmax(dim=1).numpy() == 0, "hot": frame["temperature"].to_numpy() > 37.8}
    for name, model in (("net", net), ("hot", own.hot)):
        asked: dict[str, Any] = {"features": ["temperature"], "label": "diagnosis", "folder": tmp_path / name}
        made = audit_model(model, frame, name=name, **asked)
        accuracy = made.findings.query("metric == 'subject.accuracy' and of == 'gold'").nlargest(1, "n").iloc[0]
        assert accuracy["value"] == pytest.approx(float((ill[name] == (frame["diagnosis"] == "ill")).mean()))
    for other, says in (
        (own.Net(5), "not what Net() builds (its weights are others): give the address of a function"),
    ):
        with pytest.raises(InputError, match=re.escape(says)):
            audit_model(other, frame, label="diagnosis", folder=tmp_path / "other")
    own.Net.__init__ = lambda self, width: None
    with pytest.raises(InputError, match=r"not what Net\(\) builds \(.* missing 1 required positional argument"):
        audit_model(net, frame, label="diagnosis", folder=tmp_path / "other")


def test_a_pipeline_of_transformers_is_written_with_its_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.flows.in_python.audit", lambda name, *_, **__: name)
    given = hf.pipeline("text-classification", model=str(save_of_texts("bert", tmp_path / "bert")))
    texts = pa.table({"review": ["good film", "awful bore"] * 20, "verdict": ["positive", "negative"] * 20})
    for _ in range(2):
        assert str(audit_model(given, texts, label="verdict", text="review", folder=tmp_path / "at-hand")) == "model"
    assert [path.name for path in (tmp_path / "at-hand").glob(".*")] == []
    written = look_at_model(str(tmp_path / "at-hand" / "assay-model"), None, (), None)
    assert (written.kind, written.classes) == ("texts", ("negative", "positive"))


def test_votes_are_class_names_and_only_what_is_asked_for_is_looked_at(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "rules:\n  - {name: hot, when: {column: temperature, above: 38}, vote: ill}\n"
        "  - {name: fine, keywords: [fine], vote: well}\n"
    )
    said = votes(rules, [{"temperature": 39.0, "text": "fine"}, {"temperature": 36.0, "text": "bad"}])
    assert {name: said[name].tolist() for name in said} == {"hot": ["ill", None], "fine": ["well", None]}
    assert votes(rules, [{"text": "fine"}], only=["fine"]).columns.tolist() == ["fine"]
    for samples, only, says in (
        ([{"text": "a"}], ["finn"], "There is no rule 'finn' in rules; did you mean fine?"),
        ([{"text": "a"}], [], "the samples have no column 'temperature'"),
        ([{"temperature": "hot", "text": ""}], ["hot"], "above and below are about numbers"),
    ):
        with pytest.raises(InputError, match=re.escape(says)):
            votes(rules, samples, only=only)


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_not_run_again_by_its_workers(
    file: Path, prefect_environment: dict[str, str]
) -> None:
    script = file.parent / "plain.py"
    script.write_text(
        "from pathlib import Path\n"
        "from assay import audit\n"
        "with Path('begun').open('a') as times: times.write('x')\n"
        "print(audit('night').status)\n"
    )
    pipelines = file.read_text().replace("engine: serial", "engine: local, workers: 1, gpu: never")
    file.write_text(pipelines)
    environment = {**os.environ, **prefect_environment}
    done = subprocess.run(
        [sys.executable, script.name], cwd=file.parent, env=environment, capture_output=True, text=True, timeout=150
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
    assert (file.parent / "begun").read_text() == "x"
