"""A Prefect server as a team has one: started once for all tests that need it, and named by the environment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def prefect_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that outlives a test; nothing talks to it yet."""
    from assay.infra.prefect_server import PrefectServer

    server = PrefectServer(home=tmp_path_factory.mktemp("prefect")).launch()
    try:
        yield server.wait()
    finally:
        server.stop()


@pytest.fixture(scope="module")
def on_prefect(prefect_url: str) -> Iterator[str]:
    """The same, for tests that talk to it: Prefect in this process and `PREFECT_API_URL` name it."""
    from prefect.settings import PREFECT_API_URL, temporary_settings

    from assay.infra.prefect_server import send_what_is_queued

    patched = pytest.MonkeyPatch()
    patched.setenv("PREFECT_API_URL", prefect_url)
    try:
        with temporary_settings({PREFECT_API_URL: prefect_url}):
            yield prefect_url
            send_what_is_queued()  # else Prefect looks for its server, long gone, when this process ends
    finally:
        patched.undo()


@pytest.fixture(autouse=True)
def _nothing_is_published(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are of the runs that a test leaves, and not of the results that lie beside the documents."""
    monkeypatch.setattr("assay.flows.reproduce.results.RESULTS", tmp_path_factory.getbasetemp() / "nothing-published")
