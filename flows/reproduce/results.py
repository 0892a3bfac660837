"""Which results may stand beside a paper's numbers: runs of the right name on the right data, and published ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.flows.report.records import tables_of
from assay.flows.reproduce.published import published_over_seeds, published_result
from assay.flows.reproduce.seeds import OverSeeds, over_seeds, runs_over_seeds
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.ingest.settings import ORIGINS
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.run_findings import findings_of

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.flows.reproduce.spec import UsersOwn

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
"""Where the published results lie beside the code; an installation without the documents has none."""


@dataclass(frozen=True)
class Result:
    """The findings of one run, one of the user's or a published one, and how it is called."""

    name: str
    pipeline: str
    settings: Mapping[str, Any]
    findings: FindingIndex
    tables: Callable[[str], Sequence[pa.Table]] = lambda _: ()
    over_seeds: Callable[[], Sequence[OverSeeds]] = lambda: ()
    """What runs with other seeds measured beside it; none where there are none."""


class Results:
    """The runs of a store that have findings, and the published results."""

    def __init__(self, store: Store, published: Path | None = None) -> None:
        self._store = store
        self._published = RESULTS if published is None else published
        self._read: dict[str, Result] = {}
        self.damaged: dict[str, str] = {}
        """Per run whose findings cannot be read, why: it costs its lines, not the table."""

    @cached_property
    def _runs(self) -> Sequence[RunRecord]:
        return [run for run in reversed(self._store.runs()) if run.findings and not run.is_sample]

    def records(self, pipelines: Mapping[str, str | None]) -> list[RunRecord]:
        """The runs of these pipelines that are on their data sets, by pipeline, the newest first."""
        return [
            run
            for name, data_set in pipelines.items()
            for run in self._runs
            if run.pipeline == name and (data_set is None or dataset_of(run.settings) in (data_set, None))
        ]

    def beside(self, pipelines: Mapping[str, str | None]) -> Iterator[Result]:
        """The results that may stand beside a table: the user's own runs, then what is published."""
        yield from self._results(self.records(pipelines))
        for name, data_set in pipelines.items():
            folder = self._published / name
            if folder.is_dir():
                about, findings = published_result(folder)
                settings = about["settings"]
                if data_set is None or dataset_of(settings) == data_set:
                    place = f"docs/results/{name}" if self._published == RESULTS else str(folder)
                    yield Result(
                        f"published run {about['run']} ({place})",
                        name,
                        settings,
                        FindingIndex(findings),
                        over_seeds=partial(published_over_seeds, folder),
                    )

    def of_users(self, own: UsersOwn, shown: Sequence[RunRecord]) -> dict[str, Iterator[Result]]:
        """Runs that stand beside no line of a paper and whose settings ask for the same, by pipeline and data."""
        known, by_name = {run.id for run in shown}, dict[str, list[RunRecord]]()
        for run in self._runs:
            if run.id not in known and own.asks(run.settings):
                data = dataset_of(run.settings)
                by_name.setdefault(f"{run.pipeline} ({data})" if data else run.pipeline, []).append(run)
        return {
            name: self._results(records)
            for name, records in by_name.items()
            if not own.over_seeds or len({run.seed for run in records}) > 1
        }

    def on_other_data(self, pipelines: Mapping[str, str | None]) -> str:
        """A run that has the name of one of these pipelines and is of other data; empty where there is none."""
        fitting = {run.id for run in self.records(pipelines)}
        others = [run for run in self._runs if run.pipeline in pipelines and run.id not in fitting]
        return f"{others[0].id} has that name and is of {dataset_of(others[0].settings)}" if others else ""

    def _results(self, records: Sequence[RunRecord]) -> Iterator[Result]:
        for record in records:
            if record.id not in self._read:
                try:
                    self._read[record.id] = self._result(record)
                except InputError as error:
                    self.damaged[record.id] = str(error)
            if record.id in self._read:
                yield self._read[record.id]

    def _result(self, record: RunRecord) -> Result:
        def tables(kind: str) -> Sequence[pa.Table]:
            return [table for _, _, table in tables_of(self._store, record, kind)]

        def seeds() -> Sequence[OverSeeds]:
            return over_seeds(each.findings for each in self._results(runs_over_seeds(self._store, record)))

        findings = FindingIndex(findings_of(self._store, record))
        return Result(f"run {record.id}", record.pipeline, record.settings, findings, tables, seeds)


def dataset_of(settings: Mapping[str, Any]) -> str | None:
    """The data that a run was on, in words; None where its record does not say.

    >>> dataset_of({"source": {"dataset": "sample/digits"}}), dataset_of({"source": {"csv": ["a.csv", "b.csv"]}})
    ('sample/digits', 'csv: a.csv, b.csv')
    """
    source = settings.get("source") or {}
    for origin in ORIGINS:
        if given := source.get(origin):
            places = given if isinstance(given, str) else ", ".join(map(str, given))
            return places if origin == "dataset" else f"{origin}: {places}"
    return None
