"""The curation chain on planted votes, in a process of its own: how long each stage took, and every digest.

    python benchmarks/planted_curation.py --rows 100000 --partitions 40 --workers 2

prints one JSON object; `curation` runs that command and adds the peak memory of each process.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from processes import python

FUNCTIONS, SEED = 60, 0
LABELERS = ("majority", "snorkel")


def curation(rows: int, partitions: int, workers: int, memory: str = "2GiB", *further: str) -> dict[str, object]:
    """What the chain took and made on so many rows, over an empty store that is thrown away afterwards."""
    with tempfile.TemporaryDirectory() as store:
        sizes = ("--rows", str(rows), "--partitions", str(partitions), "--workers", str(workers), "--memory", memory)
        done = python(Path(__file__).name, *sizes, "--store", store, *further)
    found: dict[str, object] = json.loads(done.output.splitlines()[-1])
    return found | {"worker_peaks_mb": done.peaks.peaks("worker"), "flow_peak_mb": done.peaks.peaks("flow")[0]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="2GiB")
    parser.add_argument("--store", required=True)
    parser.add_argument("--functions", type=int, default=FUNCTIONS)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--coverage", type=float, nargs=2, default=(0.1, 0.6), help="the least and the greatest share")
    parser.add_argument("--labelers", nargs="+", default=LABELERS)
    parser.add_argument("--to", choices=("labels", "validity", "test"), default="validity", help="where the chain ends")
    options = parser.parse_args()
    from assay.infra.environment import prepare_environment

    prepare_environment()
    print(json.dumps(_run(options)))


def _run(options: argparse.Namespace) -> dict[str, object]:
    from assay.infra.engines.opening import open_engine
    from assay.infra.settings import Compute
    from assay.infra.stages.runs import Run
    from assay.infra.storage.store import Store
    from assay.infra.terminal import open_progress

    compute = Compute(workers=options.workers, memory=options.memory, gpu="never")
    with Run(
        "planted", Store(options.store).open(), lambda: open_engine(compute), open_progress(), compute=compute
    ) as run:
        began = time.perf_counter()
        _ = run.engine
        started = time.perf_counter()
        chain(options, options.to)
        ended = time.perf_counter()
        stages = [(record.title, record.summary, record.seconds) for record in run.record.stages]
        cpu = [(record.title, record.cost["cpu"]) for record in run.record.stages]
        digests = [output["digest"] for record in run.record.stages for output in record.outputs.values()]
    return {
        "rows": options.rows,
        "workers": options.workers,
        "partitions": options.partitions,
        "workers_started_in": round(started - began, 2),
        "seconds": round(ended - started, 2),
        "stages": stages,
        "cpu": cpu,
        "digests": digests,
    }


def chain(options: argparse.Namespace, to: str) -> None:
    """Votes → pruning → labelers → weak labels → intervals → order → validity → the order's test, as curation does."""
    from planted_votes import plant_votes

    from assay.tasks.ordering.settings import OURS, Ordering
    from assay.tasks.ordering.task import (
        bound_confidence,
        find_clusters,
        judge_order,
        measure_ordering,
        order_adversarially,
    )
    from assay.tasks.pruning.panel import prune_labeling_functions
    from assay.tasks.pruning.settings import Pruning
    from assay.tasks.weak_labels.table import WeakLabelling
    from assay.tasks.weak_labels.task import label_probabilistically, train_labeler

    ordering, labelling = Ordering(), WeakLabelling()
    samples, votes, classes = plant_votes(
        options.rows, options.functions, options.partitions, SEED, options.classes, tuple(options.coverage)
    )
    panel = prune_labeling_functions(votes, classes, Pruning()).panel
    clusters = find_clusters(votes, samples, panel) if to == "test" else None
    for labeler in options.labelers:
        model = train_labeler(votes, panel, classes, labelling, labeler, "panel")
        labels = label_probabilistically(votes, model, classes, labelling)
        if to == "labels":
            continue
        intervals = bound_confidence(labels, ordering)
        order_adversarially(intervals, samples, ordering, labeler)
        measure_ordering(intervals, samples, ordering, OURS.name, labeler)
        if clusters is not None:
            judge_order(intervals, intervals, samples, clusters, ordering, OURS.name, labeler)


if __name__ == "__main__":
    main()
