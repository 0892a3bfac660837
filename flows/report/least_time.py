"""The least time that a run could have taken on its workers: what its graph allows, beside what it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.flows.report.records import digests_in
from assay.infra.storage.artifacts import Manifest, RunRecord
from assay.infra.storage.store import Store
from assay.tasks.reporting.numerals import percent


@dataclass(frozen=True)
class Step:
    """A computed stage: what it waits for, and its least seconds, all of its partitions at once."""

    title: str
    after: frozenset[int]
    seconds: float


@dataclass(frozen=True)
class LeastTime:
    """Before the first stage, then the longest chain of stages or all work over all slots, whichever is more."""

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
        return self.start + max(self.chain_seconds, self.work_seconds / max(1, self.slots))

    @property
    def sentence(self) -> str:
        """The bound in words, with what it rests on and how much of it the run made."""
        limit = f"the chain {' → '.join(self.chain)}"
        if self.work_seconds / max(1, self.slots) > self.chain_seconds:
            limit = f"{self.work_seconds:.1f} s of processors on {self.slots} slots"
        return (
            f"At least {self.seconds:.1f} s: {self.start:.1f} s before the first stage, then {limit}. "
            f"Its last stage ended after {self.taken:.1f} s: efficiency {percent(self.seconds / self.taken, 0)}."
        )


def least_time(store: Store, record: RunRecord) -> LeastTime | None:
    """From a run's record and the manifests of what it computed; None of a run that computed nothing."""
    made_by: dict[str, int] = {}
    steps: dict[int, Step] = {}
    work, begins, ends = 0.0, list[float](), list[float]()
    for number, stage in enumerate(record.stages):
        manifest = None if stage.cached else store.manifest(stage.stage, stage.key)
        if manifest is not None:
            began = stage.cost.get("began", 0.0)
            begins.append(began + stage.cost.get("waited", 0.0))
            ends.append(began + stage.seconds)
            work += manifest.cpu_seconds
            inputs = digests_in(manifest.ingredients["arguments"])
            steps[number] = Step(stage.title, frozenset(made_by[d] for d in inputs if d in made_by), _least(manifest))
        made_by |= {output["digest"]: number for output in stage.outputs.values()}
    if not steps or not record.slots:
        return None
    seconds, chain = longest_chain(steps)
    return LeastTime(min(begins), chain, seconds, work, record.slots, max(ends))


def longest_chain(steps: Mapping[int, Step]) -> tuple[float, tuple[str, ...]]:
    """The chain of steps that takes longest: its seconds and titles. A step waits for earlier numbers only.

    >>> longest_chain({0: Step("a", frozenset(), 2), 1: Step("b", frozenset(), 5), 2: Step("c", frozenset({0, 1}), 1)})
    (6.0, ('b', 'c'))
    """
    chains: dict[int, tuple[float, tuple[str, ...]]] = {}
    for number, step in sorted(steps.items()):
        before = max((chains[earlier] for earlier in step.after if earlier in chains), default=(0.0, ()))
        chains[number] = before[0] + step.seconds, (*before[1], step.title)
    return max(chains.values())


def _least(manifest: Manifest) -> float:
    """A stage's own processor time and that of its slowest partition."""
    parts = [part.cpu_seconds for part in {part.files: part for part in manifest.parts}.values() if not part.taken_from]
    return max(0.0, manifest.cpu_seconds - sum(parts)) + max(parts, default=0.0)
