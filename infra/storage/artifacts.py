"""What passes between stages and what the store writes down about it: kinds of artifact, handles, manifests with their
parts, and the records of runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa
from pydantic import TypeAdapter

from assay.infra.masking import masked_in


class Kind:
    """A kind of artifact; its docstring is its meaning, its class name is its name."""


class Table(Kind):
    """Partitioned Parquet with a declared schema.

    `schema` lists the columns that must be there, in this order; fields marked nullable may hold nulls. `extras`
    says what further columns may follow: none (`None`), any (`"any"`), or columns of exactly one Arrow type.
    """

    schema: ClassVar[pa.Schema]
    extras: ClassVar[pa.DataType | str | None] = None


class Files(Kind):
    """A handful of named files (a subject's weights, a contract's report), each with its own checksum."""


K = TypeVar("K", bound=Kind)


@dataclass(frozen=True)
class Artifact(Generic[K]):
    """A JSON-able handle: what it is (`kind`), what made it (`key`), what it holds (`digest`), where (`uri`)."""

    kind: str
    key: str
    digest: str
    uri: str
    rows: int
    partitions: int

    def to_json(self) -> dict[str, Any]:
        """The handle as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Artifact[K]:
        """The handle that `to_json` described."""
        return cls(**value)


_SENTENCES = ("arrivals", "asked_again", "failures", "gates", "missing", "notices", "verdicts", "worst")
"""The fields of a run's record that people read; what the others say is looked up again, letter by letter."""


@dataclass(frozen=True)
class PartFile:
    """One file of one output: where it lies in the store, what it holds, how large it is."""

    file: str
    rows: int
    sums: str
    bytes: int
    schema: str = ""
    """The hash of the names and types of its columns, which the sums do not know of; older parts are without."""


@dataclass(frozen=True)
class Part:
    """One partition of a step: a file per output, what went in, and where and how long it was computed."""

    index: int
    files: tuple[PartFile, ...]
    inputs: tuple[str, ...]
    worker: str
    device: str
    wall_seconds: float
    cpu_seconds: float
    tally: dict[str, Any] | None = None
    content: str = ""
    """What later results look it up by: see `infra/stages/reuse.py`. Empty where it cannot be taken from here."""
    taken_from: str = ""
    """The result (`stage/key`) that it was taken from, where it was not computed for this one."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Part:
        """The part that `dataclasses.asdict` described."""
        return _readers()[0].validate_python(value)


@dataclass(frozen=True)
class Output:
    """An artifact with the parts it is made of; `place` is its position among the outputs of its step."""

    artifact: Artifact[Kind]
    parts: tuple[Part, ...]
    place: int = 0
    checksums: Mapping[str, str] = field(default_factory=dict)

    @property
    def in_order(self) -> list[PartFile]:
        """Its files in the order of their partitions."""
        return [part.files[self.place] for part in sorted(self.parts, key=lambda part: part.index)]

    @property
    def files(self) -> dict[str, int]:
        """Every file of the output with its size."""
        return {part.files[self.place].file: part.files[self.place].bytes for part in self.parts}


@dataclass(frozen=True)
class Manifest:
    """The lineage of what a stage made: no manifest, no artifact."""

    stage: str
    version: int
    key: str
    title: str
    outputs: Mapping[str, Output]
    ingredients: Mapping[str, Any]
    summary: str
    run: str
    created: str
    wall_seconds: float
    cpu_seconds: float
    packages: Mapping[str, str]
    commit: str
    quarantined: tuple[str, ...] = ()
    counted: tuple[Part, ...] = ()
    """What reductions counted in single partitions, a file each: no part of the result, and kept for later ones."""
    least_seconds: float = 0.0
    """Processor time in the flow's process plus that of the longest call on a worker: the least that the stage takes on
    any number of workers."""

    @property
    def parts(self) -> Iterator[Part]:
        """The partitions of all outputs."""
        return (part for output in self.outputs.values() for part in output.parts)

    @property
    def cost(self) -> dict[str, float]:
        """What it took to compute: seconds of processors and of GPUs, partitions, and the bytes that are kept."""
        parts = {part.files: part for part in self.parts if not part.taken_from}
        gpu = sum(part.wall_seconds for part in parts.values() if part.device not in ("cpu", ""))
        size = sum(self.files.values())
        return {"cpu": self.cpu_seconds, "gpu": round(gpu, 3), "partitions": float(len(parts)), "bytes": float(size)}

    @property
    def files(self) -> dict[str, int]:
        """Every file that is kept under the key, with its size."""
        kept = {file.file: file.bytes for part in self.counted for file in part.files}
        return kept | {file: size for output in self.outputs.values() for file, size in output.files.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Manifest:
        """The manifest that `dataclasses.asdict` described."""
        return _readers()[1].validate_python(value)


@dataclass(frozen=True)
class StageRecord:
    """What one stage did in one run."""

    stage: str
    title: str
    key: str
    cached: bool
    seconds: float
    summary: str
    outputs: dict[str, dict[str, Any]]
    partitions_computed: int = 0
    partitions_reused: int = 0
    partitions_taken: int = 0
    """Those that an earlier result held already; `partitions_reused` a broken attempt at this one had finished."""
    partitions_of_known_content: int = 0
    """Those that were looked for in earlier results."""
    partitions_verified: int = 0
    """Those taken that `--verify` computed again, and found the same."""
    place: str = ""
    """Where it stands in the flow: a plan has the same stage there."""
    work: dict[str, Any] = field(default_factory=dict)
    """What kind of work it was and how much: see `infra/storage/keys.py`."""
    cost: dict[str, float] = field(default_factory=dict)
    """What it took: seconds of processors (`cpu`) and GPUs (`gpu`), `partitions`, and `bytes` kept; `began` is when, in
    seconds of the run, and `waited` for how many of them workers and libraries were not there yet. Empty where it came
    from the store."""

    @property
    def worked(self) -> float:
        """The seconds of the stage's own: without those that the first stage of a run waits for workers and libraries.

        >>> StageRecord("s", "s", "k", False, 5.0, "", {}, cost={"cpu": 1.0, "waited": 3.5}).worked
        1.5
        """
        return round(max(0.0, self.seconds - self.cost.get("waited", 0.0)), 3)

    @cached_property
    def text(self) -> str:
        """It as JSON, made once: a run's record is written whenever one of its stages begins or ends."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False)

    @property
    def taken_in_words(self) -> str:
        """What was taken from earlier results; nothing where that is none.

        >>> StageRecord("s", "s", "k", False, 1.0, "", {}, 1, 0, 11, 12, 2).taken_in_words
        '11 of 12 partitions taken from the store, 2 of them verified'
        """
        if not self.partitions_taken:
            return ""
        verified = f", {self.partitions_verified} of them verified" if self.partitions_verified else ""
        looked_for = self.partitions_of_known_content
        return f"{self.partitions_taken} of {looked_for} partitions taken from the store{verified}"


@dataclass
class RunRecord:
    """What one run was asked, which artifacts it used (cached or not), and how it ended.

    `worst` is the line of its verdict that says most; `overrides` what `--set` changed; `judged` counts its gates.
    """

    id: str
    pipeline: str
    started: str
    seed: int
    host: str
    pid: int
    status: str = "running"
    seconds: float = 0.0
    stages: list[StageRecord] = field(default_factory=list)
    writing: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    report: str | None = None
    findings: str | None = None
    failures: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)
    asked_again: dict[str, str] = field(default_factory=dict)
    worst: str = ""
    overrides: list[str] = field(default_factory=list)
    judged: dict[str, int] = field(default_factory=dict)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    """Where what single samples add to the findings lies: see `flows/kind.py`."""
    gates: list[dict[str, Any]] = field(default_factory=list)
    """What every gate said that night, and how closely those on change could look."""
    budget: dict[str, Any] = field(default_factory=dict)
    """How many false alarms its gates on change might raise: see `flows/report/gates.py`."""
    arrivals: str = ""
    """Which files of its source were new, changed or gone, and since which run."""
    ingredients: list[dict[str, Any]] = field(default_factory=list)
    """The team's own files that it stood on: see `infra/user_code/references.py`."""
    share: float = 1.0
    """The share of the samples that it looked at: below 1 it is a sample, which stands for no whole run."""
    forecast: dict[str, Any] = field(default_factory=dict)
    """What it was expected to cost before it began: see `flows/forecast/`."""
    slots: int = 0
    """How many calls its workers took at once."""
    plan: dict[str, Any] = field(default_factory=dict)
    """What somebody signed beforehand of its gates and settings: see `flows/report/ledger.py`."""

    @property
    def is_complete(self) -> bool:
        """Whether it came to its end, with all gates passed or not."""
        return self.status in ("done", "gate failed")

    @property
    def is_sample(self) -> bool:
        """Whether it looked at a share of the samples only."""
        return self.share < 1

    @property
    def is_trial(self) -> bool:
        """Whether it was run with `--set` or `--sample`: nobody follows it over the nights, and it changes no state."""
        return bool(self.overrides) or self.is_sample

    def to_text(self) -> str:
        """The record as JSON in a line: of the stages it takes the texts that they have; in its sentences no secret
        stands."""
        others = {name: value for name, value in vars(self).items() if name != "stages"}
        others |= {name: masked_in(others[name]) for name in _SENTENCES}
        text = json.dumps(others, sort_keys=True, ensure_ascii=False)
        return f'{text[:-1]}, "stages": [{", ".join(stage.text for stage in self.stages)}]}}'

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RunRecord:
        """The record that `to_text` described."""
        record = _readers()[2].validate_python(value)
        datetime.fromisoformat(record.started)
        return record


def by_date(started: str, name: str) -> tuple[bool, str, str]:
    """What runs are sorted by, oldest first.

    One dated later than now, by a clock that was wrong then, comes before all others: else it would be the latest until
    that day. Clocks of two machines may be an hour apart.
    """
    return started <= (datetime.now(UTC) + timedelta(hours=1)).isoformat(), started, name


@cache
def _readers() -> tuple[TypeAdapter[Part], TypeAdapter[Manifest], TypeAdapter[RunRecord]]:
    """What reads JSON as the fields are annotated, and refuses all but fields that it does not know."""
    return TypeAdapter(Part), TypeAdapter(Manifest), TypeAdapter(RunRecord)
