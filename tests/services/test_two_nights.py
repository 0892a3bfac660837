"""Two pipelines on a schedule, on services that each fail in the middle: they end with the digests of a quiet run.

Prefect's server with PostgreSQL, a Dask scheduler, two CPU workers and one that offers a GPU behind TLS, and a store on
S3 over HTTP: nine processes, and whoever dies is started again, as systemd or Compose would.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from command_line import Command, digests, environment, still_there
from s3_door import Door
from served_nights import records_in, served_team, soon, write_nights
from service_processes import Certificates, Service, gpu_worker, postgres, prefect_server, scheduler, wait_until, worker

from assay.infra.storage.store import Store

pytestmark = [pytest.mark.services, pytest.mark.timeout(1500)]

NIGHTS = ("night", "pictures")
MEMORY = "900MiB"


@dataclass
class House:
    """Everything that a night stands on."""

    database: Service
    prefect: Service
    scheduler: Service
    workers: list[Service]
    gpu: Service
    env: dict[str, str]
    team: Path

    @property
    def engine(self) -> str:
        return f"tls://127.0.0.1:{self.scheduler.port}"

    def stop(self) -> None:
        for one in (self.gpu, *self.workers, self.scheduler, self.prefect, self.database):
            one.stop()


@pytest.fixture(scope="module")
def house(place: Path, door: Door) -> Iterator[House]:
    team = served_team(place / "team")
    for name in ("postgres", "services"):
        (place / name).mkdir()
    certificates = Certificates.made(place)
    database = postgres(place / "postgres").start()
    prefect = prefect_server(place, database).start()
    env = environment(
        place / "home",
        PREFECT_API_URL=f"http://127.0.0.1:{prefect.port}/api",
        TEAM_MARKS=str(team / "marks"),
        PYTHONPATH=os.environ.get("PYTHONPATH", ""),
        **certificates.of_client,
    )
    dask = scheduler(place / "services", certificates, env).start()
    address = f"tls://127.0.0.1:{dask.port}"
    workers = [worker(f"cpu-{n}", place / "services", address, certificates, env, MEMORY).start() for n in (1, 2)]
    gpu = gpu_worker(place / "services", address, certificates, env).start()
    house = House(database, prefect, dask, workers, gpu, env, team)
    yield house
    house.stop()


@pytest.fixture(scope="module")
def quiet(house: House) -> dict[str, dict[str, str]]:
    """The digests of both pipelines, run here and with nothing going wrong."""
    store = str(house.team / "quiet")
    write_nights(house.team, store=store, engine="local")
    env = {name: value for name, value in house.env.items() if name not in ("PREFECT_API_URL", "TEAM_MARKS")}
    for name in NIGHTS:
        run = Command.start(["run", name, "--set", "compute.workers=2"], folder=house.team, env=env)
        assert run.wait(600) == 0, run.err
    return {record["pipeline"]: digests(record) for record in records_in(store)}


@pytest.fixture
def keeper(house: House) -> Iterator[None]:
    """Whoever restarts what ended: Compose's `restart: unless-stopped`."""
    over = threading.Event()

    def keep() -> None:
        while not over.wait(1):
            for one in (*house.workers, house.gpu):
                if one.process is not None and one.process.poll() is not None:
                    one.start()

    thread = threading.Thread(target=keep)
    thread.start()
    yield
    over.set()
    thread.join()


def family(service: Service) -> list[psutil.Process]:
    assert service.process is not None
    with suppress(psutil.NoSuchProcess):
        here = psutil.Process(service.process.pid)
        return [here, *here.children(recursive=True)]
    return []


def holder(house: House, marks: Path) -> Service:
    """The worker that holds patient p350 just now."""
    held = {int(mark.name.removeprefix("held-")) for mark in marks.glob("held-*")}
    return next(one for one in house.workers if held & {process.pid for process in family(one)})


def held_anew(marks: Path) -> None:
    """Return once some worker holds patient p350, who did not hold it before."""
    for mark in marks.glob("held*"):
        mark.unlink()
    wait_until(lambda: list(marks.glob("held-*")), "a worker at patient p350", 400)


def test_both_nights_end_as_a_quiet_run_does_whatever_fails(
    house: House, quiet: dict[str, dict[str, str]], keeper: None, s3: str, door: Door
) -> None:
    marks = house.team / "marks"
    (marks / "hold").touch()
    (marks / "greedy").touch()
    write_nights(house.team, store=s3, engine=house.engine, cron=soon())
    registered = Command.start(["deploy"], folder=house.team, env=house.env)
    assert registered.wait() == 0, registered.err
    assert [line.split(":")[0] for line in registered.out.splitlines()] == list(NIGHTS)

    serving = Command.start(["serve"], folder=house.team, env=house.env)
    try:
        serving.until(lambda: (marks / "held").exists(), "patient p350 met by schedule", 600)
        assert (marks / "greedy-was").exists()  # a worker's memory was filled beyond its limit
        holder(house, marks).stop()  # SIGKILL to the worker in the middle of its partition
        held_anew(marks)
        house.scheduler.restart(pause=3)  # SIGKILL to the scheduler: everything under way is lost
        held_anew(marks)
        house.database.restart(pause=3)  # SIGKILL to PostgreSQL
        door.mood = "refusing"
        (marks / "hold").unlink()
        time.sleep(20)
        door.mood = "slow"
        time.sleep(20)
        door.mood = "open"
        over = {"done", "gate failed", "refused", "broken", "crashed"}
        serving.until(
            lambda: len([one for one in records_in(s3) if one["status"] in over]) >= len(NIGHTS),
            "both nights over",
            600,
        )
        offspring = serving.offspring()
        serving.interrupt()
        assert serving.wait(60) == 0, serving.err
    finally:
        serving.kill()
    assert still_there(offspring) == []
    found = records_in(s3)
    assert [
        (one["pipeline"], one["status"], one["failures"]) for one in sorted(found, key=lambda it: it["pipeline"])
    ] == [(name, "done", []) for name in NIGHTS]
    assert {one["pipeline"]: digests(one) for one in found} == quiet
    assert door.seen["refused"] > 0
    said = "\n".join(text for one in found for text in one["notices"])
    assert "The Dask scheduler of" in said
    assert "Done again" in said
    placed_on_the_gpu_worker(Store(s3), next(one for one in found if one["pipeline"] == "pictures"))


def placed_on_the_gpu_worker(store: Store, record: dict[str, object]) -> None:
    """What wants a GPU was computed by the worker that offers one, and nothing else was."""
    places: dict[str, set[tuple[str, str]]] = {}
    for stage in record["stages"]:  # type: ignore[attr-defined]
        manifest = store.manifest(stage["stage"], stage["key"])
        assert manifest is not None
        parts = [part for output in manifest.outputs.values() for part in output.parts]
        places[stage["stage"]] = {(part.worker, part.device) for part in parts if part.worker != "the flow"}
    on_gpu = {name for name, where in places.items() if any(device == "gpu" for _, device in where)}
    assert {"train_network", "attack_subject"} <= on_gpu, places
    assert all(where == {("gpu", "gpu")} for name, where in places.items() if name in on_gpu), places
    assert all("gpu" not in {name for name, _ in where} for stage, where in places.items() if stage not in on_gpu)
