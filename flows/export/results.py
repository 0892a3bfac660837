"""`assay export RUN --results DIR`: what a run measured, and what it was, small enough to lie beside the documents."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay.flows.reproduce.published import ABOUT, COLUMNS, FINDINGS, SEEDS
from assay.flows.reproduce.seeds import as_csv as seeds_as_csv
from assay.flows.reproduce.seeds import is_whole, over_seeds, runs_over_seeds
from assay.infra.errors import InputError
from assay.infra.manifests import Manifest, RunRecord, StageRecord
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.run_findings import findings_of

LARGEST_BYTES = 200_000


def export_results(store: Store, record: RunRecord, target: Path) -> str:
    """Writes DIR/PIPELINE/findings.csv and run.json in place of older ones; returns a sentence on them."""
    if not is_whole(record):
        raise InputError(f"Run {record.id} is {record.status}: only a whole run is published.  (assay runs shows all)")
    runs = runs_over_seeds(store, record)
    seeds = seeds_as_csv(over_seeds(findings_of(store, run) for run in runs)) if len(runs) > 1 else ""
    findings, left_out = smaller(findings_of(store, record), LARGEST_BYTES - len(seeds.encode()))
    form = {**published_form(store, record, left_out), "seeds": {run.id: run.seed for run in runs}}
    files = {FINDINGS: as_csv(findings), ABOUT: json.dumps(form, indent=1, ensure_ascii=False) + "\n"}
    if seeds:
        files[SEEDS] = seeds
    folder = target / record.pipeline
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SEEDS).unlink(missing_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "it failed"
        raise InputError(f"Cannot write to {folder}: {reason}; name another folder with --results.") from error
    without = f", without {sum(left_out.values())} in the finest slices" if left_out else ""
    beside = f", beside {len(runs) - 1} with other seeds" if len(runs) > 1 else ""
    return f"{folder}: {len(findings)} findings of run {record.id}{without}{beside}, and how they were made"


def as_csv(findings: Sequence[Finding]) -> str:
    """The findings as CSV, numbers to the last bit.

    >>> print(as_csv([Finding("attack.accuracy", "pgd", "eps=0.1", value=0.1, n=9)]), end="")
    metric,of,group,subject,value,low,high,n,p_value,p_adjusted,verdict,unit
    attack.accuracy,pgd,eps=0.1,,0.1,,,9,,,,
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([getattr(finding, name) for name in COLUMNS] for finding in findings)
    return text.getvalue()


def smaller(findings: Sequence[Finding], limit: int) -> tuple[list[Finding], dict[str, int]]:
    """The findings that fit into so many bytes, and how many were left out of each metric: the finest slices first."""
    kept, left_out = list(findings), dict[str, int]()
    while len(as_csv(kept).encode()) > limit:
        slices: dict[tuple[str, int], list[Finding]] = {}
        for finding in kept:
            slices.setdefault((finding.metric, len(finding.group.split(", "))), []).append(finding)
        metric, depth = max(slices, key=lambda name: len(as_csv(slices[name])))
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
        "versions": _together(manifest.packages for manifest in known),
        "profile": _together(manifest.ingredients["profile"] for manifest in known),
        "settings": record.settings,
        "verdicts": record.verdicts,
        "left_out": dict(left_out),
        "stages": [_stage(stage, manifest) for stage, manifest in manifests],
    }


def _stage(stage: StageRecord, manifest: Manifest | None) -> dict[str, Any]:
    """What a stage made, and how long it took whoever computed it."""
    digests = {name: handle["digest"] for name, handle in stage.outputs.items()}
    seconds = None if manifest is None else manifest.wall_seconds
    return {"stage": stage.stage, "title": stage.title, "key": stage.key, "seconds": seconds, "digests": digests}


def _together(each: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Every name with its value in any of these; with all of them where stages differ."""
    values: dict[str, set[str]] = {}
    for names in each:
        for name, value in names.items():
            values.setdefault(name, set()).add(str(value))
    return {name: ", ".join(sorted(values[name])) for name in sorted(values)}
