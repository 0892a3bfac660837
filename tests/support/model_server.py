"""A model behind HTTP, as a process of its own: `python model_server.py FOLDER`, which prints its port.

The first step of a path says how it behaves, the rest is what is asked. What it answers with stands in `served.json` of
the folder, read at every request; every request becomes a line of `asked.jsonl`.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

SERVED = {"links": 0.4, "begs": 0.4, "version": "1"}
BANDS = 3


def answer(sample: Any, served: dict[str, Any]) -> list[float]:
    """The probabilities of a row, a text, or an image [c][h][w], whose bright third says its class."""
    if isinstance(sample, str):
        spam = 0.1 + 0.4 * ("http" in sample) + 0.4 * ("subscribe" in sample)
        return [1 - spam, spam]
    if isinstance(sample, dict):
        sample = [sample["links"], sample["begs"]]
    if not isinstance(sample[0], list):
        spam = 0.1 + served["links"] * sample[0] + served["begs"] * sample[1]
        return [1 - spam, spam]
    rows = [row for channel in sample for row in channel]
    width = len(rows[0])
    edges = [width * band // BANDS for band in range(BANDS + 1)]
    means = [sum(sum(row[start:end]) for row in rows) / (len(rows) * (end - start)) for start, end in pairwise(edges)]
    powers = [math.exp(20 * mean) for mean in means]
    return [power / sum(powers) for power in powers]


class Handler(BaseHTTPRequestHandler):
    folder: Path
    seen: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        self._note(0)
        name = self.path.split("/")[-1]
        features = {
            "name": name,
            "platform": "test",
            "inputs": [{"name": "rows", "datatype": "FP64", "shape": [-1, 2]}],
        }
        if "unversioned" not in self.path:
            features["versions"] = [self._served()["version"]]
        if "two-tensors" in self.path:
            features["inputs"] = [{"name": "a"}, {"name": "b"}]
        if "no-model" in self.path:
            features = {"detail": "no such model"}
        self._send(200, features)

    def do_HEAD(self) -> None:
        self._note(0)
        self.send_response(405)
        self._version()
        self.end_headers()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "inputs" in asked and not self.path.endswith("/infer"):
            self._send(405, {"error": "the Open Inference Protocol takes samples at …/infer"})
            return
        samples = asked["instances"] if "instances" in asked else _rows_of(asked["inputs"][0])
        self._note(len(samples))
        how = self.path.split("/")[1]
        self.seen[how] += 1
        rows = [answer(sample, self._served()) for sample in samples]
        if how == "flaky" and self.seen[how] % 3:
            self._send(500 if self.seen[how] % 3 == 1 else 429, {"error": "busy"})
        elif how == "down":
            self._send(503, {"error": "down"})
        elif how == "slow":
            time.sleep(3)
            self._send(200, rows)
        elif how == "drip":
            self._drip()
        elif how == "redirected":
            self.send_response(302)
            self.send_header("Location", f"file://{self.folder}/served.json")
            self.end_headers()
        elif how == "elsewhere":
            self.send_response(307)
            self.send_header("Location", "http://127.0.0.2:9/predict?secret=1")
            self.end_headers()
        elif how == "closed" and self.headers.get("Authorization") != "Bearer right":
            self._send(401, {"error": "who are you?"})
        elif how == "text":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>")
        else:
            self._send(200, _reply(how, rows, asked, self._served()["version"]))

    def _drip(self) -> None:
        """A byte now and then: every one of them is in time, the whole never."""
        self.send_response(200)
        self.end_headers()
        for _ in range(40):
            try:
                self.wfile.write(b" ")
            except OSError:
                return
            time.sleep(0.2)

    def _version(self) -> None:
        if "/versioned" in self.path:
            self.send_header("X-Model-Version", self._served()["version"])

    def _served(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "served.json").read_text())
        return found

    def _note(self, samples: int) -> None:
        line = {"method": self.command, "path": self.path, "samples": samples, "at": time.time()}
        with (self.folder / "asked.jsonl").open("a") as log:
            log.write(json.dumps(line) + "\n")

    def _send(self, code: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self._version()
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def _rows_of(tensor: dict[str, Any]) -> list[Any]:
    """The samples of a tensor."""
    shape, data = tensor["shape"], tensor["data"]
    if tensor["datatype"] == "BYTES":
        return list(data)
    for size in reversed(shape[1:]):
        data = [data[at : at + size] for at in range(0, len(data), size)]
    return list(data)


def _reply(how: str, rows: list[list[float]], asked: dict[str, Any], version: str) -> Any:
    if how == "nan":
        return {"predictions": [[math.nan, 1.0], *rows[1:]]}
    if how == "null":
        return {"predictions": [[None, 1.0], *rows[1:]]}
    if how == "missing-row":
        return {"predictions": rows[:-1]}
    if how == "ragged":
        return {"predictions": [[1.0], *rows[1:]]}
    if how == "three":
        return {"predictions": [[*row, 0.0] for row in rows]}
    if how == "words":
        return {"predictions": ["spam" for _ in rows]}
    if how == "beyond":
        return {"predictions": [[2.0, -1.0] for _ in rows]}
    if how == "nothing":
        return {"answer": 1}
    if how == "alone":
        return rows
    if "inputs" in asked:
        flat = [cell for row in rows for cell in row]
        output = {"name": "probabilities", "shape": [len(rows), len(rows[0])], "datatype": "FP64", "data": flat}
        said = "2" if how == "drifting" else version
        return {
            "model_name": "m",
            "model_version": said,
            "outputs": [output, *([output] if how == "two-outputs" else [])],
        }
    return {"predictions": rows}


@dataclass(frozen=True)
class ModelServer:
    """The server in its process."""

    folder: Path
    url: str

    def serves(self, **changed: Any) -> None:
        """From now on it serves something else."""
        (self.folder / "served.json").write_text(json.dumps(SERVED | changed))

    def asked(self, method: str = "POST") -> list[dict[str, Any]]:
        """Every request so far."""
        log = self.folder / "asked.jsonl"
        lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        return [line for line in lines if line["method"] == method]

    def samples(self) -> int:
        """How many samples it was asked about so far."""
        return sum(line["samples"] for line in self.asked())


@contextmanager
def model_server(folder: Path) -> Iterator[ModelServer]:
    """A server over a folder, while the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "served.json").write_text(json.dumps(SERVED))
    with subprocess.Popen(
        [sys.executable, __file__, str(folder)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            yield ModelServer(folder, f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


if __name__ == "__main__":
    Handler.folder = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
