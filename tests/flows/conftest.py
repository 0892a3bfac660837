"""A Prefect server as a team has one, for tests that talk to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def on_prefect(prefect_environment: dict[str, str]) -> Iterator[str]:
    """A team's server for tests that talk to it: Prefect in this process and the environment name it."""
    from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings

    from assay.infra.prefect.server import send_what_is_queued

    patched = pytest.MonkeyPatch()
    for name, value in prefect_environment.items():
        patched.setenv(name, value)
    url, secret = prefect_environment["PREFECT_API_URL"], prefect_environment["PREFECT_API_AUTH_STRING"]
    try:
        with temporary_settings({PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: secret}):
            yield url
            send_what_is_queued()  # else Prefect looks for its server, long gone, when this process ends
    finally:
        patched.undo()


@pytest.fixture(autouse=True)
def _nothing_is_published(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are of the runs that a test leaves, and not of the results that lie beside the documents."""
    monkeypatch.setattr(
        "assay.flows.reproduce.paper_table.RESULTS", tmp_path_factory.getbasetemp() / "nothing-published"
    )
