"""The part of the report about attacks on terms: sentences, tables and plots, aligned examples, and the numbers
that are followed over the nights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from toolz import groupby

from assay.tasks.attacks.terms.measures import (
    CLEAN,
    COSTS,
    HELPS,
    HURTS,
    LOWER,
    NOT_ESTIMABLE,
    PAYS,
    RANGE,
    TOO_FEW,
    Key,
    Stage,
)
from assay.tasks.attacks.texts.page import LEGEND
from assay.tasks.attacks.texts.rewriting import changed_stretches
from assay.tasks.reporting.estimates import About, bars_of, column, series_of, table_of
from assay.tasks.reporting.gallery import changed_lines
from assay.tasks.reporting.numerals import integer, interval, number, plural
from assay.tasks.reporting.parts import (
    BarPlot,
    Block,
    Cell,
    DataTable,
    LinePlot,
    Mark,
    MarkedText,
    MarkedTexts,
    Part,
    Tone,
    in_panels,
)
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.entities import entities_of
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, highest, lowest, measured, slice_of
from assay.tasks.statistics.metrics import controlled_by, metric_named, metrics_of

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
        self.defended = findings.distinct("subject", f"{stage}.gain")
        """The models that were trained on attacked copies, and the subjects as they are."""
        self.subjects = [name for name in self.models if name not in self.defended]

    def trained(self, subject: str) -> list[str]:
        """The models that were trained on attacked copies from this subject."""
        return [name for name in self.defended if name.startswith(f"{subject}+")]

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
    plots = [plot for model in findings.subjects if (plot := _over_share(findings, model)) is not None]
    return in_panels(title, plots, _note(findings)) or [
        bars for model in findings.subjects if (bars := _bars(findings, model, title)) is not None
    ]


def _drops(findings: TermFindings, model: str) -> list[Finding]:
    """What a model loses under every attack at every severity."""
    keys = (key for attack, _ in findings.attacks for key in findings.sets if key[0] == attack)
    return measured(findings.get("drop", model, key) for key in keys)


def _over_share(findings: TermFindings, model: str) -> LinePlot | None:
    """A line per attack and number of changes over the share of the terms; None where only one share was tried."""
    lines: dict[str, list[Finding]] = groupby(
        _line_name, [drop for drop in _drops(findings, model) if drop.slice.share is not None]
    )
    shares = sorted({_share(drop) for drops in lines.values() for drop in drops})
    if len(shares) < 2:
        return None
    ordered = [(name, sorted(drops, key=_share)) for name, drops in sorted(lines.items())]
    series = [
        series_of(name, [_share(drop) + place * _ASIDE for drop in drops], drops)
        for place, (name, drops) in enumerate(ordered)
    ]
    worst = [f"{line.name} {number(line.y[-1], 2)}" for line in series]
    called, ticks = CALLED[findings.headline], {share: f"{share:g}" for share in shares}
    places = {
        x: f"{_share(drop):g}"
        for line, (_, drops) in zip(series, ordered, strict=True)
        for x, drop in zip(line.x, drops, strict=True)
    }
    alt = f"{called} lost by {model}, at the largest share: {', '.join(worst)}."
    return LinePlot(
        model, series, "Share of the terms attacked", f"Drop of {called}", alt, x_ticks=ticks, x_names=places
    )


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
    called = CALLED[findings.headline]
    alt = f"{called} lost by {model}: {losses}."
    return bars_of(shown, [*map(_line_name, drops)], drops, f"Drop of {called}", alt, _note(findings), "number")


def most_telling(before: pa.Table, after: pa.Table, count: int) -> list[str]:
    """The ids of sentences that lost the most entities under the attack, at most `count`; of equals, the first.

    >>> before = pa.table({"id": ["a", "b"], "gold_hits": [[True], [True, True]]})
    >>> after = pa.table({"id": ["a", "b"], "gold_hits": [[True], [False, True]]})
    >>> most_telling(before, after, 2)
    ['b']
    """
    columns = before["id"].to_pylist(), before["gold_hits"].to_pylist(), after["gold_hits"].to_pylist()
    lost = [(sum(old) - sum(new), sample) for sample, old, new in zip(*columns, strict=True)]
    return [sample for entities, sample in sorted(lost, key=lambda pair: -pair[0])[:count] if entities > 0]


def most_moved(before: pa.Table, after: pa.Table, count: int) -> list[str]:
    """The ids of pairs with a known score whose given score moved most, at most `count`.

    >>> scores = [pa.table({"id": ["a", "b"], "gold": [1.0, 2.0], "predicted": p}) for p in ([1.0, 2.0], [1.1, 0.0])]
    >>> most_moved(*scores, 1)
    ['b']
    """
    distance = pc.abs(pc.subtract(after["predicted"], before["predicted"])).to_pylist()
    rows = zip(before["id"].to_pylist(), before["gold"].to_pylist(), distance, strict=True)
    moved = [(far, sample) for sample, gold, far in rows if gold is not None and far > 0]
    return [sample for _, sample in sorted(moved, key=lambda pair: -pair[0])[:count]]


_COMPARED = "The original above, the attacked sentence below it: the samples that lose most under each attack."


def examples_block(model: str, examples: Sequence[MarkedText]) -> list[Block]:
    """The samples that attacks turn most, each before and under the attack."""
    return [MarkedTexts(f"Attacked sentences, {model}", examples, LEGEND, _COMPARED)] if examples else []


def tagged_example(attack: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> MarkedText:
    """A sentence before and under an attack (rows of `Tagged`), and the entities that a tagger finds no more."""
    there = zip(entities_of(before["gold"]), entities_of(after["gold"]), strict=True)
    named, still_named = (set(entities_of(row["predicted"])) for row in (before, after))
    hidden = [now for then, now in there if then in named and now not in still_named]
    answers = [Mark(f"no more: {now.kind} {' '.join(after['tokens'][now.first : now.last])}", "bad") for now in hidden]
    return _compared(attack, before["id"], " ".join(before["tokens"]), " ".join(after["tokens"]), answers)


def scored_example(
    attack: str, sentence: str, attacked: str, beside: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> MarkedText:
    """A sentence of a pair before and under an attack, with what stands `beside` it, and how the score moves (rows of
    `Scored`)."""
    moved = f"{number(before['predicted'])} → {number(after['predicted'])}, people {number(before['gold'])}"
    return _compared(attack, before["id"], sentence, attacked, [Mark(moved, "bad"), Mark(f"beside: {beside}")])


def _compared(attack: str, sample: str, text: str, attacked: str, answers: Sequence[Mark]) -> MarkedText:
    changes = [(change.start, change.end, change.replacement) for change in changed_stretches(text, attacked)]
    first, second = changed_lines(text, changes)
    return MarkedText(f"{attack} · {sample}", first, answers, second, sample)


_TITLES = {"ner": "Entities under attack", "sts": "Similarity of sentences under attack"}


def page(findings: FindingIndex, stage: Stage, examples: Sequence[Block] = (), counted: str = "") -> Part:
    """The part of the report about taggers (`ner`) or scorers (`sts`), from their findings and some examples; `counted`
    says what intervals count, where it is not samples."""
    term_findings = TermFindings(stage, findings)
    gains = (gains_table(term_findings, subject) for subject in term_findings.subjects)
    blocks: list[Block] = [*drop_plots(term_findings), *filter(None, gains), *examples]
    lines = [tell(term_findings, subject) for tell in (_sentence, _helped_text) for subject in term_findings.subjects]
    constant = term_findings.degenerate
    for score in sorted(constant, key=lambda score: score.of != CLEAN):
        under = "" if score.of == CLEAN else f"Under {score.of} ({severity_text(score.group)}), "
        lines.append(f"{under}{score.subject} is {score.verdict}.")
    lines += [*_notes(term_findings), counted]
    sentence = " ".join(filter(None, lines)) or "Nothing was measured."
    judged: tuple[Tone, str] = ("bad", "red flag") if constant else ("neutral", "")
    return Part(_TITLES[stage], sentence, blocks, stage, *judged)


def _sentence(findings: TermFindings, subject: str) -> str:
    clean, worst = findings.get(findings.headline, subject, ORIGINAL), highest(findings.drops(subject))
    if clean is None:
        return ""
    reached = f"{subject} reaches {_measure(findings)} {_with_interval(clean)} on {_counts_text(findings, clean)}"
    if worst is None:
        return f"{reached}."
    lowered, tried = _lowered(findings, subject), [key[0] for key in findings.attacks]
    others = [name for name in tried if name not in (*lowered, *_unknown(findings, subject))]
    untouched = f" No drop is shown under {', '.join(others)}." if others else ""
    under = f"{worst.of} ({severity_text(worst.group)})"
    return f"{reached}, and {_drop_text(worst, under)}; {_lower_under(findings, subject)}.{untouched}"


def _lower_under(findings: TermFindings, subject: str) -> str:
    """Under how many attacks a subject is shown to be lower, of those of which that can be told."""
    drops = findings.drops(subject)
    few, unknown = (sum(drop.verdict == word for drop in drops) for word in (TOO_FEW, NOT_ESTIMABLE))
    judged = len(findings.attacks) - few - unknown
    what = "sentences" if findings.stage == "ner" else "pairs"
    parts = [f"lower under {len(_lowered(findings, subject))} of {plural(judged, 'attack')}"] if judged else []
    if few:
        parts.append(f"too few {what} to tell a drop from chance" + (f" under {few} more" if judged else ""))
    if unknown:
        parts.append(f"no interval tells a drop from chance under {unknown}")
    return ", ".join(parts)


def _counts_text(findings: TermFindings, clean: Finding) -> str:
    """What a subject was measured on, by what is counted: the entities of so many sentences, or pairs."""
    if findings.stage == "sts":
        return plural(clean.n or 0, "pair")
    sentences = findings.entry("cut", clean.subject, ORIGINAL)
    inside = "" if sentences is None else f" in {plural(sentences.n or 0, 'sentence')}"
    return f"{plural(clean.n or 0, 'entity', 'entities')}{inside}"


def _drop_text(worst: Finding, under: str) -> str:
    """What the worst attack does, in words that hold whichever way it goes."""
    if (worst.value or 0.0) > 0:
        return f"loses {_with_interval(worst)} under {under}"
    if worst.value == 0:
        return f"loses nothing even under {under}"
    value, low, high = (None if end is None else -end for end in (worst.value, worst.high, worst.low))
    gained = replace(worst, value=value, low=low, high=high)
    return f"loses nothing: even under {under} it gains {_with_interval(gained)}"


_NOTHING_MEASURED = {"ner": "no sentence has an entity", "sts": "the pairs are too few, or their scores equal"}


def _notes(findings: TermFindings) -> list[str]:
    """What a reader must know beside the numbers: samples that were cut, scores on another range, and no entities."""
    notes = []
    for model in findings.models:
        cut = [count for count in findings.all.select(f"{findings.stage}.cut", subject=model) if count.value]
        if cut:
            what = "sentences" if findings.stage == "ner" else "pairs"
            counted = [(integer(int(count.value or 0)), set_name((count.of, count.group))) for count in cut]
            sets = ", ".join(f"{many} of {name}" for many, name in counted)
            missed = ": entities beyond count as not found" if findings.stage == "ner" else ""
            notes.append(f"{model} does not read to their end {what} that are longer than its limit ({sets}){missed}.")
        error = findings.entry("mae", model, ORIGINAL)
        if error is not None and error.verdict.startswith(RANGE):
            notes.append(f"{model} is {error.verdict}; no MAE is given, and correlations hold on any range.")
        headline = findings.entry(findings.headline, model, ORIGINAL)
        if headline is not None and headline.value is None and not headline.degenerate:
            why = _NOTHING_MEASURED[findings.stage]
            notes.append(f"{_measure(findings).removesuffix(' =')} of {model} is not measured: {why}.")
    return notes


def _helped(findings: TermFindings, subject: str, metric: str = "own_gain") -> tuple[int, int]:
    """For how many attacks training on the attack helps on it, of how many that were tried."""
    models = findings.trained(subject)
    gains = measured(findings.get(metric, model, key) for model in models for key in findings.own_attacks(model))
    return sum(gain.verdict == HELPS for gain in gains), len(gains)


def _helped_text(findings: TermFindings, subject: str) -> str:
    """How often training on an attack helps against it, how often more than equal steps do, and how often it costs on
    samples as they are, in words."""
    helped, tried = _helped(findings, subject)
    beyond, controlled = _helped(findings, subject, "own_gain_over_control")
    more = f", and for {beyond} of {controlled} more than equal steps on unchanged copies do" if controlled else ""
    models = [model for model in findings.trained(subject) if findings.own_attacks(model)]
    costs = measured(findings.get("cost", model, ORIGINAL) for model in models)
    costly = sum(cost.verdict == COSTS for cost in costs)
    price = f"; on the samples as they are it costs for {costly} of {len(costs)}" if costly else ""
    return f"Training {subject} on an attack helps against it for {helped} of {tried}{more}{price}." if tried else ""


def _lowered(findings: TermFindings, subject: str) -> list[str]:
    return [drop.of for drop in findings.drops(subject) if drop.verdict == LOWER]


def _unknown(findings: TermFindings, subject: str) -> list[str]:
    """The attacks of which nobody can say whether they do harm; where a subject says the same of everything, and did
    not before, that is told by itself."""
    drops = {key[0]: findings.get("drop", subject, key) for key in findings.attacks}
    silent = [name for name, drop in drops.items() if drop is None or drop.verdict in (TOO_FEW, NOT_ESTIMABLE)]
    collapsed = (score.of for score in findings.degenerate if score.subject == subject and score.of != CLEAN)
    return [*silent, *distinct(collapsed)]


def _measure(findings: TermFindings) -> str:
    return "F1" if findings.stage == "ner" else "Pearson's r ="


def _with_interval(finding: Finding) -> str:
    return f"{number(finding.value)} {interval(finding.low, finding.high, 'number', 3)}".rstrip()


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject F1, or Pearson's r, on unchanged samples, and the lowest that an attack leaves."""
    stages: tuple[Stage, ...] = ("ner", "sts")
    for stage in stages:
        term_findings, declared = TermFindings(stage, findings), metrics_of(stage)
        title = f"{metric_named(declared, f'{stage}.{term_findings.headline}').title} under the worst attack"
        for subject in term_findings.subjects:
            yield from headline_of(declared, term_findings.get(term_findings.headline, subject, ORIGINAL), subject)
            worst = lowest(term_findings.get(term_findings.headline, subject, key) for key in term_findings.attacks)
            yield from headline_of(declared, worst, subject, title=title)
