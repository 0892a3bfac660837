"""The part of the report about attacks on texts: how often word swaps fool the subject, by how little, what noise
does, examples, and the numbers that are followed over the nights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from assay.tasks.attacks.texts.measures import BLIND, SUCCESS, carriers
from assay.tasks.attacks.texts.noise import SHARES, group_of
from assay.tasks.attacks.texts.rewriting import WRONG
from assay.tasks.attacks.texts.settings import MUST_CHANGE
from assay.tasks.reporting.estimates import (
    NAMED,
    About,
    bars_of,
    capital,
    class_columns,
    column,
    estimate,
    series_of,
    share_estimate,
    share_text,
    table_of,
)
from assay.tasks.reporting.gallery import AFTER, BEFORE, changed_lines, masked_lines
from assay.tasks.reporting.numerals import integer, interval, p_concluded, percent, plain, plural
from assay.tasks.reporting.parts import (
    Block,
    Cell,
    Column,
    DataTable,
    Estimate,
    LinePlot,
    Mark,
    MarkedText,
    MarkedTexts,
    Panels,
    Part,
    Series,
    Tone,
)
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, highest, lowest, measured, slice_of
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.subjects.predictions import class_label


@dataclass(frozen=True)
class ShownTexts:
    """One attack on one subject: its examples, and (of word attacks) what became of every text."""

    subject: str
    attack: str
    classes: Sequence[str]
    examples: pa.Table | None = None
    attacked: pa.Table | None = None
    masked: bool = False


class WordFindings:
    """The findings on word attacks, as the page asks for them."""

    def __init__(self, findings: FindingIndex) -> None:
        self.all = findings
        rates = findings.select("attack.success_rate", group="")
        self.subjects = distinct(rate.subject for rate in rates)
        self.attacks = distinct(rate.of for rate in rates)
        self.pairs = distinct((finding.subject, finding.of) for finding in findings.select("attack.success_difference"))
        self.tried = distinct((rate.subject, rate.of) for rate in rates)
        """Which subject was under which attack, whether this could try anything or not."""

    def get(self, metric: str, subject: str, attack: str, group: str = "") -> Finding | None:
        """The finding `attack.metric`, if it has a value."""
        return self.all.get(f"attack.{metric}", subject, attack, group)

    def entry(self, metric: str, subject: str, attack: str) -> Finding | None:
        """The finding `attack.metric`, also where it has no value and its verdict says why."""
        return self.all.entry(f"attack.{metric}", subject, attack)

    def constant(self, subject: str) -> str:
        """What a subject (almost) always says, so that no attack on it means anything; empty of others."""
        flag = self.entry("red_flag", subject, "majority-predictor")
        return flag.verdict.partition(": ")[2] if flag is not None and flag.value == 1.0 else ""

    def blind(self, subject: str, attack: str) -> bool:
        """Whether the attack's vectors cannot tell synonyms from chance, so that it has no rate."""
        rate = self.entry("success_rate", subject, attack)
        return rate is not None and rate.verdict == BLIND

    def told_apart(self, subject: str, attack: str) -> list[Finding]:
        """How well each source of vectors tells synonyms from random pairs; of lists nothing is known."""
        return measured(self.all.select("attack.synonym_auc", subject=subject, of=attack))

    def right_before(self, subject: str, attack: str) -> Cell:
        """What share of the texts under attack was right before it; None where nobody knows."""
        accuracy, texts = self.entry("accuracy", subject, attack), self.get("skipped", subject, attack)
        if texts is None or not texts.n or accuracy is None or accuracy.n != texts.n:
            return None
        wrong = self.get("skipped", subject, attack, WRONG)
        if wrong is None or wrong.value is None or wrong.low is None or wrong.high is None:
            return share_estimate(texts.n, texts.n)
        return Estimate(1 - wrong.value, 1 - wrong.high, 1 - wrong.low, texts.n)

    def limits(self, subject: str, attack: str) -> dict[str, float]:
        """The least cosines of a replacement, by source of word vectors; of neighbour lists none is known."""
        limits = self.all.select("attack.limit", subject=subject, of=attack)
        return {limit.group: limit.value for limit in limits if limit.value is not None}

    def groups(self, metric: str, subject: str, attack: str) -> list[str]:
        """The groups in which a metric was measured, in their order."""
        return [finding.group for finding in measured(self.all.select(f"attack.{metric}", subject=subject, of=attack))]

    def skipped(self, subject: str, attack: str) -> list[Finding]:
        """The share of the texts that were not attacked, in all and for each reason, which is the group."""
        return measured(self.all.select("attack.skipped", subject=subject, of=attack))

    def unlike(self, subject: str) -> list[str]:
        """The pairs of attacks that are shown to differ in success."""
        tests = [test for test in self.all.select("attack.mcnemar_p", subject=subject) if " - " in test.of]
        return [test.of for test in tests if test.verdict in ("more often", "less often")]

    def rates(self, subject: str) -> list[Finding]:
        """How often each attack succeeds, where it could try anything."""
        return measured(self.get("success_rate", subject, attack) for attack in self.attacks)

    def worst(self, subject: str) -> Finding | None:
        """The attack that changes answers most often."""
        return highest(rate for rate in self.rates(subject) if rate.verdict != MUST_CHANGE)


def limits_in_short(limits: Mapping[str, float]) -> str:
    """How similar a replacement had to be; empty where no cosine was asked.

    >>> limits_in_short({"fasttext": 0.07, "encoder": 0.34}), limits_in_short({"encoder": 0.546})
    ('cosine ≥ 0.07 to 0.34 by 2 vector spaces', 'cosine ≥ 0.55')
    >>> limits_in_short({"fasttext": 0.3, "encoder": 0.302})
    'cosine ≥ 0.30 by 2 vector spaces'
    """
    if not limits:
        return ""
    low, high = f"{min(limits.values()):.2f}", f"{max(limits.values()):.2f}"
    least = f"cosine ≥ {low}" if low == high else f"cosine ≥ {low} to {high}"
    return least if len(limits) == 1 else f"{least} by {len(limits)} vector spaces"


_SAME_COSINE = 0.005  # limits that lie no further apart are the same


def opposites(findings: WordFindings) -> str:
    """Whether replacements may say the opposite, once for all attacks; nothing of findings that do not say."""
    refused = [*filter(None, (findings.entry("refused", *pair) for pair in findings.tried))]
    if not refused:
        return ""
    allowed = [count.of for count in refused if count.value is None]
    count = round(sum(count.value or 0.0 for count in refused))
    if allowed:
        return (
            f"{' and '.join(distinct(allowed))} may put in opposites (antonyms: allow), so part of "
            f"{'its' if len(allowed) == 1 else 'their'} success may be that the text says the opposite. "
        )
    return (
        f"{integer(count)} {'replacement was' if count == 1 else 'replacements were'} refused as opposites of their "
        "words; the list is not complete, and nobody has checked that an attacked text still says the same. "
    )


def compared(findings: WordFindings, subject: str, pair: str) -> str:
    """What is concluded of two attacks, from the corrected test alone, and under which limits each chose its words."""
    difference, test = (findings.get(name, subject, pair) for name in ("success_difference", "mcnemar_p"))
    if difference is None or difference.value is None:
        return ""
    first, _, second = pair.partition(" - ")
    gain = f"{100 * difference.value:+.1f}".replace("-", "\u2212")
    points = f"{gain} points {interval(difference.low, difference.high)}"
    p = p_concluded(None, None) if test is None else p_concluded(test.p_value, test.p_adjusted)
    if test is not None and test.verdict in ("more often", "less often"):
        conclusion = f"{first} succeeds {test.verdict} than {second} on {subject} ({points}, {p})"
    else:
        conclusion = f"that {first} and {second} differ in success on {subject} is not shown ({points}, {p})"
    limits = [findings.limits(subject, attack) for attack in (first, second)]
    if not any(limits):
        return f"{conclusion}."
    one_limit, other_limit = (limits_in_short(limit) or "any cosine" for limit in limits)
    both = f"{first} may take words at {one_limit}, {second} at {other_limit}"
    shared = limits[0].keys() & limits[1].keys()
    if shared and all(abs(limits[0][name] - limits[1][name]) < _SAME_COSINE for name in shared):
        return f"{conclusion}; {both}."
    return f"{conclusion}; {both}: these limits are unlike, and this compares them as much as the attacks."


LEGEND: Mapping[Tone, str] = {BEFORE: "as it was", AFTER: "what the attack made of it"}
_MOST = 15
_PAIRS = 3  # of attacks, up to which each is told even where no difference is shown


def examples_block(shown: ShownTexts) -> MarkedTexts | None:
    """The examples of one attack on one subject."""
    if shown.examples is None or not shown.examples.num_rows:
        return None
    texts = [_example(row, shown) for row in shown.examples.to_pylist()]
    note = "The original above, the attacked text below it."
    if shown.attacked is None:
        known = all(row["gold"] is not None and row["gold"] >= 0 for row in shown.examples.to_pylist())
        turned = "makes a right prediction wrong" if known else "changes the answer"
        note += f" Of each kind of noise the gentlest that {turned}."
    else:
        note += " Successful attacks that took the fewest words, and one that failed."
    if shown.masked:
        note += " The texts of this audit are masked: of the changed words only the marks are shown."
    return MarkedTexts(f"Attacked texts, {shown.attack} on {shown.subject}", texts, LEGEND, note)


def _example(row: dict[str, Any], shown: ShownTexts) -> MarkedText:
    before, after = (class_label(row[when], shown.classes) for when in ("before", "after"))
    moved = f"{before} → {after}" if row["before"] != row["after"] else f"{before}, still"
    changes = len(row["news"])
    alike = "" if row["similarity"] is None else f", similarity {row['similarity']:.3f}"
    inside = "" if row["words"] is None else f" in {plural(row['words'], 'word')}{alike}"
    answers = [Mark(moved, "bad" if row["status"] == SUCCESS else "good"), Mark(plural(changes, "change") + inside)]
    title = " · ".join(filter(None, (row["id"], row["group"].replace(", severity=", " at severity "))))
    if shown.masked:
        first, second = masked_lines(changes)
    else:
        changed = list(zip(row["starts"], row["ends"], row["news"], strict=True))
        first, second = changed_lines(row["text"], changed, whole_words=shown.attacked is None)
    return MarkedText(title, first, answers, second, row["id"])


def carriers_table(shown: ShownTexts) -> DataTable | None:
    """The words that most successful attacks replaced; of masked texts there is nothing that may be shown."""
    words = [] if shown.attacked is None or shown.masked else carriers(shown.attacked)
    if not words:
        return None
    columns = [
        Column("Word"),
        Column("Successful attacks", "integer", "in which this word was replaced"),
        Column("Of attacks that replaced it", "percent"),
        Column("Most often by"),
    ]
    rows: list[Sequence[Cell]] = [
        [carrier.word, carrier.successes, share_estimate(carrier.successes, carrier.attacks), carrier.instead]
        for carrier in words[:_MOST]
    ]
    more = f"The first {_MOST} of {plural(len(words), 'word')}. " if len(words) > _MOST else ""
    note = (
        f"{more}A word that an attack replaced without success was no help to it. Intervals are 95 % (Wilson), by text."
    )
    return DataTable(f"Words that carry the attacks, {shown.attack} on {shown.subject}", columns, rows, note)


_PLACES = {
    "typos": "slips in the letters",
    "casing": "words in another case",
    "punctuation": "slips after words",
    "whitespace": "blanks dropped, doubled or set",
    "homoglyphs": "letters that have a look-alike",
}


class NoiseFindings:
    """The findings on noise in texts, as the page asks for them."""

    def __init__(self, findings: FindingIndex) -> None:
        self._findings = findings
        noised = [finding for finding in findings.select("attack") if finding.slice.severity is not None]
        self.subjects = distinct(finding.subject for finding in noised)
        self.attacks = distinct(finding.of for finding in noised)
        self.kinds = distinct(finding.slice.name for finding in noised)
        self.severities = sorted(distinct(finding.slice.severity or 0 for finding in noised))

    def get(self, metric: str, subject: str, attack: str, kind: str, severity: int) -> Finding | None:
        """The finding `attack.metric`, if it has a value."""
        return self._findings.get(f"attack.{metric}", subject, attack, group_of(kind, severity))

    def clean(self, subject: str) -> Finding | None:
        """The accuracy on the texts as they are."""
        return self._findings.get("subject.accuracy", subject, "clean")

    def tests(self, subject: str) -> list[Finding]:
        """The paired tests of noise that are concluded from: those at the highest severity."""
        tests = measured(self._findings.select("attack.mcnemar_p", subject=subject))
        return [test for test in tests if test.slice.severity is not None and test.verdict]

    def hardest(self, subject: str) -> Finding | None:
        """The lowest accuracy under one kind of noise at one severity, which its verdict names; its interval allows for
        having been named after looking."""
        return lowest(self._findings.select("attack.worst_accuracy", subject=subject))


def left_table(words: WordFindings, noise: NoiseFindings) -> list[DataTable]:
    """What each word attack and the hardest noise leave right, and of the worst class, beside what was right before;
    nothing where no class is known."""
    hardest = measured(noise.hardest(subject) for subject in noise.subjects)
    rows = [About(*pair) for pair in words.tried] + [About(cell.subject, cell.of, cell.verdict) for cell in hardest]
    known = [row for row in rows if words.get("accuracy", *row) is not None]

    def right_before(row: About) -> Cell:
        return estimate(noise.clean(row.subject)) if row.group else words.right_before(row.subject, row.of)

    columns = [
        column("Subject", "subject"),
        column("Under", lambda row: row.group.replace(", severity=", " at severity ") or row.of),
        column("Right before", right_before, "percent", "Accuracy on the same texts, as they are"),
        *class_columns("attack", words.all),
    ]
    note = "Of the texts under attack, which may be fewer than those of the audit; of noise the kind that leaves least."
    return [table_of("What attacks leave right", known, columns, note, findings=words.all)] if known else []


def _curves(findings: NoiseFindings, attack: str) -> Panels:
    """Accuracy over severity, one plot per kind of noise."""
    plots = []
    ticks = {float(place): str(place or "none") for place in (0, *findings.severities)}
    for kind in findings.kinds:
        lines = (_series(findings, subject, attack, kind) for subject in findings.subjects)
        series = [line for line in lines if line is not None]
        if series:
            ends = "; ".join(f"{line.name} from {percent(line.y[0])} to {percent(line.y[-1])}" for line in series)
            alt, title = f"Accuracy with {kind} by severity: {ends}.", kind.capitalize()
            plots.append(LinePlot(title, series, "Severity", "Accuracy", alt, (0.0, 1.0), ticks, scale="percent"))
    kinds = ", ".join(
        f"{kind} ({_PLACES[kind]}, {plain(100 * shares[0] * of)} to {percent(shares[-1] * of, 0)})"
        for kind, shares in SHARES.items()
        for of in [0.5 if kind == "typos" else 1.0]  # a slip is in one of two letters
        if kind in findings.kinds
    )
    note = (
        f"Severities 1 to 5 change ever more of the same places: {kinds}. Bands are 95 % intervals (Wilson). Under "
        "every kind counts as right what is right under each of them."
    )
    return Panels(f"Accuracy under noise ({attack})" if attack != "noise" else "Accuracy under noise", plots, note)


def _series(findings: NoiseFindings, subject: str, attack: str, kind: str) -> Series | None:
    points = {0: findings.clean(subject)}
    points |= {severity: findings.get("accuracy", subject, attack, kind, severity) for severity in findings.severities}
    known = {float(severity): accuracy for severity, accuracy in points.items() if accuracy is not None}
    return series_of(subject, list(known), list(known.values())) if any(known) else None


def noise_sentence(findings: NoiseFindings, subject: str) -> str:
    """What noise does to a subject, in a sentence; empty where there is none."""
    hardest, clean = findings.hardest(subject), findings.clean(subject)
    if hardest is None:
        return ""
    beside = "" if clean is None else f", where it had {percent(clean.value)}"
    cell = slice_of(hardest.verdict)
    return (
        f"With {cell.name} at severity {cell.severity} it gets {share_text(hardest)} right{beside} "
        f"(n = {integer(hardest.n)}).{_shown_of_noise(findings, subject)}"
    )


def _shown_of_noise(findings: NoiseFindings, subject: str) -> str:
    """With which kinds of noise a paired test shows that less is right, in words; empty where nothing was tested."""
    tests = findings.tests(subject)
    worse = ", ".join(test.slice.name for test in tests if test.verdict == "worse")
    if not tests:
        return ""
    severity = tests[0].slice.severity
    return f" Paired tests at severity {severity}, corrected (Holm), show that less is right with {worse or 'no kind'}."


def page(findings: FindingIndex, shown: Sequence[ShownTexts] = ()) -> Part:
    """The part of the report about attacks on texts, from the findings `attack.*` and what the attacks made."""
    word_findings, noise_findings = WordFindings(findings), NoiseFindings(findings)
    blocks: list[Block] = [*_rates_plot(word_findings), *left_table(word_findings, noise_findings)]
    blocks += filter(None, [examples_block(attack) for attack in shown if attack.attacked is not None])
    blocks += filter(None, map(carriers_table, shown))
    blocks += [_curves(noise_findings, attack) for attack in noise_findings.attacks]
    blocks += filter(None, [examples_block(attack) for attack in shown if attack.attacked is None])
    subjects = distinct([*word_findings.subjects, *noise_findings.subjects])
    originals = [subject for subject in subjects if "+" not in subject] or subjects
    sentences = filter(None, (_sentence(word_findings, noise_findings, subject) for subject in originals[:NAMED]))
    sentence = " ".join(capital(text) for text in sentences)
    flagged = sum(bool(word_findings.constant(subject)) for subject in subjects)
    judged = plural(flagged, "red flag") if flagged else ""
    tone: Tone = "bad" if flagged else "neutral"
    return Part("Attacks on texts", sentence or "Nothing was attacked.", blocks, "text-attacks", tone, judged)


def _sentence(findings: WordFindings, noise_findings: NoiseFindings, subject: str) -> str:
    if constant := findings.constant(subject):
        return (
            f"attacks say nothing about {subject}, which is degenerate: {constant}, and what always answers alike "
            "withstands everything."
        )
    worst = findings.worst(subject)
    lines: list[str] = []
    if worst is not None:
        words, floor = (findings.get(metric, subject, worst.of) for metric in ("perturbed_words", "above_chance"))
        lines.append(
            f"{worst.of} changes the answer of {subject} on {share_text(worst)} of the {integer(worst.n)} texts that "
            "it attacked" + ("." if words is None else f", by {words.value:.1f} changes each on average.")
        )
        if floor is not None:
            lines.append(f"Beyond what {subject} changes by itself that is {share_text(floor)}: {floor.verdict}.")
    lines += [
        f"{rate.of} leaves the answer of {subject} as it was on {share_text(rate)} of the {integer(rate.n)} texts that "
        "say the opposite then."
        for rate in findings.rates(subject)
        if rate.verdict == MUST_CHANGE
    ]
    lines += [_tried_nothing(findings, subject, attack) for whose, attack in findings.tried if whose == subject]
    pairs = [pair for whose, pair in findings.pairs if whose == subject]
    named = pairs if len(pairs) <= _PAIRS else findings.unlike(subject)
    lines += [compared(findings, subject, pair) for pair in named]
    if len(pairs) > _PAIRS:
        other = plural(len(pairs) - len(named), "other pair")
        lines.append(f"Of {other} of attacks no difference in success is shown on {subject}.")
    noise = noise_sentence(noise_findings, subject)
    lines = [capital(line) for line in lines if line]
    return " ".join([*lines, *([noise if lines else f"{subject}: {noise}"] if noise else [])])


def _tried_nothing(findings: WordFindings, subject: str, attack: str) -> str:
    """That an attack had nothing to try, and most often why; empty where it had."""
    if findings.get("success_rate", subject, attack) is not None:
        return ""
    if findings.blind(subject, attack):
        # That an attack has no rate since its vectors know no synonyms, by how much, and what to do.
        spaces = findings.told_apart(subject, attack)
        areas = "; ".join(
            f"{space.group}: AUC {space.value:.2f} {interval(space.low, space.high, 'number', 2)}" for space in spaces
        )
        pairs = max((space.n or 0 for space in spaces), default=0)
        return (
            f"{attack} has no rate on {subject}: {BLIND} ({areas}, by {integer(pairs)} pairs; 0.5 is chance), so its "
            "words would be any words. Give it vectors that know synonyms (vectors: counterfitted-neighbors, a file, "
            "or MiniLM)."
        )
    texts, reasons = findings.get("skipped", subject, attack), findings.skipped(subject, attack)
    counts = sorted((-round((share.value or 0.0) * (share.n or 0)), share.group) for share in reasons if share.group)
    why = "; ".join(f"{-count}: {reason}" for count, reason in counts)
    number = "" if texts is None else f" of {integer(texts.n)} texts"
    because = f" ({why})" if why else ""
    return f"{attack} could try nothing on any{number}{because}, which says nothing about {subject}."


def _rates_plot(findings: WordFindings) -> list[Block]:
    """How often each attack succeeds on each subject, if any could try anything."""
    rates = [rate for subject in findings.subjects for rate in findings.rates(subject)]
    if not rates:
        return []
    names = [f"{rate.of} on {rate.subject}" for rate in rates]
    rates_text = "; ".join(f"{name} {percent(rate.value)}" for name, rate in zip(names, rates, strict=True))
    note = (
        "A success is another answer (of texts that say the opposite, the same), of the texts that were not wrong "
        f"before and could be attacked. {opposites(findings)}Whiskers are 95 % intervals (Wilson)."
    )
    title, alt = "How often an attack on words succeeds", f"Success rate of word attacks: {rates_text}."
    return [bars_of(title, names, rates, "Success rate", alt, note)]


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per attack and subject the share of texts that were right before and fell."""
    word_findings = WordFindings(findings)
    for subject, attack in word_findings.tried:
        yield from headline_of(
            metrics_of("attack"), word_findings.get("success_rate", subject, attack), subject, attack
        )
