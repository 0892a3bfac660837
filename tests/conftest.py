"""Fixtures that every test may use: a run without Prefect, in this process, over a store in a temporary folder."""

import atexit
import gc
import hashlib
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from assay.infra.environment import prepare_environment

prepare_environment()
os.environ["ASSAY_SERVER_IDLE"] = "0"  # a run of a test leaves no server behind

# Eight thousand tests and the libraries behind them live as long as the process: looking through them for garbage takes
# a quarter of the time of collecting them, so it begins after that, and looks at what tests make.
gc.disable()

# Started in the background, a shell hands down an ignored SIGINT; tests that interrupt programs need it to be heard.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A claim is true or false, however busy the machine is: the first example of a test may wait for an import.
hypothesis.settings.register_profile("assay", deadline=None)
hypothesis.settings.load_profile("assay")

# Worker processes import the partition functions of tests from here, as pytest does.
SUPPORT = Path(__file__).parent / "support"
os.environ["PYTHONPATH"] = os.pathsep.join([str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.fixture(autouse=True)
def _comes_home() -> Iterator[None]:
    """A test that leaves the process in another folder fails, and does not take the next ones there."""
    home = os.getcwd()
    yield
    there = os.getcwd()
    if there != home:
        os.chdir(home)
        pytest.fail(f"The test left the process in {there}.")


@pytest.fixture(scope="session", autouse=True)
def _contracts_are_asked_once() -> Iterator[None]:
    """Great Expectations takes half of a small night, and many nights hold the same tables against the same contract:
    what it answered is kept for as long as the process lives."""
    import pyarrow as pa

    from assay.data import expectations

    ask, answered = expectations._ask, dict[tuple[str, bytes], list[object]]()

    def asked_once(table: pa.Table, suite: dict[str, object], parameters: dict[str, int]) -> list[object]:
        content = pa.BufferOutputStream()
        with pa.ipc.new_stream(content, table.schema) as sink:
            sink.write_table(table)
        key = json.dumps([suite, parameters], sort_keys=True), hashlib.sha256(content.getvalue()).digest()
        if key not in answered:
            answered[key] = ask(table, suite, parameters)
        return answered[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expectations, "_ask", asked_once)
        yield


@pytest.fixture(autouse=True)
def _checkpoint_after_every_epoch(_comes_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """However short an epoch is, a training that a test ends goes on after it; the pace has a test of its own.

    `monkeypatch` begins after `_comes_home`, so that the folders it changed are changed back before that looks.
    """
    monkeypatch.setattr("assay.tasks.subjects.trained.WORTH", 0)


@pytest.fixture(scope="session")
def prefect_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the environment says where a team has a Prefect server: one that outlives a test, with its secret."""
    from assay.infra.prefect.server import PrefectServer

    server = PrefectServer(home=tmp_path_factory.mktemp("prefect")).launch()
    try:
        server.wait()
        yield server.environment
    finally:
        server.stop()


@pytest.fixture
def on_teams_prefect(prefect_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of this process names that server."""
    for name, value in prefect_environment.items():
        monkeypatch.setenv(name, value)
    return prefect_environment


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., "object"]:
    """A function that makes runs over the same store: `with make_run(seed=1) as run: …`."""
    from assay.infra.engines.opening import open_engine
    from assay.infra.settings import Compute
    from assay.infra.stages.runs import Run
    from assay.infra.storage.store import Store
    from assay.infra.terminal import Progress

    def make(
        pipeline: str = "test",
        *,
        store: str | None = None,
        seed: int = 0,
        fresh: bool = False,
        aside: bool = False,
        verify: int = 0,
        **compute: object,
    ) -> Run:
        settings = Compute(**{"engine": "serial", **compute})
        return Run(
            pipeline,
            Store(store or str(tmp_path / "store")).open(),
            lambda: open_engine(settings),
            Progress(),
            seed=seed,
            compute=settings,
            fresh=fresh,
            aside=aside,
            verify=verify,
        )

    return make


@pytest.fixture
def run(make_run: Callable[..., object]) -> Iterator[object]:
    """A run that is open: stages can be called."""
    with make_run() as opened:
        yield opened


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a fixture of their module, or the team's Prefect server, run in one process, where it is made
    once."""
    for item in items:
        if "prefect_environment" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("prefect"), append=False)
        made = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values()
        if item.get_closest_marker("xdist_group") is None and any(each[-1].scope == "module" for each in made):
            item.add_marker(pytest.mark.xdist_group(item.location[0]))


def pytest_collection_finish(session: pytest.Session) -> None:
    """From here on garbage is looked for among what tests make."""
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # what ends with the process ends as usual
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests on the catalogue's real data need the mirror; without it they say so."""
    if item.get_closest_marker("mirror") and not os.environ.get("ASSAY_MIRROR"):
        pytest.skip("needs ASSAY_MIRROR, a folder with the catalogue's data sets")
