"""A store on an S3 server over HTTP: the first manifest wins, listings are never stale, and bad moments are sat out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from s3_door import Door

from assay.infra.errors import InputError, RunError
from assay.infra.stages.shuffle import Post, parcels
from assay.infra.storage import folders
from assay.infra.storage.artifacts import PartFile
from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import read_part, write_part
from assay.infra.storage.store import Store

pytestmark = pytest.mark.services

TABLE = pa.table({"id": [f"s{n:06d}" for n in range(20_000)], "value": list(range(20_000))})


def within(door: Door, mood: str, seconds: float) -> threading.Timer:
    """The door's mood, for so long from now."""
    door.mood = mood
    timer = threading.Timer(seconds, lambda: setattr(door, "mood", "open"))
    timer.start()
    return timer


def written(folder: Folder) -> PartFile:
    return write_part(folder, "stages/ingest/key/samples/part-00000", TABLE)


def test_of_many_writers_exactly_one_creates_a_file(s3: str, door: Door) -> None:
    won: list[tuple[int, int]] = []
    together = threading.Barrier(8)

    def race(writer: int) -> None:
        folder = Folder(s3)
        for name in range(10):
            together.wait()
            if folder.create(f"manifests/{name}.json", f"writer {writer}".encode()):
                won.append((name, writer))

    threads = [threading.Thread(target=race, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(name for name, _ in won) == list(range(10))
    for name, writer in won:
        assert Folder(s3).read(f"manifests/{name}.json") == f"writer {writer}".encode()


def test_who_wrote_first_knows_it_although_the_answer_was_lost(s3: str, door: Door) -> None:
    folder, lost = Folder(s3), door.seen["lost"]
    door.mood = "forgetful"
    mine = [folder.create(f"{name}.json", f"first {name}".encode()) for name in range(12)]
    theirs = [folder.create(f"{name}.json", f"second {name}".encode()) for name in range(12)]
    assert mine == [True] * 12
    assert theirs == [False] * 12
    assert door.seen["lost"] > lost
    door.mood = "open"
    assert [folder.read(f"{name}.json") for name in range(12)] == [f"first {name}".encode() for name in range(12)]


def test_what_another_process_writes_is_seen_although_the_folder_was_listed_before(s3: str) -> None:
    import fsspec

    folder, other = Folder(s3), fsspec.filesystem("s3", skip_instance_cache=True)
    folder.write("stages/a/one.json", b"1")
    assert folder.sizes("stages/a") == {"stages/a/one.json": 1}
    assert folder.folders("stages") == ["a"]
    assert not folder.exists("stages/a/two.json")
    other.pipe_file(folder.path("stages/a/two.json"), b"22")
    other.pipe_file(folder.path("stages/b/three.json"), b"333")
    assert folder.exists("stages/a/two.json")
    assert folder.sizes("stages/a") == {"stages/a/one.json": 1, "stages/a/two.json": 2}
    assert folder.folders("stages") == ["a", "b"]
    other.rm_file(folder.path("stages/a/one.json"))
    assert not folder.exists("stages/a/one.json")
    with folder.open("stages/a/two.json") as file:
        assert file.read() == b"22"


@pytest.mark.parametrize("mood", ["refusing", "slow", "forgetful"])
def test_a_bad_moment_is_sat_out(s3: str, door: Door, mood: str) -> None:
    folder = Folder(s3)
    before = written(folder)
    timer = within(door, mood, 8)
    began = time.monotonic()
    assert written(folder) == before
    assert read_part(folder, before).equals(TABLE)
    assert folder.share(before.file, "elsewhere.parquet")
    folder.write_json("runs/one.json", {"id": "one"})
    folder.remove("elsewhere.parquet")
    timer.join()
    assert folder.read_json("runs/one.json") == {"id": "one"}
    assert not folder.exists("elsewhere.parquet")
    if mood == "refusing":
        assert time.monotonic() - began > 7


READS: list[Callable[[Folder, PartFile], object]] = [
    lambda folder, part: read_part(folder, part),
    lambda folder, part: folder.read(part.file),
    lambda folder, part: folder.sizes("stages"),
]


@pytest.mark.parametrize("ask", READS, ids=["a partition", "a file", "a listing"])
def test_a_store_that_stays_silent_is_never_called_damaged(
    s3: str, door: Door, ask: Callable[[Folder, PartFile], object]
) -> None:
    part = written(Folder(s3))
    door.mood = "refusing"
    with pytest.raises(RunError, match=r"has not answered for \d+ s .*run again once it does"):
        ask(Folder(s3, patience=1), part)


def test_a_large_file_is_read_by_ranges(s3: str, door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder(s3)
    part = written(folder)
    monkeypatch.setattr(folders, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(folders, "_READ_AHEAD", 4096)
    asked = door.seen["GET"]
    assert read_part(folder, part, ["value"]).equals(TABLE.select(["value"]))
    assert door.seen["GET"] > asked + 1


def test_of_many_large_files_a_range_fetches_its_parcel_and_nothing_else(s3: str, door: Door) -> None:
    folder, random = Folder(s3), np.random.default_rng(0)
    mine = [random.bytes(1000) for _ in range(20)]
    sent = [parcels({0: mine[at], 1: random.bytes(400_000)}) for at in range(20)]
    post = Post(s3, tuple((at, write_part(folder, f"part-{at}", table)) for at, table in enumerate(sent)))
    asked = door.seen["GET"]
    assert [bytes(part) for part in post.received(0).values()] == mine
    assert door.seen["GET"] - asked == 2 * len(mine)


def test_a_bucket_that_is_not_there_is_wrong_input(door: Door) -> None:
    with pytest.raises(InputError, match="bucket does not exist"):
        Store("s3://no-such-bucket/x").open()
