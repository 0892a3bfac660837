"""What past runs left in a store: their records, tables, samples and times, and the nights that did not come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from assay.data.catalog import is_masked
from assay.data.schemas import CuratedSets, Intervals, Samples, WeakLabels
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import Artifact, RunRecord, StageRecord, by_date
from assay.infra.storage.store import NO_RECORD, Store
from assay.tasks.ingest.settings import ORIGINS, share_in_words
from assay.tasks.reporting.numerals import in_bytes, percent, plural
from assay.tasks.reporting.report import MISSED

WATCHED = "notify/watched.json"
_KEPT = 90
"""So many missed nights of a pipeline stay on record; the page of all nights lists as many runs."""


def missed_nights(store: Store) -> dict[str, list[datetime]]:
    """When each pipeline was due and no run came, oldest first."""
    watched = store.folder.read_json(WATCHED) or {}
    return {name: _missed_times(seen) for name, seen in watched.items() if isinstance(seen, dict)}


def missed_since_the_last_run(store: Store) -> dict[str, datetime]:
    """The pipelines that are behind their schedules now, with the first night missed since their last run."""
    watched = store.folder.read_json(WATCHED) or {}
    behind = {name: seen.get("missed") for name, seen in watched.items() if isinstance(seen, dict)}
    return {name: datetime.fromisoformat(due) for name, due in behind.items() if isinstance(due, str) and due}


def with_missed_nights(known: Mapping[str, Any], seen: datetime, due: list[datetime]) -> dict[str, Any]:
    """What is known of a pipeline with these nights missed as well; `missed` is the first since it was last `seen`.

    >>> first, second = datetime(2026, 11, 21, 2), datetime(2026, 11, 22, 2)
    >>> behind = with_missed_nights({}, datetime(2026, 11, 20, 3), [first, second])
    >>> behind["missed"], behind["nights"]
    ('2026-11-21T02:00:00', ['2026-11-21T02:00:00', '2026-11-22T02:00:00'])
    >>> caught_up = with_missed_nights(behind, datetime(2026, 11, 22, 9), [])
    >>> caught_up["missed"], caught_up["nights"] == behind["nights"]
    ('', True)
    """
    nights = sorted({*_missed_times(known), *due})
    missed = next((night.isoformat() for night in nights if night > seen), "")
    return {**known, "missed": missed, "nights": [night.isoformat() for night in nights[-_KEPT:]]}


def no_run_came(due: datetime) -> str:
    """A missed night as a sentence.

    >>> no_run_came(datetime(2026, 11, 21, 2))
    'No run came for 2026-11-21 02:00 UTC.'
    """
    return f"No run came for {due:%Y-%m-%d %H:%M} UTC."


def _missed_times(seen: Mapping[str, Any]) -> list[datetime]:
    """The missed nights on record; a store of before they were kept knows the first of them."""
    nights = seen.get("nights", [seen["missed"]] if seen.get("missed") else [])
    return [datetime.fromisoformat(night) for night in nights if isinstance(night, str)]


def open_store(config: str, store: str | None) -> Store:
    """The store that the command line names, or else the one that pipelines.yaml names."""
    from assay.flows.configuration.loading import load_usable

    return Store(load_usable(config)[0].store if store is None else store).look()


def find_run(store: Store, name: str) -> RunRecord:
    """The run of that name, or that the name ends; a pipeline's latest run, or the `latest` of all, that has ended.

    A pipeline's name stands for its whole runs, as long as there is one.
    """
    runs = store.runs()
    if not runs:
        raise InputError(f"There is no run in {store.url} yet.  (assay run NAME makes one)")
    asked = runs if name == "latest" else [run for run in runs if run.pipeline == name]
    if name != "latest":
        asked = [run for run in asked if not run.is_sample] or asked
    ended = [run for run in asked if run.status != "running"]
    return (ended or asked)[-1] if asked else store.run(name)


def page_of(store: Store, record: RunRecord) -> str:
    """Where the page of a run lies in this store; what a record says of that may be an old place, or anybody's."""
    if record.report is None:
        raise InputError(f"Run {record.id} has no report: it is {record.status}.  (assay runs shows all)")
    name = f"reports/{record.id}/index.html"
    if not store.folder.exists(name):
        raise InputError(f"The report of run {record.id} is not in {store.url}: somebody removed it.")
    return f"{store.url}/{name}"


def run_rows(store: Store, pipeline: str | None = None) -> list[list[object]]:
    """A row per run (its name, pipeline, status, seconds, seed and the line of its verdict that says most), per night
    that was due and did not come and, of all pipelines, per record that cannot be read; newest first."""
    rows: list[tuple[tuple[bool, str, str], list[object]]] = [
        (by_date(due.isoformat(), ""), ["no run", name, MISSED, None, None, no_run_came(due)])
        for name, nights in missed_nights(store).items()
        for due in nights
        if pipeline in (None, name)
    ]
    names, records = store.record_names(), store.runs(pipeline)
    damaged = set(names).difference(run.id for run in records) if pipeline is None else ()
    rows += [
        (by_date(name, ""), [name, None, "damaged", None, None, f"runs/{name}.json {NO_RECORD}"]) for name in damaged
    ]
    for run in records:
        headline = run.worst or (run.verdicts or run.failures or [""])[0]
        headline = f"{sample_in_words(run)}: {headline}" if run.is_sample else headline
        row = [run.id, run.pipeline, run.status, round(run.seconds, 1), run.seed, headline]
        rows.append((by_date(run.started, run.id), row))
    return [row for _, row in sorted(rows, key=lambda row: row[0], reverse=True)]


def sample_in_words(run: RunRecord) -> str:
    """What share of the samples a run looked at; empty where it was all of them."""
    return f"a sample of {share_in_words(run.share)}, drawn by seed {run.seed}" if run.is_sample else ""


def artifacts_of(record: RunRecord, kind: str) -> list[Artifact[Any]]:
    """The handles of a kind among everything that the stages of a run made."""
    handles = (handle for stage in record.stages for handle in stage.outputs.values())
    return [Artifact.from_json(handle) for handle in handles if handle["kind"] == kind]


def source_in_words(source: Mapping[str, Any]) -> str:
    """Where samples come from, by the settings of `source`; empty where they do not say.

    >>> source_in_words({"dataset": "sample/digits"}), source_in_words({"csv": ["a.csv", "b.csv"]})
    ('sample/digits', 'csv: a.csv, b.csv')
    """
    for origin in ORIGINS:
        if given := source.get(origin):
            places = given if isinstance(given, str) else ", ".join(map(str, given))
            return places if origin == "dataset" else f"{origin}: {places}"
    return ""


def tables_of(store: Store, record: RunRecord, kind: str) -> list[pa.Table]:
    """Every table of a kind that a run used."""
    return [read_table(store, artifact) for artifact in artifacts_of(record, kind)]


def read_table(store: Store, artifact: Artifact[Any]) -> pa.Table:
    """The whole table behind a handle, in sample order."""
    parts = list(parts_of(store, artifact))
    return pa.concat_tables(parts) if parts else pa.table({})


def parts_of(store: Store, artifact: Artifact[Any], columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The partitions of the table behind a handle, in sample order, one at a time."""
    from assay.infra.storage.parquet import read_part

    for file in store.output(artifact).in_order:
        yield read_part(store.folder, file, None if columns is None else list(columns))


def describe_store(store: Store) -> list[list[object]]:
    """What a store holds, as rows of name and value."""
    runs = store.runs()
    sizes = store.folder.sizes("stages")
    results = sum(name.endswith("/manifest.json") for name in sizes)
    return [
        ["place", store.url],
        ["runs", f"{len(runs)} of {plural(len({run.pipeline for run in runs}), 'pipeline')}"],
        ["results", f"{results}, {in_bytes(sum(sizes.values()))}"],
        ["latest", runs[-1].id if runs else "no run yet"],
    ]


def ingested(record: RunRecord) -> dict[str, Artifact[Any]]:
    """What ingest made (samples, rejects, classes, contract); of samples with people's gold in them, those."""
    entered = next((stage for stage in record.stages if stage.stage == "ingest"), None)
    if entered is None:
        raise InputError(f"Run {record.id} took no samples in (it is {record.status}): name another run.")
    settled = next((stage.outputs for stage in record.stages if stage.stage == "settle_gold"), {})
    outputs = entered.outputs | {name: handle for name, handle in settled.items() if name == "samples"}
    return {name: Artifact.from_json(handle) for name, handle in outputs.items()}


def samples_of_run(record: RunRecord) -> Artifact[Samples]:
    """The samples that were audited, as the store keeps them."""
    return ingested(record)["samples"]


def shows_no_text(settings: Mapping[str, Any]) -> bool:
    """Whether the run's pipeline shows no text: as its source says, its data set in the catalogue, or an audit."""
    source = settings.get("source") or {}
    if source.get("masked") is not None:
        return bool(source["masked"])
    parts = (part for part in settings.values() if isinstance(part, dict))
    return is_masked(source.get("dataset")) or any(part.get("masked") for part in parts)


@dataclass(frozen=True)
class LabelledBy:
    """What one labeler made of the votes: its labels, and where the run asked for an order, intervals and D1 … DN."""

    labels: Artifact[WeakLabels]
    intervals: Artifact[Intervals] | None = None
    curated: Artifact[CuratedSets] | None = None


def labelled_by(store: Store, record: RunRecord) -> dict[str, LabelledBy]:
    """What every labeler made, by its name, in the order of the run; labelers that others are compared with aside."""
    # Of equal results the first, since one score may be as good as another.
    made = {output["digest"]: (stage, output) for stage in reversed(record.stages) for output in stage.outputs.values()}
    by_labeler: dict[str, LabelledBy] = {}
    for order in (stage for stage in record.stages if stage.stage == "order_adversarially"):
        given = stage_arguments(store, order)
        stage, intervals = made[given["intervals"]["digest"]]
        if stage.stage == "score_samples":  # by another score than the bound
            stage, _ = made[stage_arguments(store, stage)["intervals"]["digest"]]
        _, labels = made[stage_arguments(store, stage)["labels"]["digest"]]
        handles = (Artifact[Any].from_json(output) for output in (labels, intervals, order.outputs["result"]))
        by_labeler[str(given["labeler"])] = LabelledBy(*handles)
    return by_labeler or _never_ordered(store, record)


def _never_ordered(store: Store, record: RunRecord) -> dict[str, LabelledBy]:
    """The labels of a run without an order, by the labeler whose model gave them."""
    models = {
        stage.outputs["result"]["digest"]: str(stage_arguments(store, stage)["labeler"])
        for stage in record.stages
        if stage.stage == "train_labeler"
    }
    return {
        models[stage_arguments(store, stage)["model"]["digest"]]: LabelledBy(
            Artifact.from_json(stage.outputs["result"])
        )
        for stage in record.stages
        if stage.stage == "label_probabilistically"
    }


def stage_arguments(store: Store, stage: StageRecord) -> dict[str, Any]:
    """What a stage was called with, digests in place of handles."""
    manifest = store.standing(stage.stage, stage.key)
    if manifest is None:
        raise InputError(f"The results of stage {stage.title} are not in the store any more: run the pipeline again.")
    return dict(manifest.ingredients["arguments"])


def digests_in(argument: object) -> Iterator[str]:
    """The digests of the artifacts in an argument of a stage, as its key knows it."""
    if isinstance(argument, Mapping) and set(argument) == {"kind", "digest"}:
        yield str(argument["digest"])
    elif isinstance(argument, Mapping | list | tuple):
        for value in argument.values() if isinstance(argument, Mapping) else argument:
            yield from digests_in(value)


def subjects_in(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The settings of each subject of a recorded run, whether one or several were named."""
    return list(settings.get("subjects") or filter(None, [settings.get("subject")]))


@dataclass(frozen=True)
class StageTime:
    """The stages of one title: how many were computed and how many taken from the store, and their seconds.

    `computed` is processor time of the stage and its partitions, wherever they ran; `waited` is what is left of the
    wall-clock time: for a slot, for disks, for others on the same machine. Stages overlap, so sums may exceed the run.
    """

    title: str
    stages: int
    cached: int
    wall: float
    computed: float

    @property
    def waited(self) -> float:
        """Seconds in which the stage was under way and nothing of it computed."""
        return max(0.0, self.wall - self.computed)


@dataclass(frozen=True)
class Times:
    """The time of a run by stage, the longest first, and its seconds without any stage under way: orchestration."""

    stages: tuple[StageTime, ...]
    seconds: float
    orchestration: float


def times_of(store: Store, record: RunRecord) -> Times:
    """The times of a run, from its record and the manifests of the stages that it computed."""
    by_title = defaultdict[str, list[StageTime]](list)
    for stage in record.stages:
        manifest = None if stage.cached else store.manifest(stage.stage, stage.key)
        # Of a result that has been cleaned up since, only the seconds are on record.
        wall, computed = 0.0 if stage.cached else stage.seconds, 0.0 if manifest is None else manifest.cpu_seconds
        by_title[stage.title].append(StageTime(stage.title, int(not stage.cached), int(stage.cached), wall, computed))
    quantities = ("stages", "cached", "wall", "computed")
    summed = [
        StageTime(title, *(sum(getattr(stage, name) for stage in stages) for name in quantities))
        for title, stages in by_title.items()
    ]
    longest = tuple(sorted(summed, key=lambda stage: (-stage.wall, stage.title)))
    return Times(longest, record.seconds, seconds_without_stages(record))


def seconds_without_stages(record: RunRecord) -> float:
    """The seconds of a run in which no stage is under way: its start, and its page."""
    began = [(stage.cost["began"], stage) for stage in record.stages if "began" in stage.cost]
    spans = [(start + stage.seconds - stage.worked, start + stage.seconds) for start, stage in began]
    return max(0.0, record.seconds - seconds_covered(spans))


def seconds_covered(spans: Sequence[tuple[float, float]]) -> float:
    """The length of all spans together, what several cover counted once.

    >>> seconds_covered([(0, 2), (1, 3), (5, 6)])
    4.0
    """
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


TIME_HEADINGS = ["stage", "computed", "from store", "seconds", "computing", "waiting"]


def time_rows(times: Times, most: int = 12) -> list[list[str]]:
    """The times as rows of text: the stages that took longest, the rest together, and the whole run."""
    rest = times.stages[most:]
    rows = [_time_row(stage.title, [stage]) for stage in times.stages[:most]]
    rows += [_time_row(f"{len(rest)} others", rest)] if rest else []
    rows += [_time_row("all stages", times.stages)]
    alone = (("no stage under way", times.orchestration), ("the run", times.seconds))
    return rows + [[title, "", "", f"{seconds:.1f}", "", ""] for title, seconds in alone]


def _time_row(title: str, stages: Sequence[StageTime]) -> list[str]:
    counts = (str(sum(getattr(stage, name) for stage in stages)) for name in ("stages", "cached"))
    seconds = (f"{sum(getattr(stage, name) for stage in stages):.1f}" for name in ("wall", "computed", "waited"))
    return [title, *counts, *seconds]


@dataclass(frozen=True)
class Step:
    """A computed stage: what it waits for, its least seconds, all of its partitions at once, and its processors'."""

    title: str
    after: frozenset[int]
    seconds: float
    work: float = 0.0


@dataclass(frozen=True)
class LeastTime:
    """Before the first stage, then a chain of stages and all work that waits for its end over all slots: of all such
    chains the one that takes longest. Nothing waits for the end of a whole chain; all work waits for the empty one."""

    start: float
    chain: tuple[str, ...]
    chain_seconds: float
    work_seconds: float
    slots: int
    taken: float
    """Until the last stage ended; the page comes after it."""

    @property
    def seconds(self) -> float:
        """The bound: no scheduler with as many slots does it in less."""
        return self.start + self.chain_seconds + self.work_seconds / max(1, self.slots)

    @property
    def sentence(self) -> str:
        """The bound in words, with what it rests on and how much of it the run made."""
        limit = f"{self.work_seconds:.1f} s of processors on {plural(self.slots, 'slot')}"
        if not self.work_seconds:
            limit = f"the chain {' → '.join(self.chain)}"
        elif self.chain:
            limit = f"{self.chain_seconds:.1f} s of {' → '.join(self.chain)} and {limit}"
        least = f"At least {self.seconds:.1f} s from the command on: {self.start:.1f} s before the first stage"
        efficiency = percent(self.seconds / self.taken, 0)
        return f"{least}, then {limit}. Its last stage ended after {self.taken:.1f} s: efficiency {efficiency}."


def least_time(store: Store, record: RunRecord) -> LeastTime | None:
    """From a run's record and the manifests of what it computed; None of a run that computed nothing."""
    made_by: dict[str, int] = {}
    steps: dict[int, Step] = {}
    begins, ends = list[float](), list[float]()
    for number, stage in enumerate(record.stages):
        manifest = None if stage.cached else store.manifest(stage.stage, stage.key)
        if manifest is not None:
            began = stage.cost.get("began", 0.0)
            begins.append(began + stage.cost.get("waited", 0.0))
            ends.append(began + stage.seconds)
            inputs = digests_in(manifest.ingredients["arguments"])
            after = frozenset(made_by[digest] for digest in inputs if digest in made_by)
            steps[number] = Step(stage.title, after, manifest.least_seconds, manifest.cpu_seconds)
        made_by |= {output["digest"]: number for output in stage.outputs.values()}
    if not steps or not record.slots:
        return None
    seconds, chain, work = most_awaited(steps, record.slots)
    return LeastTime(min(begins), chain, seconds, work, record.slots, max(ends))


def chains(steps: Mapping[int, Step]) -> dict[int, tuple[float, tuple[str, ...]]]:
    """For every step the chain up to it that takes longest: its seconds and titles. A step waits for earlier numbers.

    >>> chains({0: Step("a", frozenset(), 2), 1: Step("b", frozenset(), 5), 2: Step("c", frozenset({0, 1}), 1)})[2]
    (6.0, ('b', 'c'))
    """
    longest: dict[int, tuple[float, tuple[str, ...]]] = {}
    for number, step in sorted(steps.items()):
        before = max((longest[earlier] for earlier in step.after if earlier in longest), default=(0.0, ()))
        longest[number] = before[0] + step.seconds, (*before[1], step.title)
    return longest


def most_awaited(steps: Mapping[int, Step], slots: int) -> tuple[float, tuple[str, ...], float]:
    """The chain that, with all work that waits for its end spread over the slots, takes longest: its seconds, its
    titles and that work. The empty chain, which all work waits for, is one of them.

    >>> first = frozenset({0})
    >>> most_awaited({0: Step("a", frozenset(), 4, 4), 1: Step("b", first, 3, 3), 2: Step("c", first, 3, 4)}, 2)
    (4.0, ('a',), 7)
    """
    waiting: dict[int, set[int]] = {number: set() for number in steps}
    for number, step in sorted(steps.items(), reverse=True):
        for earlier in step.after & steps.keys():
            waiting[earlier] |= {number, *waiting[number]}
    awaited: list[tuple[float, tuple[str, ...], float]] = [(0.0, (), sum(step.work for step in steps.values()))]
    for number, (seconds, titles) in chains(steps).items():
        awaited.append((seconds, titles, sum(steps[later].work for later in waiting[number])))
    return max(awaited, key=lambda chain: (chain[0] + chain[2] / max(1, slots), chain[0]))
