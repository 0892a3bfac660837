"""The examples of a page, run as a reader runs them: its files in a folder, its scripts once, then its pipelines."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from markdown_pages import Block

from assay.flows.audit import Audit, audit
from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.statistics.findings import Finding, findings_from
from assay.tasks.statistics.gates import judge


def pipelines_in(text: str) -> list[str]:
    """The pipelines of a block of YAML, by their indentation."""
    return [line.strip(" :") for line in text.splitlines() if line.startswith("  ") and line[2] not in " #"]


def save_and_run(place: Path, files: Sequence[Block], scripts: Sequence[str], imported: Sequence[str] = ()) -> Path:
    """The folder with a page's files, once its scripts have run; what they imported from it is forgotten."""
    for block in files:
        (place / block.name).write_text(block.text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.syspath_prepend(str(place))
        for script in scripts:
            runpy.run_path(script, run_name="__main__")
        for name in imported:
            sys.modules.pop(name, None)
    return place


def perform(folder: Path, name: str, text: str) -> tuple[Audit, list[Finding]]:
    """One pipeline of a block, run in this process; nothing fails, and every gate is kept."""
    (folder / "pipelines.yaml").write_text(text, encoding="utf-8")
    project = load_project(folder / "pipelines.yaml", pipeline=name, overrides=["compute.engine=serial"])
    pipeline, progress = project.pipeline(name), Progress()
    with Run(name, Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute):
        made = audit(pipeline, project.folder)
        assert made.failures == ()
        assert made.findings is not None
        findings = findings_from(collect(made.findings, None))
    gates = judge(pipeline.gates, findings)
    assert all(gate.passed for gate in gates), [gate.sentence for gate in gates]
    return made, findings
