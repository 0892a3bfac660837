"""The store stays small, and nothing that is in use or being written goes."""

import errno
import json
import os
import threading
import time
from datetime import datetime
from pathlib import Path

import pytest
from fsspec.implementations.local import LocalFileSystem
from plumbing_workload import Numbers, Piece, Scaled, Weights, double, make_numbers

from assay.infra.errors import InputError, RunError, UnwritableError
from assay.infra.stages.partitions import map_partitions, map_pieces
from assay.infra.stages.stage import stage, write_files
from assay.infra.storage.artifacts import Artifact, RunRecord
from assay.infra.storage.folders import Folder
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import Lease, clean, close_crashed_runs, is_alive, is_shared


@stage(version=1)
def keep(text: str) -> Artifact[Weights]:
    return write_files({"w": text.encode() * 100}, into=Weights)


def finished(make_run, text: str) -> str:
    with make_run() as run:
        keep(text)
        run.record.status = "done"
    return run.id


def test_results_that_no_kept_run_used_go(make_run):
    old, new = finished(make_run, "old"), finished(make_run, "new")
    store = make_run().store
    swept = clean(store, keep=1)
    assert swept.runs == (old,)
    assert len(swept.results) == 1
    assert swept.bytes > 0
    assert [run.id for run in store.runs()] == [new]
    with make_run() as run:
        keep("new")
        assert run.record.stages[0].cached


def test_records_that_cannot_be_listed_are_not_taken_for_none(make_run, monkeypatch: pytest.MonkeyPatch):
    finished(make_run, "kept")
    store, listed = make_run().store, LocalFileSystem.ls

    def ls(self: LocalFileSystem, path: str, detail: bool = False, **how: object) -> object:
        if str(path).endswith("/runs"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return listed(self, path, detail, **how)

    with monkeypatch.context() as unlistable:
        unlistable.setattr(LocalFileSystem, "ls", ls)
        with pytest.raises(UnwritableError, match=r"Cannot read .*/runs: permission denied"):
            store.runs()
        with pytest.raises(UnwritableError):
            clean(store)
    with make_run() as run:
        keep("kept")
        assert run.record.stages[0].cached


def test_where_the_folder_of_records_is_gone_nothing_is_removed(make_run):
    finished(make_run, "old")
    store = make_run().store
    store.folder.remove("runs")
    before = store.folder.sizes("stages")
    with pytest.raises(InputError, match=r"no folder runs/.*nothing was removed"):
        clean(store, keep=0)
    assert store.folder.sizes("stages") == before != {}


def test_what_gates_are_still_held_against_stays_however_many_nights_and_trials_came_since(make_run):
    passed, trial, *untold = (finished(make_run, text) for text in ("passed", "trial", "untold", "again"))
    store, gate = make_run().store, {"finding": "a.b", "against": "last-passed", "drop_at_most": 0.02}
    for name in (passed, trial, *untold):
        run = store.run(name)
        run.settings = {"gates": [gate]}
        run.overrides = ["gates"] if name == trial else []
        run.gates = [{"gate": "g", "raw": "inconclusive", "against": passed}] if name in untold else []
        store.save_run(run)
    assert clean(store, keep=1).runs == (trial, untold[0])
    assert {run.id for run in store.runs()} == {passed, untold[1]}


def test_a_result_that_a_later_run_took_from_the_store_stays(make_run):
    finished(make_run, "shared")
    finished(make_run, "shared")
    assert clean(make_run().store, keep=1).results == ()


def test_a_dry_run_removes_nothing(make_run):
    finished(make_run, "old")
    finished(make_run, "new")
    store = make_run().store
    assert clean(store, keep=0, dry_run=True).results == clean(store, keep=0).results
    assert store.runs() == []


@pytest.mark.parametrize("place", ["runs", "reports", "stages/keep", "answers", "turns"])
def test_what_a_clean_up_was_removing_when_it_was_killed_goes_with_the_next(make_run, monkeypatch, place):
    kept = finished(make_run, "kept")
    store = make_run().store
    for name in (f"{place}/gone", f"reports/{kept}", f"runs/{kept}"):
        store.folder.write(f"{name}/part", b"content")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(store.folder.fs, "rm", killed)
        with pytest.raises(KeyboardInterrupt):
            store.folder.remove(f"{place}/gone")
    with make_run() as alive:
        store.folder.write(f"runs/{alive.id}/part", b"content")
        (left,) = clean(store).results
        assert left.startswith(f"{place}/gone.removed-")
        assert list(store.folder.sizes(left)) == []
        assert [*store.folder.folders("runs")] == sorted([kept, alive.id])
        assert store.folder.folders("reports") == [kept]


@pytest.mark.parametrize("removed", [1, 2])
def test_a_run_that_was_half_forgotten_is_forgotten_whole(make_run, removed):
    old, kept = finished(make_run, "x"), finished(make_run, "x")
    store = make_run().store
    of_old = [f"runs/{old}.json", f"runs/{old}", f"reports/{old}"]
    for name in of_old[1:]:
        store.folder.write(f"{name}/part", b"content")
    for name in of_old[:removed]:
        store.folder.remove(name)
    assert len(clean(store).results) == 3 - removed
    assert not [name for place in ("runs", "reports") for name in store.folder.sizes(place) if old in name]
    assert [run.id for run in store.runs()] == [kept]


def test_folders_that_are_no_runs_stay_beside_the_reports(make_run):
    store = make_run().store
    for name in ("reports/assets/logo.svg", "reports/2026-11-20-0200-k3f9/index.html"):
        store.folder.write(name, b"content")
    assert clean(store).results == ("reports/2026-11-20-0200-k3f9",)
    assert store.folder.folders("reports") == ["assets"]


def test_what_a_living_run_is_writing_stays(make_run):
    with make_run() as run:
        run.record.writing.append("keep/some-key")
        run.save()
        run.store.folder.write("stages/keep/some-key/part", b"half")
        assert clean(run.store, keep=0).results == ()
        assert run.store.folder.exists("stages/keep/some-key/part")


@stage(version=1)
def count(rows: int) -> Artifact[Numbers]:
    return map_pieces(make_numbers, [Piece(at, at + 2) for at in range(0, rows, 2)], into=Numbers)


@stage(version=1)
def scale(numbers: Artifact[Numbers], factor: int) -> Artifact[Scaled]:
    return map_partitions(double, numbers, into=Scaled, factor=factor)


def chain(make_run, rows: int) -> list[str]:
    """The digests of a run of a few stages, all of which are still to be had when it ends."""
    with make_run() as run:
        numbers = count(rows)
        made = [numbers, *(scale(numbers, factor) for factor in (2, 3, 2))]
        for used in run.record.stages:  # a clean-up may have one in its hands just now, and puts it back
            until = time.monotonic() + 10
            while (there := run.store.find(used.stage, used.key)) is None and time.monotonic() < until:
                time.sleep(0.01)
            assert there is not None
        run.record.status = "done"
    return [each.digest for each in made]


def test_a_clean_up_that_keeps_no_run_takes_nothing_from_one_at_any_of_its_steps(make_run, monkeypatch):
    quiet, store, busy, sweeps = chain(make_run, 6), make_run().store, [], []

    def swept_first(operation: str) -> None:
        as_it_is = getattr(Folder, operation)

        def operate(folder: Folder, *args: object) -> object:
            if not busy:
                busy.append(operation)
                sweeps.append(clean(store, keep=0))
                busy.pop()
            return as_it_is(folder, *args)

        monkeypatch.setattr(Folder, operation, operate)

    for operation in ("exists", "read_json", "sizes", "open", "write", "create", "writing", "share"):
        swept_first(operation)
    assert chain(make_run, 6) == quiet  # of which every result was there, and might be taken away
    assert chain(make_run, 8) != quiet
    assert len(sweeps) > 100
    assert sum(len(swept.results) for swept in sweeps) >= 3  # those of the first run, once it is forgotten


def test_a_clean_up_that_keeps_no_run_may_go_on_beside_runs(make_run):
    """What it removes in the very moment in which a run comes upon it, the run says in a sentence, and goes on anew."""
    quiet, over, store, faults = chain(make_run, 6), threading.Event(), make_run().store, []

    def sweep() -> None:
        while not over.is_set():
            try:
                clean(store, keep=0)
            except Exception as fault:  # noqa: BLE001 - it is looked at below
                faults.append(fault)

    sweeping = threading.Thread(target=sweep, daemon=True)
    sweeping.start()
    for _ in range(10):
        for tries_left in reversed(range(5)):
            try:
                assert chain(make_run, 6) == quiet
                break
            except RunError as fault:
                if not tries_left or "(cleaned, or deleted): run again." not in str(fault):
                    raise
    over.set()
    sweeping.join()
    assert faults == []


def test_a_result_that_a_run_comes_upon_while_it_is_removed_comes_back(make_run, monkeypatch):
    chain(make_run, 6)
    store, rename, met = make_run().store, os.rename, []
    with make_run() as run:

        def come_upon(old: str, new: str) -> None:
            rename(old, new)
            if ".removed-" in new and not met:
                stage, key = Path(old).parts[-2:]
                met.append((stage, key))
                run.begin(f"{stage}/{key}")

        monkeypatch.setattr(os, "rename", come_upon)
        swept = clean(store, keep=0)
        [(stage, key)] = met
        assert f"stages/{stage}/{key}" not in swept.results
        assert store.find(stage, key) is not None
    assert len(swept.results) == 2  # the others of three


def leased_elsewhere(store: Store, run: str, seconds_ago: float, until: float = 0.0) -> None:
    """A lease of another machine, last renewed so long ago by the store's clock."""
    name = f"leases/{run}.json"
    store.folder.write_json(name, {"host": "elsewhere", "pid": 1, "until": until})
    os.utime(store.folder.path(name), (time.time() - seconds_ago,) * 2)


@pytest.mark.parametrize(("seconds_ago", "lives"), [(5, True), (599, True), (601, False)])
def test_how_old_a_lease_of_another_machine_is_the_store_says(make_run, seconds_ago, lives):
    store = make_run().store
    for clock in (-7200, 0, 7200):  # of the machine that wrote it
        leased_elsewhere(store, "a-run", seconds_ago, until=time.time() + clock)
        assert is_alive(store, "a-run") is lives
    assert list(store.folder.sizes("leases")) == ["leases/a-run.json"]


def test_a_clock_two_hours_ahead_takes_nothing_from_a_run_that_lives(make_run, monkeypatch):
    with make_run() as run:
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 7200)
        assert is_alive(run.store, run.id)
        lease = run.store.folder.read_json(f"leases/{run.id}.json")
        run.store.folder.write_json(f"leases/{run.id}.json", lease | {"born": "1"})  # another process has its number
        assert not is_alive(run.store, run.id)


def test_a_run_that_ended_stays_while_its_process_writes_its_history(make_run):
    ended = finished(make_run, "x")
    store = make_run().store
    record = store.run(ended)
    record.pid = os.getppid()
    store.save_run(record)
    assert clean(store, keep=0, dry_run=True).runs == ()
    record.pid = os.getpid()
    store.save_run(record)
    assert clean(store, keep=0, dry_run=True).runs == (ended,)


def test_a_killed_run_is_marked_as_crashed(make_run):
    store = make_run().store
    dead = RunRecord("2026-01-01-0000-dead", "p", "2026-01-01T00:00:00+00:00", 0, "here", 1)
    store.save_run(dead)
    leased_elsewhere(store, dead.id, seconds_ago=601)
    with make_run() as alive:
        assert [run.id for run in close_crashed_runs(store)] == [dead.id]
        assert store.run(dead.id).status == "crashed"
        assert store.run(alive.id).status == "running"


def contents_of(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_dry_run_marks_no_killed_run_and_says_that_it_would_go(make_run):
    store = make_run().store
    dead = RunRecord("2026-01-01-0000-dead", "p", "2026-01-01T00:00:00+00:00", 0, "here", 1)
    dead.writing = [f"keep/{'0' * 32}"]
    store.save_run(dead)
    store.folder.write(f"stages/{dead.writing[0]}/w", b"half")
    before = contents_of(Path(store.url))
    foreseen = clean(store, keep=0, dry_run=True)
    assert contents_of(Path(store.url)) == before
    assert foreseen.runs == (dead.id,)
    assert foreseen.results == clean(store, keep=0).results == (f"stages/{dead.writing[0]}",)


def test_a_killed_run_lasted_till_its_last_sign_of_life(make_run):
    store = make_run().store
    started = "2026-01-01T00:00:00+00:00"
    renewed = datetime.fromisoformat(started).timestamp() + 240
    for name, known in (("2026-01-01-0000-beat", 3.0), ("2026-01-01-0000-note", 310.5)):
        store.save_run(RunRecord(name, "p", started, 0, "here", 1, seconds=known))
        leased_elsewhere(store, name, seconds_ago=1000, until=renewed + 600)
    assert [run.seconds for run in close_crashed_runs(store)] == [240.0, 310.5]


def test_a_run_that_breaks_keeps_its_time(make_run):
    run = make_run()
    run._began -= 60
    with pytest.raises(InputError), run:
        raise InputError("It broke.")
    assert 60 <= run.store.run(run.id).seconds < 70


def test_a_lease_of_a_dead_process_here_does_not_count(make_run):
    store = make_run().store
    child = os.spawnlp(os.P_NOWAIT, "true", "true")
    os.waitpid(child, 0)
    with make_run() as run:
        lease = store.folder.read_json(f"leases/{run.id}.json") | {"pid": child}
        store.folder.write_json(f"leases/{run.id}.json", lease)
        assert [one.id for one in close_crashed_runs(store)] == [run.id]


def test_an_unknown_run_is_named_with_the_latest(make_run):
    latest = finished(make_run, "x")
    store = make_run().store
    assert store.run(latest[-4:]).id == latest
    with pytest.raises(InputError, match=f'no run "nope".*latest is {latest}'):
        store.run("nope")


def test_a_run_that_just_ended_is_not_called_crashed(make_run, monkeypatch):
    ended = finished(make_run, "x")
    store = make_run().store
    stale = store.run(ended)
    stale.status = "running"
    monkeypatch.setattr(store, "runs", lambda *_: [stale])
    assert close_crashed_runs(store) == []
    assert store.run(ended).status == "done"


def test_what_another_living_run_works_on_is_shared(make_run):
    with make_run() as one, make_run() as other:
        other.record.writing.append("keep/some-key")
        other.save()
        assert is_shared(one.store, "keep/some-key", but=one.id)
        assert not is_shared(one.store, "keep/some-key", but=other.id)
    assert not is_shared(one.store, "keep/some-key", but=one.id)


def test_a_file_that_is_no_record_is_passed_over(make_run):
    kept = finished(make_run, "x")
    store = make_run().store
    store.folder.write_json("runs/junk.json", {"a": 1})
    newer = json.loads(store.run(kept).to_text()) | {"id": "2099-01-01-0000-next", "a field of tomorrow": 1}
    store.folder.write_json("runs/2099-01-01-0000-next.json", newer)
    assert {run.id for run in store.runs()} == {kept, "2099-01-01-0000-next"}


def test_a_hiccup_does_not_end_the_lease(make_run, monkeypatch):
    beats = []

    def fail(self: Lease) -> None:
        beats.append(1)
        raise OSError("the network is gone")

    monkeypatch.setattr("assay.infra.storage.sweep._LEASE_SECONDS", 0.05)
    lease = Lease(make_run().store, "a-run")
    monkeypatch.setattr(Lease, "_renew", fail)
    thread = threading.Thread(target=lease._keep, daemon=True)
    thread.start()
    while len(beats) < 3:
        assert thread.is_alive()
    lease.release()


def test_a_run_whose_record_is_not_written_yet_disturbs_nobody(make_run):
    with make_run() as run:
        Lease(run.store, "2099-01-01-0000-next").take()
        assert not is_shared(run.store, "keep/some-key", but=run.id)
        keep("x")


def test_what_a_run_aside_writes_stays_while_it_lives_and_is_no_run(make_run):
    finished(make_run, "a night")
    with make_run(aside=True) as run:
        keep("aside")
        run.save()
        store = run.store
        assert clean(store, keep=1).results == ()
        assert [one.id for one in store.asides()] == [run.id]
        assert run.id not in {one.id for one in store.runs()}
    assert store.asides() == []
    assert len(clean(store, keep=1).results) == 1


def test_the_record_of_a_run_aside_that_was_killed_goes(make_run):
    finished(make_run, "a night")
    killed = make_run(aside=True)
    killed.save()
    assert f"asides/{killed.id}.json" in clean(killed.store, keep=1).results
    assert killed.store.asides() == []
