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
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from claims import claim, tell

from assay.infra.stages.exact import SparseSum
from assay.tasks.duplicates.near import Duplicates, count_keys, keys_in, near_candidates, near_pairs, runs_of

PARTITION, ROUND, EVERY = 5_000, 1 << 22, 100  # rows of a partition, keys of a round; a copy of so many is planted


def texts(n: int) -> pa.Table:
    """Texts of about 240 letters over 20,000 made-up words; each hundredth, a copy of an earlier one but for a word."""
    rng = np.random.default_rng(0)
    words = np.array(["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 6)) for _ in range(20_000)])
    drawn = words[rng.integers(0, len(words), (n, 35))]
    for at in range(EVERY, n, EVERY):
        drawn[at], drawn[at, 17] = drawn[at - EVERY + 1], "other"
    return pa.table({"id": [f"{at:08d}" for at in range(n)], "text": [" ".join(row) for row in drawn]})


def rows(n: int) -> pa.Table:
    """Twelve measurements; each hundredth row repeats an earlier one but for the sixth digit."""
    values = np.random.default_rng(0).lognormal(size=(n, 12))
    values[EVERY::EVERY] = values[1 : n - EVERY + 1 : EVERY][: len(values[EVERY::EVERY])] * (1 + 1e-6)
    ids = [f"{at:08d}" for at in range(n)]
    return pa.table({"id": ids, **{f"x{at}": values[:, at] for at in range(12)}})


def ours(samples: pa.Table, content: tuple[str, ...], settings: Duplicates) -> pa.Table:
    """The pairs, partition by partition as the stage goes about it, in one process."""
    cuts = [samples.slice(start, PARTITION) for start in range(0, samples.num_rows, PARTITION)]
    keys = [keys_in(cut, content=content, digits=settings.digits) for cut in cuts]
    rounds = max(1, -(-samples.num_rows * 16 // ROUND))
    shared = []
    for part in range(rounds):
        counted = SparseSum.of(np.zeros(0, np.int64), np.zeros(0, np.int64))
        for each in keys:
            counted += count_keys(each, part=part, parts=rounds)
        shared.append(counted.places[counted.values > 1])
    known = np.concatenate(shared)
    near = [near_candidates(cut, each, shared=known, content=content) for cut, each in zip(cuts, keys, strict=True)]
    found = pa.concat_tables(near)
    return near_pairs(found.append_column("part", pa.repeat("data", found.num_rows)), settings, images=False)


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


def planted(n: int) -> set[tuple[str, str]]:
    """The pairs that were planted."""
    return {(f"{at - EVERY + 1:08d}", f"{at:08d}") for at in range(EVERY, n, EVERY)}


def told(name: str, seconds: float, found: set[tuple[str, str]], n: int) -> Iterator[dict[str, object]]:
    """CPU seconds, the share of the planted that was found, and the share of the found that was not planted."""
    true = planted(n)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    yield claim(f"near duplicates, {name}", [seconds], unit="s", n=n, mib=most)
    yield claim(f"near duplicates, {name}: planted that are found", [len(found & true) / len(true)], unit="share", n=n)
    yield claim(f"near duplicates, {name}: pairs not planted", [len(found - true) / max(1, len(found))], unit="share")


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("--texts", 100_000), ("--peer", 10_000), ("--rows", 1_000_000)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--quick", action="store_true", help="small: whether it works, not how fast it is")
    asked = parser.parse_args()
    if asked.quick:
        asked.texts, asked.peer, asked.rows = 2_000, 500, 10_000
    settings = Duplicates()
    if asked.peer and importlib.util.find_spec("datasketch") is not None:
        samples = texts(asked.peer)
        begun = time.process_time()
        ours(samples, ("text",), settings)
        between = time.process_time()
        theirs(samples, settings)
        seconds = [between - begun], [time.process_time() - between]
        tell(claim("near duplicates, texts beside datasketch", *seconds, unit="s", n=asked.peer))
    for name, n, make in (("rows", asked.rows, rows), ("texts", asked.texts, texts)):
        if not n:
            continue
        samples = make(n)
        content = tuple(samples.column_names[1:])
        start = time.process_time()
        pairs = ours(samples, content, settings)
        taken = time.process_time() - start
        found = set(zip(pairs["first"].to_pylist(), pairs["second"].to_pylist(), strict=True))
        for line in told(name, taken, found, n):
            tell(line)


if __name__ == "__main__":
    main()
