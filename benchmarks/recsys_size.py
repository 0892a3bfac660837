"""A whole `assay run` on 850 000 samples with 5 labelling functions: the size of the paper's largest case study.

The votes come as a Parquet table with few distinct patterns (34 of the possible 243), as there; Prefect, contracts,
both labelers and the report are all in. The target is a minute on two cores.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from claims import claim, tell
from processes import assay, seconds_by_stage

ROWS, FUNCTIONS, PATTERNS = 850_000, 5, 34
TARGET_SECONDS = 60

PIPELINES = """\
pipelines:
  recsys-size:
    source: {votes: votes.parquet, id: id, label: gold}
    pruning: {correlation: 0.5}
    weak_labels: {labelers: [majority, snorkel]}
    ordering: {alpha: 0.05, datasets: 10, compare: COMPARE}
"""


def votes_table(rows: int, seed: int = 0) -> pa.Table:
    """Samples with a true class and five votes, in 34 patterns; a vote agrees with the class 60 to 85 % of the time."""
    generator = np.random.default_rng(seed)
    every = np.array(np.meshgrid(*[[-1, 0, 1]] * FUNCTIONS)).reshape(FUNCTIONS, -1).T
    patterns = every[generator.choice(len(every), PATTERNS, replace=False)]
    accuracy = np.linspace(0.6, 0.85, FUNCTIONS)
    gold = generator.integers(0, 2, rows)
    likely = np.array([_likelihood(patterns, accuracy, truth) for truth in (0, 1)])
    drawn = np.empty(rows, dtype=np.int64)
    for truth in (0, 1):
        here = gold == truth
        drawn[here] = generator.choice(PATTERNS, int(here.sum()), p=likely[truth] / likely[truth].sum())
    columns = {f"lf_{i}": patterns[drawn, i].astype(np.int8) for i in range(FUNCTIONS)}
    return pa.table({"id": [f"r{row:06d}" for row in range(rows)], "gold": gold, **columns})


def _likelihood(patterns: np.ndarray, accuracy: np.ndarray, truth: int) -> np.ndarray:
    said = np.where(patterns == truth, accuracy, 1 - accuracy)
    return np.where(patterns < 0, 0.5, said).prod(axis=1)


def measured(rows: int, compare: bool, repeats: int) -> None:
    """The run from command to report over an empty store, so often, told as a claim."""
    with tempfile.TemporaryDirectory() as place:
        pq.write_table(votes_table(rows), Path(place, "votes.parquet"))
        config = Path(place, "pipelines.yaml")
        config.write_text(PIPELINES.replace("COMPARE", str(compare).lower()), encoding="utf-8")
        runs = [
            assay("run", "recsys-size", "--config", str(config), "--store", f"{place}/store{number}", "--json")
            for number in range(repeats)
        ]
    approaches = "all four approaches" if compare else "one approach"
    stages = [json.loads(run.output.splitlines()[-1])["seconds"] for run in runs]
    tell(
        claim(
            f"whole run, {rows:,} × {FUNCTIONS}, {approaches}",
            [run.wall for run in runs],
            unit="s",
            digits=1,
            cpu_seconds=round(max(run.cpu for run in runs), 1),
            without_start_up=max(stages),
            target=TARGET_SECONDS,
            worker_peak_mb=max(max(run.peaks.peaks("worker")) for run in runs),
            flow_peak_mb=max(run.peaks.peaks("flow")[0] for run in runs),
            stages=seconds_by_stage(runs[-1]),
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small and once: whether it works, not how fast it is")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    rows, repeats = (20_000, 1) if options.quick else (ROWS, options.repeats)
    for compare in (False, True):
        measured(rows, compare, repeats)


if __name__ == "__main__":
    main()
