"""What partitions send each other arrives whole, by sender, and nothing else is read."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.schemas import Samples
from assay.infra.errors import RunError
from assay.infra.stages import shuffle as post
from assay.infra.stages.partition_work import PartitionWork
from assay.infra.stages.partitions import Columns, collect, map_partitions, map_pieces, reduce_partitions, reduce_pieces
from assay.infra.stages.shuffle import AT_ONCE, Parcels, Post, Received, parcels, squares, take_parcels
from assay.infra.stages.stage import say, stage
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import read_part, write_part


@dataclass(frozen=True)
class Addressee:
    number: int


def given_rows(piece: Addressee) -> pa.Table:
    rows = 2 + piece.number
    ids, wide = [f"{piece.number}-{at}" for at in range(rows)], ["much text"] * rows
    return pa.table({"id": ids, "gold": pa.array([piece.number] * rows, pa.int16()), "wide": wide})


def letters(samples: pa.Table, addressees: int) -> pa.Table:
    """To everybody the number of my rows, as often as theirs is."""
    return parcels({to: np.full(to, samples.num_rows).tobytes() for to in range(addressees)})


def answers(piece: Addressee, received: Received) -> pa.Table:
    return parcels({sender: bytes(part) + bytes([piece.number]) for sender, part in received.items()})


def arrived(samples: pa.Table, received: Received) -> pa.Table:
    assert samples.column_names == ["id", "gold"]
    text = ";".join(bytes(part).hex() for _, part in sorted(received.items()))
    return samples.append_column("wide", pa.array([text] * samples.num_rows))


def counted(_piece: Addressee, received: Received) -> dict[str, int]:
    return {str(sender): len(part) for sender, part in received.items()}


def widths(samples: pa.Table) -> frozenset[str]:
    return frozenset(samples.column_names)


@stage(version=1)
def exchange(partitions: int, addressees: int) -> Artifact[Samples]:
    samples: Artifact[Samples] = map_pieces(given_rows, [Addressee(at) for at in range(partitions)], into=Samples)
    pieces = [Addressee(at) for at in range(addressees)]
    sent = map_partitions(letters, samples, into=Parcels, name="there", addressees=addressees)
    back = map_pieces(answers, pieces, into=Parcels, name="back", sent=sent)
    total = reduce_pieces(counted, pieces, sent=sent)
    read = reduce_partitions(widths, Columns(samples, ("gold",)))
    say(f"{total} {sorted(read)}")
    result: Artifact[Samples] = map_partitions(
        arrived, Columns(samples, ("id", "gold")), into=Samples, name="result", sent=back
    )
    return result


@pytest.mark.parametrize(("partitions", "addressees"), [(1, 1), (3, 2), (2, 5)])
def test_letters_come_by_sender_and_answers_go_back(run, partitions, addressees):
    found = collect(exchange(partitions, addressees), ["gold", "wide"]).to_pylist()
    for row in found:
        mine = np.int64(2 + row["gold"]).tobytes()
        assert row["wide"] == ";".join((mine * to + bytes([to])).hex() for to in range(addressees))
    each = 8 * sum(range(addressees))
    assert run.record.stages[-1].summary == f"{ ({str(at): each for at in range(partitions)}) } ['gold']"


def many(monkeypatch, held: int) -> list[int]:
    """From now on a few parcels are many; how many squares were planned each time."""
    planned: list[int] = []

    def seen(*of: int) -> list[post.Square]:
        wanted = squares(*of)
        planned.append(len(wanted))
        return wanted

    monkeypatch.setattr(post, "DIRECT", 0)
    monkeypatch.setattr(post, "LEAST", 1)
    monkeypatch.setattr(post, "BUNDLED_BYTES", held * 20)
    monkeypatch.setattr("assay.infra.stages.partitions.squares", seen)
    return planned


@pytest.mark.parametrize(("partitions", "addressees", "held"), [(5, 4, 50), (9, 7, 200), (6, 11, 90)])
def test_letters_that_are_put_together_on_the_way_are_the_same(make_run, monkeypatch, partitions, addressees, held):
    def outcome(**store: str) -> tuple[str, str]:
        with make_run(fresh=True, **store) as run:
            result = exchange(partitions, addressees)
            return result.digest, run.record.stages[-1].summary

    planned = many(monkeypatch, held)
    straight = outcome()
    assert planned == []  # on a disk nothing is put together
    assert outcome(store=f"memory://together-{partitions}") == straight
    assert min(planned) > 1
    assert len(planned) == 3  # the letters are read twice, the answers once


@pytest.mark.parametrize("retries", [0, 2])
def test_after_a_fault_while_letters_are_put_together_the_result_is_the_same(make_run, monkeypatch, retries):
    with make_run() as run:
        straight = exchange(9, 7).digest
    many(monkeypatch, 200)
    calls, bundled = iter([True, False]), Post.bundled

    def failing(self: Post, square: post.Square) -> pa.Table:
        if next(calls, True) is False:
            raise OSError("the store did not answer")
        return bundled(self, square)

    monkeypatch.setattr(Post, "bundled", failing)
    store = f"memory://fault-{retries}"
    if not retries:
        with make_run(store=store, retries=0) as run, pytest.raises(RunError, match="did not answer"):
            exchange(9, 7)
    with make_run(store=store, retries=retries) as run:
        assert exchange(9, 7).digest == straight
    assert next(calls, None) is None
    assert (run.record.stages[-1].partitions_reused > 0) == (not retries)  # the next night goes on where it broke


@pytest.mark.parametrize("senders", [1_000, 4_000])
def test_files_that_a_sender_and_an_addressee_ask_for_grow_with_the_root_of_their_number(senders):
    wanted = squares(senders, senders, senders * 2_500_000)
    columns, rows = ({getattr(square, side) for square in wanted} for side in ("senders", "addressees"))
    for ends in (columns, rows):
        assert [at for first, last in sorted(ends) for at in range(first, last)] == [*range(senders)]
    assert len(wanted) == len(columns) * len(rows)
    assert max(len(columns), len(rows)) <= 6.3 * senders**0.5  # each asks so many files, of thousands


def test_a_finished_partition_is_believed_only_beside_the_same_letters():
    work = [
        PartitionWork("work", number, "store", answers, piece=Addressee(number), posted=posted)
        for number in (0, 1)
        for posted in ("one", "other")
    ]
    assert len({one.marks() for one in work}) == 4


def sent_by(senders: int, place: str, size: int = 1) -> Post:
    folder = Folder(place)
    files = [write_part(folder, f"part-{at}", parcels({0: bytes([at]), 1: b"x" * size})) for at in range(senders)]
    return Post(place, tuple(enumerate(files)))


def test_over_a_network_many_files_are_asked_for_at_once_and_come_by_sender(monkeypatch):
    sent, together, read = sent_by(1 + AT_ONCE + 3, "memory://at-once"), threading.Barrier(AT_ONCE), post.take_parcels
    ahead, first = iter([0]), iter(range(AT_ONCE))  # one tells how much of the others' ends is to be read

    def waiting_for_the_others(*given, **more):
        if next(ahead, None) is None and next(first, None) is not None:
            together.wait(timeout=20)  # broken, and the test with it, where they come one after the other
        return read(*given, **more)

    monkeypatch.setattr(post, "take_parcels", waiting_for_the_others)
    found = sent.received(0)
    assert [(sender, bytes(part)) for sender, part in found.items()] == [
        (at, bytes([at])) for at in range(1 + AT_ONCE + 3)
    ]


@pytest.mark.parametrize("place", ["memory://large", "here"])
def test_large_parcels_and_those_of_a_folder_are_read_one_after_the_other(monkeypatch, tmp_path, place):
    sent = sent_by(3, place if "://" in place else str(tmp_path), size=1000)
    monkeypatch.setattr(post, "BYTES_AT_ONCE", 1000)
    reading, read = threading.Lock(), post.take_parcels

    def alone(*given, **more):
        assert reading.acquire(blocking=False)
        try:
            return read(*given, **more)
        finally:
            reading.release()

    monkeypatch.setattr(post, "take_parcels", alone)
    assert [bytes(part) for part in sent.received(1).values()] == [b"x" * 1000] * 3


@pytest.mark.parametrize("addressee", [0, 1])
def test_how_many_files_are_asked_for_at_once_depends_on_what_is_wanted_of_them(monkeypatch, addressee):
    sent, at_once = sent_by(3, f"memory://wanted-{addressee}", size=1000), []
    monkeypatch.setattr(post, "BYTES_AT_ONCE", 1000)
    monkeypatch.setattr(post, "ThreadPoolExecutor", lambda many: at_once.append(many) or ThreadPoolExecutor(many))
    assert [len(part) for part in sent.received(addressee).values()] == [1000 if addressee else 1] * 3
    assert at_once == [1 if addressee else 3]


def test_of_a_large_file_only_what_was_sent_is_fetched(monkeypatch):
    mine, others = np.random.default_rng(0).bytes(50_000), np.random.default_rng(1).bytes(3_000_000)
    folder, fetched = Folder("memory://little"), []
    file = write_part(folder, "part", parcels({0: mine, 1: others}))
    fetch = type(folder.fs).cat_file

    def counted(self, path, start=None, end=None, **more):
        fetched.append((file.bytes if end is None else end) - (start or 0))
        return fetch(self, path, start, end, **more)

    monkeypatch.setattr(type(folder.fs), "cat_file", counted)
    assert bytes(Post(folder.url, ((0, file),)).received(0)[0]) == mine
    assert len(fetched) == 2
    assert sum(fetched) < 3 * len(mine)


@given(st.dictionaries(st.integers(0, 40), st.binary(max_size=200), min_size=1), st.sampled_from([800, 1200, 32 << 10]))
def test_every_parcel_is_found_however_much_of_the_end_is_read_at_once(sent: dict[int, bytes], read: int) -> None:
    folder = Folder("memory://any")
    file = write_part(folder, "part", parcels(sent))
    for number, parcel in sent.items():
        found, end = take_parcels(folder, file, range(number, number + 1), read)
        assert bytes(found[0]) == parcel
        assert take_parcels(folder, file, range(number, number + 1), end) == ({0: parcel}, end)
    rest = take_parcels(folder, file, range(min(sent), max(sent) + 9), read)[0]
    assert {min(sent) + place: bytes(part) for place, part in rest.items()} == sent
    for nobody in {*range(max(sent) + 3)} - set(sent):
        with pytest.raises(RunError, match="it holds nothing for"):
            take_parcels(folder, file, range(nobody, nobody + 1), read)


def test_it_is_a_parquet_file_like_any_other(tmp_path: Path) -> None:
    table = parcels({0: b"low" * 1000, 3: b"high"})
    file = write_part(Folder(str(tmp_path)), "part", table)
    assert read_part(Folder(str(tmp_path)), file).equals(table)


def test_a_file_that_changed_anywhere_before_its_footer_is_refused_by_name(tmp_path: Path) -> None:
    folder, mine = Folder(str(tmp_path)), np.random.default_rng(0).bytes(300)
    file = write_part(folder, "part", parcels({0: mine, 1: b"x"}))
    place = tmp_path / file.file
    whole = place.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    refused = []
    for at in range(footer):
        place.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        try:
            assert take_parcels(folder, file, range(1))[0][0] == mine
        except RunError as error:
            refused.append(str(error))
    assert all(file.file in sentence for sentence in refused)
    assert len(refused) >= 300 + 2 * 20 + 20  # the parcel, the index, the end; the header of the page is not asked
    place.write_bytes(whole[:-40])
    with pytest.raises(RunError, match="delete it and run again"):
        take_parcels(folder, file, range(1))
    place.unlink()
    with pytest.raises(RunError, match="delete it and run again"):
        take_parcels(folder, file, range(1))
