"""Every example of docs/bring-your-own.md is taken from the page and runs through the real loader and chain."""

from __future__ import annotations

import ast
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from markdown_pages import ROOT, blocks
from model_files import onnx_of_columns
from model_server import model_server
from page_examples import perform, pipelines_in, save_and_run

from assay.data.images import image_columns
from assay.tasks.labeling.rulebook_source import refer_to_rulebook
from assay.tasks.labeling.voting import apply_rules

PAGE = ROOT / "docs" / "bring-your-own.md"
CODE = [block for block in blocks(PAGE) if block.language == "python"]
RULES = [block for block in blocks(PAGE) if block.name == "rules.yaml"]
FILES = [block.text for block in blocks(PAGE) if block.name == "pipelines.yaml"]
EXAMPLES = [(name, text) for text in FILES for name in pipelines_in(text)]


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Stands in for the model that somebody serves."""

    def do_POST(self) -> None:
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        spam = [0.1 + 0.4 * links + 0.4 * begs for links, begs in zip(rows["links"], rows["begs"], strict=True)]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps([[1 - one, one] for one in spam]).encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder as a reader has it who saved every file and ran the three scripts, with an endpoint to ask."""
    place = tmp_path_factory.mktemp("own")
    (place / "model_version.txt").write_text("1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPAM_ENDPOINT", f"http://127.0.0.1:{server.server_port}/predict")
        scripts = ["make_data.py", "train_net.py", "train_files.py", "train_joblib.py"]
        yield save_and_run(place, [*CODE, *RULES], scripts, imported=["net"])
    server.shutdown()


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a server stands that answers as the page's `http://models:8000` does."""
    with model_server(tmp_path_factory.mktemp("models")) as server:
        yield server.url


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_example_runs_and_every_row_enters(folder: Path, models: str, name: str, text: str) -> None:
    made, findings = perform(folder, name, text.replace("http://models:8000", f"{models}/page"))
    assert (made.results["data"].samples.rows, made.results["data"].rejects.rows) == (300, 0)
    if name.startswith("texts"):
        assert "subjects" in made.results
        right = next(one for one in findings if one.metric == "subject.accuracy")
        assert right.value is not None
        assert right.value > 0.7
        return
    assert made.results["curation"].summary is not None
    assert any(one.metric == "labeling.coverage" for one in findings)
    assert ("ordering" in text.split(f"  {name}:")[1].split("\n\n")[0]) == bool(made.results["curation"].orders)


def test_the_page_shows_every_way_to_bring_samples_rules_and_models() -> None:
    together = "\n".join(FILES)
    for written in (
        "parquet:",
        "csv:",
        "jsonl:",
        "votes:",
        "predictions:",
        "weights:",
        "model: logistic",
        "features:",
        "classifier:",
    ):
        assert written in together


def test_all_three_forms_of_rules_give_the_same_votes(folder: Path) -> None:
    text = next(text for name, text in EXAMPLES if name == "plain-rules")
    coverage = {
        name: {
            one.of or one.group: one.value
            for one in perform(folder, name, text)[1]
            if one.metric == "labeling.coverage"
        }
        for name in ("plain-rules", "snorkel-rules")
    }
    assert coverage["plain-rules"] == coverage["snorkel-rules"]


def test_every_subject_of_the_models_example_is_measured(folder: Path) -> None:
    text = next(text for name, text in EXAMPLES if name == "four-models")
    measured = {
        one.subject: one.value for one in perform(folder, "four-models", text)[1] if one.metric == "subject.accuracy"
    }
    assert set(measured) == {"night", "net", "theirs", "logistic"}
    assert all(value is not None and 0.5 < value <= 1.0 for value in measured.values())


def test_models_with_files_and_endpoints_are_measured_and_a_replaced_file_is_noticed(folder: Path, models: str) -> None:
    def accuracies(example: str) -> dict[str | None, list[float | None]]:
        text = next(text for name, text in EXAMPLES if name == example).replace("http://models:8000", f"{models}/page")
        made = [one for one in perform(folder, example, text)[1] if one.metric == "subject.accuracy"]
        return {name: [one.value for one in made if one.subject == name] for name in {one.subject for one in made}}

    assert set(accuracies("own-files")) == {"joblib", "endpoint"}
    before = accuracies("addresses")
    assert set(before) == {"onnx", "skops", "served"}
    onnx_of_columns(folder / "spam.onnx", each=(0.0, 0.0))
    after = accuracies("addresses")
    assert after.pop("onnx") != before.pop("onnx")
    assert after == before


def test_the_rule_on_pictures_votes_on_pictures(folder: Path) -> None:
    levels = np.stack([np.full((3, 8, 8), level, np.uint8) for level in (10, 200)])
    book = refer_to_rulebook("picture_rules.py", folder).load()
    votes, faults = apply_rules(pa.table({"id": ["dark", "light"], **image_columns(levels)}), book)
    assert (votes["is_dark"].to_pylist(), faults) == ([1, -1], {})


def test_a_rulebook_is_six_lines_or_fewer() -> None:
    for name in ("rules.py", "column_rules.py"):
        assert len(next(block.text for block in CODE if block.name == name).splitlines()) <= 6


def test_every_file_named_on_the_page_is_on_it_and_is_python() -> None:
    assert [block.name for block in CODE] == [
        "make_data.py",
        "rules.py",
        "column_rules.py",
        "picture_rules.py",
        "snorkel_rules.py",
        "model.py",
        "net.py",
        "train_net.py",
        "train_files.py",
        "train_joblib.py",
        "joblib_model.py",
        "endpoint.py",
        "reader.py",
    ]
    for block in CODE:
        ast.parse(block.text)
