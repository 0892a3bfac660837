"""A whole `assay run` on 10^7 samples with the votes of sixty functions, from a folder of Parquet files.

The votes are those of `scale`, planted, 100 000 samples a file; ingest, contracts, Prefect, pruning, both labelers, the
order with its test and the report are all in, on two workers that Dask restarts beyond 2 GiB. The target is six
minutes on two cores, with workers that stay below 500 MB.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from claims import claim, tell
from planted_votes import Range, planted
from processes import assay, seconds_by_stage

ROWS, FUNCTIONS, SEED = 10_000_000, 60, 0
COVERAGE = (0.1, 0.6)
TARGET_SECONDS = 360
_ROWS_PER_FILE = 100_000

PIPELINES = """\
compute: {workers: 2, memory: 2GiB, gpu: never}
pipelines:
  whole-run:
    source: {votes: "votes/*.parquet", id: id, label: gold}
    pruning: {correlation: 0.5}
    weak_labels: {labelers: [majority, snorkel]}
    ordering: {alpha: 0.05, datasets: 10}
"""


def write_votes(rows: int, folder: Path) -> None:
    """Files of samples with their true class and the votes on them."""
    folder.mkdir()
    for number, start in enumerate(range(0, rows, _ROWS_PER_FILE)):
        piece = Range(number, start, min(rows, start + _ROWS_PER_FILE))
        samples, votes = planted(piece, FUNCTIONS, 2, COVERAGE, SEED)
        pq.write_table(votes.append_column("gold", samples["gold"]), folder / f"part-{number:05d}.parquet")


def measured(rows: int, repeats: int) -> None:
    """The run from command to report over an empty store, so often, told as a claim."""
    with tempfile.TemporaryDirectory() as place:
        write_votes(rows, Path(place, "votes"))
        config = Path(place, "pipelines.yaml")
        config.write_text(PIPELINES, encoding="utf-8")
        runs = [
            assay("run", "whole-run", "--config", str(config), "--store", f"{place}/store{number}", "--json")
            for number in range(repeats)
        ]
    tell(
        claim(
            f"whole run from Parquet, {rows:,} × {FUNCTIONS}, both labelers",
            [run.wall for run in runs],
            unit="s",
            digits=1,
            cpu_seconds=round(max(run.cpu for run in runs), 1),
            without_start_up=max(json.loads(run.output.splitlines()[-1])["seconds"] for run in runs),
            target=TARGET_SECONDS,
            worker_peak_mb=max(max(run.peaks.peaks("worker")) for run in runs),
            worker_part_mb=max(max(run.peaks.parts("worker")) for run in runs),
            flow_peak_mb=max(run.peaks.peaks("flow")[0] for run in runs),
            stages=seconds_by_stage(runs[-1]),
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small and once: whether it works, not how fast it is")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    rows, repeats = (30_000, 1) if options.quick else (options.rows, options.repeats)
    measured(rows, repeats)


if __name__ == "__main__":
    main()
