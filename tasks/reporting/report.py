"""A whole report as a value: the parts of all audits, what the page says of the run around them, the numbers that
are followed over the nights, and the line in the index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.infra.settings import Settings
from assay.tasks.reporting import numerals
from assay.tasks.reporting.head import Head
from assay.tasks.reporting.parts import Part, Scale, Verdict
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.metrics import Metric, metric_named


class Headline(Settings):
    """One number of a run that is followed over the nights."""

    name: str
    """What it is called on the page; numbers of one name make one trend."""

    value: float
    """What was measured."""

    low: float | None = None
    """The lower end of its interval."""

    high: float | None = None
    """The upper end of its interval."""

    n: int | None = None
    """How many samples it rests on."""

    scale: Scale = "number"
    """How it is written."""

    key: tuple[str, str, str, str] = ("", "", "", "")
    """The key of the finding that it is."""

    so_far: tuple[float, float, float] | None = None
    """What all nights of the same models and settings come to together, with an interval that holds on all of them."""

    spare: bool = False
    """Whether it is kept only so that a trend has its past, should another night choose it as the telling one."""


def headline_of(
    metrics: Iterable[Metric], finding: Finding | None, *about: str, title: str = "", spare: bool = False
) -> Iterator[Headline]:
    """The finding as a number that is followed, titled and written as its metric is declared; nothing where it was
    not measured.

    >>> from assay.tasks.statistics.metrics import metric
    >>> kept = metric("pruning.kept", title="Rules kept")
    >>> [value.name for value in headline_of([kept], Finding("pruning.kept", value=7, n=30), "", "panel")]
    ['Rules kept (panel)']
    >>> list(headline_of([kept], Finding("pruning.kept", value=None)))
    []
    """
    if finding is None or not numerals.measured(finding.value):
        return
    declared = metric_named(metrics, finding.metric)
    name = sliced(title or declared.title, *about)
    scale: Scale = "percent" if declared.in_percent else "number"
    value, low, high, n = finding.value, finding.low, finding.high, finding.n
    yield Headline(name=name, value=value, low=low, high=high, n=n, scale=scale, key=finding.key, spare=spare)


def headlines_of(metrics: Iterable[Metric], findings: FindingIndex) -> Iterator[Headline]:
    """The findings of the metrics that are declared as followed, but for those of single data sets D1 … DN.

    >>> from assay.tasks.statistics.metrics import metric
    >>> covered = metric("labeling.coverage", unit="share", followed=True)
    >>> [(line.name, line.scale) for line in headlines_of([covered], FindingIndex([Finding(covered.name, value=0.5)]))]
    [('Coverage', 'percent')]
    """
    for declared in metrics:
        only = declared.followed if isinstance(declared.followed, str) else None
        for finding in findings.select(declared.name, of=only) if declared.followed is not False else ():
            if finding.slice.dataset is None and finding.slice.stratum is None:
                yield from headline_of(
                    [declared], finding, finding.subject, *([] if only else [finding.of]), finding.group
                )


def sliced(name: str, *pieces: str) -> str:
    """The name with what it is about in brackets.

    >>> sliced("Accuracy", "plain", ""), sliced("Rules kept", "")
    ('Accuracy (plain)', 'Rules kept')
    """
    about = ", ".join(piece for piece in pieces if piece)
    return f"{name} ({about})" if about else name


def worst_of(verdicts: Sequence[Verdict], status: str, failures: Sequence[str] = ()) -> str:
    """The line that says most of a run whose other lines nobody will read: what broke, else why a gate failed, else the
    first bad one, else the first.

    >>> lines = [Verdict("all is well", "good"), Verdict("a red flag", "bad"), Verdict("1 of 2 gates passed", "bad")]
    >>> worst_of(lines, "done"), worst_of(lines, "gate failed"), worst_of(lines[:1], "broken", ["no disk", "no GPU"])
    ('a red flag', '1 of 2 gates passed', 'no disk')
    """
    bad = [line.text for line in verdicts if line.tone == "bad"]
    return next(iter([*failures, *bad[-1 if status == "gate failed" else 0 :], *(line.text for line in verdicts)]), "")


def red_flags(findings: FindingIndex) -> tuple[str, ...]:
    """The red flags that were raised, each with the subject it is about.

    >>> from assay.tasks.statistics.findings import Finding
    >>> red_flags(FindingIndex([Finding("attack.red_flag", of="one-step", subject="plain", value=1.0)]))
    ('one-step (plain)',)
    """
    raised = [flag for flag in findings if flag.metric.endswith(".red_flag") and flag.value == 1.0]
    return tuple(f"{flag.of} ({flag.subject})" if flag.subject else flag.of for flag in raised)


@dataclass(frozen=True)
class LineageRow:
    """One artifact of the run: which stage made it, under which key, what came out, and whether it had to be made."""

    stage: str
    kind: str
    key: str
    digest: str
    rows: int | None
    cached: bool
    seconds: float | None
    note: str = ""


@dataclass(frozen=True)
class SettingRow:
    """One option a stage ran with."""

    stage: str
    option: str
    value: str


@dataclass(frozen=True)
class Report:
    """Everything a page shows: who, when, what came out, what failed, and one part per audit."""

    run: str
    pipeline: str
    started: str
    seconds: float
    seed: int
    status: str
    verdicts: Sequence[Verdict]
    parts: Sequence[Part]
    failures: Sequence[str] = ()
    not_asked: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    followed: Sequence[Headline] = ()
    lineage: Sequence[LineageRow] = ()
    settings: Sequence[SettingRow] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, str] = field(default_factory=dict)
    index_link: str = ""
    head: Head | None = None
    """What is read first; without it the verdicts are."""
    sample: str = ""
    """What share of the samples it is about, where that is not all of them."""


MISSED = "missed"
"""The status of a night that was due and did not come."""


class Moved(Settings):
    """One number of the scorecard that changed since the run that its run is held against."""

    text: str
    """Whose number, from where to where, and the paired difference with its interval."""

    gain: float
    """By how much it got better; negative where it got worse."""


class RunEntry(Settings):
    """What the index knows of one run; it lies as JSON beside the run's report."""

    run: str = ""
    """The run's name; empty for a night that was due and did not come."""

    pipeline: str
    """The pipeline it ran."""

    started: str
    """When it started, as an ISO time; of a missed night, when it was due."""

    seconds: float = 0.0
    """How long it took."""

    status: str
    """How it ended."""

    link: str = ""
    """Where its report is, relative to the index; empty where there is none."""

    verdict: str = ""
    """The line of its verdict that says most; of a run that did not get so far, what ended it."""

    flags: tuple[str, ...] = ()
    """The red flags that it raised, each with its subject."""

    changes: tuple[Moved, ...] = ()
    """What of its scorecard changed by more than chance since the baseline or the run before, worst first."""

    headlines: tuple[Headline, ...] = ()
    """Its numbers that are followed over the nights."""

    accepted: str = ""
    """Who made it the baseline, when and why; empty where nobody did."""

    judged: tuple[str, ...] = ()
    """The changes that gates found in it, a sentence each."""

    sample: str = ""
    """What share of the samples it looked at; empty where it was all. Such a run is in no trend."""

    signed: str = ""
    """With which key it was signed, or what of it is not as it was then; empty where nobody signed it."""

    @property
    def named(self) -> str:
        """What it is called where a run is named."""
        return self.run or f"no run for {self.started[:16].replace('T', ' ')} UTC"


def entry_of(report: Report, link: str) -> RunEntry:
    """The line that a report adds to the index."""
    same = ("run", "pipeline", "started", "seconds", "status", "sample")
    return RunEntry(
        **{name: getattr(report, name) for name in same},
        link=link,
        verdict=worst_of(report.verdicts, report.status, report.failures),
        flags=red_flags(FindingIndex(report.findings)),
        changes=tuple(Moved(text=line.text, gain=line.gain) for line in (report.head.changes if report.head else ())),
        headlines=tuple(report.followed),
    )
