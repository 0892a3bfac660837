"""Requests of an exchange of parcels on an S3 server, and how long they are waited for: singly and in two rounds.

    tests/services/install.sh && .venv-services/bin/python benchmarks/exchange_on_s3.py [--quick]

1,000 and 4,000 partitions send as many calls a few bytes each, over HTTP to an S3 server (moto) behind a door that
counts requests and holds each up for 30 ms. The rounds are those that the engine plans where a partition sends 2.5 MB
in all. Of the first round, what goes to one group of addressees is put together, of the second some of these addressees
fetch it; what they receive is held against what was sent.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from claims import claim, tell

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from s3_door import Door
from service_processes import HOST, s3_environment, s3_server

from assay.infra.environment import prepare_environment
from assay.infra.stages.shuffle import Grouped, Post, Square, parcels, squares
from assay.infra.storage import folders
from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import write_part

REQUEST_SECONDS, SENDER_BYTES, LOOKED_AT = 0.03, 2_500_000, 4


@dataclass
class Counted:
    """How many requests there were, and how long they took."""

    requests: int = 0
    seconds: float = 0.0


class DistantDoor(Door):
    """The door of a server that is as far away as one in the same region, while `seconds` are not nought."""

    seconds = 0.0

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        """Answer a request after a while."""
        time.sleep(self.seconds)
        super().handle(request)

    @contextmanager
    def counting(self) -> Iterator[Counted]:
        """What is fetched in this block, and how long it takes."""
        counted, before, began = Counted(), self.seen["GET"], time.perf_counter()
        self.seconds = REQUEST_SECONDS
        yield counted
        self.seconds = 0.0
        counted.seconds, counted.requests = time.perf_counter() - began, self.seen["GET"] - before


def letter(sender: int, addressee: int) -> bytes:
    """What one sends to another."""
    return f"{sender} to {addressee}".encode()


def written(place: str, many: int) -> Post:
    """So many partitions' parcels to as many calls."""
    folder = Folder(place)
    sent = (parcels({to: letter(sender, to) for to in range(many)}) for sender in range(many))
    return Post(place, tuple((at, write_part(folder, f"part-{at}", table)) for at, table in enumerate(sent)))


def in_first_round(post: Post, wanted: list[Square]) -> Post:
    """The parcels to the first group of addressees, put together."""
    first = [square for square in wanted if square.addressees == wanted[0].addressees]
    folder = Folder(post.store)
    files = tuple((at, write_part(folder, f"group-{at}", post.bundled(square))) for at, square in enumerate(first))
    return Post(post.store, files, Grouped(len(first), wanted[0].addressees[1], len(post.files)))


def read(post: Post, many: int, addressees: range) -> None:
    """What these were sent; it must be what the senders wrote."""
    for addressee in addressees:
        received = {sender: bytes(part) for sender, part in post.received(addressee).items()}
        assert received == {sender: letter(sender, addressee) for sender in range(many)}


def exchanged(door: DistantDoor, place: str, many: int) -> None:
    """An exchange between so many, told as claims."""
    post = written(place, many)
    wanted = squares(many, many, many * SENDER_BYTES)
    group = wanted[0].addressees[1]
    with door.counting() as singly:
        read(post, many, range(LOOKED_AT))
    with door.counting() as first:
        grouped = in_first_round(post, wanted)
    with door.counting() as second:
        read(grouped, many, range(LOOKED_AT))

    def of_each(name: str, unit: str, digits: int) -> float:
        # The first round was made for one group of addressees, by all senders.
        alone = getattr(singly, name) / LOOKED_AT
        rounds: float = getattr(first, name) / group + getattr(second, name) / LOOKED_AT
        title = f"{many:,} partitions on S3: {name} of a partition and a call"
        tell(claim(title, [rounds], [alone], unit=unit, digits=digits, peer_is="every parcel singly", group=group))
        return rounds

    asked = of_each("requests", "", 1)
    of_each("seconds", "s", 2)
    tell(claim(f"{many:,} partitions on S3: requests over the root of their number", [asked / many**0.5], unit=""))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="few partitions: whether it works")
    sizes = (300,) if parser.parse_args().quick else (1_000, 4_000)
    folders.PIECE_BYTES = 0  # files count as large ones, of which the end and a parcel are fetched
    with tempfile.TemporaryDirectory(prefix="assay-s3-") as folder:
        server = s3_server(Path(folder)).start()
        door = DistantDoor((HOST, server.port))
        os.environ |= s3_environment(door.url)
        import fsspec

        try:
            fsspec.filesystem("s3").mkdir("exchange")
            for many in sizes:
                exchanged(door, f"s3://exchange/{many}", many)
        finally:
            door.close()
            server.stop()


if __name__ == "__main__":
    prepare_environment()
    main()
