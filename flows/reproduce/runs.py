"""Which runs may stand beside a paper's numbers: those of the right name on the right data."""

from __future__ import annotations

from collections.abc import Mapping

from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.ingest.settings import ORIGINS

DATA_SETS: Mapping[str, str] = {
    **{name: f"sample/{name}" for name in (
        "breast-cancer", "alarms-heart-rate-low", "alarms-heart-rate-high", "alarms-respiratory-rate-low",
        "alarms-respiratory-rate-high", "alarms-spo2-low", "lesions", "fundus", "chest", "reviews", "reviews-weak",
        "reviews-strong",
    )},
    **{name: name for name in (
        "youtube-spam", "weather-crowd", "ag-news", "emotion", "hatexplain", "cams", "bc5cdr-chemical",
        "bc5cdr-disease", "biosses",
    )},
    **{f"{name}-defended": f"sample/{name}" for name in ("lesions", "fundus", "chest")},
    "lesions-depth": "sample/lesions",
    "rotten-tomatoes": "rt-polarity",
    "overfitting-synthetic": "sample/half-spaces",
    "overfitting-synthetic-quick": "sample/half-spaces",
    "abstracts-ner": "sample/abstracts",
    "abstracts-sts": "sample/abstract-pairs",
}  # fmt: skip
"""The data set that each pipeline beside a paper's table is on; of data that users bring there is none."""


def runs_beside(store: Store, pipeline: str) -> list[RunRecord]:
    """The runs of a pipeline that have findings and are on its data set, the newest first."""
    wanted = DATA_SETS.get(pipeline)
    return [run for run in _named(store, pipeline) if wanted is None or dataset_of(run) in (wanted, None)]


def latest_beside(store: Store, pipeline: str) -> RunRecord | None:
    """The newest of these."""
    return next(iter(runs_beside(store, pipeline)), None)


def no_run_yet(store: Store, called: str, pipeline: str, wanting: str = "run") -> str:
    """How a missing run is made; a run of that name on other data is named as such.

    `wanting` is what there is none of.
    """
    said = f"{called}: no {wanting} yet; make one with  assay run {pipeline}"
    others = [run for run in _named(store, pipeline) if run not in runs_beside(store, pipeline)]
    return f"{said}  ({others[0].id} has that name and is of {dataset_of(others[0])})" if others else said


def dataset_of(record: RunRecord) -> str | None:
    """The data that a run was on, in words; None where its record does not say."""
    source = record.settings.get("source") or {}
    for origin in ORIGINS:
        if found := source.get(origin):
            places = found if isinstance(found, str) else ", ".join(map(str, found))
            return places if origin == "dataset" else f"{origin}: {places}"
    return None


def _named(store: Store, pipeline: str) -> list[RunRecord]:
    return [run for run in reversed(store.runs()) if run.pipeline == pipeline and run.findings]
