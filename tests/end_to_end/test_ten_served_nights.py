"""Ten nights of `assay serve` in which the service that is audited fails, each night in another way: what was computed
is kept and not computed again, every night has its record, and people are told once that it broke and once that it is
well again.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from command_line import Command, digests, environment, records, stages, still_there
from loopback_hooks import hook
from team_project import team_project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000), pytest.mark.xdist_group("prefect")]

NIGHT = """
compute: {{engine: serial}}
notify:
  at_latest: 0
  webhook: {{url_from: HOOK_URL, secret_from: HOOK_SECRET, seconds: 10}}
pipelines:
  night:
    schedule: "* * * * *"
    source: {{csv: patients.csv, id: id, label: label}}
    labeling: {{functions: rules.py}}
    pruning: {{correlation: 0.9}}
    weak_labels: {{labelers: [majority]}}
    ordering: {{datasets: 5}}
    subject:
      model: "http://127.0.0.1:{port}/v1/models/m:predict"
      features: [temperature, pulse]
      asking: {{timeout: 2, retries: 0}}
"""
FAILURES = ("500", "429", "404", "401", "silence", "drips", "cut", "no JSON", "one answer for all", "no probabilities")
WITHOUT_THE_MODEL = 13  # the stages of ingest and curation
OVER = {"done", "gate failed", "refused", "broken", "crashed"}


class Model(BaseHTTPRequestHandler):
    """A model that answers by temperature, or fails as its mood says."""

    mood: ClassVar[str] = "well"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        ill = [0.9 if row["temperature"] > 38 else 0.2 for row in asked["instances"]]
        body = json.dumps({"predictions": [[share, 1 - share] for share in ill]}).encode()
        with suppress(OSError):
            match self.mood:
                case "silence":
                    time.sleep(4)
                case "drips":
                    for _ in range(40):
                        self.wfile.write(b"H")
                        time.sleep(0.1)
                case "cut":
                    self._send(200, body[:20], len(body))
                case "no JSON":
                    self._send(200, b"<html>not now</html>")
                case "one answer for all":
                    self._send(200, b'{"predictions": [[0.5, 0.5]]}')
                case "no probabilities":
                    self._send(200, body.replace(b"0.9", b"7.5").replace(b"0.2", b"7.5"))
                case "well":
                    self._send(200, body)
                case code:
                    self._send(int(code), b'{"error": "not tonight"}')

    def _send(self, code: int, body: bytes, promised: int | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(promised or len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """Where the model listens."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_whatever_fails_in_ten_nights_nothing_is_lost_and_it_is_told_once(tmp_path: Path, port: int) -> None:
    team = team_project(tmp_path / "team")
    (team / "pipelines.yaml").write_text(NIGHT.format(port=port))
    store = team / "artifacts"

    def over() -> list[dict[str, object]]:
        return [one for one in records(store) if one["status"] in OVER]

    with hook() as people:
        env = environment(tmp_path / "home", HOOK_URL=people.url, HOOK_SECRET="wh-S3CRET-abcdef")
        serving = Command.start(["serve"], folder=team, env=env)
        try:
            for number, mood in enumerate(("well", *FAILURES, "well")):
                Model.mood = mood
                serving.until(lambda so_far=number: len(over()) > so_far, f"night {number} ({mood})", 400)
            serving.until(lambda: len(people.got) >= 2, "the message that it is well again", 300)
            serving.until(  # what starts one is Prefect's: before that Ctrl-C would hit its imports
                lambda: any(one["status"] == "running" for one in records(store)), "another night on its way", 300
            )
            offspring = serving.offspring()
            serving.interrupt()
            assert serving.wait(120) == 0, serving.err
        finally:
            serving.kill()
    assert still_there(offspring) == []
    nights = over()[: len(FAILURES) + 2]
    first, *failed, last = nights
    assert [first["status"], last["status"]] == ["done", "done"]
    assert {night["status"] for night in failed} == {"refused"}
    assert all(f"127.0.0.1:{port}" in str(night["failures"]) for night in failed)
    assert "Traceback" not in serving.err
    assert "Assay has a bug" not in serving.err
    whole, card = stages(first), "13 train_subject result"  # of a service without a version it names the run
    assert digests(last) | {card: ""} == digests(first) | {card: ""}
    curation = [name for name in whole if int(name.split()[0]) < WITHOUT_THE_MODEL]
    for night in failed:
        came = stages(night)
        assert [came[name]["cached"] for name in curation] == [True] * len(curation)
        assert [came[name]["outputs"] for name in curation] == [whole[name]["outputs"] for name in curation]
    titles = [json.loads(body)["title"] for _, body in people.got]
    assert titles == ["Assay: night broken", "Assay: night green again"]
