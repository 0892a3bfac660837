"""The server that runs share: who is let in, who starts the next one, and what becomes of it when something dies."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from assay.infra.errors import InputError, RunError
from assay.infra.prefect import shared_server
from assay.infra.prefect.server import PrefectServer
from assay.infra.prefect.shared_server import IDLE, SharedServer, idle_seconds, server_of_run


class Kept:
    """Stands for the server that a daemon keeps; it is where a test can say that it died."""

    made: list[Kept] = []  # noqa: RUF012
    broken = ""
    hung = False

    def __init__(self, home: Path, *, slot: str) -> None:
        self.slot, self.starts, self.stopped = slot, 0, threading.Event()
        self.notice: Callable[[str], None] = lambda _: None
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.environment = {"PREFECT_API_AUTH_STRING": f"assay:{slot}-{len(Kept.made)}"}
        Kept.made.append(self)

    def launch(self) -> Kept:
        self.starts = 1
        return self

    def wait(self) -> str:
        if Kept.broken:
            raise RunError(Kept.broken)
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}/api"

    def answers(self) -> bool:
        return not Kept.hung

    def dies(self) -> None:
        self.starts += 1
        self.notice("it died")

    def stop(self) -> None:
        self.socket.close()
        self.stopped.set()


class LaunchedError(Exception):
    """A run starts a server of its own."""


def launched(server: PrefectServer) -> None:
    raise LaunchedError(type(server).__name__)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where daemons are threads of this process, and their servers stand-ins."""

    def started(home: Path, slot: int) -> bool:
        door, lock = home / f"shared-{slot}.sock", (home / f"shared-{slot}.lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        door.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(door))
        listening.listen()

        def keep() -> None:
            select.select([listening], [], [], 60)  # a process takes so long to start that its run is there before it
            with lock:
                shared_server.main(listening, home, slot)

        threading.Thread(target=keep, daemon=True).start()
        return True

    monkeypatch.setattr(Kept, "made", [])
    monkeypatch.setattr(Kept, "broken", "")
    monkeypatch.setattr(Kept, "hung", False)
    monkeypatch.setattr(shared_server, "PrefectServer", Kept)
    monkeypatch.setattr(shared_server, "_started", started)
    monkeypatch.setattr(PrefectServer, "launch", launched)
    monkeypatch.setenv(IDLE, "0.4")
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Iterator[Callable[[], SharedServer]]:
    """A function that makes a run's server, up and asked."""
    made: list[SharedServer] = []

    def begin() -> SharedServer:
        server = SharedServer(folder)
        made.append(server)
        server.launch()
        server.wait()
        return server

    yield begin
    for server in made:
        server.stop()


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_runs_at_once_and_one_after_the_other_share_a_server_and_its_secret(run: Callable[[], SharedServer]) -> None:
    first = run()
    second = run()
    first.stop()
    second.stop()
    third = run()
    assert first.url == second.url == third.url
    assert third.environment["PREFECT_API_AUTH_STRING"] == Kept.made[0].environment["PREFECT_API_AUTH_STRING"]
    assert len(Kept.made) == 1


def test_the_fifth_run_at_once_has_another_server(run: Callable[[], SharedServer]) -> None:
    urls = [run().url for _ in range(5)]
    assert len(set(urls[:4])) == 1
    assert urls[4] not in urls[:4]
    assert [kept.slot for kept in Kept.made] == ["shared-0", "shared-1"]


def test_a_run_of_other_software_or_other_settings_of_prefect_has_another_server(
    run: Callable[[], SharedServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run()
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_TIMEOUT", "7")
    assert run().url != first.url


def test_a_server_without_runs_ends_after_the_time_that_was_asked_for(run: Callable[[], SharedServer]) -> None:
    first = run()
    time.sleep(0.8)
    assert not Kept.made[0].stopped.is_set()  # it has a run
    first.stop()
    assert Kept.made[0].stopped.wait(60)
    assert run().url
    assert len(Kept.made) == 2


def test_runs_that_it_refuses_keep_no_server_alive(
    run: Callable[[], SharedServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    run().stop()
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_TIMEOUT", "7")
    begun = time.monotonic()
    until(lambda: (run().stop(), Kept.made[0].stopped.is_set())[1])
    assert time.monotonic() - begun < 30


def test_runs_that_start_at_the_same_time_share_a_server(folder: Path) -> None:
    for at in range(20):
        home = folder / f"{at}"
        servers, together = [SharedServer(home) for _ in range(4)], threading.Barrier(4)

        def begin(server: SharedServer, together: threading.Barrier = together) -> None:
            together.wait()
            server.launch().wait()

        threads = [threading.Thread(target=begin, args=(server,)) for server in servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({server.url for server in servers}) == 1
        for server in servers:
            server.stop()


def test_a_run_that_ends_while_it_waits_takes_nothing_from_the_others(
    run: Callable[[], SharedServer], folder: Path
) -> None:
    first = run()
    for asks in (True, False):
        with socket.socket(socket.AF_UNIX) as gone:
            gone.connect(str(folder / "shared-0.sock"))
            gone.sendall(f"{shared_server._software()}\n".encode() if asks else b"")
    assert run().url == first.url
    assert not Kept.made[0].stopped.is_set()


def test_a_server_that_does_not_answer_is_given_to_nobody_and_ended(
    run: Callable[[], SharedServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run()
    monkeypatch.setattr(Kept, "hung", True)
    with pytest.raises(LaunchedError):
        run()  # nor is another: it starts one of its own
    first.stop()
    monkeypatch.setattr(Kept, "hung", False)
    assert run().url


def test_the_end_of_a_server_is_told_to_all_its_runs_and_no_other_run_is_given_it(
    run: Callable[[], SharedServer],
) -> None:
    runs = [run(), run()]
    said: list[list[str]] = [[], []]
    for each, heard in zip(runs, said, strict=True):
        each.notice = heard.append
    Kept.made[0].dies()
    until(lambda: said == [["it died"], ["it died"]])
    assert run().url != runs[0].url
    for each in runs:
        each.stop()
    assert Kept.made[0].stopped.wait(60)


def test_a_server_that_cannot_start_tells_the_run_why_and_is_tried_anew_by_the_next(
    run: Callable[[], SharedServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kept, "broken", "Prefect's server ended with code 6 while starting, 3 times")
    with pytest.raises(RunError, match="code 6 while starting"):
        run()
    assert Kept.made[0].stopped.wait(60)
    monkeypatch.setattr(Kept, "broken", "")
    assert run().url


def test_only_their_owner_enters_the_folder_of_sockets_and_no_file_holds_the_secret(
    run: Callable[[], SharedServer], folder: Path
) -> None:
    secret = run().environment["PREFECT_API_AUTH_STRING"].encode()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not any(secret in file.read_bytes() for file in folder.iterdir() if file.is_file())


def test_where_a_socket_has_no_room_a_run_has_a_server_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PrefectServer, "launch", launched)
    with pytest.raises(LaunchedError, match="SharedServer"):
        SharedServer(tmp_path / ("deep" * 40)).launch()


def test_a_daemon_that_cannot_live_leaves_a_run_to_a_server_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PrefectServer, "launch", launched)
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 6\n")
    broken.chmod(0o755)
    monkeypatch.setattr(shared_server.sys, "executable", str(broken))
    with pytest.raises(LaunchedError):
        SharedServer(tmp_path / "home").launch().wait()


def test_a_folder_of_another_user_has_no_shared_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrefectServer, "launch", launched)
    monkeypatch.setattr(shared_server.os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(LaunchedError):
        SharedServer(tmp_path).launch()


def test_the_daemon_gets_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_API_KEY", "sk-abcdef")
    monkeypatch.setenv("MODEL_FOLDER", "models")
    environment = shared_server._without_secrets()
    assert ("MODEL_API_KEY" in environment, environment["MODEL_FOLDER"]) == (False, "models")


@pytest.mark.parametrize(("asked", "seconds"), [("", 300.0), ("0", 0.0), (" 20 ", 20.0)])
def test_how_long_a_server_stays_is_read_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, asked: str, seconds: float
) -> None:
    monkeypatch.setenv(IDLE, asked)
    assert idle_seconds() == seconds
    assert (type(server_of_run()) is PrefectServer) == (seconds == 0)


@pytest.mark.parametrize("asked", ["-1", "soon", "nan", "inf"])
def test_a_time_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv(IDLE, asked)
    with pytest.raises(InputError, match=f"{IDLE} is '{asked}': give seconds"):
        server_of_run()


@pytest.mark.slow
def test_a_run_goes_on_when_the_server_and_then_the_daemon_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(IDLE, "5")

    def processes(module: str) -> list[psutil.Process]:
        named = ["-m", f"assay.infra.prefect.{module}"]
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if named == (process.info["cmdline"] or [])[2:4] and str(tmp_path) in " ".join(process.info["cmdline"])
        ]

    server, said = SharedServer(tmp_path), list[str]()
    server.notice = said.append
    try:
        url = server.launch().wait()
        (kept,), (daemon,) = processes("server"), processes("shared_server")
        kept.kill()
        until(lambda: len(said) == 1 and server.answers())
        daemon.kill()
        until(lambda: len(said) == 2 and server.answers())
        assert said[0] == "Prefect's server ended (code -9) and is started again; the run goes on"
        assert said[1] == "The daemon of Prefect's server was ended: this run starts the server again and goes on"
        assert server.url == url
    finally:
        server.stop()
    until(lambda: not processes("server"))
    again = SharedServer(tmp_path)
    try:
        assert again.launch().wait() != url
        assert again.answers()
        (daemon,) = processes("shared_server")
        assert os.getsid(daemon.pid) == daemon.pid  # no terminal's end is its own
    finally:
        again.stop()
    until(lambda: not processes("shared_server"))
