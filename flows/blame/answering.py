"""From names on the command line to an answer."""

from __future__ import annotations

from collections.abc import Mapping

from assay.flows.blame.question import question_about
from assay.flows.blame.sharing import Blame, Sharing, sharing
from assay.flows.configuration.loading import load_usable
from assay.flows.operations.stores import open_store
from assay.flows.report.baselines import require_whole
from assay.flows.report.records import find_run
from assay.infra.environment import prepare_environment
from assay.infra.errors import InputError
from assay.infra.progress import Progress, ShownStage, SilentProgress, open_progress
from assay.infra.store import Store


class OnlyComputed:
    """Passes on how hybrids go, but for what was in the store: that is most of them."""

    def __init__(self, to: Progress) -> None:
        self._to = to
        self.stage_started, self.advance, self.stage_failed = to.stage_started, to.advance, to.stage_failed
        self.notice, self.close = to.notice, to.close

    def stage_done(self, stage: ShownStage, summary: str, seconds: float, cached: bool = False) -> None:
        """The line of a stage that was computed."""
        if not cached:
            self._to.stage_done(stage, summary, seconds)


def asked(config: str, store: str | None, run: str, against: str | None, finding: Mapping[str, str | None]) -> Sharing:
    """What is asked about two runs, and what changed between them."""
    prepare_environment()
    opened = open_store(config, store)
    later = require_whole(find_run(opened, run), "blamed on anything")
    earlier = None if against is None else require_whole(find_run(opened, against), "blamed on anything")
    project, refused = load_usable(config)
    if later.pipeline in refused:
        raise InputError(refused[later.pipeline])
    project.pipeline(later.pipeline)
    return sharing(Store(opened.url), project, question_about(opened, config, later, earlier, finding))


def answered(sharing: Sharing, costs: bool) -> Blame:
    """The shares; where it `costs` something, told on standard error as they are computed."""
    progress = OnlyComputed(open_progress()) if costs else SilentProgress()
    try:
        return sharing.share_out(progress)
    finally:
        progress.close()
