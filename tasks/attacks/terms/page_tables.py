"""The findings on taggers and scorers as tables, in the layout of Tables 2-6 of Araujo et al., with intervals, and
the drop per attack as a plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.tasks.attacks.terms.estimates import CLEAN, COSTS, HELPS, HIGHER, HURTS, LOWER, PAYS, Key, Stage
from assay.tasks.reporting.estimates import estimate, series_of
from assay.tasks.reporting.numerals import number
from assay.tasks.reporting.parts import BarPlot, Block, Cell, Column, DataTable, LinePlot, Mark, Panels, Series, Tone
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured, slice_of
from assay.tasks.statistics.metrics import control_of, controlled_by

ORIGINAL: Key = (CLEAN, "")
"""The test set of unchanged samples."""
HEADLINE = {"ner": "f1", "sts": "pearson"}
"""The measure that drops and gains are of."""
CALLED = {
    "f1": "F1",
    "precision": "Precision",
    "recall": "Recall",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "mae": "MAE",
}


class TermFindings:
    """What was measured about the subjects of one stage: `ner` or `sts`."""

    def __init__(self, stage: Stage, findings: FindingIndex) -> None:
        self._findings = findings
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
        return bool(self._findings.select(f"{self.stage}.gain", subject=model))

    def trained(self, subject: str) -> list[str]:
        """The models that were trained on attacked copies from this subject."""
        return [name for name in self.models if name.startswith(f"{subject}+") and self.defended(name)]

    def is_control(self, model: str) -> bool:
        """Whether a model learned from unchanged copies, so that others can be compared with it."""
        return controlled_by(model, self.models) is not None

    def control_of(self, model: str) -> str | None:
        """The control of a model that was trained on attacked copies, where it has one."""
        return control_of(model) if control_of(model) in self.models else None

    def get(self, metric: str, model: str, key: Key) -> Finding | None:
        """The finding `stage.metric`, if it has a value."""
        return self._findings.get(f"{self.stage}.{metric}", model, *key)

    def entry(self, metric: str, model: str, key: Key) -> Finding | None:
        """The finding `stage.metric`, also where it has no value."""
        return self._findings.entry(f"{self.stage}.{metric}", model, *key)

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
        shares = self._findings.select(f"{self.stage}.{self.headline}")
        return [share for share in shares if share.degenerate and (share.of, share.group) in self.sets]

    def cut(self, model: str) -> list[Finding]:
        """How many samples of each set were longer than a model reads."""
        return self._findings.select(f"{self.stage}.cut", subject=model)

    def severities(self, model: str, attack: str) -> list[Key]:
        """Every severity of an attack that a model was tested on."""
        return [key for key in self.sets if key[0] == attack and self.get(self.headline, model, key) is not None]

    def sliced_recalls(self, model: str) -> list[Finding]:
        """The recalls of a model that are of a slice of the entities."""
        return [
            finding for finding in self._findings.select(f"{self.stage}.recall", subject=model) if finding.slice.name
        ]


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


_TONES: dict[str, Tone] = {LOWER: "bad", HIGHER: "good", HELPS: "good", HURTS: "bad", COSTS: "bad", PAYS: "good"}
_MEASURES = {"ner": ("precision", "recall", "f1"), "sts": ("pearson", "spearman", "mae")}
_UNITS = {
    "ner": "Entities are right where both ends and the kind are (seqeval's definition). Intervals are 95 %, from a "
    "bootstrap over sentences (or Wilson's, where that is wider), and none of fewer than 10 sentences; a drop is of "
    "the same sentences. p: approximate randomisation (Noreen 1989; Yeh 2000), in which whole sentences change sides "
    "between original and attacked, since the entities of one sentence are not independent; corrected by Holm over all "
    "tests of the run. Entities have no classes to name the worst of; their kinds stand in a table.",
    "sts": "Intervals are 95 %: Fisher's z, or a bootstrap over pairs where there are at most 200; a drop is of the "
    "same pairs. MAE is in the units of the scores, which have no classes.",
}
_TEST = "Of the drop: approximate randomisation over sentences, corrected with all tests of the run (Holm)"


def figures_table(findings: TermFindings) -> DataTable:
    """What every subject measures on the original samples and under every attack (Tables 2 and 3)."""
    tests = findings.stage == "ner"
    columns = [
        Column("Subject"),
        Column("Test set"),
        *(Column(CALLED[name], "number") for name in _MEASURES[findings.stage]),
        Column("Drop", "number", f"How far {CALLED[findings.headline]} is below that of the original samples"),
        *([Column("p, corrected", "p", _TEST)] if tests else []),
        Column(""),
    ]
    rows: list[list[Cell]] = []
    for model in findings.subjects:
        for key in [ORIGINAL, *findings.attacks]:
            headline = findings.entry(findings.headline, model, key)
            if headline is None:
                continue
            drop = findings.get("drop", model, key)
            row: list[Cell] = [model, set_name(key), *_measures(findings, model, key), estimate(drop)]
            if tests:
                row.append(_p(findings, model, key))
            row.append(_judged(headline if drop is None or headline.degenerate else drop))
            rows.append(row)
    title = "Entities found before and under attack" if tests else "Scores of pairs before and under attack"
    return DataTable(title, columns, rows, _UNITS[findings.stage])


def severities_table(findings: TermFindings) -> DataTable | None:
    """The same at every severity; None where each attack has one."""
    rows: list[list[Cell]] = [
        [
            model,
            key[0],
            severity_text(key[1]),
            *_measures(findings, model, key),
            estimate(findings.get("drop", model, key)),
        ]
        for model in findings.subjects
        for attack, _ in findings.attacks
        for key in findings.severities(model, attack)
    ]
    if len(rows) <= len(findings.subjects) * len(findings.attacks):
        return None
    columns = [
        Column("Subject"),
        Column("Attack"),
        Column("Severity"),
        *(Column(CALLED[name], "number") for name in _MEASURES[findings.stage]),
        Column("Drop", "number"),
    ]
    return DataTable("Every severity", columns, rows, collapsed=True)


def matrix_table(findings: TermFindings, subject: str) -> DataTable | None:
    """What each model measures on each test set, trained-with × tested-on; None where nothing was trained on copies."""
    models = findings.trained(subject)
    if not models:
        return None
    sets = [ORIGINAL, *findings.attacks]
    columns = [Column("Trained with"), *(Column(set_name(key), "number") for key in sets)]
    rows: list[list[Cell]] = [
        [_row_name(findings, model, subject), *(estimate(findings.get(findings.headline, model, key)) for key in sets)]
        for model in (subject, *models)
    ]
    measure = CALLED[findings.headline]
    title = f"{measure} by what {subject} was trained with (rows) and tested on (columns)"
    note = "The original training samples, and one attacked copy of each that has a term (Tables 4 to 6 of the paper)."
    return DataTable(title, columns, rows, note)


def gains_table(findings: TermFindings, subject: str) -> DataTable | None:
    """What training on attacked copies gains on each test set, how much of the drop that is, and what it costs."""
    rows: list[list[Cell]] = []
    controlled = any(findings.control_of(model) for model in findings.trained(subject))
    for model in findings.trained(subject):
        for key in [ORIGINAL, *findings.attacks]:
            gain = findings.get("gain", model, key)
            if gain is not None:
                recovered, over = (findings.get(name, model, key) for name in ("recovered", "gain_over_control"))
                rows.append(
                    [
                        _row_name(findings, model, subject),
                        set_name(key),
                        estimate(gain),
                        estimate(recovered),
                        _judged(gain),
                        *([estimate(over), "" if over is None else _judged(over)] if controlled else []),
                    ]
                )
    if not rows:
        return None
    columns = [
        Column("Trained with"),
        Column("Test set"),
        Column(
            "Gain", "number", f"{CALLED[findings.headline]} minus that of the subject as it is, on the same samples"
        ),
        Column("Of the drop", "percent", "The share of the drop under attack that training takes back"),
        Column(""),
    ]
    note = (
        "Paired: every sample is compared with itself. Intervals are 95 %; where one includes 0, no gain is shown. A "
        "gain below 0 on the original samples is what training on copies costs. "
    )
    if controlled:
        what = f"{CALLED[findings.headline]} minus that of the control, on the same samples"
        columns += [Column("Over equal steps", "number", what), Column("")]
        note += (
            "Copies mean more steps of training, too. The control learned from unchanged copies of the same samples, "
            "in as many steps and from the same seed: what is gained over it is due to the attack."
        )
    else:
        note += (
            "One above 0 there comes of more training, since copies mean more steps, and may be part of the other "
            "gains: `control: true` tells them apart."
        )
    return DataTable(f"What training on attacked copies gains, {subject}", columns, rows, note)


def slices_table(findings: TermFindings) -> DataTable | None:
    """Recall of the entities of each kind and length, and of those that were in the training samples or not."""
    recalls = [recall for model in findings.subjects for recall in findings.sliced_recalls(model)]
    if not recalls:
        return None
    sets = [ORIGINAL, *findings.attacks]
    columns = [Column("Subject"), Column("Entities"), *(Column(set_name(key), "percent") for key in sets)]
    rows: list[list[Cell]] = [
        [
            model,
            slice_name(name),
            *(
                estimate(findings.get("recall", model, (of, ", ".join(filter(None, (group, name))))))
                for of, group in sets
            ),
        ]
        for model, name in distinct((recall.subject, recall.slice.name) for recall in recalls)
    ]
    note = (
        "The share of these entities that is found. Length and whether an entity was in the training samples are those "
        "of its words before the attack."
    )
    return DataTable("Which entities are found", columns, rows, note)


def set_name(key: Key) -> str:
    """A test set as the page calls it.

    >>> set_name(("clean", "")), set_name(("swap", "share=1"))
    ('original', 'swap')
    """
    return "original" if key[0] == CLEAN else key[0]


def trained_with(model: str, subject: str) -> str:
    """What a model was trained with.

    >>> trained_with("small", "small"), trained_with("small+on-swap", "small")
    ('original', 'on-swap')
    """
    return "original" if model == subject else model.removeprefix(f"{subject}+")


def _row_name(findings: TermFindings, model: str, subject: str) -> str:
    """What a model was trained with, a control by what it is."""
    controls = [name for name in findings.trained(subject) if findings.is_control(name)]
    if model not in controls:
        return trained_with(model, subject)
    whose = f" ({trained_with(controlled_by(model, findings.models) or '', subject)})" if len(controls) > 1 else ""
    return f"equal steps, unchanged copies{whose}"


def slice_name(name: str) -> str:
    """A slice in words.

    >>> [slice_name(name) for name in ("length=1", "length=4+", "type=Disease", "unseen")]
    ['1 word', '4+ words', 'Disease', 'not in training']
    """
    what, _, value = name.partition("=")
    if what == "length":
        return f"{value} word{'' if value == '1' else 's'}"
    return {"seen": "in training", "unseen": "not in training"}.get(name, value or name)


def _measures(findings: TermFindings, model: str, key: Key) -> list[Cell]:
    return [estimate(findings.get(name, model, key)) for name in _MEASURES[findings.stage]]


def _p(findings: TermFindings, model: str, key: Key) -> Cell:
    test = findings.get("drop_p", model, key)
    return None if test is None else test.concluded_p


def _judged(finding: Finding) -> Mark:
    """The verdict of a finding; a gain on the original samples is called a cost."""
    verdict = finding.verdict
    if finding.of == CLEAN and finding.metric.endswith(".gain"):
        verdict = {HURTS: COSTS, HELPS: PAYS}.get(verdict, "no cost shown")
    return Mark(verdict, "bad" if finding.degenerate else _TONES.get(verdict, "neutral"))


_NOTE = "Bands and whiskers are 95 % intervals of the paired difference: above 0, the attack does harm."
_BARE = "Without intervals: nothing here tells a drop from chance."
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


def _note(findings: TermFindings) -> str:
    """What the bands and whiskers are, where there are any."""
    drops = measured(findings.get("drop", model, key) for model in findings.subjects for key in findings.sets)
    return _NOTE if any(drop.low is not None for drop in drops) else _BARE


def _drops(findings: TermFindings, model: str) -> list[Finding]:
    """What a model loses under every attack at every severity."""
    keys = (key for attack, _ in findings.attacks for key in findings.severities(model, attack))
    return measured(findings.get("drop", model, key) for key in keys)


def _over_share(findings: TermFindings, model: str, title: str) -> LinePlot | None:
    """A line per attack and number of changes over the share of the terms; None where only one share was tried."""
    lines: dict[str, list[Finding]] = {}
    for drop in _drops(findings, model):
        if drop.slice.share is not None:
            lines.setdefault(_line_name(drop), []).append(drop)
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
