"""Every port that a command listens on is asked as strangers would: it tells them nothing and starts nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from command_line import ASSAY, Command, environment, records
from strangers import Door, doors, heard_by_a_page, http_answers, other_answers, shown
from team_project import team_project

pytestmark = [pytest.mark.xdist_group("doors"), pytest.mark.timeout(600)]
PROJECT = """
compute: {engine: local, workers: 1, partitions: 2}
pipelines:
  patients-at-night:
    schedule: "0 0 1 1 *"
    source: {csv: patients.csv, id: id, label: label}
    labeling: {functions: rules.py}
    weak_labels: {labelers: [majority]}
    ordering: {datasets: 5}
    subject: {model: "model.py:predict"}
"""
THEIRS = """
from pathlib import Path
Path("{marker}").touch()
from assay.tasks.labeling.rules import rule
CLASSES = ("a", "b")
"""
REFUSED = re.compile(rb"HTTP/1\.1 (401|403|421) ")
EVERY_BIND = """
import socket, sys

def note(event, arguments):
    if event == "socket.bind" and arguments[0].family in (socket.AF_INET, socket.AF_INET6):
        with open({file!r}, "a") as file:
            file.write(repr((arguments[1], sys.argv)) + "\\n")

sys.addaudithook(note)
"""
"""Python's start-up file of a command and all its children: also a port that is open for a moment is written down."""


@dataclass(frozen=True)
class Api:
    """Prefect's API as who has its secret asks it."""

    url: str
    secret: str

    @classmethod
    def of(cls, link: Path) -> Api:
        """The API whose address and secret stand in the file that opens Prefect's UI."""
        address, secret = re.findall(r"url=(http://[\d.:]+)/enter#([^\"]+)", link.read_text())[0]
        return cls(f"{address}/api", secret)

    def ask(self, path: str, question: object = None) -> Any:
        """The answer, read as JSON."""
        headers = {
            "Authorization": f"Basic {b64encode(self.secret.encode()).decode()}",
            "Content-Type": "application/json",
        }
        body = None if question is None else json.dumps(question).encode()
        deadline = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(urllib.request.Request(self.url + path, body, headers), timeout=60) as got:
                    return json.load(got)
            except urllib.error.HTTPError as error:
                if error.code != 503 or time.monotonic() > deadline:  # its database is busy: clients ask again
                    raise
                time.sleep(0.5)

    def start(self, **parameters: object) -> str:
        """A flow run of the deployment with these parameters: its id."""
        deployment = self.ask("/deployments/filter", {})[0]["id"]
        made: dict[str, str] = self.ask(f"/deployments/{deployment}/create_flow_run", {"parameters": parameters})
        return made["id"]

    def state(self, flow_run: str) -> dict[str, Any]:
        """The state of a flow run."""
        state: dict[str, Any] = self.ask(f"/flow_runs/{flow_run}")["state"]
        return state


@dataclass
class Held:
    """A command at work whose subject waits until it is let go."""

    command: Command
    folder: Path
    home: Path
    api: Api | None = None

    def let_go(self) -> None:
        """The subject may go on."""
        (self.folder / "marks" / "hold").unlink()

    def listening(self) -> set[Door]:
        """The ports that it listens on."""
        return doors(psutil.Process(self.command.process.pid))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Held]]:
    """A function that starts a command in a team's project."""
    started: list[Command] = []

    def begin(*arguments: str) -> Held:
        folder = team_project(tmp_path / "team")
        (folder / "pipelines.yaml").write_text(PROJECT)
        (folder / "marks" / "hold").touch()
        env = environment(tmp_path / "home", TEAM_MARKS=str(folder / "marks"))
        started.append(Command.start(arguments, folder=folder, env=env))
        return Held(started[-1], folder, tmp_path / "home" / "assay")

    yield begin
    for command in started:
        command.kill()


def refuses_strangers(listening: set[Door]) -> list[int]:
    """The ports that speak HTTP; fails where any port tells a stranger something."""
    with ThreadPoolExecutor(len(listening)) as at_once:
        return [door.port for door, speaks in zip(listening, at_once.map(_refuses, listening), strict=True) if speaks]


def _refuses(door: Door) -> bool:
    """Whether the port speaks HTTP, all of whose answers are refusals."""
    assert door.address == "127.0.0.1", door
    answered = {question: answer for question, answer in http_answers(door.port).items() if answer}
    for question, answer in answered.items():
        # What Prefect's UI needs before it has the secret: its files, and that there is a server.
        alive = answer.endswith(b"true") and question.startswith("GET /api/health, ")
        outside = not question.startswith(("GET /api", "GET /docs", "GET /openapi", "POST"))
        page = outside and (b"<title>Prefect Server" in answer or answer.endswith(b'{"detail":"Not Found"}'))
        assert alive or page or REFUSED.match(answer), (door, question, answer[:300])
        assert b"access-control" not in answer.lower(), (door, question)
    for question, answer in other_answers(door.port).items():
        assert answer == b"" or answer.startswith(b"HTTP/1.1 400"), (door, question, answer[:300])
    return bool(answered)


def cannot_be_read_by_another_user(file: Path) -> None:
    """Fails where somebody else of this machine reads a file whose folder is open to all but for its last part."""
    assert file.is_file()
    if os.geteuid():
        return  # who is not root cannot become somebody else; the modes of file and folder have been looked at
    for parent in file.parent.parents:
        if "pytest" in str(parent):
            parent.chmod(0o755)
    other = subprocess.run(["cat", str(file)], capture_output=True, text=True, user="nobody")
    assert (other.returncode, other.stdout) == (1, "")
    assert "Permission denied" in other.stderr


def listens_on_nothing(
    folder: Path, env: dict[str, str], arguments: list[str], sign: str, program: str = ASSAY
) -> None:
    """Fails where a command, or a process that it starts, binds a port before it says the sign."""
    hooks, bound = folder / "hooks", folder / "bound.txt"
    hooks.mkdir(exist_ok=True)
    (hooks / "sitecustomize.py").write_text(EVERY_BIND.format(file=str(bound)))
    command = Command.start(arguments, folder=folder, env=env | {"PYTHONPATH": str(hooks)}, program=program)
    process, seen = psutil.Process(command.process.pid), set()  # looked at as well: not every library is Python
    deadline = time.monotonic() + 120
    while command.process.poll() is None and sign not in command.out and time.monotonic() < deadline:
        seen |= doors(process)
        time.sleep(0.2)
    assert sign in command.out, command.err
    command.kill()
    assert seen == set()
    assert not bound.exists(), bound.read_text()


def test_a_port_that_is_open_for_a_moment_is_heard_of(tmp_path: Path) -> None:
    program = tmp_path / "moment"
    program.write_text(
        f"#!{sys.executable}\nimport socket\nsocket.create_server(('127.0.0.1', 0)).close()\nprint('done')"
    )
    program.chmod(0o755)
    with pytest.raises(AssertionError, match=r"127\.0\.0\.1"):
        listens_on_nothing(tmp_path, dict(os.environ), [], "done", str(program))


def test_what_a_run_listens_on_tells_strangers_nothing(start: Callable[..., Held]) -> None:
    held = start("run", "patients-at-night")
    held.command.until((held.folder / "marks" / "held").exists, "the subject is asked")
    listening = held.listening()
    speaking = refuses_strangers(listening)
    assert len(speaking) == 1  # Prefect's server; Dask's scheduler, worker and nanny ask for a certificate
    assert len(listening) >= 4
    held.let_go()
    assert held.command.wait() == 0
    env = environment(held.home.parent, BROWSER="true")
    trying = ["rules", "try", "rules.py", "--data", "patients.csv", "--label", "label", "--watch"]
    listens_on_nothing(held.folder, env, trying, "hot")
    listens_on_nothing(held.folder, env, ["report", "--open"], "index.html")


@pytest.mark.slow
def test_what_is_served_is_started_by_its_owner_alone(start: Callable[..., Held], tmp_path: Path) -> None:
    held = start("serve")
    held.command.until(lambda: "Prefect's UI: open " in held.command.out, "the link to Prefect's UI")
    [link] = (held.home / "prefect").glob("ui-*.html")
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
    assert stat.S_IMODE(link.parent.stat().st_mode) == 0o700
    held.command.until(lambda: Api.of(link).ask("/deployments/filter", {}), "the deployment")
    api = Api.of(link)
    assert api.secret not in held.command.out + held.command.err
    for file in (link, link.with_name("prefect-0.db")):
        cannot_be_read_by_another_user(file)

    honest = api.start()
    held.command.until((held.folder / "marks" / "held").exists, "the subject is asked")
    [port] = refuses_strangers(held.listening())
    assert api.url == f"http://127.0.0.1:{port}/api"

    refused, careless = heard_by_a_page(port, tmp_path / "stranger")
    assert refused == [
        ["/api/deployments/filter", "refused", ""],
        ["/api/health", "refused", ""],
        ["/api/flows/", "opaque", ""],
        ["/api/flows/", "opaque", ""],
        ["/api/events/out", "refused", ""],
        ["/api/events/in", "refused", ""],
    ]
    assert careless[1] == ["/api/health", "cors", "careless"]  # the page does read what lets it
    rebound = shown(f"http://evil.example:{port}/", tmp_path / "rebound", 5)
    assert "and by no other name" in rebound
    assert [flow["name"] for flow in api.ask("/flows/filter", {}) if flow["name"] == "from-a-page"] == []
    known = [each for each in api.ask("/flow_runs/filter", {}) if each["deployment_id"] and not each["auto_scheduled"]]
    assert [each["id"] for each in known] == [honest]

    own = shown(link.as_uri(), tmp_path / "owner", 20)
    assert "Flow Runs" in own
    assert "Sign in" not in own
    held.let_go()
    held.command.until(lambda: api.state(honest)["type"] == "COMPLETED", "the run of its owner")

    theirs = tmp_path / "theirs"
    shutil.copytree(held.folder, theirs, ignore=shutil.ignore_patterns("artifacts", "marks"))
    (theirs / "rules.py").write_text(THEIRS.format(marker=theirs / "was-run"))
    refused = api.start(config=str(theirs / "pipelines.yaml"), store=str(theirs / "store"))
    held.command.until(lambda: api.state(refused)["type"] in ("FAILED", "CRASHED"), "a refusal")
    assert "did not register" in api.state(refused)["message"]
    assert not (theirs / "was-run").exists()
    assert not (theirs / "store").exists()
    assert len(records(held.folder / "artifacts")) == 1
    held.command.interrupt()
    assert held.command.wait(60) == 0
    assert not link.exists()


@pytest.fixture
def certificates(tmp_path: Path) -> dict[str, str]:
    """A certificate that a scheduler and its workers show each other, in files."""
    from distributed import Security

    made = Security.temporary()
    files = {"ca": made.tls_ca_file, "cert": made.tls_worker_cert, "key": made.tls_worker_key}
    for name, content in files.items():
        (tmp_path / f"{name}.pem").write_text(content)
    return {name: str(tmp_path / f"{name}.pem") for name in files}


def test_a_worker_listens_behind_certificates_and_nowhere_else(tmp_path: Path, certificates: dict[str, str]) -> None:
    from distributed import Scheduler, Security, SpecCluster

    tls = {"tls_ca_file": certificates["ca"], "tls_worker_cert": certificates["cert"]}
    tls |= {"tls_worker_key": certificates["key"], "tls_client_cert": certificates["cert"]}
    tls |= {"tls_client_key": certificates["key"], "tls_scheduler_cert": certificates["cert"]}
    security = Security(require_encryption=True, **tls, tls_scheduler_key=certificates["key"])
    scheduler = {"cls": Scheduler, "options": {"host": "127.0.0.1", "protocol": "tls://", "security": security}}
    scheduler["options"]["dashboard_address"] = "127.0.0.1:0"
    with SpecCluster(scheduler=scheduler, security=security, silence_logs=50) as cluster:
        address = cluster.scheduler_address
        flags = [word for name, file in certificates.items() for word in (f"--tls-{name}", file)]
        worker = Command.start(["worker", address, *flags], folder=tmp_path, env=environment(tmp_path / "home"))
        try:
            worker.until(lambda: "works for" in worker.out, "the worker has joined")
            listening = doors(psutil.Process(worker.process.pid))
            assert refuses_strangers(listening) == []
            assert len(listening) == 2  # the worker and the nanny that starts it again
        finally:
            worker.kill()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://localhost:8786", "tcp://10.0.0.1:8786"])
def test_a_worker_joins_nobody_without_certificates(tmp_path: Path, address: str) -> None:
    worker = Command.start(["worker", address], folder=tmp_path, env=environment(tmp_path / "home"))
    assert worker.wait() == 2
    assert "is not encrypted, and a Dask worker does whatever it is sent" in worker.err
