"""The page of a change: what a later run says otherwise than an earlier one, worst first, what differs besides, and the
samples that are right in one of the two only. In the terminal the same, line by line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest

import numpy as np

from assay.flows.audits.table import KINDS
from assay.flows.report.comparison import (
    Change,
    KeptOutcomes,
    compared_findings,
    file_changes,
    finding_in_words,
    result_changes,
    setting_changes,
    tested_changes,
    unreachable_outcomes,
)
from assay.flows.report.head import change_in_words, gain_of, scorecard_changes
from assay.flows.report.samples import looks_of
from assay.flows.report.scorecard import answers_of, side_by_side
from assay.flows.report.sentences import sentences
from assay.infra.errors import InputError
from assay.infra.masking import mask_page
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.ingest.settings import share_in_words
from assay.tasks.reporting.estimates import column, estimate, table_of
from assay.tasks.reporting.head import SAMPLES, Head
from assay.tasks.reporting.layout import render_report
from assay.tasks.reporting.numerals import moment, plural
from assay.tasks.reporting.parts import Column, DataTable, Estimate, Mark, NamedSample, Part, SampleList, Tone, Verdict
from assay.tasks.reporting.report import Report
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_of

_LEVEL, _HELD = 0.05, "Whether it holds after Holm's correction"


@dataclass(frozen=True)
class RunChange:
    """Two runs and what each measured; refused where they looked at other shares of the samples."""

    store: Store
    before: RunRecord
    after: RunRecord

    def __post_init__(self) -> None:
        if self.before.share != self.after.share:
            shares = (f"{run.id} of {share_in_words(run.share)}" for run in (self.before, self.after))
            raise InputError(
                f"The two runs are of different shares of the samples ({', '.join(shares)}): what differs between "
                "them says nothing of the model. Compare runs of the same share."
            )

    @cached_property
    def outcomes(self) -> tuple[KeptOutcomes, KeptOutcomes]:
        """The single outcomes of the earlier and of the later run."""
        return KeptOutcomes(self.store, self.before), KeptOutcomes(self.store, self.after)

    @cached_property
    def findings(self) -> tuple[FindingIndex, FindingIndex]:
        """The findings of the earlier and of the later run."""
        return FindingIndex(findings_of(self.store, self.before)), FindingIndex(findings_of(self.store, self.after))

    @cached_property
    def compared(self) -> list[Change]:
        """All findings of either run side by side."""
        return compared_findings(*self.outcomes)

    @cached_property
    def moved(self) -> dict[Change, bool]:
        """The findings that differ at p ≤ .05 each, worst first, and whether that holds after Holm's correction among
        all that are not the same sample by sample; of which neither direction is better, last."""
        moved = [(change, held <= _LEVEL) for change, p, held in tested_changes(self.compared) if p <= _LEVEL]
        return dict(sorted(moved, key=lambda each: _place(gain_of(each[0], KINDS), each[0].moved or 0.0)))

    @cached_property
    def on_scorecard(self) -> list[Change]:
        """The numbers of the scorecard that differ by more than chance, worst first."""
        return scorecard_changes(self.store, self.before, self.after, self.findings[1], KINDS)

    @property
    def state(self) -> Verdict:
        """In a line, what got worse and what got better."""
        gains = [gain_of(change, KINDS) for change in self.on_scorecard]
        worse, better = sum(gain < 0 for gain in gains), sum(gain > 0 for gain in gains)
        words = f"{plural(worse, 'number') if worse else 'Nothing'} of the scorecard got worse"
        also = f", {better} better" if better else ""
        there = {finding.key for finding in self.findings[1]}
        gone = sum(number.key not in there for number in answers_of(self.findings[0]))
        also += f", {plural(gone, 'number is', 'numbers are')} not measured any more" if gone else ""
        failing = sum(now == "failed" != was for _, was, now in self.gates)
        gates = f" · {plural(failing, 'gate')} failed that did not before" if failing else ""
        tone: Tone = "bad" if worse or failing else "good" if better else "neutral"
        return Verdict(f"{words}{also} since {self.before.id}{gates}", tone)

    @property
    def new_sentences(self) -> list[Verdict]:
        """The sentences of the later run's head that do not stand in that of the earlier one."""
        was, now = (sentences(KINDS, findings) for findings in self.findings)
        return [line for line in now if line not in was] or [Verdict("Every sentence of the two heads is the same.")]

    @property
    def counted(self) -> str:
        """How many findings differ, and how many of these by more than chance."""
        differ = sum(change.changed for change in self.compared)
        same = len(self.compared) - differ
        tested = [change.difference for change in self.compared if change.difference is not None]
        paired = sum(difference.is_paired for difference in tested)
        return (
            f"{plural(differ, 'finding differs', 'findings differ')}, {plural(same, 'is', 'are')} the same. Of "
            f"{plural(len(tested), 'finding')} tested ({paired} of them sample by sample), {len(self.moved)} "
            f"differ at p ≤ {_LEVEL:g} each, "
            f"{sum(self.moved.values())} after Holm's correction."
        )

    @property
    def gates(self) -> list[tuple[str, str, str]]:
        """The gates of either run with what each said; those that say the same in both last. Of several with one bound
        (one that fails a run, one that only warns) the first goes with the first."""

        def said(run: RunRecord, title: str) -> list[str]:
            return [gate["outcome"] for gate in run.gates if gate["gate"] == title]

        titles = dict.fromkeys(gate["gate"] for run in (self.after, self.before) for gate in run.gates)
        both = ((title, said(self.before, title), said(self.after, title)) for title in titles)
        rows = [(title, *pair) for title, old, new in both for pair in zip_longest(old, new, fillvalue="–")]
        return sorted(rows, key=lambda row: row[1] == row[2])

    @property
    def besides(self) -> list[tuple[str, str]]:
        """The settings, files and results that differ."""
        settings = setting_changes(self.before.settings, self.after.settings)
        arrived = self.after.arrivals
        arrivals = [arrived] if self.before.id in arrived and not arrived.startswith("no file") else []
        seeds = [f"seed: {self.before.seed} → {self.after.seed}"] if self.before.seed != self.after.seed else []
        return [
            *(("setting", line) for line in [*seeds, *settings]),
            *(("file", line) for line in file_changes(self.before, self.after)),
            *(("data", line) for line in arrivals),
            *(("result", line) for line in result_changes(self.before, self.after)),
        ]


def _place(gain: float, moved: float) -> tuple[bool, bool, float]:
    """The worst first, then the best, then what neither direction of is better, the furthest first."""
    return gain == 0, gain > 0, -abs(moved)


def change_as_text(change: RunChange, everything: bool = False) -> str:
    """The change as lines: the scorecard's first, then every finding that differs, those at p ≤ .05 first, marked ≠."""
    runs = (f"{run.id} ({run.pipeline}, seed {run.seed})" for run in (change.before, change.after))
    lines = [" → ".join(runs)]
    if change.before.is_sample:
        lines.append(f"both are of a sample of {share_in_words(change.before.share)}, and stand for no whole run")
    if change.before.pipeline != change.after.pipeline:
        lines.append("they are of two pipelines: what differs may be the data, and no model")
    lines += [change.state.text, *(change_in_words(moved, KINDS).text for moved in change.on_scorecard)]
    lines += [f"gate     {name}: {was} → {now}" for name, was, now in change.gates if was != now]
    lines += [f"{kind:<8} {line}" for kind, line in change.besides]
    turned = flipped(change)
    for sample in () if turned is None else turned.samples:
        lines.append(f"turned   {sample.id}: {'; '.join(filter(None, (sample.note, sample.votes)))}")
    marked = {moved.key for moved in change.moved}
    rest = [other for other in change.compared if other.key not in marked and (everything or other.changed)]
    shown = [f"{'≠' if each.key in marked else ' '} {each.in_words()}" for each in [*change.moved, *rest]]
    return "\n".join([*lines, "", *shown, "", change.counted, *unreachable_outcomes(*change.outcomes)])


def write_change(change: RunChange) -> str:
    """Where the page of a change now lies, beside that of the later run."""
    later = change.after
    place = f"reports/{later.id}/against-{change.before.id}.html"
    flips, worse = flipped(change), change.state.tone == "bad"
    report = Report(
        run=later.id,
        pipeline=f"{later.pipeline}: what changed",
        started=later.started,
        seconds=later.seconds,
        seed=later.seed,
        status=later.status,
        verdicts=(),
        parts=[*_parts(change), *([flips] if flips else [])],
        failures=(*later.failures, *later.missing),
        head=Head(
            change.state,
            [change_in_words(moved, KINDS) for moved in change.on_scorecard],
            side_by_side(*change.findings, {each.key: gain_of(each, KINDS) for each in change.on_scorecard}),
            change.new_sentences,
            f"assay blame {later.id} --against {change.before.id} shares this among what differs." if worse else "",
            samples=() if flips is None else flips.samples,
        ),
        facts={
            "Against": f"{change.before.id}, {moment(change.before.started)}",
            "Differs": "; ".join(line for kind, line in change.besides if kind != "result") or "no setting, no file",
        },
        findings=list(change.findings[1]),
        index_link="../index.html",
    )
    change.store.folder.write(place, mask_page(render_report(report)).encode())
    return f"{change.store.url}/{place}"


def _parts(change: RunChange) -> Iterator[Part]:
    """What exceeds chance, the gates, and what differs besides."""
    worse = sum(gain_of(each, KINDS) < 0 for each in change.moved)
    columns = [
        column("Finding", lambda each: finding_in_words(each.key)),
        column("Before", lambda each: estimate(each.before), "number"),
        column("After", lambda each: estimate(each.after), "number"),
        column("Change", _difference, "number"),
        column("After Holm", lambda each: "shown" if change.moved[each] else "not shown", help=_HELD),
    ]
    blocks = [table_of("What differs, at p ≤ 0.05 each", list(change.moved), columns)] if change.moved else []
    judged: tuple[Tone, str] = ("bad", f"{worse} worse") if worse else ("neutral", "")
    yield Part("Findings that moved", change.counted, blocks, "moved", *judged, background=True)
    if change.gates:
        turned = sum(was != now for _, was, now in change.gates)
        named = "; ".join(f"{name}: {was} → {now}" for name, was, now in change.gates[: min(turned, 3)])
        counted = f"{turned} of {plural(len(change.gates), 'gate')} turned"
        sentence = f"{counted}: {named}." if named else "Every gate says what it said before."
        rows = DataTable("Gates", [Column("Gate"), Column("Before"), Column("After")], change.gates)
        yield Part("Gates", sentence, [rows], "gates")
    kinds = [kind for kind, _ in change.besides]
    counts = ", ".join(plural(kinds.count(kind), kind, kind if kind == "data" else "") for kind in dict.fromkeys(kinds))
    sentence = f"Between the two runs differ: {counts or 'nothing'}."
    besides = DataTable("What differs", [Column("Kind"), Column("What")], change.besides)
    yield Part("Settings, data and results", sentence, [besides] if kinds else [], "besides")


def _difference(change: Change) -> Estimate | None:
    measured = change.difference
    return None if measured is None else Estimate(measured.value, measured.low, measured.high)


def flipped(change: RunChange) -> Part | None:
    """The samples that are right in one of the runs only, by the number of the scorecard that moved most, else by the
    first in which any sample did: those that are wrong now first."""
    old, new = change.findings
    moved = [each.after for each in change.on_scorecard if each.after is not None]
    for finding in [*moved, *answers_of(new)]:
        was = old.get(finding.metric, *finding.about)
        turned = None if was is None else _turned(change, was, finding)
        if turned:
            lost = sum(note == _LOST for note in turned.values())
            first = dict(list(turned.items())[:SAMPLES])
            looks = looks_of(change.store, change.after, first)
            seen = [looks.get(name, NamedSample(name)) for name in first]
            several = len({each.subject for each in answers_of(new)}) > 1
            whose = f"{finding.subject} " if several and finding.subject else ""
            notes = {each.id: [whose + first[each.id], each.note] for each in seen}
            samples = [replace(each, note="; ".join(filter(None, notes[each.id]))) for each in seen]
            marked = [replace(each, marks=[Mark(each.note, _TONES[first[each.id]])]) for each in samples]
            note = f"{len(first)} of {len(turned)}, those that are wrong now first."
            sentence = (
                f"{plural(lost, 'sample')} right before and wrong now, {len(turned) - lost} the other way round, by "
                f"{finding_in_words(finding.key)}."
            )
            title = "Answers that turned"
            return Part(title, sentence, [SampleList(title, marked, note)], "turned", samples=samples)
    return None


_LOST, _WON = "right before, wrong now", "wrong before, right now"
_TONES: Mapping[str, Tone] = {_LOST: "bad", _WON: "good"}


def _turned(change: RunChange, was: Finding, now: Finding) -> dict[str, str]:
    """Per sample that is right in one of the runs only, which; those that are wrong now first."""
    earlier, later = (kept.of(finding) for kept, finding in zip(change.outcomes, (was, now), strict=True))
    if earlier is None or later is None or not (earlier.binary and later.binary):
        return {}
    shared, old, new = np.intersect1d(earlier.ids, later.ids, return_indices=True)
    moved = later.above[new] - earlier.above[old]
    return {**{str(name): _LOST for name in shared[moved < 0]}, **{str(name): _WON for name in shared[moved > 0]}}
