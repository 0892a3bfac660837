"""What another training would have measured: runs of one pipeline with several seeds, their mean and their spread."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from statistics import fmean, stdev

from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding

CLAIMS = (
    "subject.accuracy",
    "attack.accuracy",
    "attack.success_rate",
    "defense.accuracy",
    "trust.accuracy",
    "trust.f1",
    "trust.g_mean",
    "ner.f1",
)
"""What is said of a subject over seeds: how often it is right, attacked or not, and how well it is told when it is."""


@dataclass(frozen=True)
class OverSeeds:
    """A finding over runs that differ in their seed alone."""

    metric: str
    of: str
    group: str
    subject: str
    seeds: int
    mean: float
    spread: float
    """The standard deviation over the seeds."""
    least: float
    largest: float


def over_seeds(runs: Iterable[Iterable[Finding]]) -> list[OverSeeds]:
    """Every claim that several runs, each with a seed of its own, gave a value.

    >>> [one] = over_seeds([[Finding("subject.accuracy", value=value)] for value in (0.5, 0.75, 1.0)])
    >>> one.seeds, one.mean, one.spread, one.least, one.largest
    (3, 0.75, 0.25, 0.5, 1.0)
    """
    values: dict[tuple[str, str, str, str], list[float]] = {}
    for findings in runs:
        for one in findings:
            if one.value is not None and one.metric in CLAIMS:
                values.setdefault((one.metric, one.of, one.group, one.subject), []).append(one.value)
    return [
        OverSeeds(*place, len(each), fmean(each), stdev(each), min(each), max(each))
        for place, each in values.items()
        if len(each) > 1
    ]


def runs_over_seeds(store: Store, record: RunRecord) -> list[RunRecord]:
    """This run, and the newest run per other seed that the same code made of the same settings, by seed."""
    same = {
        run.seed: run
        for run in store.runs(record.pipeline)
        if is_whole(run) and not run.is_sample and run.settings == record.settings and run.seed != record.seed
    }
    code = _code(store, record)
    return [record, *(same[seed] for seed in sorted(same) if _code(store, same[seed]) == code)]


def is_whole(record: RunRecord) -> bool:
    """Whether a run came to its end, so that what it measured may be published and compared."""
    return record.status in ("done", "gate failed") and record.findings is not None


def _code(store: Store, record: RunRecord) -> list[tuple[str, int]]:
    """The stages of a run with their versions; a stage whose result is gone has none."""
    manifests = [(stage.stage, store.manifest(stage.stage, stage.key)) for stage in record.stages]
    return [(stage, 0 if manifest is None else manifest.version) for stage, manifest in manifests]


def as_csv(each: Sequence[OverSeeds]) -> str:
    """As CSV, numbers to the last bit.

    >>> print(as_csv([OverSeeds("subject.accuracy", "clean", "", "net", 2, 0.5, 0.0, 0.5, 0.5)]), end="")
    metric,of,group,subject,seeds,mean,spread,least,largest
    subject.accuracy,clean,,net,2,0.5,0.0,0.5,0.5
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([field.name for field in fields(OverSeeds)])
    writer.writerows(map(astuple, each))
    return text.getvalue()


def from_csv(lines: Iterable[str]) -> list[OverSeeds]:
    """What `as_csv` wrote.

    >>> each = [OverSeeds("subject.accuracy", "clean", "", "net", 2, 1 / 3, 0.0, 0.25, 0.5)]
    >>> from_csv(as_csv(each).splitlines()) == each
    True
    """
    return [
        OverSeeds(
            row["metric"],
            row["of"],
            row["group"],
            row["subject"],
            int(row["seeds"]),
            *(float(row[name]) for name in ("mean", "spread", "least", "largest")),
        )
        for row in csv.DictReader(lines)
    ]
