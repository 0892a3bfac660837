"""The server of a run: one that dies is started again on the same port, one that cannot start says why."""

from __future__ import annotations

import asyncio
import os
import signal
import time
import urllib.request
from base64 import b64encode
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from assay.infra.errors import InputError, RunError
from assay.infra.prefect import server as prefect_server
from assay.infra.prefect.server import PrefectServer


def is_healthy(server: PrefectServer) -> bool:
    secret = b64encode(server.environment["PREFECT_API_AUTH_STRING"].encode()).decode()
    question = urllib.request.Request(f"{server.url}/health", headers={"Authorization": f"Basic {secret}"})
    with urllib.request.urlopen(question, timeout=120) as answer:
        return bool(answer.status == 200)


@pytest.mark.parametrize(("busy", "status"), [(6, 200), (7, 503)])
def test_a_server_whose_database_is_busy_is_asked_again_for_two_minutes(
    monkeypatch: pytest.MonkeyPatch, busy: int, status: int
) -> None:
    from prefect.client import base

    asked, waits = list[int](), list[float]()

    def answer(_: httpx.Request) -> httpx.Response:
        asked.append(503 if len(asked) < busy else 200)
        return httpx.Response(asked[-1], json={})

    async def ask() -> int:
        url = "http://127.0.0.1:1/api"
        client = base.PrefectHttpxAsyncClient(transport=httpx.MockTransport(answer), raise_on_all_errors=False)
        async with client:
            return (await client.get(url)).status_code

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(base.anyio, "sleep", wait)
    monkeypatch.setattr(base, "clamped_poisson_interval", lambda seconds, _: seconds)
    assert asyncio.run(ask()) == status
    assert (len(asked), sum(waits[:6])) == (7, 126)


@pytest.mark.slow
def test_a_server_that_is_killed_is_started_again_and_nobody_is_refused_meanwhile(tmp_path: Path) -> None:
    server = PrefectServer(tmp_path).launch()
    said: list[str] = []
    server.notice = said.append
    try:
        server.wait()
        before = server._process
        assert before is not None
        os.kill(before.pid, signal.SIGKILL)
        before.wait()
        assert is_healthy(server)  # waits in line until the next process answers
        assert said == ["Prefect's server ended (code -9) and is started again; the run goes on"]
    finally:
        server.stop()
    time.sleep(0.2)
    assert len(said) == 1  # its end is not a death


def test_a_server_that_cannot_start_is_tried_on_other_ports_and_its_log_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports: list[int] = []
    create = prefect_server.socket.create_server

    def noted(*args: object, **kwargs: object) -> object:
        made = create(*args, **kwargs)
        ports.append(made.getsockname()[1])
        return made

    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho the disk is on fire\nexit 6\n")
    broken.chmod(0o755)
    monkeypatch.setattr(prefect_server.socket, "create_server", noted)
    monkeypatch.setattr(prefect_server.sys, "executable", str(broken))
    server = PrefectServer(tmp_path).launch()
    with pytest.raises(RunError, match='code 6 while starting, 3 times: it said last "the disk is on fire"'):
        server.wait()
    server.stop()
    assert len(ports) == 3


def test_a_server_that_cannot_start_for_want_of_space_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\nexit 6\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(prefect_server.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(prefect_server.shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))
    server = PrefectServer(tmp_path).launch()
    with pytest.raises(RunError, match=f"no space is left in {tmp_path}; make room, or set ASSAY_HOME"):
        server.wait()
    server.stop()


def test_a_folder_that_cannot_be_closed_to_others_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InputError, match="set ASSAY_HOME to a folder of your own"):
        PrefectServer(tmp_path / "taken").launch()
