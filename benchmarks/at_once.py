"""One night with two workers over the same with one: what goes on at once is worth, end to end.

    python benchmarks/at_once.py [--quick]

`digits-defended-quick`: a network, three defended copies of it, their attacks and corruptions. Peer: the same with one
worker, stages one after the other; each side over an empty store, in turn. Digests and findings must be the same.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from claims import claim, tell
from processes import assay

PIPELINE, QUICK = "digits-defended-quick", "breast-cancer"


def main() -> None:
    """Both sides in turn, as often as asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a small pipeline and once: whether it works")
    options = parser.parse_args()
    pipeline, repeats = (QUICK, 1) if options.quick else (PIPELINE, options.repeats)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    made: list[dict[str, str]] = []
    for _ in range(repeats):
        for workers in (2, 1):
            wall, digests = night(pipeline, workers)
            seconds[workers].append(wall)
            made.append(digests)
    tell(
        claim(
            f"{pipeline}, two workers over one",
            seconds[2],
            seconds[1],
            unit="s",
            digits=1,
            stages=len(made[0]),
            digests_equal=all(digests == made[0] for digests in made),
        )
    )


def night(pipeline: str, workers: int) -> tuple[float, dict[str, str]]:
    """The seconds of a run over an empty store, and the digests of what it made, in order."""
    with tempfile.TemporaryDirectory() as store:
        done = assay(
            "run",
            pipeline,
            "--json",
            "--store",
            store,
            "--set",
            f"compute.workers={workers}",
            "--set",
            "compute.gpu=never",
        )
        [record] = [json.loads(file.read_text()) for file in Path(store).glob("runs/*.json")]
        digests = {
            f"{at} {stage['stage']} {name}": output["digest"]
            for at, stage in enumerate(record["stages"])
            for name, output in stage["outputs"].items()
        }
        return done.wall, digests


if __name__ == "__main__":
    main()
