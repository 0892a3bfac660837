"""The services that tests of this folder share; skipped where `tests/services/install.sh` was not run."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from s3_door import Door
from service_processes import HOST, s3_environment, s3_server

BUCKET = "audits"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = [name for name in ("s3fs", "moto") if importlib.util.find_spec(name) is None]
    if missing:
        skip = pytest.mark.skip(reason=f"no {' and no '.join(missing)} here: make test-services installs them")
        for item in items:
            if item.get_closest_marker("services") is not None:
                item.add_marker(skip)


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """A folder that other users may enter, as PostgreSQL's must."""
    folder = Path(tempfile.mkdtemp(prefix="assay-services-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def door(place: Path) -> Iterator[Door]:
    """An S3 server with an empty bucket, behind a door; this process and those it starts find it by themselves."""
    server = s3_server(place).start()
    door = Door((HOST, server.port))
    os.environ |= s3_environment(door.url)
    import fsspec

    fsspec.filesystem("s3").mkdir(BUCKET)
    yield door
    door.close()
    server.stop()


@pytest.fixture
def s3(door: Door, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a place in the bucket that is this test's own; the door is open again afterwards."""
    yield f"s3://{BUCKET}/{request.node.name}"
    door.mood = "open"
