"""The line of one night on the page over all of them."""

from __future__ import annotations

from assay.infra.settings import Settings
from assay.tasks.reporting.following import Headline
from assay.tasks.reporting.headline import red_flags, worst_of
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.findings import FindingIndex

MISSED = "missed"
"""The status of a night that was due and did not come."""


class RunEntry(Settings):
    """What the index knows of one run; it lies as JSON beside the run's report."""

    run: str
    """The run's name; empty for a night that was due and did not come."""

    pipeline: str
    """The pipeline it ran."""

    started: str
    """When it started, as an ISO time; of a missed night, when it was due."""

    seconds: float
    """How long it took."""

    status: str
    """How it ended."""

    link: str
    """Where its report is, relative to the index; empty where there is none."""

    verdict: str = ""
    """The line of its verdict that says most; of a run that did not get so far, what ended it."""

    flags: tuple[str, ...] = ()
    """The red flags that it raised, each with its subject."""

    headlines: tuple[Headline, ...] = ()
    """Its numbers that are followed over the nights."""

    accepted: str = ""
    """Who made it the baseline, when and why; empty where nobody did."""

    judged: tuple[str, ...] = ()
    """The changes that gates found in it, a sentence each."""

    sample: str = ""
    """What share of the samples it looked at; empty where it was all. Such a run is in no trend."""

    @property
    def named(self) -> str:
        """What it is called where a run is named."""
        return self.run or f"no run for {self.started[:16].replace('T', ' ')} UTC"


def entry_of(report: Report, link: str) -> RunEntry:
    """The line that a report adds to the index."""
    worst = worst_of(report.verdicts, report.status)
    return RunEntry(
        run=report.run,
        pipeline=report.pipeline,
        started=report.started,
        seconds=report.seconds,
        status=report.status,
        link=link,
        verdict="" if worst is None else worst.text,
        flags=red_flags(FindingIndex(report.findings)),
        headlines=tuple(report.followed),
        sample=report.sample,
    )
