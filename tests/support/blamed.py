"""What `blame` is asked about two nights of a planted project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from direct_nights import project_in

from assay.flows.blame.shares import Blame, Sharing, question_about, sharing
from assay.infra.stages.branches import CACHED
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress


def asked(folder: Path, earlier: str, later: str, **finding: str) -> Sharing:
    """The question why a finding of the pipeline `night` is another than it was."""
    project = project_in(folder, "night")
    store = Store(project.store)
    about = question_about(store, str(folder / "pipelines.yaml"), store.run(later), store.run(earlier), finding)
    return sharing(store, project, about)


def are_the_two_kept(asked: Sharing) -> bool:
    """Whether the store has every stage of the two nights themselves: all as it was, and all as it is."""
    ends = asked.hybrids.planned([frozenset(), frozenset(asked.parts)])
    return all(stage.outlook == CACHED for stages in ends.values() for stage in stages)


def shared(folder: Path, earlier: str, later: str, **finding: str) -> Blame:
    """Its answer."""
    return asked(folder, earlier, later, **finding).share_out(Progress())


def attributed(found: Blame, parts: Mapping[str, str], truth: Mapping[str, float]) -> bool:
    """Whether every planted change has its share, of which the interval holds the truth."""
    shares = {share.part: share.interval for share in found.shares}
    if set(shares) != set(parts.values()):
        return False
    return all(shares[part].low - 1e-12 <= truth[change] <= shares[part].high + 1e-12 for change, part in parts.items())
