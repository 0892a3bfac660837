"""A run's manifests as OpenLineage events: a job per stage, digests as versions of data sets, gates as assertions.

Who reads events twice gets the same: a run's id is made of its name, that of a stage of its key.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay import __version__
from assay.flows.nights.in_time import trouble_within
from assay.flows.nights.settings import OpenLineage
from assay.infra.credentials import secret_from
from assay.infra.errors import InputError, RunError
from assay.infra.manifests import Manifest, RunRecord
from assay.infra.store import Store

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent

PRODUCER = f"https://pypi.org/project/assay-audit/{__version__}"
_FROM_OUTSIDE = (("ingest", "source"), ("settle_gold", "answers"))
"""The arguments of stages that come from files, not from other stages."""


def send(store: Store, record: RunRecord, to: OpenLineage, folder: Path) -> str:
    """Emit the events of a run, within their time; says where they went. A file counts from the folder."""
    counted: list[int] = []

    def work() -> None:
        client = _client(to, folder)
        events = list(events_of(store, record, to.namespace))
        for event in events:
            client.emit(event)
        counted.append(len(events))

    where = to.url or str(folder / str(to.file))
    trouble = trouble_within(to.seconds, "openlineage", work, _in_words)
    if trouble is not None:
        raise RunError(f"OpenLineage events of run {record.id} did not arrive at {where}: {trouble}.")
    return f"{where}: {counted[0]} events of run {record.id}"


def events_of(store: Store, record: RunRecord, namespace: str) -> Iterator[RunEvent]:
    """The events of a run: it begins, every result of it was made (maybe on an earlier night), it ends."""
    _require_installed()
    from openlineage.client.event_v2 import RunState

    lineage = _Telling(store, record, namespace)
    yield lineage.of_the_run(RunState.START, datetime.fromisoformat(record.started))
    for stage in record.stages:
        manifest = store.manifest(stage.stage, stage.key)
        if manifest is not None:
            yield from lineage.of_a_stage(manifest)
    done = record.status in ("done", "gate failed")
    ended = datetime.fromisoformat(record.started) + timedelta(seconds=record.seconds)
    yield lineage.of_the_run(RunState.COMPLETE if done else RunState.FAIL, ended)


@dataclass
class _Telling:
    """The names that data sets have got so far: by digest, and how often a name was used."""

    store: Store
    record: RunRecord
    namespace: str
    names: dict[str, str] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)

    def of_the_run(self, state: Any, at: datetime) -> RunEvent:
        from openlineage.client.event_v2 import Job, Run, RunEvent
        from openlineage.client.generated.error_message_run import ErrorMessageRunFacet

        facets: dict[str, Any] = {}
        if state.name == "FAIL":
            words = (self.record.failures or [self.record.status])[0]
            facets["errorMessage"] = ErrorMessageRunFacet(message=words, programmingLanguage="PYTHON")
        return RunEvent(
            eventType=state,
            eventTime=at.isoformat(),
            run=Run(_run_id(self.store, self.record.id), facets),
            job=Job(self.namespace, self.record.pipeline),
            producer=PRODUCER,
            inputs=[] if state.name == "START" else list(self._judged()),
        )

    def _judged(self) -> Iterator[InputDataset]:
        """The run's findings, with what the gates said of them."""
        from openlineage.client.event_v2 import InputDataset
        from openlineage.client.generated.data_quality_assertions_dataset import (
            Assertion,
            DataQualityAssertionsDatasetFacet,
        )

        if self.record.findings is not None:
            judgements = [
                Assertion(assertion=str(one.get("gate")), success=one.get("outcome") != "failed")
                for one in self.record.gates
            ]
            facets: dict[str, Any] = {"dataQualityAssertions": DataQualityAssertionsDatasetFacet(assertions=judgements)}
            name = f"{self.record.pipeline}/findings"
            yield InputDataset(
                self._place, name, inputFacets=facets if judgements else {}, facets=_version(self.record.id)
            )

    def of_a_stage(self, manifest: Manifest) -> Iterator[RunEvent]:
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
        from openlineage.client.generated import parent_run

        parent = parent_run.ParentRunFacet(
            run=parent_run.Run(runId=_run_id(self.store, manifest.run)),
            job=parent_run.Job(namespace=self.namespace, name=self.record.pipeline),
        )
        run = Run(_run_id(self.store, f"{manifest.stage}/{manifest.key}"), {"parent": parent})
        job = Job(self.namespace, f"{self.record.pipeline}.{manifest.stage}")
        inputs, outputs = list(self._inputs(manifest)), list(self._outputs(manifest))
        ended = datetime.fromisoformat(manifest.created)
        began = ended - timedelta(seconds=manifest.wall_seconds)
        yield RunEvent(eventType=RunState.START, eventTime=began.isoformat(), run=run, job=job, producer=PRODUCER)
        yield RunEvent(
            eventType=RunState.COMPLETE,
            eventTime=ended.isoformat(),
            run=run,
            job=job,
            producer=PRODUCER,
            inputs=inputs,
            outputs=outputs,
        )

    def _inputs(self, manifest: Manifest) -> Iterator[InputDataset]:
        from openlineage.client.event_v2 import InputDataset

        for name, argument in manifest.ingredients.get("arguments", {}).items():
            for digest in _digests(argument):
                known = self.names.get(digest)
                if known is not None:
                    yield InputDataset(self._place, known, facets=_version(digest))
            if (manifest.stage, name) in _FROM_OUTSIDE:
                facets = _version(str(argument.get("fingerprint")))
                yield InputDataset(self._place, f"{self.record.pipeline}/{name}", facets=facets)

    def _outputs(self, manifest: Manifest) -> Iterator[OutputDataset]:
        from openlineage.client.event_v2 import OutputDataset
        from openlineage.client.generated.output_statistics_output_dataset import OutputStatisticsOutputDatasetFacet

        for output in manifest.outputs.values():
            handle = output.artifact
            base = f"{self.record.pipeline}/{manifest.stage}/{handle.uri.rsplit('/', 1)[-1]}"
            self.used[base] = self.used.get(base, 0) + 1
            name = base if self.used[base] == 1 else f"{base}#{self.used[base]}"
            self.names[handle.digest] = name
            size = sum(output.files.values())
            facet: Any = OutputStatisticsOutputDatasetFacet(rowCount=handle.rows, size=size)
            yield OutputDataset(
                self._place, name, outputFacets={"outputStatistics": facet}, facets=_version(handle.digest)
            )

    @property
    def _place(self) -> str:
        """The namespace of the data sets: where the store lies."""
        return self.store.url if "://" in self.store.url else f"file://{self.store.url}"


def _digests(argument: object) -> Iterator[str]:
    """The digests of the artifacts in one argument of a stage, as its key knows it."""
    if isinstance(argument, Mapping):
        if set(argument) == {"kind", "digest"}:
            yield str(argument["digest"])
        else:
            for value in argument.values():
                yield from _digests(value)
    elif isinstance(argument, list | tuple):
        for value in argument:
            yield from _digests(value)


def _version(digest: str) -> dict[str, Any]:
    from openlineage.client.generated.dataset_version_dataset import DatasetVersionDatasetFacet

    return {"version": DatasetVersionDatasetFacet(datasetVersion=digest)}


def _run_id(store: Store, name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{store.url}/{name}"))


def _client(to: OpenLineage, folder: Path) -> OpenLineageClient:
    _require_installed()
    from openlineage.client import OpenLineageClient
    from openlineage.client.transport.file import FileConfig, FileTransport
    from openlineage.client.transport.http import ApiKeyTokenProvider, HttpConfig, HttpTransport

    if to.url is None:
        return OpenLineageClient(transport=FileTransport(FileConfig(str(folder / str(to.file)), append=True)))
    config = HttpConfig(url=to.url, timeout=to.seconds / 3, retry={"total": 1, "backoff_factor": 0.2})
    if to.key_from is not None:
        config.auth = ApiKeyTokenProvider({"apiKey": secret_from(to.key_from, ascii_only=True)})
    return OpenLineageClient(transport=HttpTransport(config))


def _require_installed() -> None:
    try:
        import openlineage.client  # noqa: F401
    except ImportError:
        raise InputError('OpenLineage is not installed: pip install "assay-audit[openlineage]"') from None


def _in_words(error: Exception) -> str:
    """Ours as they are; of others only the type, since their words may quote what was sent."""
    return str(error).rstrip(".") if isinstance(error, InputError) else type(error).__name__
