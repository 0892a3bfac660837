"""Functions that ask a service: they are asked for what there is, and a service that is down is told in words."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from assay.infra.errors import InputError
from assay.tasks.subjects.own_models import predict_with_own
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.sequences.rows import OwnScorer, OwnTagger
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.model import OwnTextModel

SERVICE = """
import json, urllib.request
import numpy as np
URL = "http://127.0.0.1:PORT/answer"
ANSWERS = {"model": [0.5, 0.5], "classifier": [0.5, 0.5], "scorer": 1.0, "tagger": ["O"]}

def ask(kind, rows):
    with urllib.request.urlopen(URL, json.dumps({"kind": kind, "rows": rows}).encode(), timeout=20) as answer:
        return [ANSWERS[kind]] * len(json.load(answer))

def model(table): return ask("model", table["x"].to_pylist())
def classifier(texts): return ask("classifier", texts)
def scorer(pairs): return ask("scorer", pairs)
def tagger(sentences): return ask("tagger", sentences)
def local(texts): return np.full((len(texts), 2), 0.5)
"""


class Answers(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((asked["kind"], len(asked["rows"])))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(asked["rows"]).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), Answers)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(20)


def resolved(folder: Path, port: int, kind: str) -> ResolvedSubject:
    (folder / "service.py").write_text(SERVICE.replace("PORT", str(port)))
    columns = {"scorer": {"pair": ("a", "b"), "score": "x"}, "tagger": {"tokens": "t", "tags": "g"}}
    return resolve_subject(Subject.model_validate({kind: f"service.py:{kind}", **columns.get(kind, {})}), folder)


def ask(subject: ResolvedSubject, kind: str, rows: int) -> None:
    code = subject.code
    assert code is not None
    if kind == "model":
        columns = {"id": [f"s{at}" for at in range(rows)], "x": list(range(rows)), "gold": [0] * rows}
        predict_with_own(pa.table(columns), code=code, weights=None, features=None, classes=("a", "b"))
    elif kind == "classifier":
        OwnTextModel(code, 2).probabilities(["words"] * rows)
    elif kind == "scorer":
        OwnScorer(code).score([("a", "b")] * rows)
    else:
        OwnTagger(code).tag([["word"]] * rows)


@pytest.mark.parametrize(
    ("kind", "rows", "requests"),
    [("model", 1030, [1024, 6]), ("classifier", 18, [16, 2]), ("scorer", 3, [3]), ("tagger", 17, [16, 1])],
)
def test_a_service_is_asked_for_the_rows_that_there_are(
    tmp_path: Path, service: Any, kind: str, rows: int, requests: list[int]
) -> None:
    ask(resolved(tmp_path, service.server_port, kind), kind, rows)
    assert service.asked == [(kind, count) for count in requests]


@pytest.mark.parametrize("kind", ["model", "classifier", "scorer", "tagger"])
def test_a_service_that_is_down_is_named_with_what_to_do(tmp_path: Path, kind: str) -> None:
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(InputError) as told:
            ask(resolved(tmp_path, port, kind), kind, 2)
    assert f'The {kind} "service.py:{kind}" asked 127.0.0.1:{port}, which did not answer' in str(told.value)
    assert "(Connection refused): start it, or correct the address, and run again" in str(told.value)


def test_a_function_that_asks_nobody_still_sees_blocks_of_one_size(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "seen = []\ndef f(texts):\n    seen.append(len(texts))\n    return [[.5, .5]] * 16\n"
    )
    subject = resolve_subject(Subject.model_validate({"classifier": "mine.py:f"}), tmp_path)
    assert subject.code is not None
    assert OwnTextModel(subject.code, 2).probabilities(["words"] * 17).shape == (17, 2)
