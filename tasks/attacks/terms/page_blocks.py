"""The findings on taggers and scorers as the page asks for them, the drop per attack as a plot, and what training on
attacked copies gains as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from toolz import groupby

from assay.tasks.attacks.terms.estimates import CLEAN, COSTS, HELPS, HURTS, PAYS, Key, Stage
from assay.tasks.reporting.estimates import About, column, series_of, table_of
from assay.tasks.reporting.numerals import number
from assay.tasks.reporting.parts import BarPlot, Block, Cell, DataTable, LinePlot, Mark, Panels, Series, Tone
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured, slice_of
from assay.tasks.statistics.metrics import controlled_by

ORIGINAL: Key = (CLEAN, "")
"""The test set of unchanged samples."""
HEADLINE = {"ner": "f1", "sts": "pearson"}
"""The measure that drops and gains are of."""
CALLED = {"f1": "F1", "pearson": "Pearson"}


class TermFindings:
    """What was measured about the subjects of one stage: `ner` or `sts`."""

    def __init__(self, stage: Stage, findings: FindingIndex) -> None:
        self.all = findings
        self.stage = stage
        self.headline = HEADLINE[stage]
        self.models = findings.distinct("subject", stage)
        whole = [finding for finding in findings.select(f"{stage}.{self.headline}") if not finding.slice.name]
        self.sets = distinct((score.of, score.group) for score in whole)

    @property
    def subjects(self) -> list[str]:
        """The subjects as they are, without those that were trained on attacked copies."""
        return [name for name in self.models if not self.defended(name)]

    def defended(self, model: str) -> bool:
        """Whether a model was trained on attacked copies."""
        return bool(self.all.select(f"{self.stage}.gain", subject=model))

    def trained(self, subject: str) -> list[str]:
        """The models that were trained on attacked copies from this subject."""
        return [name for name in self.models if name.startswith(f"{subject}+") and self.defended(name)]

    def get(self, metric: str, model: str, key: Key) -> Finding | None:
        """The finding `stage.metric`, if it has a value."""
        return self.all.get(f"{self.stage}.{metric}", model, *key)

    def entry(self, metric: str, model: str, key: Key) -> Finding | None:
        """The finding `stage.metric`, also where it has no value."""
        return self.all.entry(f"{self.stage}.{metric}", model, *key)

    @property
    def attacks(self) -> list[Key]:
        """Every attack at its first severity."""
        attacks = distinct(attack for attack, _ in self.sets if attack != CLEAN)
        return [next(key for key in self.sets if key[0] == attack) for attack in attacks]

    def drops(self, model: str) -> list[Finding]:
        """What a model loses under every attack."""
        return measured(self.get("drop", model, key) for key in self.attacks)

    @property
    def degenerate(self) -> list[Finding]:
        """The sets of samples of which a model says the same all over, by the measure that drops are of."""
        shares = self.all.select(f"{self.stage}.{self.headline}")
        return [share for share in shares if share.degenerate and (share.of, share.group) in self.sets]

    def own_attacks(self, model: str) -> list[Key]:
        """The attacks that a model was trained on."""
        return [key for key in self.attacks if self.get("own_gain", model, key) is not None]

    def cut(self, model: str) -> list[Finding]:
        """How many samples of each set were longer than a model reads."""
        return self.all.select(f"{self.stage}.cut", subject=model)

    def severities(self, model: str, attack: str) -> list[Key]:
        """Every severity of an attack that a model was tested on."""
        return [key for key in self.sets if key[0] == attack and self.get(self.headline, model, key) is not None]


def severity_text(group: str) -> str:
    """A severity in words: the share of the terms, and the changes per word (none for synonyms).

    >>> severity_text("share=0.5, changes=2"), severity_text("share=1")
    ('half of the terms, 2 changes a word', 'every term')
    """
    share, changes = slice_of(group).share, slice_of(group).changes
    if share is None:
        return group
    terms = {1.0: "every term", 0.5: "half of the terms"}.get(share, f"{share:.0%} of the terms")
    return terms if changes is None else f"{terms}, {changes} change{'s' if changes > 1 else ''} a word"


_TONES: dict[str, Tone] = {HELPS: "good", HURTS: "bad", COSTS: "bad", PAYS: "good"}


def gains_table(findings: TermFindings, subject: str) -> DataTable | None:
    """What training on an attack gains on it, also over equal steps on unchanged copies, and what it costs on the
    original samples; None where nothing was trained on copies."""
    rows = [
        About(model, *key)
        for model in findings.trained(subject)
        if controlled_by(model, findings.models) is None
        for key in (ORIGINAL, *findings.own_attacks(model))
        if findings.get("gain", model, key) is not None
    ]
    if not rows:
        return None

    def judged(metric: str) -> Callable[[About], Cell]:
        return lambda row: _judged(findings.get(metric, row.subject, (row.of, row.group)))

    columns = [
        column("Trained with", lambda row: row.subject.removeprefix(f"{subject}+")),
        column("Tested on", lambda row: set_name((row.of, row.group))),
        column("Gain", f"{findings.stage}.gain", "number", f"{CALLED[findings.headline]} less that of the subject"),
        column("", judged("gain")),
    ]
    note = (
        "Paired: every sample is compared with itself, with 95 % intervals. Copies mean more steps of training, too: "
    )
    if any(findings.get("gain_over_control", row.subject, (row.of, row.group)) for row in rows):
        columns.append(column("Over equal steps", f"{findings.stage}.gain_over_control", "number"))
        columns.append(column("", judged("gain_over_control")))
        note += "what is gained over equal steps on unchanged copies is due to the attack."
    else:
        note += "`control: true` tells apart what is due to the attack."
    return table_of(f"What training on attacked copies gains, {subject}", rows, columns, note, findings=findings.all)


def set_name(key: Key) -> str:
    """A test set as the page calls it.

    >>> set_name(("clean", "")), set_name(("swap", "share=1"))
    ('original', 'swap')
    """
    return "original" if key[0] == CLEAN else key[0]


def _judged(gain: Finding | None) -> Cell:
    """The verdict of a gain; one on the original samples is called a cost."""
    if gain is None:
        return ""
    verdict = gain.verdict
    if gain.of == CLEAN:
        verdict = {HURTS: COSTS, HELPS: PAYS}.get(verdict, "no cost shown")
    return Mark(verdict, _TONES.get(verdict, "neutral"))


_BANDS = "Bands and whiskers are 95 % intervals of the paired difference: above 0, the attack does harm."
_BARE = "Without intervals: nothing here tells a drop from chance."
_MEASURED = {
    "ner": "Entities are right where both ends and the kind are (seqeval's definition). Lower is what approximate "
    "randomisation of whole sentences (Noreen 1989; Yeh 2000) shows, corrected with all tests of the run (Holm).",
    "sts": "Intervals are Fisher's z, or a bootstrap over pairs where there are at most 200.",
}


def _note(findings: TermFindings) -> str:
    """What is counted and tested, and what the bands and whiskers are, where there are any."""
    drops = measured(findings.get("drop", model, key) for model in findings.subjects for key in findings.sets)
    if not any(drop.low is not None for drop in drops):
        return _BARE
    return f"{_BANDS} {_MEASURED[findings.stage]}"


_ASIDE = 0.008  # of a share: marks of different attacks at one share stand beside each other


def drop_plots(findings: TermFindings) -> list[Block]:
    """The drop of every subject under every attack."""
    title = f"Drop of {CALLED[findings.headline]} under attack"
    plots = [plot for model in findings.subjects if (plot := _over_share(findings, model, model)) is not None]
    if plots:
        return (
            [Panels(title, plots, _note(findings))]
            if len(plots) > 1
            else [replace(plots[0], title=title, note=_note(findings))]
        )
    return [bars for model in findings.subjects if (bars := _bars(findings, model, title)) is not None]


def _drops(findings: TermFindings, model: str) -> list[Finding]:
    """What a model loses under every attack at every severity."""
    keys = (key for attack, _ in findings.attacks for key in findings.severities(model, attack))
    return measured(findings.get("drop", model, key) for key in keys)


def _over_share(findings: TermFindings, model: str, title: str) -> LinePlot | None:
    """A line per attack and number of changes over the share of the terms; None where only one share was tried."""
    lines: dict[str, list[Finding]] = groupby(
        _line_name, [drop for drop in _drops(findings, model) if drop.slice.share is not None]
    )
    shares = sorted({_share(drop) for drops in lines.values() for drop in drops})
    if len(shares) < 2:
        return None
    series = [_series(name, drops, place * _ASIDE) for place, (name, drops) in enumerate(sorted(lines.items()))]
    worst = [f"{line.name} {number(line.y[-1], 2)}" for line in series]
    return LinePlot(
        title,
        series,
        "Share of the terms attacked",
        f"Drop of {CALLED[findings.headline]}",
        f"{CALLED[findings.headline]} lost by {model}, at the largest share: {', '.join(worst)}.",
        x_ticks={share: f"{share:g}" for share in shares},
    )


def _series(name: str, drops: Sequence[Finding], aside: float) -> Series:
    ordered = sorted(drops, key=_share)
    return series_of(name, [_share(drop) + aside for drop in ordered], ordered)


def _share(drop: Finding) -> float:
    return drop.slice.share or 0.0


def _line_name(drop: Finding) -> str:
    return drop.of if drop.slice.changes is None else f"{drop.of}, {drop.slice.changes} a word"


def _bars(findings: TermFindings, model: str, title: str) -> BarPlot | None:
    drops = _drops(findings, model)
    if not drops:
        return None
    losses = ", ".join(f"{_line_name(drop)} {number(drop.value, 2)}" for drop in drops)
    shown = title if len(findings.subjects) == 1 else f"{title}, {model}"
    return BarPlot(
        shown,
        [_line_name(drop) for drop in drops],
        [drop.value for drop in drops],
        f"Drop of {CALLED[findings.headline]}",
        f"{CALLED[findings.headline]} lost by {model}: {losses}.",
        [drop.low for drop in drops],
        [drop.high for drop in drops],
        _note(findings),
    )
