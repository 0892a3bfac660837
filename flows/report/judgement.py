"""Gates held against a finished run, for a CI job that was not there when it ran."""

from __future__ import annotations

from pathlib import Path

from assay.flows.configuration.loading import load_usable
from assay.flows.operations.stores import open_store
from assay.flows.report.records import find_run
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.tasks.statistics.gates import Gate, GateResult, judge
from assay.tasks.statistics.run_findings import findings_of


def judge_run(name: str, config: str, store: str | None) -> tuple[RunRecord, list[GateResult]]:
    """A run and what its gates say: those of pipelines.yaml as it is now, or else those the run was started with."""
    opened = open_store(config, store)
    record = find_run(opened, name)
    return record, judge(gates_for(record, config), findings_of(opened, record))


def gates_for(record: RunRecord, config: str) -> list[Gate]:
    """The gates that hold for a run."""
    if Path(config).is_file():
        project, refused = load_usable(config)
        if record.pipeline in refused:
            raise InputError(refused[record.pipeline])
        if record.pipeline in project.pipelines:
            return list(project.pipelines[record.pipeline].gates)
    return [Gate.model_validate(gate) for gate in record.settings.get("gates", ())]
