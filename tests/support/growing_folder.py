"""A team's folder of files that grows from night to night, with rules of its own, and nights over it."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from direct_nights import Heard

from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of, perform
from assay.infra.stages.runs import Run
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store

PIPELINES = """
compute: {{engine: {engine}, workers: {workers}}}
pipelines:
  night:
    description: Patients that come in by the day
    source: {{{kind}: "days/*.{kind}", id: id, label: label, classes: [ill, well]}}
    labeling: {{functions: rules.py}}
    pruning: {{correlation: 0.9}}
    weak_labels: {{labelers: [majority]}}
    ordering: {{alpha: 0.05, datasets: 4}}
"""

RULES = """
import numpy as np

from assay.tasks.labeling.rules import ABSTAIN, column_rule

CLASSES = ("ill", "well")


@column_rule
def hot(samples):
    return np.where(samples["temperature"] > 38.5, 0, ABSTAIN)


@column_rule
def cool(samples):
    return np.where(samples["temperature"] < 37.5, 1, ABSTAIN)


@column_rule
def fast(samples):
    return np.where(samples["pulse"] > 100, 0, np.where(samples["pulse"] < 80, 1, ABSTAIN))
"""


def growing_folder(folder: Path, days: int = 4, *, kind: str = "csv", workers: int = 0, rows: int = 120) -> Path:
    """The folder of a team with so many days of patients; with no workers, nights compute in this process."""
    engine = "local" if workers else "serial"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pipelines.yaml").write_text(PIPELINES.format(engine=engine, workers=workers or "auto", kind=kind))
    (folder / "rules.py").write_text(RULES)
    for day in range(days):
        write_day(folder, day, kind=kind, rows=rows)
    return folder


def write_day(folder: Path, day: int, *, seed: int = 0, kind: str = "csv", rows: int = 120) -> Path:
    """The file of one day; another seed gives other patients."""
    draw = random.Random(1000 * seed + day)
    ill = [draw.random() < 0.5 for _ in range(rows)]
    table = pa.table(
        {
            "id": [f"d{day:02d}p{at:05d}" for at in range(rows)],
            "label": ["ill" if one else "well" for one in ill],
            "temperature": [round(draw.gauss(38.6 if one else 37.2, 0.6), 2) for one in ill],
            "pulse": [round(draw.gauss(105 if one else 82, 12)) for one in ill],
        }
    )
    path = folder / "days" / f"day-{day:02d}.{kind}"
    path.parent.mkdir(exist_ok=True)
    pa.csv.write_csv(table, path) if kind == "csv" else pq.write_table(table, path)
    return path


def night(folder: Path, store: str = "store", *, verify: int = 0, fresh: bool = False) -> tuple[RunRecord, Heard]:
    """One night over what lies in the folder now: its record, and what was said."""
    project = load_project(folder / "pipelines.yaml", pipeline="night", store=str(folder / store))
    heard, pipeline = Heard(), project.pipeline("night")
    run = Run(
        "night",
        Store(project.store).open(),
        engine_of(project, heard),
        heard,
        compute=project.compute,
        fresh=fresh,
        verify=verify,
    )
    run.record.settings = pipeline.model_dump(mode="json")
    with run:
        perform(run, project, pipeline)
    return run.record, heard


def digests(record: RunRecord) -> list[tuple[str, dict[str, str]]]:
    """What every stage of a night came to."""
    return [
        (stage.stage, {name: handle["digest"] for name, handle in stage.outputs.items()}) for stage in record.stages
    ]


def taken(record: RunRecord) -> dict[str, tuple[int, int]]:
    """By stage how many partitions were taken from earlier nights, and of how many."""
    return {
        stage.stage: (stage.partitions_taken, stage.partitions_of_known_content)
        for stage in record.stages
        if stage.partitions_of_known_content
    }
