"""Whole nights without Prefect: the audit, its findings and its report, in this process."""

from __future__ import annotations

from pathlib import Path

from repository import ROOT
from sound_findings import unsound

from assay.flows.configuration.loading import Project, load_project
from assay.flows.running import RunResult, engine_of, perform
from assay.infra.stages.runs import Run
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress, ShownStage
from assay.tasks.statistics.findings import Finding, findings_of


class Heard(Progress):
    """Remembers what a run says: the end of every stage, and its notices."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.notices: list[str] = []

    def stage_done(self, stage: ShownStage, summary: str, seconds: float, cached: bool = False) -> None:
        """What the stage says of itself."""
        self.stages.append(f"{stage.title}: {summary}")

    def notice(self, text: str) -> None:
        """What the run says."""
        self.notices.append(text)


def project_in(folder: Path, name: str) -> Project:
    """The project of a folder, or else that of this repository, computed here; its store lies in the folder."""
    own, store = folder / "pipelines.yaml", str(folder / "store")
    file = own if own.exists() else ROOT / "pipelines.yaml"
    return load_project(file, pipeline=name, overrides=["compute.engine=serial"], store=store)


def perform_night(
    folder: Path, name: str, *, fresh: bool = False, heard: Heard | None = None, began: float | None = None
) -> RunResult:
    """One night of one pipeline, from its source to its report; what it finds can be true. Its command may have begun
    before."""
    project = project_in(folder, name)
    pipeline, progress = project.pipeline(name), heard or Heard()
    store = Store(project.store).open()
    run = Run(
        name,
        store,
        engine_of(project, progress),
        progress,
        compute=project.compute,
        fresh=fresh,
        keep_bytes=project.settings.keep_mib << 20,
        began=began,
    )
    run.record.settings = pipeline.model_dump(mode="json")
    with run:
        result = perform(run, project, pipeline)
    faults = unsound(findings_of(store, run.record), pipeline.kinds)
    assert faults == [], "\n".join(faults)
    return result


def latest(folder: Path, name: str) -> tuple[Store, RunRecord]:
    """The store of a project, and the latest night in it."""
    store = Store(project_in(folder, name).store)
    return store, store.runs(name)[-1]


def found(folder: Path, name: str) -> dict[tuple[str, str, str], Finding]:
    """What the latest night found of overfitting, by metric, what it is about, and slice."""
    findings = findings_of(*latest(folder, name))
    return {(one.metric, one.of, one.group): one for one in findings if one.stage == "overfitting"}
