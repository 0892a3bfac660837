"""What partitions send each other arrives whole, by sender, and nothing else is read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import Samples
from assay.infra.artifacts import Artifact
from assay.infra.parcels import Parcels, Received, parcels
from assay.infra.partition_work import PartitionWork
from assay.infra.partitions import Columns, collect, map_partitions, map_pieces, reduce_partitions, reduce_pieces
from assay.infra.stage import say, stage


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


def test_a_finished_partition_is_believed_only_beside_the_same_letters():
    work = [
        PartitionWork("work", number, "store", answers, piece=Addressee(number), posted=posted)
        for number in (0, 1)
        for posted in ("one", "other")
    ]
    assert len({one.marks() for one in work}) == 4
