"""A remote store that stumbles is asked again; what cannot pass is told at once, and silence in words."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable

import fsspec
import pytest

from assay.infra.errors import RunError
from assay.infra.storage import folders, network
from assay.infra.storage.folders import Folder, RangedFile, open_remote
from assay.infra.storage.network import is_transient, with_retries


class HTTPClientError(Exception):
    """Called as botocore's is."""


class AnsweredError(Exception):
    """An error as botocore's are: it holds what the server said."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}}


def behind(cause: Exception) -> OSError:
    error = OSError(errno.EIO, "as s3fs says it")
    error.__cause__ = cause
    return error


@pytest.fixture(autouse=True)
def _in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock goes on by what is slept."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(network.time, "sleep", sleep)
    monkeypatch.setattr(network.time, "monotonic", lambda: now[0])


@pytest.mark.parametrize(
    ("fault", "passes"),
    [
        (OSError(errno.EBUSY, "SlowDown"), True),
        (behind(AnsweredError(500)), True),
        (behind(AnsweredError(503)), True),
        (behind(AnsweredError(429)), True),
        (behind(AnsweredError(409)), True),  # two conditional writes at once
        (behind(AnsweredError(400)), False),
        (behind(AnsweredError(412)), False),
        (ConnectionResetError(), True),
        (HTTPClientError("read timeout"), True),
        (FileNotFoundError("no such key"), False),
        (FileExistsError("there already"), False),
        (PermissionError("Access Denied"), False),
        (ValueError("no such region"), False),
    ],
    ids=str,
)
def test_which_faults_pass(fault: Exception, passes: bool) -> None:
    assert is_transient(fault) is passes


def failing(times: int, fault: Exception) -> Callable[[], str]:
    faults = iter([fault] * times)

    def ask() -> str:
        for one in faults:
            raise one
        return "the answer"

    return ask


def test_what_passes_is_asked_again_and_spoken_of_once() -> None:
    said: list[str] = []
    assert with_retries(failing(9, TimeoutError()), "s3://audits", notice=said.append) == "the answer"
    assert said == ["The store s3://audits does not answer just now; it is asked again for up to 300 s"]


def test_a_short_stumble_is_not_spoken_of() -> None:
    said: list[str] = []
    assert with_retries(failing(2, TimeoutError()), "s3://audits", notice=said.append) == "the answer"
    assert said == []


def test_silence_ends_in_a_sentence_with_a_way_out() -> None:
    with pytest.raises(
        RunError, match=r"s3://audits has not answered for 3\d\d s \(.*Slow down\): run again once it do"
    ):
        with_retries(failing(10**6, OSError(errno.EBUSY, "Slow down")), "s3://audits")


def test_what_does_not_pass_is_raised_at_once() -> None:
    with pytest.raises(PermissionError):
        with_retries(failing(1, PermissionError("Access Denied")), "s3://audits")


def test_a_412_without_its_condition_means_that_somebody_was_first(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder("memory://without-condition")
    folder.write("manifest.json", b"theirs")

    def refused(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.EINVAL, "At least one of the pre-conditions you specified did not hold")

    monkeypatch.setattr(folder.fs, "pipe_file", refused)
    assert folder.create("manifest.json", b"mine") is False
    assert folder.create("manifest.json", b"theirs") is True  # ours, whose answer was lost


CONTENT = bytes(n % 251 for n in range(100_000))


@pytest.fixture
def remote() -> tuple[object, str]:
    fs = fsspec.filesystem("memory")
    fs.pipe_file("/ranged/file", CONTENT)
    return fs, "/ranged/file"


def test_a_ranged_file_reads_as_the_whole_does(remote: tuple[object, str]) -> None:
    file = io.BufferedReader(RangedFile(*remote, len(CONTENT), lambda ask: ask()), 4096)
    assert file.read(10) == CONTENT[:10]
    assert file.seek(-7, io.SEEK_END) == len(CONTENT) - 7
    assert file.read() == CONTENT[-7:]
    file.seek(5000)
    file.seek(1000, io.SEEK_CUR)
    assert file.read(20_000) == CONTENT[6000:26_000]
    assert file.read(0) == b""


@pytest.mark.parametrize("whole", [10, 10**6], ids=["by ranges", "in one"])
def test_every_request_of_a_reader_is_patient(
    remote: tuple[object, str], whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "WHOLE_BYTES", whole)
    asked: list[object] = []

    def patient(ask: Callable[[], object]) -> object:
        asked.append(ask)
        return ask()

    with open_remote(*remote, patient) as file:
        assert file.read() == CONTENT
    assert len(asked) >= 2
