"""One run of a pipeline: its surroundings (store, workers, Prefect), the audit, its findings, gates and report."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, TextIO, get_args

from assay.data import expectations
from assay.flows.audit import Audit, audit
from assay.flows.configuration.loading import Project
from assay.flows.forecast.plan import check_inputs, forecast_for_record, forecast_part, is_something_left
from assay.flows.nights.after_run import SERVED, leave_traces
from assay.flows.nights.history import note_crashed_runs
from assay.flows.pipeline import Pipeline
from assay.flows.report.all_nights import write_index
from assay.flows.report.comparison import outcomes_in
from assay.flows.report.gates import NO_BUDGET, Past, as_recorded, budget_of, judge_night
from assay.flows.report.ledger import log_beginning, note_decided
from assay.flows.report.records import sample_in_words
from assay.flows.yaml_document import dotted
from assay.infra.engines.calls import Allowance, Engine
from assay.infra.engines.opening import open_engine, prepare_workers
from assay.infra.environment import prepare_environment
from assay.infra.errors import AssayError, InputError, SettingError, raises_no_secrets, setting_path
from assay.infra.prefect.server import configured_api, prefect_api
from assay.infra.prefect.shared_server import server_of_run
from assay.infra.stages.branches import start_branch
from assay.infra.stages.runs import Conductor, Run, new_run_id
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress, echo, open_progress, signals_as_errors
from assay.tasks.reporting.numerals import plural
from assay.tasks.reporting.report import worst_of
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.gates import Outcome

CONTRACT_STAGES = {"ingest", "check_order"}
"""The stages that check a contract with Great Expectations, which takes seconds to import."""


@dataclass(frozen=True)
class RunResult:
    """How a run ended: `status` is done, gate failed, refused or broken; report and findings are paths in the store."""

    run: str
    status: str
    report: str
    findings: str
    seconds: float
    exit_code: int


@raises_no_secrets
def run_pipeline(
    project: Project,
    pipeline: Pipeline,
    *,
    seed: int = 0,
    fresh: bool = False,
    verify: int = 0,
    share: float = 1.0,
    stream: TextIO | None = None,
    in_flow: bool = False,
) -> RunResult:
    """Run the pipeline and leave findings, report and record in the store; raises what made it end early.

    Of the partitions that a stage takes from earlier results, `verify` are computed again and compared. With a `share`
    below 1, it is a run on a sample. Its lines go to the `stream`, standard error by default. `in_flow`: from a flow
    that Prefect has started already (a schedule, a deployment).
    """
    began = time.perf_counter()
    prepare_environment()
    check_inputs(project, pipeline, ask=True)
    store = Store(project.store).open()
    note_crashed_runs(store)
    server, missing = None if in_flow or configured_api() else server_of_run(), set[str]()

    @cache
    def prepare() -> None:
        """Start what takes longest; where everything is in the store, nobody would see it."""
        if server is not None:
            server.launch()
        prepare_workers(project.compute, libraries_of(pipeline))

    def on_missing(stage: str) -> None:
        missing.add(stage)
        prepare()

    try:
        expected = forecast_for_record(project, pipeline, seed, share, fresh, on_missing=on_missing)
        left = bool(verify or missing) or is_something_left(expected)
        if left:
            prepare()
        # A server of the user's hears also of a run that takes everything from the store.
        orchestrated = left or server is None
        with (
            signals_as_errors(),
            _open_run(
                project, pipeline, store, expected, seed, fresh, verify, share, stream, orchestrated, began
            ) as run,
        ):
            if server is not None:
                server.notice = run.notice
            if left:
                run.warm_up()
            if missing & CONTRACT_STAGES:
                # While Prefect's server starts; sooner, imports here would wait for each other.
                expectations.warm_up()
            with prefect_api(server) if orchestrated else nullcontext():
                return perform(run, project, pipeline)
    finally:
        if server is not None:
            server.stop()


def record_refusal(project: Project, pipeline: str, seed: int, error: AssayError) -> None:
    """Put a night on record that was refused before it began, and why: nobody sits before it, as before `assay run`."""
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    record = RunRecord(new_run_id(), pipeline, started, seed, socket.gethostname(), os.getpid())
    _note_end(record, error)
    with suppress(AssayError, OSError):  # why it was refused matters more than a store that cannot be written
        store = Store(project.store).open()
        store.save_run(record)
        write_index(store)
        leave_traces(project, store, record, partial(echo, err=True))


@contextmanager
def _open_run(
    project: Project,
    pipeline: Pipeline,
    store: Store,
    expected: dict[str, Any],
    seed: int,
    fresh: bool = False,
    verify: int = 0,
    share: float = 1.0,
    stream: TextIO | None = None,
    orchestrated: bool = True,
    began: float | None = None,
) -> Iterator[Run]:
    # The nights of `assay serve` share one log.
    progress, conductor = open_progress(stream, f"{pipeline.name}: " if SERVED in os.environ else ""), Conductor()
    if orchestrated:
        from assay.infra.prefect.tasks import Orchestrated

        conductor = Orchestrated()
    run = Run(
        pipeline.name,
        store,
        # With nothing to compute, workers start only to ask a model of the user's own again about a few samples.
        engine_of(project, progress, libraries_of(pipeline) if verify or is_something_left(expected) else ()),
        progress,
        seed=seed,
        compute=project.compute,
        fresh=fresh,
        conductor=conductor,
        keep_bytes=project.settings.keep_mib << 20,
        verify=verify,
        share=share,
        allowance=Allowance(pipeline.seconds_allowed, pipeline.budget or ""),
        began=began,
    )
    run.record.forecast = expected
    run.record.settings = pipeline.model_dump(mode="json")
    run.record.overrides = sorted(dotted(where) for where in project.lines.changed)
    stopped = False
    try:
        with run, _recorded(run.record):
            yield run
    except KeyboardInterrupt:
        stopped = True
        raise
    finally:
        progress.close()
        if run.record.report is None:  # a run that ended early stands on the page over all nights too
            with suppress(AssayError, OSError):  # what ended it matters more than that page
                write_index(store)
        if store.record(run.id) is not None:  # a store that nothing can be written to keeps no run to speak of
            leave_traces(project, store, run.record, progress.notice, stopped=stopped)


def perform(run: Run, project: Project, pipeline: Pipeline) -> RunResult:
    """The audit itself, then everything that is said about it."""
    log_beginning(run.store, run.record)
    budget = budget_of(project) or NO_BUDGET
    of_sample = [sample_in_words(run.record)] if run.record.is_sample else []
    run.progress.notice(" · ".join([pipeline.name, f"run {run.id}", f"seed {run.seed}", *of_sample, str(run.slots())]))
    if origin := project.origin(pipeline.name):
        run.progress.notice(f"{pipeline.name} comes with Assay: {origin}")
    for sentence in run.record.forecast.get("said", ()):
        run.progress.notice(sentence)
    audited = audit(pipeline, project.folder)
    audited, of_this_run = complete(run, audited)
    report_reuse(run)
    findings = _named_findings(run, audited, of_this_run)
    run.record.outcomes = list(outcomes_in(pipeline.kinds, audited.ground))
    gates = judge_night(pipeline.gates, findings, Past(run.store, run.record), budget)
    run.record.gates, run.record.budget = as_recorded(gates), asdict(budget)
    note_decided(run.store, run.record)
    code = max((error.exit_code for error in audited.failures), default=int(not all(gate.passed for gate in gates)))
    status = {0: "done", 1: "gate failed", 2: "refused", 3: "broken"}[code]
    run.record.seconds = round(run.seconds, 2)
    run.record.findings = _write_findings(run, findings)
    from assay.flows.report.run_page import write_report

    verdicts, report = write_report(run, audited, findings, gates, status, forecast_part(run.record))
    run.record.status = status
    run.record.verdicts, run.record.report = [verdict.text for verdict in verdicts], report
    run.record.worst = worst_of(verdicts, status, run.record.failures)
    outcomes = [gate.outcome for gate in gates]
    run.record.judged = {outcome: outcomes.count(outcome) for outcome in get_args(Outcome)}
    run.save()
    write_index(run.store)  # of this night it tells what its record says, judged gates among it
    run.progress.close()
    _say_verdict(run.progress, run.record)
    if audited.failures:
        raise audited.failures[0]
    return RunResult(run.id, status, report, run.record.findings, run.record.seconds, code)


@contextmanager
def _recorded(record: RunRecord) -> Iterator[None]:
    """Write down how a run ended that did not get to its end."""
    try:
        yield
    except AssayError as error:
        _note_end(record, error)
        raise


def _note_end(record: RunRecord, error: AssayError) -> None:
    record.status = "refused" if error.exit_code == 2 else "broken"
    if not any(str(error) in failure for failure in record.failures):
        record.failures.append(str(error))
        record.worst = str(error)  # whatever its report says: nothing came of it
    error.on_record = True


def run_before(store: Store, record: RunRecord) -> str | None:
    """The latest run that got to its end, was asked the same, and has the same results."""
    asked, results = (record.pipeline, record.seed, record.settings, record.share), results_of(record)
    for run in reversed(store.runs(record.pipeline)):
        ended = run.id != record.id and run.is_complete
        if ended and (run.pipeline, run.seed, run.settings, run.share) == asked and results_of(run) == results:
            return run.id
    return None


def results_of(record: RunRecord) -> dict[str, dict[str, dict[str, Any]]]:
    """By key of its stage, what each result of a run is."""
    return {stage.key: stage.outputs for stage in record.stages}


def report_reuse(run: Run) -> None:
    """A line where nothing was computed, and what came of the partitions that were to be verified."""
    stages, earlier = run.record.stages, run_before(run.store, run.record)
    if earlier is not None and stages and all(stage.cached for stage in stages):
        run.progress.notice(f"Nothing is new since run {earlier}: all {len(stages)} results were in the store.")
    if run.verify:
        verified = sum(stage.partitions_verified for stage in stages)
        same = f"{plural(verified, 'partition')} computed again, and the same as in the earlier nights they are from"
        none = "nothing to compute again: no stage took some of its partitions from an earlier night"
        run.progress.notice(f"Verified  {same if verified else none}")


_READER = "assay.tasks.ingest.entry"
"""Behind it lies what nearly every first call needs: Arrow, Pydantic and pandas, half a second."""


def libraries_of(pipeline: Pipeline) -> tuple[str, ...]:
    """What workers import before their first call: ours, and what the pipeline's audits want, each once."""
    asked = (kind for kind in pipeline.kinds if kind.asked(pipeline))
    return tuple(dict.fromkeys((_READER, *(name for kind in asked for name in kind.libraries(pipeline)))))


def engine_of(project: Project, progress: Progress, libraries: Sequence[str] = ()) -> Callable[[], Engine]:
    """A function that opens the project's engine when it is called; its workers import the libraries as they start."""

    def open_it() -> Engine:
        try:
            return open_engine(project.compute, progress.notice, libraries)
        except SettingError as error:
            raise InputError(f"{project.lines.place(setting_path(error.setting))}: {error}") from error

    return open_it


def complete(run: Run, audited: Audit) -> tuple[Audit, list[Finding]]:
    """The audit with what only this run can say of it, and the findings on that.

    Whatever else failed: a test set that was looked at has been looked at.
    """
    ground, findings = audited.ground, list[Finding]()
    results = dict(ground.results)
    for kind in audited.pipeline.kinds:
        if kind.name in results:
            concluded = start_branch(
                f"conclusions of {kind.name}", kind.afterwards, ground, results[kind.name], run
            ).outcome()
            if concluded is not None:
                results[kind.name] = concluded[0]
                findings += concluded[1]
    return replace(audited, ground=replace(ground, results=results), failures=tuple(run.failures)), findings


def _named_findings(run: Run, audited: Audit, of_this_run: Sequence[Finding]) -> list[Finding]:
    """The run's findings, with its name and its pipeline's (those are not in the artifact, which later runs share), and
    with the units that their metrics are declared with."""
    units = {metric.name: metric.unit for kind in audited.pipeline.kinds for metric in kind.metrics}
    return [
        replace(finding, run=run.id, pipeline=run.record.pipeline, unit=finding.unit or units.get(finding.metric, ""))
        for finding in [*audited.measured(), *of_this_run]
    ]


def _write_findings(run: Run, findings: list[Finding]) -> str:
    import pyarrow.parquet as pq

    name = f"runs/{run.id}/findings.parquet"
    with run.store.folder.writing(name) as sink:
        pq.write_table(findings_table(findings), sink)
    return f"{run.store.url}/{name}"


def _say_verdict(progress: Progress, record: RunRecord) -> None:
    for position, verdict in enumerate(record.verdicts):
        progress.notice(f"{'Verdict' if position == 0 else '':<9} {verdict}")
    progress.notice(f"{'Report':<9} {record.report}")
