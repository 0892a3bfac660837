"""A published result, written by `assay export RUN --results DIR` and read by `assay reproduce`: the findings of a
run as CSV, what the run was, and the mean and spread over runs with other seeds.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import chain
from operator import attrgetter
from pathlib import Path
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError
from toolz import groupby, merge_with

from assay.infra.errors import InputError
from assay.infra.storage.artifacts import Manifest, RunRecord, StageRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding, findings_of, measured

CLAIMS = (
    *("subject.accuracy", "attack.accuracy", "attack.success_rate", "defense.accuracy"),
    *("trust.accuracy", "trust.f1", "trust.g_mean", "ner.f1"),
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

    >>> [claim] = over_seeds([[Finding("subject.accuracy", value=value)] for value in (0.5, 0.75, 1.0)])
    >>> claim.seeds, claim.mean, claim.spread, claim.least, claim.largest
    (3, 0.75, 0.25, 0.5, 1.0)
    """
    claims = [finding for finding in measured(chain.from_iterable(runs)) if finding.metric in CLAIMS]
    values: dict[tuple[str, str, str, str], list[float]] = {
        key: [claim.value for claim in same] for key, same in groupby(attrgetter("key"), claims).items()
    }
    return [
        OverSeeds(*key, len(each), fmean(each), stdev(each), min(each), max(each))
        for key, each in values.items()
        if len(each) > 1
    ]


_READING = ("ingest", "settle_gold")


def runs_over_seeds(store: Store, record: RunRecord) -> list[RunRecord]:
    """This run, and the newest run per other seed by the same settings, code, data and files of the team, by seed."""
    inputs = _inputs(record)
    same = {
        run.seed: run
        for run in store.runs(record.pipeline)
        if is_whole(run) and not run.is_sample and run.seed != record.seed
        if run.settings == record.settings and _inputs(run) == inputs
    }
    code = _stage_versions(store, record)
    return [record, *(same[seed] for seed in sorted(same) if _stage_versions(store, same[seed]) == code)]


def _inputs(record: RunRecord) -> tuple[set[str], set[tuple[str, str]]]:
    """The digests of what a run read, and its team's own files by name and content: no seed changes them."""
    read = [output for stage in record.stages if stage.stage in _READING for output in stage.outputs.values()]
    return {output["digest"] for output in read}, {(file["name"], file["sha256"]) for file in record.ingredients}


def is_whole(record: RunRecord) -> bool:
    """Whether a run came to its end, so that what it measured may be published and compared."""
    return record.is_complete and record.findings is not None


def _stage_versions(store: Store, record: RunRecord) -> list[tuple[str, int]]:
    """The stages of a run with their versions; a stage whose result is gone has none."""
    manifests = [(stage.stage, store.manifest(stage.stage, stage.key)) for stage in record.stages]
    return [(stage, 0 if manifest is None else manifest.version) for stage, manifest in manifests]


def _as_csv(columns: Sequence[str], rows: Iterable[object]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([getattr(row, name) for name in columns] for row in rows)
    return text.getvalue()


FINDINGS, ABOUT, SEEDS = "findings.csv", "run.json", "seeds.csv"
COLUMNS = ("metric", "of", "group", "subject", "value", "low", "high", "n", "p_value", "p_adjusted", "verdict", "unit")


def published_result(folder: Path) -> tuple[dict[str, Any], Sequence[Finding]]:
    """What a published run was, and its findings."""
    with _refused(folder), (folder / FINDINGS).open(encoding="utf-8", newline="") as lines:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        rows = [{name: row[name] for name in COLUMNS if row[name]} for row in csv.DictReader(lines)]
        findings = TypeAdapter(list[Finding]).validate_python(rows)
        return {"run": str(about["run"]), **about, "settings": dict(about["settings"])}, findings


def published_over_seeds(folder: Path) -> Sequence[OverSeeds]:
    """What runs with other seeds measured beside the published one; none where it was published alone."""
    if not (folder / SEEDS).exists():
        return ()
    with _refused(folder), (folder / SEEDS).open(encoding="utf-8", newline="") as lines:
        return TypeAdapter(list[OverSeeds]).validate_python(list(csv.DictReader(lines)))


@contextmanager
def _refused(folder: Path) -> Iterator[None]:
    """What cannot be read as a published result is refused in a sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = f"{type(error).__name__}: {error}"
        if isinstance(error, ValidationError):
            (row, column, *_), message = error.errors()[0]["loc"], error.errors()[0]["msg"]
            why = f"row {int(row) + 1}, {column}: {message}"
        way_out = f"write it again with assay export RUN --results {folder.parent}"
        raise InputError(f"{folder} is no published result ({why}); {way_out}") from None


LARGEST_BYTES = 200_000


def export_results(store: Store, record: RunRecord, target: Path) -> str:
    """Writes DIR/PIPELINE/findings.csv and run.json in place of older ones; returns a sentence on them."""
    if not is_whole(record):
        raise InputError(f"Run {record.id} is {record.status}: only a whole run is published.  (assay runs shows all)")
    runs = runs_over_seeds(store, record)
    spread = over_seeds(findings_of(store, run) for run in runs)
    seeds = _as_csv([field.name for field in fields(OverSeeds)], spread) if len(runs) > 1 else ""
    findings, left_out = without_finest_slices(findings_of(store, record), LARGEST_BYTES - len(seeds.encode()))
    form = {**published_form(store, record, left_out), "seeds": {run.id: run.seed for run in runs}}
    files = {FINDINGS: findings_as_csv(findings), ABOUT: json.dumps(form, indent=1, ensure_ascii=False) + "\n"}
    if seeds:
        files[SEEDS] = seeds
    folder = target / record.pipeline
    write_files(folder, {SEEDS: "", **files}, "another folder with --results")
    without = f", without {sum(left_out.values())} in the finest slices" if left_out else ""
    beside = f", beside {len(runs) - 1} with other seeds" if len(runs) > 1 else ""
    return f"{folder}: {len(findings)} findings of run {record.id}{without}{beside}, and how they were made"


def write_files(folder: Path, texts: Mapping[str, str], otherwise: str) -> None:
    """The files of a folder, each with its text; without a text there is none. `otherwise` is the way out."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8") if text else (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"Cannot write to {folder}: {error.strerror or 'it failed'}; name {otherwise}.") from error


def findings_as_csv(findings: Sequence[Finding]) -> str:
    """The findings as CSV, numbers to the last bit.

    >>> print(findings_as_csv([Finding("attack.accuracy", "pgd", "eps=0.1", value=0.1, n=9)]), end="")
    metric,of,group,subject,value,low,high,n,p_value,p_adjusted,verdict,unit
    attack.accuracy,pgd,eps=0.1,,0.1,,,9,,,,
    """
    return _as_csv(COLUMNS, findings)


def without_finest_slices(findings: Sequence[Finding], limit: int) -> tuple[list[Finding], dict[str, int]]:
    """The findings that fit into so many bytes, and how many were left out of each metric: the finest slices first, and
    what is claimed of a whole subject last."""
    kept, left_out = list(findings), dict[str, int]()
    while len(findings_as_csv(kept).encode()) > limit:
        slices = groupby(lambda finding: (finding.metric, len(finding.group.split(", "))), kept)
        finest = {name for name in slices if name[0] not in CLAIMS or name[1] > 1} or set(slices)
        metric, depth = max(finest, key=lambda name: len(findings_as_csv(slices[name])))
        dropped = set(map(id, slices[metric, depth]))
        left_out[metric] = left_out.get(metric, 0) + len(dropped)
        kept = [finding for finding in kept if id(finding) not in dropped]
    return kept, left_out


def published_form(
    store: Store, record: RunRecord, left_out: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Any]:
    """What the run was: settings, seed, versions, and per stage what it made and how long it took to compute."""
    manifests = [(stage, store.manifest(stage.stage, stage.key)) for stage in record.stages]
    known = [manifest for _, manifest in manifests if manifest is not None]
    return {
        "run": record.id,
        "pipeline": record.pipeline,
        "started": record.started,
        "status": record.status,
        "seed": record.seed,
        "seconds": round(sum(manifest.wall_seconds for manifest in known), 1),
        "commits": sorted({manifest.commit for manifest in known}),
        "versions": _values_over_stages(manifest.packages for manifest in known),
        "profile": _values_over_stages(manifest.ingredients["profile"] for manifest in known),
        "settings": record.settings,
        "verdicts": record.verdicts,
        "left_out": dict(left_out),
        "stages": [_published_stage(stage, manifest) for stage, manifest in manifests],
    }


def _published_stage(stage: StageRecord, manifest: Manifest | None) -> dict[str, Any]:
    """What a stage made, and how long it took whoever computed it."""
    digests = {name: handle["digest"] for name, handle in stage.outputs.items()}
    seconds = None if manifest is None else manifest.wall_seconds
    return {"stage": stage.stage, "title": stage.title, "key": stage.key, "seconds": seconds, "digests": digests}


def _values_over_stages(each: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Every name with its value in any of these; with all of them where stages differ."""
    values: dict[str, list[Any]] = merge_with(list, *each)
    return {name: ", ".join(sorted(set(map(str, values[name])))) for name in sorted(values)}
