"""No secret reaches a byte that is written, whatever it looks like and whoever quotes it in which encoding."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import fsspec
import pytest
from command_line import Command, environment, records
from direct_nights import perform_night
from quoted_secrets import SECRETS, echo_server, encodings, files_with
from repository import ROOT
from team_project import patients

from assay.flows.cli import answer
from assay.infra import masking
from assay.infra.errors import AssayError, without_secrets

SOURCE = "{csv: patients.csv, id: id, label: label}"
LINEAR = "{model: logistic, features: [pulse]}"


@dataclass(frozen=True)
class Door:
    """A kind of address that takes a secret: its variable, and how a person comes to use it."""

    variable: str
    use: Callable[[Path, str], int]
    value: str = "{}"
    refuses: str = "line break inside"
    """The secrets that cannot be used here, and are refused by the variable's name."""
    quoted: bool = True
    """Whether what goes wrong quotes the secret."""


def night(folder: Path, source: str = SOURCE, subject: str = LINEAR) -> int:
    (folder / "patients.csv").write_text(patients(40))
    (folder / "pipelines.yaml").write_text(f"pipelines:\n  night:\n    source: {source}\n    subject: {subject}\n")
    return perform_night(folder, "night").exit_code


def endpoint(folder: Path, server: str) -> int:
    asking = "{headers: {Authorization: DOOR_ENDPOINT}, retries: 0, version_header: X-Model-Version}"
    return night(folder, subject=f'{{model: "{server}/quiet/predict", features: [pulse], asking: {asking}}}')


def refused_endpoint(folder: Path, _: str) -> int:
    asking = "{headers: {Authorization: DOOR_ENDPOINT}, retries: 0, version_header: X-Model-Version}"
    return night(folder, subject=f'{{model: "http://127.0.0.1:9/", features: [pulse], asking: {asking}}}')


def database(folder: Path, _: str) -> int:
    written = "postgresql://night:${DOOR_PW}@127.0.0.1:9/clinic?sslmode=${DOOR_PW}"
    return night(folder, source=f"{{sql: '{written}', query: select 1, id: id, label: age}}")


def s3_source(folder: Path, _: str) -> int:
    return night(folder, source="{csv: s3://bucket/rows.csv, id: id, label: label}")


def label_studio(folder: Path, _: str) -> int:
    return night(folder, source="{label_studio: s3://bucket/export.json, label: verdict}")


def s3_store(folder: Path, _: str) -> int:
    return answer(["runs", "--store", "s3://bucket/store", "--debug"])


def webhook(folder: Path, server: str) -> int:
    return notify(folder, "webhook: {url_from: DOOR_HOOK, secret_from: DOOR_HOOK, seconds: 1}")


def mail(folder: Path, _: str) -> int:
    return notify(folder, "apprise: {url_from: DOOR_MAIL, seconds: 3}")


def notify(folder: Path, line: str) -> int:
    (folder / "pipelines.yaml").write_text(
        f"notify: {{{line}}}\npipelines: {{digits: {{source: {{dataset: sample/digits}}}}}}\n"
    )
    return answer(["notify", "--test", "--debug", "--config", str(folder / "pipelines.yaml")])


def mlflow_model(folder: Path, server: str) -> int:
    os.environ["MLFLOW_TRACKING_URI"] = server
    return night(folder, subject='{model: "models:/spam@nightly", features: [pulse]}')


ONLY_ASCII = "line break inside, beyond ASCII"
DOORS = {
    "endpoint": Door("DOOR_ENDPOINT", endpoint, "Bearer {}", ONLY_ASCII),
    "endpoint that does not answer": Door("DOOR_ENDPOINT", refused_endpoint, "Basic {}", ONLY_ASCII, quoted=False),
    "database": Door("DOOR_PW", database),
    "S3 source": Door("AWS_SECRET_ACCESS_KEY", s3_source, refuses=ONLY_ASCII),
    "S3 store": Door("AWS_SESSION_TOKEN", s3_store, refuses=ONLY_ASCII),
    "Label Studio's export": Door("AWS_SECRET_ACCESS_KEY", label_studio, refuses=ONLY_ASCII),
    "webhook": Door("DOOR_HOOK", webhook, "http://127.0.0.1:9/in/{}", ONLY_ASCII, quoted=False),
    "mail": Door("DOOR_MAIL", mail, "mailto://night:{}@127.0.0.1:9/?from=night@example.org", "", quoted=False),
    "MLflow": Door("MLFLOW_TRACKING_TOKEN", mlflow_model, refuses=ONLY_ASCII),
}


class Quoting(fsspec.AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Cloud storage that is angry, and quotes the credentials in every encoding that it knows."""

    protocol = "s3"

    def info(self, path: str, **_: object) -> dict[str, object]:
        secret = os.environ.get("AWS_SECRET_ACCESS_KEY") or os.environ["AWS_SESSION_TOKEN"]
        words = b" | ".join(sorted(encodings(secret))).decode(errors="replace")
        try:
            raise ValueError(f"Invalid header value {secret.encode()!r}")
        except ValueError as cause:
            raise PermissionError(f"Access denied to {path} with {secret!r}: {words}") from cause

    ls = find = cat_file = exists = info


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with echo_server() as url:
        yield url


@pytest.fixture(autouse=True)
def _nothing_is_masked_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masking, "_spellings", None)


@pytest.fixture(autouse=True)
def _everything_is_logged(tmp_path: Path) -> Iterator[None]:
    handler = logging.FileHandler(tmp_path / "everything.log")
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        handler.close()


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("door", DOORS)
def test_a_secret_that_is_quoted_is_written_nowhere(
    door: str,
    kind: str,
    tmp_path: Path,
    server: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    secret, way = SECRETS[kind], DOORS[door]
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "MLFLOW_TRACKING_URI"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv(way.variable, way.value.format(secret))
    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, "s3", Quoting)
    said = ""
    try:
        assert way.use(tmp_path, server) != 0
    except AssayError as error:
        said = "".join(traceback.format_exception(without_secrets(error))) + repr(error)
        logging.getLogger("somebody").exception("it failed")
    captured = capfd.readouterr()
    said += captured.out + captured.err
    assert said
    assert not [one for one in encodings(secret) if one in said.encode()], said
    assert files_with(secret, tmp_path) == []
    if kind in way.refuses:
        assert f"the environment variable {way.variable} holds" in said
    elif way.quoted:
        assert f"${{{way.variable}}}" in said


TEAM = """
compute: {workers: 1, partitions: 1, retries: 0}
pipelines:
  night:
    source: {csv: patients.csv, id: id, label: label}
    subjects:
      - name: service
        model: "SERVER/quiet/predict"
        features: [pulse]
        asking: {headers: {Authorization: TEAM_HEADER}, retries: 0}
      - {name: own, model: "model.py:predict"}
"""
MODEL = """
import os

def predict(table):
    secret = os.environ["TEAM_API_TOKEN"]
    try:
        raise KeyError(f"no header from {secret!r}")
    except KeyError as cause:
        raise ConnectionError(f"Invalid header value {secret.encode()!r} of {secret}") from cause
"""


@pytest.mark.xdist_group("prefect")
def test_a_run_on_workers_and_prefect_writes_its_secrets_nowhere(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, server: str, prefect_environment: dict[str, str]
) -> None:
    folder = tmp_path / "team"
    folder.mkdir()
    (folder / "patients.csv").write_text(patients(60))
    (folder / "pipelines.yaml").write_text(TEAM.replace("SERVER", server))
    (folder / "model.py").write_text(MODEL)
    header, token = "t0k 8151'\"wx%41\\yz", "tök%8152\\wx'\"yz\n"
    env = environment(
        tmp_path / "home",
        PYTHONPATH=str(ROOT),
        **prefect_environment,
        TEAM_HEADER=f"Bearer {header}\n",
        TEAM_API_TOKEN=token,
    )
    env["PREFECT_LOGGING_LEVEL"] = "DEBUG"
    command = Command.start(["run", "night", "--debug"], folder=folder, env=env)
    assert command.wait() in (2, 3), command.err
    assert "${TEAM_HEADER}" in command.err
    [record] = records(folder / "artifacts")
    assert "${TEAM_API_TOKEN}" in json.dumps(record["failures"])
    databases = list(tmp_path_factory.getbasetemp().glob("prefect*/prefect-*.db"))
    assert any("${TEAM_API_TOKEN}" in log_lines(database) for database in databases)
    for secret in (header, token):
        places = [tmp_path, *(database.parent for database in databases)]
        assert [file for place in places for file in files_with(secret, place)] == []


def log_lines(database: Path) -> str:
    with sqlite3.connect(database) as prefect:
        return json.dumps(prefect.execute("select message from log").fetchall())
