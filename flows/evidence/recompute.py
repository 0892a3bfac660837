"""`assay verify --recompute`: parts of a signed run are computed anew in an empty store, and held against what was
signed, bit by bit.

A part is a partition of what a stage made; a seed of the verifier's draws them. Everything else is laid into the store
as it was signed, and the audit is run over it: it computes what is not there, from inputs that were signed. A bundle
without tables is computed whole. Where keys differ (another processor, library or version of a stage) bits cannot be
compared: findings are then held against the intervals that were signed.
"""

from __future__ import annotations

import math
import random
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from assay.flows.audit import audit, run_kind
from assay.flows.audits.data import DATA
from assay.flows.blame.hybrids import lay_out
from assay.flows.configuration.menu import Menu, with_named
from assay.flows.evidence.bundle import Bundle
from assay.flows.evidence.statements import MANIFEST, finding_row
from assay.flows.kind import Ground
from assay.flows.pipeline import Pipeline, pipeline_model, pipeline_of_record
from assay.flows.report.ledger import checksum_of
from assay.flows.report.records import artifacts_of
from assay.flows.yaml_document import Document
from assay.infra.engines.opening import open_engine
from assay.infra.errors import InputError
from assay.infra.settings import Compute
from assay.infra.stages.runs import Run
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import INGREDIENTS, Store
from assay.infra.terminal import Progress
from assay.infra.user_code.choices import plugins_in
from assay.tasks.ingest.entry import prepare
from assay.tasks.ingest.layout import most_rows, plan_pieces
from assay.tasks.ingest.sources import resolve
from assay.tasks.reporting.numerals import plural

TOLERANCE = 0.01
"""How far a finding without an interval may lie from what was signed, as a share, where bits cannot be compared."""


@dataclass(frozen=True)
class Unit:
    """A partition of what a stage made: its files, which are there or not together."""

    title: str
    files: tuple[str, ...]
    on_gpu: bool


class _StoreOfOne(Store):
    """A store in which no result takes partitions or counts from another: what was left out has to be computed."""

    def results_with(self, stage: str, step: str) -> list[str]:  # noqa: ARG002 - as in every store
        """None."""
        return []

    def save_run(self, record: RunRecord, aside: bool = False) -> None:
        """Nobody reads the record of what is gone in a minute."""


@dataclass(frozen=True)
class Recomputed:
    """What came of computing parts anew: `verdict` is reproduced, consistent or not reproduced, `where` says why."""

    verdict: str
    where: str
    drawn: int
    units: int
    seconds: float
    unchecked: tuple[str, ...]
    """Metrics of findings that no stage measures: what only the run itself could say of its past."""

    def in_words(self, seed: int) -> str:
        """What was computed anew, and what came of it, in lines."""
        parts = f"{self.drawn} of {self.units} parts anew, drawn by seed {seed}, in {self.seconds:.1f} s"
        unchecked = [f"Unchecked {', '.join(self.unchecked)}: nothing here measured it"] if self.unchecked else []
        lines = [f"Computed  {parts}", *unchecked, f"Verdict   {self.verdict}: {self.where}"]
        return "\n".join(" ".join(line.splitlines()) for line in lines)


def code_in(bundle: Bundle) -> list[str]:
    """The team's own code that computing anew runs."""
    return sorted({str(file["name"]) for file in bundle.record.ingredients if file["what"] != "file"})


def recompute(bundle: Bundle, share: float, seed: int, data: Path | None, progress: Progress) -> Recomputed:
    """Compute a share of the run's parts anew in a store of its own, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="assay-verify-") as place:
        store = _StoreOfOne(f"{place}/store")
        store.open()
        bundle.copy_to(store, (name for name in bundle.carried if name.endswith(f"/{MANIFEST}")))
        units = _units(store, bundle)
        drawn = units
        if bundle.has_results:
            drawn = random.Random(seed).sample(units, math.ceil(share * len(units)))
            left_out = {file for unit in drawn for file in unit.files}
            laid = {file for unit in units for file in unit.files} - left_out
            bundle.copy_to(store, (name for name in bundle.carried if name in laid or name.startswith(INGREDIENTS)))
        own = [file for file in bundle.record.ingredients if file["kept"] and bundle.has_results]
        files = {str(file["name"]): store.folder.read(f"{INGREDIENTS}/{file['sha256']}") for file in own}
        folder = lay_out(Path(place) / "project", data or Path(place) / "nothing", files)
        if not bundle.has_results:
            store.folder.remove("stages")
        # A few parts are computed in this process, before workers would have started.
        engine = "serial" if bundle.has_results and not any(unit.on_gpu for unit in units) else "local"
        began = time.perf_counter()
        keys, measured, failure = _run(bundle, store, folder, data, engine, progress)
        seconds = time.perf_counter() - began
        compared = ("not reproduced", failure) if failure else _compared(bundle, store, drawn, keys, measured)
    metrics = {row["metric"] for row in measured}
    unchecked = sorted({row["metric"] for row in bundle.claims["findings"]} - metrics)
    return Recomputed(*compared, len(drawn), len(units), seconds, tuple(unchecked))


def _units(store: Store, bundle: Bundle) -> list[Unit]:
    """The parts of the run, in the order of its stages."""
    units = dict[Unit, None]()
    for stage in bundle.record.stages:
        manifest = store.manifest(stage.stage, stage.key)
        if manifest is None:
            raise InputError(f"{bundle.path} holds no manifest of stage {stage.title} that can be read.")
        on_gpu = manifest.ingredients["profile"].get("device") == "gpu"
        # Those of one step have their files beside each other.
        parts = dict.fromkeys(part.files for part in manifest.parts)
        units |= {Unit(manifest.title, tuple(file.file for file in files), on_gpu): None for files in parts}
    return list(units)


def _run(
    bundle: Bundle, store: Store, folder: Path, data: Path | None, engine: str, progress: Progress
) -> tuple[set[str], list[dict[str, Any]], str]:
    """The keys of the stages that the audit comes across, the findings that it measures, and how it failed, if so."""
    record, compute = bundle.record, Compute(engine=engine)
    pipeline = _pipeline_of(record.settings, folder)
    opened = partial(open_engine, compute, progress.notice)
    with Run(record.pipeline, store, opened, progress, seed=record.seed, compute=compute, aside=True) as run:
        try:
            run.compute = Compute(engine=engine, partitions=_cut(record, pipeline, data or folder))
            samples = run_kind(DATA, Ground(pipeline, folder, data_folder=data), {}).samples
        except InputError as error:
            raise InputError(f"{error} Name the folder that the data of the run lie in with --data.") from error
        if samples.digest not in {handle.digest for handle in artifacts_of(record, "Samples")}:
            raise InputError("The data here are not those of the run: name the folder that they lie in with --data.")
        audited = audit(pipeline, folder, data)
        measured = [finding_row(finding) for finding in audited.measured()]
    keys = {f"{stage.stage}/{stage.key}" for stage in run.record.stages}
    return keys, measured, next(map(str, audited.failures), "")


def _cut(record: RunRecord, pipeline: Pipeline, folder: Path) -> Literal["auto"] | int:
    """Into how many partitions the run had its source cut, where it was not by size: only then are files the same."""
    reading, files = prepare(resolve(pipeline.source, folder))
    signed = artifacts_of(record, "Samples")[0].partitions
    return "auto" if len(plan_pieces(files, None, most_rows(reading.layout))) == signed else signed


def _pipeline_of(settings: Mapping[str, Any], folder: Path) -> Pipeline:
    """The pipeline that was run, with the installed plug-ins that it names."""
    if own := [word for word, identity in plugins_in(settings).items() if not identity["package"]]:
        raise InputError(
            f"The run used {', '.join(own)} from a file of its own, and a bundle carries no plug-ins: only what a "
            "package brings can be computed again."
        )
    document = Document("the settings of the run", {"pipelines": {str(settings["name"]): dict(settings)}})
    menu = with_named(Menu().with_installed(folder, document), document, folder)
    if document.mistakes:
        raise InputError(f"The settings of the run cannot be used here: {document.mistakes[0][1]}")
    try:
        return pipeline_of_record(pipeline_model(menu.kinds, menu.types), settings)
    except ValueError as error:
        raise InputError(f"This version of Assay cannot read the settings of the run: {error}") from error


def _compared(
    bundle: Bundle, store: Store, drawn: Sequence[Unit], keys: set[str], measured: Sequence[Mapping[str, Any]]
) -> tuple[str, str]:
    """The verdict, and where what was computed differs from what was signed."""
    signed = {f"{stage.stage}/{stage.key}" for stage in bundle.record.stages}
    differing = list(_differing(bundle.claims["findings"], measured, exactly=keys <= signed))
    if differing:
        return "not reproduced", f"{plural(len(differing), 'finding')} differ, the first is {differing[0]}"
    if keys <= signed:
        files = bundle.claims["files"]
        lost = [unit.title for unit in drawn if any(checksum_of(store, file) != files[file] for file in unit.files)]
        if lost:
            return "not reproduced", f"{plural(len(lost), 'part')} differ, the first of stage {lost[0]}"
        return "reproduced", "bit by bit"
    others = plural(len(keys - signed), "stage")
    return "consistent", (
        f"{others} have other keys here (another processor, library or version), so bits cannot be compared; all "
        f"{len(measured)} findings lie in the signed intervals, those without one within {TOLERANCE:.0%}"
    )


_NAMED = ("metric", "of", "group", "subject")


def _differing(
    signed: Iterable[Mapping[str, Any]], measured: Iterable[Mapping[str, Any]], exactly: bool
) -> Iterator[str]:
    """The findings that are not measured as they were signed, and those of the same metrics that only one side has."""
    claims, rows = ({tuple(row[part] for part in _NAMED): row for row in side} for side in (signed, measured))
    metrics = {metric for metric, *_ in rows}
    for name in [*rows, *(name for name in claims if name not in rows and name[0] in metrics)]:
        claim, row = claims.get(name), rows.get(name)
        same = _equal if exactly else _close
        if claim is None or row is None or not same(claim, row):
            yield " ".join(filter(None, name))


def _equal(claim: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return all(claim[name] == row[name] for name in ("value", "low", "high", "n", "p_value", "p_adjusted", "verdict"))


def _close(claim: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether a finding's value lies in the interval of a claim, or near its value where it has none."""
    value = row["value"]
    if not isinstance(claim["value"], float) or not isinstance(value, float):
        return bool(claim["value"] == value)
    spare = TOLERANCE * abs(claim["value"])
    low, high = (end if isinstance(end, float) else claim["value"] for end in (claim["low"], claim["high"]))
    return bool(low - spare <= value <= high + spare)
