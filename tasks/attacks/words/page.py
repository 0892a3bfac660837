"""What attacks on texts show in the report: how often words fool the subject, by how little, and what noise does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from assay.tasks.attacks.noise.page_blocks import Noised, noise_blocks, noise_sentence
from assay.tasks.attacks.words.page_examples import carriers_table, examples_block
from assay.tasks.attacks.words.page_shown import Shown, WordFindings, estimate, limits_in_short, limits_in_words
from assay.tasks.reporting.numerals import integer, interval, p_equals, percent, plural
from assay.tasks.reporting.parts import BarPlot, Block, Cell, Column, DataTable, Estimate, Part, Verdict
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import wilson

_NAMED = 3
_SAME_COSINE = 0.005
_DIFFERENCES: tuple[tuple[str, str, Literal["percent", "number"]], ...] = (
    ("success_difference", "Success rate", "percent"), ("perturbed_words_difference", "Words changed", "number"),
    ("queries_difference", "Queries", "number"),
)  # fmt: skip
"""The paired differences: what each is called, and how it is written."""


def page(findings: Sequence[Finding], shown: Sequence[Shown] = ()) -> Part:
    """The part of the report about attacks on texts, from the findings `attack.*` and what the attacks made."""
    found = WordFindings(findings)
    blocks: list[Block] = []
    if found.subjects:
        blocks += [*_rates_plot(found), _figures(found), *_differences(found)]
    blocks += [texts for one in shown if one.attacked is not None and (texts := examples_block(one)) is not None]
    blocks += [table for one in shown if (table := carriers_table(one)) is not None]
    blocks += noise_blocks(findings)
    blocks += [texts for one in shown if one.attacked is None and (texts := examples_block(one)) is not None]
    if found.subjects:
        blocks.append(_skipped(found))
    subjects = list(dict.fromkeys([*found.subjects, *Noised(findings).subjects]))
    sentences = [_sentence(found, findings, subject) for subject in subjects[:_NAMED]]
    said = " ".join(one[:1].upper() + one[1:] for one in sentences if one)
    return Part("Attacks on texts", said or "Nothing was attacked.", blocks, "text-attacks")


def verdict(findings: Sequence[Finding]) -> Verdict | None:
    """The line about attacks on texts for the terminal and the head of the page; None where there was none."""
    found, noised = WordFindings(findings), Noised(findings)
    lines = []
    for subject in dict.fromkeys([*found.subjects, *noised.subjects]):
        hardest = noised.hardest(subject)
        parts = [_fooled(found, subject)] if subject in found.subjects else []
        if hardest is not None:
            noise = hardest.group.replace(", severity=", " at severity ")
            parts.append(f"with {noise} {subject} gets {percent(hardest.value, 0)} right")
        lines += [" and ".join(parts)] if parts else []
    if not lines:
        return None
    rest = len(lines) - _NAMED
    more = f"; {plural(rest, 'more subject')} below" if rest > 0 else ""
    text = "; ".join(lines[:_NAMED]) + more
    return Verdict(text[:1].upper() + text[1:])


def _fooled(found: WordFindings, subject: str) -> str:
    """How often each attack succeeds, the most successful first, each with how similar its words had to be."""
    worst = found.worst(subject)
    nothing = [attack for whose, attack in found.made if whose == subject and found.nothing_tried(subject, attack)]
    tried_nothing = f"{' and '.join(nothing)} could try nothing on {subject}" if nothing else ""
    if worst is None:
        return tried_nothing
    fools = f"fools {subject}" if found.all_known(subject, worst.of) else f"changes the answer of {subject}"
    said = f"{worst.of} {fools} on {_rate(worst)} of the texts it attacks{_limited(found, worst)}"
    others = [
        one for attack in found.attacks if (one := found.get("success_rate", subject, attack)) not in (None, worst)
    ]
    others.sort(key=lambda one: -(one.value or 0.0) if one is not None else 0.0)
    beside = [f"{one.of} on {_rate(one)}{_limited(found, one)}" for one in others if one is not None]
    return ", ".join(filter(None, (said, *beside, tried_nothing)))


def _rate(rate: Finding) -> str:
    return f"{percent(rate.value, 0)} {interval(rate.low, rate.high, digits=0)}"


def _limited(found: WordFindings, rate: Finding) -> str:
    short = limits_in_short(found.limits(rate.subject, rate.of))
    return f" ({short})" if short else ""


def _sentence(found: WordFindings, findings: Sequence[Finding], subject: str) -> str:
    worst = found.worst(subject)
    said = []
    if worst is not None:
        known = found.all_known(subject, worst.of)
        done = f"makes {subject} wrong" if known else f"changes the answer of {subject}"
        words = found.get("perturbed_words", subject, worst.of)
        said.append(
            f"{worst.of} {done} on {percent(worst.value)} {interval(worst.low, worst.high)} of the "
            f"{integer(worst.n)} texts that it attacked"
            + ("." if words is None else f", by {words.value:.1f} words each on average.")
        )
    said += [_tried_nothing(found, subject, attack) for whose, attack in found.made if whose == subject]
    said += [_compared(found, subject, pair, limits_in_short) for whose, pair in found.pairs if whose == subject]
    noise = noise_sentence(findings, subject)
    said = [one[:1].upper() + one[1:] for one in said if one]
    return " ".join([*said, *([noise if said else f"{subject}: {noise}"] if noise else [])])


def _tried_nothing(found: WordFindings, subject: str, attack: str) -> str:
    """That an attack had nothing to try, and most often why; empty where it had."""
    if not found.nothing_tried(subject, attack):
        return ""
    reasons = [
        (round((one.value or 0.0) * (one.n or 0)), reason)
        for reason in found.groups("skipped", subject, attack)
        if reason and (one := found.get("skipped", subject, attack, reason)) is not None
    ]
    texts = found.get("skipped", subject, attack)
    why = "; ".join(f"{count}: {reason}" for count, reason in sorted(reasons, key=lambda one: (-one[0], one[1])))
    number = "" if texts is None else f" of {integer(texts.n)} texts"
    because = f" ({why})" if why else ""
    return f"{attack} could try nothing on any{number}{because}, which says nothing about {subject}."


def _rates_plot(found: WordFindings) -> list[Block]:
    """How often each attack succeeds on each subject, if any could try anything."""
    rates = [
        one for subject in found.subjects for attack in found.attacks
        if (one := found.get("success_rate", subject, attack)) is not None
    ]  # fmt: skip
    if not rates:
        return []
    names = [f"{one.of} on {one.subject}" for one in rates]
    said = "; ".join(f"{name} {percent(one.value)}" for name, one in zip(names, rates, strict=True))
    return [BarPlot(
        "How often an attack on words succeeds", names, [one.value for one in rates], "Success rate",
        f"Success rate of word attacks: {said}.", [one.low for one in rates], [one.high for one in rates],
        "Of the texts that were not wrong before and could be attacked. Whiskers are 95 % intervals (Wilson).",
        "percent",
    )]  # fmt: skip


def _figures(found: WordFindings) -> DataTable:
    """The paper's Table 4 for these attacks, with intervals, queries and what is still right."""
    alike = "Of the attacked text and the original, cosine"
    encoders = list(dict.fromkeys(
        group for subject in found.subjects for attack in found.attacks
        for group in found.groups("similarity", subject, attack)
    ))  # fmt: skip
    columns = [
        Column("Subject"), Column("Attack"), Column("Success rate", "percent", "Of the texts that it attacked"),
        Column("Least cosine", "text", "How similar a replacement had to be, by source of word vectors"),
        Column("Words changed", "number", "Mean over successful attacks"),
        *(Column(f"Similarity, {name}", "number", alike) for name in encoders),
        Column("Queries", "number", "Mean number of texts that the subject was asked about"),
        Column("Right before", "percent", "Accuracy on the texts under attack, as they are"),
        Column("Still right", "percent", "Accuracy on the texts under attack, after it"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for subject, attack in found.made:
        similar = [estimate(found.get("similarity", subject, attack, name)) for name in encoders]
        names = ("success_rate", "perturbed_words", "queries", "accuracy")
        measured, words, queries, right = (estimate(found.get(name, subject, attack)) for name in names)
        rate: Cell = "nothing to try" if found.nothing_tried(subject, attack) else measured
        limits = limits_in_words(found.limits(subject, attack))
        before = _right_before(found, subject, attack)
        rows.append([subject, attack, rate, limits, words, *similar, queries, before, right])
    note = (
        "Intervals are 95 %: Wilson's for shares, Student's for means. The first encoder is the attack's own limit. "
        "Both accuracies are of the texts under attack, which may be fewer than those of the audit."
    )
    return DataTable("Attacks on words in numbers", columns, rows, note)


def _differences(found: WordFindings) -> list[Block]:
    """Two attacks on the same texts, less one another."""
    if not found.pairs:
        return []
    columns = [Column("Subject"), Column("Attacks")]
    for _, name, kind in _DIFFERENCES:
        columns += [Column(name, kind, "First less second, on the same texts"), Column("p", "p")]
    rows: list[list[Cell]] = []
    for subject, pair in found.pairs:
        row: list[Cell] = [subject, pair]
        for metric, _, _ in _DIFFERENCES:
            one = found.get(metric, subject, pair)
            row += [estimate(one), _p_of(found, subject, pair) if metric == "success_difference" else _own_p(one)]
        rows.append(row)
    said = [_compared(found, subject, pair, limits_in_words) for subject, pair in found.pairs]
    compared = "".join(f"{text[:1].upper()}{text[1:]} " for text in said if text)
    note = (
        "First less second, every text its own control: success on texts that both attacked (McNemar's exact test, "
        "corrected by Holm with the other tests of the run), words and queries where both succeed (Wilcoxon's; no "
        "conclusion is drawn from these). Intervals are 95 % (of success Newcombe's, else bootstrap)."
    )
    return [DataTable("One attack beside another", columns, rows, compared + note)]


def _compared(found: WordFindings, subject: str, pair: str, written: Callable[[Mapping[str, float]], str]) -> str:
    """What is concluded of two attacks, from the corrected test alone, and under which limits each chose its words."""
    one, test = found.get("success_difference", subject, pair), found.get("mcnemar_p", subject, pair)
    if one is None or one.value is None:
        return ""
    first, _, second = pair.partition(" - ")
    points = f"{100 * one.value:+.1f} points {interval(one.low, one.high)}".replace("-", "\u2212", 1)
    p = p_equals(_p_of(found, subject, pair))
    shown = test is not None and test.verdict in ("more often", "less often")
    if shown and test is not None:
        said = f"{first} succeeds {test.verdict} than {second} on {subject} ({points}, {p} after Holm)"
    else:
        said = f"no difference in success is shown between {first} and {second} on {subject} ({points}, {p})"
    limits = [found.limits(subject, attack) for attack in (first, second)]
    if not any(limits):
        return f"{said}."
    one_limit, other_limit = (written(limit) or "any cosine" for limit in limits)
    both = f"{first} may take words at {one_limit}, {second} at {other_limit}"
    if _alike(limits[0], limits[1]):
        return f"{said}; {both}."
    return f"{said}; {both}: these limits are unlike, and this compares them as much as the attacks."


def _alike(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    """Whether two attacks ask the same cosine of every source of vectors that both have."""
    shared = first.keys() & second.keys()
    return bool(shared) and all(abs(first[name] - second[name]) < _SAME_COSINE for name in shared)


def _p_of(found: WordFindings, subject: str, pair: str) -> float | None:
    """McNemar's p after Holm, where the run has corrected it."""
    test = found.get("mcnemar_p", subject, pair)
    if test is None:
        return _own_p(found.get("success_difference", subject, pair))
    return test.p_value if test.p_adjusted is None else test.p_adjusted


def _own_p(one: Finding | None) -> float | None:
    return None if one is None else one.p_value


def _right_before(found: WordFindings, subject: str, attack: str) -> Cell:
    counted = found.right_before(subject, attack)
    if counted is None:
        return None
    (low,), (high,) = wilson([counted[0]], [counted[1]])
    return Estimate(counted[0] / counted[1], float(low), float(high), counted[1])


def _skipped(found: WordFindings) -> DataTable:
    """The texts that were not attacked, and why."""
    rows: list[list[Cell]] = []
    for subject, attack in found.made:
        if found.nothing_tried(subject, attack):
            rows.append([subject, attack, "the attack could try nothing", None, None])
        for reason in found.groups("skipped", subject, attack):
            one = found.get("skipped", subject, attack, reason)
            if one is not None and (reason or not one.value):
                count = round((one.value or 0.0) * (one.n or 0))
                rows.append([subject, attack, reason or "none was skipped", count, estimate(one)])
    columns = [Column("Subject"), Column("Attack"), Column("Why"), Column("Texts", "integer")]
    columns.append(Column("Of all", "percent"))
    return DataTable("Texts that were not attacked", columns, rows, collapsed=True)
