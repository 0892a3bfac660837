"""One server for the tests of a file, and its log forgotten between them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from model_server import ModelServer, model_server


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    with model_server(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def server(started: ModelServer) -> ModelServer:
    started.serves()
    Path(started.folder, "asked.jsonl").unlink(missing_ok=True)
    return started
