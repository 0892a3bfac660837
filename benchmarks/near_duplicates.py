"""Near duplicates among simulated texts and rows: CPU seconds, memory, what of the planted is found; beside datasketch.

    python benchmarks/near_duplicates.py --texts 100000 --peer 10000 --rows 1000000

The peer is datasketch's MinHashLSH over the same runs of five letters, its candidates held against the same likeness.
It is installed by hand (`pip install datasketch`), and left out where it is not.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import time
from collections.abc import Callable, Iterator
from functools import cache, partial, reduce
from operator import add
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from claims import claim, tell
from pyarrow import feather

from assay.infra.stages.exact import SparseSum
from assay.tasks.duplicates.near import Duplicates, count_keys, keys_in, near_candidates, near_pairs, runs_of

PARTITION, ROUND = 10_000, 1 << 22  # rows of a partition, keys of a round
Make = Callable[[int, int], pa.Table]


@cache
def vocabulary() -> np.ndarray:
    """20,000 made-up words of six letters."""
    letters = np.random.default_rng(0).choice(list("abcdefghijklmnopqrstuvwxyz"), (20_000, 6))
    return np.array(["".join(word) for word in letters])


def texts(part: int, n: int, every: int) -> pa.Table:
    """A partition of texts of about 240 letters; one of so many copies one of the partition before but for a word."""
    drawn, before = (
        vocabulary()[np.random.default_rng(at).integers(0, 20_000, (n, 35))] for at in (part, part - 1 if part else 0)
    )
    if part:
        drawn[::every] = before[1::every]
        drawn[::every, 17] = "other"
    return pa.table({"id": names(part, n), "text": [" ".join(row) for row in drawn]})


def rows(part: int, n: int, every: int) -> pa.Table:
    """A partition of twelve measurements; one row of so many repeats one of the partition before but for the sixth
    digit."""
    values = np.random.default_rng(part).lognormal(size=(n, 12))
    if part:
        values[::every] = np.random.default_rng(part - 1).lognormal(size=(n, 12))[1::every] * (1 + 1e-6)
    return pa.table({"id": names(part, n), **{f"x{at}": values[:, at] for at in range(12)}})


def names(part: int, n: int) -> list[str]:
    """The ids of the samples of a partition."""
    return [f"{part:05d}-{at:04d}" for at in range(n)]


def ours(make: Make, n: int, content: tuple[str, ...], settings: Duplicates) -> tuple[pa.Table, float]:
    """The pairs, partition by partition as the stage goes about it, and the CPU seconds without what makes samples;
    keys lie on disk, as they do in a store."""
    parts, size, spent = -(-n // PARTITION), min(n, PARTITION), 0.0
    with TemporaryDirectory() as folder:
        for part in range(parts):
            samples, begun = make(part, size), time.process_time()
            keys = keys_in(samples, content=content, digits=settings.digits)
            feather.write_feather(keys, f"{folder}/{part}")
            spent += time.process_time() - begun
        of_each = len(keys["keys"][0])
        begun, rounds, shared = time.process_time(), max(1, -(-n * of_each // ROUND)), []
        for at in range(rounds):
            counts = (
                count_keys(feather.read_table(f"{folder}/{part}"), part=at, parts=rounds) for part in range(parts)
            )
            counted = folded(counts)
            shared.append(counted.places[counted.values > 1])
        known, near = np.sort(np.concatenate(shared)), []
        spent += time.process_time() - begun
        for part in range(parts):
            samples, begun = make(part, size), time.process_time()
            near.append(near_candidates(samples, feather.read_table(f"{folder}/{part}"), shared=known, content=content))
            spent += time.process_time() - begun
    found, begun = pa.concat_tables(near), time.process_time()
    pairs = near_pairs(found.append_column("part", pa.repeat("data", found.num_rows)), settings, images=False)
    return pairs, spent + time.process_time() - begun


def folded(counts: Iterator[SparseSum]) -> SparseSum:
    """All counts as one, merged as workers do: in a tree, so that no large sum is added to again and again."""
    waiting = list[tuple[int, SparseSum]]()
    for count in counts:
        height, whole = 0, count
        while waiting and waiting[-1][0] == height:
            height, whole = height + 1, waiting.pop()[1] + whole
        waiting.append((height, whole))
    return reduce(add, (whole for _, whole in reversed(waiting)))


def theirs(samples: pa.Table, settings: Duplicates) -> set[tuple[str, str]]:
    """The pairs by datasketch."""
    from datasketch import MinHash, MinHashLSH

    index, found, runs = MinHashLSH(params=(16, 4), num_perm=64), set[tuple[str, str]](), {}
    for sample, text in zip(samples["id"].to_pylist(), samples["text"].to_pylist(), strict=True):
        runs[sample] = runs_of(text)
        sketch = MinHash(num_perm=64)
        sketch.update_batch([run.tobytes() for run in runs[sample]])
        for other in index.query(sketch):
            both = len(np.intersect1d(runs[sample], runs[other], assume_unique=True))
            if both / (len(runs[sample]) + len(runs[other]) - both) >= settings.similarity:
                found.add((other, sample))
        index.insert(sample, sketch)
    return found


def planted(n: int, every: int) -> set[tuple[str, str]]:
    """The pairs that were planted."""
    places = range(0, min(n, PARTITION), every)
    return {
        (f"{part - 1:05d}-{at + 1:04d}", f"{part:05d}-{at:04d}")
        for part in range(1, -(-n // PARTITION))
        for at in places
    }


def told(
    name: str, seconds: float, found: set[tuple[str, str]], true: set[tuple[str, str]], n: int
) -> Iterator[dict[str, object]]:
    """CPU seconds, the share of the planted that was found, and the share of the found that was not planted."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    yield claim(f"near duplicates, {name}", [seconds], unit="s", n=n, mib=most)
    yield claim(f"near duplicates, {name}: planted that are found", [len(found & true) / len(true)], unit="share", n=n)
    yield claim(f"near duplicates, {name}: pairs not planted", [len(found - true) / max(1, len(found))], unit="share")


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("--texts", 100_000), ("--peer", 10_000), ("--rows", 1_000_000)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--every", type=int, default=100, help="one sample of so many is a copy")
    parser.add_argument("--quick", action="store_true", help="small: whether it works, not how fast it is")
    asked = parser.parse_args()
    if asked.quick:
        asked.texts, asked.peer, asked.rows = 20_000, 10_000, 20_000
    settings = Duplicates()
    if asked.peer and importlib.util.find_spec("datasketch") is not None:
        _, seconds = ours(partial(texts, every=asked.every), asked.peer, ("text",), settings)
        samples = pa.concat_tables([texts(part, PARTITION, asked.every) for part in range(-(-asked.peer // PARTITION))])
        begun = time.process_time()
        theirs(samples, settings)
        taken = [seconds], [time.process_time() - begun]
        tell(claim("near duplicates, texts beside datasketch", *taken, unit="s", n=asked.peer))
    for name, n, make in (("rows", asked.rows, rows), ("texts", asked.texts, texts)):
        if not n:
            continue
        content = tuple(make(0, 1, 1).column_names[1:])
        pairs, taken_by_us = ours(partial(make, every=asked.every), n, content, settings)
        found = set(zip(pairs["first"].to_pylist(), pairs["second"].to_pylist(), strict=True))
        for line in told(name, taken_by_us, found, planted(n, asked.every), n):
            tell(line)


if __name__ == "__main__":
    main()
