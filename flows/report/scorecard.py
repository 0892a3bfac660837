"""The scorecard of a run: a row per subject, and what it gets clean, of its worst class, on the hardest tenth, under
attack, corrupted; each with its interval, and with what one constant answer gets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from assay.tasks.attacks.settings import norm_and_slice
from assay.tasks.reporting.head import Scorecard
from assay.tasks.reporting.numerals import class_called, integer, interval, number, percent, plural
from assay.tasks.reporting.parts import Mark, Tone
from assay.tasks.reporting.report import red_flags
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, lowest
from assay.tasks.subjects.page import is_shown_worse

CLEAN = "clean"
SCORES = {"ner.f1": "F1", "sts.pearson": "Pearson's r", "regression.r2": "R²"}
"""What is scored by no share of right answers, and what the score is called."""
_OVERFITTED = {"overfit": "shown", "underpowered": "too few samples"}


def clean(findings: FindingIndex, subject: str) -> Finding | None:
    """How much is right on samples as they are; along D1 … DN, on the last of these, which holds all."""
    scores = (findings.get(metric, subject, CLEAN) for metric in ("subject.accuracy", *SCORES))
    along = (
        share
        for labels in ("gold", "weak")
        for share in reversed(findings.select("subject.accuracy", subject=subject, of=labels))
        if share.slice.dataset is not None
    )
    return next(filter(None, scores), None) or next(along, None)


def worst_class(findings: FindingIndex, subject: str) -> Finding | None:
    """The recall of the class that a subject recognises least, on the samples of the clean answer."""
    answer = clean(findings, subject)
    worst = answer and findings.get("subject.worst_recall", subject, answer.of, answer.group)
    return worst or findings.first("subject.worst_recall", subject=subject)


def hardest(findings: FindingIndex, subject: str) -> Finding | None:
    """The hardest tenth, or, where an order is cut into other pieces, the last of these."""
    tenths = (
        findings.get(f"{room}.last_tenth", subject, of) for room in ("along", "subject") for of in (CLEAN, "gold")
    )
    cut = findings.select("along.accuracy", subject=subject, of=CLEAN)
    return next(filter(None, tenths), None) or next((last for last in reversed(cut) if last.slice.stratum), None)


@lru_cache(maxsize=2)
def strongest_attacks(findings: FindingIndex) -> Mapping[str, Finding]:
    """What the strongest attacks on images leave of every subject, at the ε that subjects are compared at."""
    from assay.tasks.attacks.page import strongest

    return strongest(findings)


def eps_text(finding: Finding) -> str:
    """The ε of an attack on images as sentences have it; empty of all else."""
    return norm_and_slice(finding.group)[1].eps_text


def attacked(findings: FindingIndex, subject: str, beside: Finding | None = None) -> Finding | None:
    """What the strongest attack leaves; where another subject's is given, what the same attack leaves, or, of images,
    the strongest at the same ε."""
    if beside is not None:
        of = None if eps_text(beside) else beside.of
        return lowest(findings.select(beside.metric, subject=subject, of=of, group=beside.group))
    if left := strongest_attacks(findings).get(subject):
        return left
    words = [finding for finding in findings.select("attack.accuracy", subject=subject) if not finding.group]
    terms = [score for metric in ("ner.f1", "sts.pearson") for score in _met_by_all(findings, metric)]
    return lowest(words or [score for score in terms if score.subject == subject])


def _met_by_all(findings: FindingIndex, metric: str) -> list[Finding]:
    """What attacks on terms leave that all subjects met: a copy meets some of its original's, and only what both met
    can stand in a column."""
    scores = [score for score in findings.select(metric) if score.of != CLEAN and not score.slice.name]
    names = distinct(score.subject for score in scores)
    return [score for score in scores if all(findings.get(metric, name, score.of, score.group) for name in names)]


def corrupted(findings: FindingIndex, subject: str) -> Finding | None:
    """What the worst corruption of images, or the worst noise in texts, leaves."""
    worst = findings.get("corruption.worst_accuracy", subject)
    return worst or findings.first("attack.worst_accuracy", subject=subject)


def trusted(findings: FindingIndex, subject: str) -> Finding | None:
    """How much of what is right is right for the right reasons, by the first explainer."""
    return next(iter(findings.select("trust.trustworthy", subject=subject, group="all")), None)


def overfitted(findings: FindingIndex, subject: str) -> Finding | None:
    """The test of whether a subject is fitted to its test samples that decides."""
    return next((test for test in findings.select("overfitting.p_value", subject=subject) if test.verdict), None)


QUESTIONS: Mapping[str, Callable[[FindingIndex, str], Finding | None]] = {
    "Clean": clean,
    "Worst class": worst_class,
    "Hardest tenth": hardest,
    "Under attack": attacked,
    "Corrupted": corrupted,
    "Right for the right reasons": trusted,
    "Overfitting": overfitted,
}
"""The columns of the scorecard: the head of each, and the finding that answers it for a subject."""


def subjects_of(findings: FindingIndex) -> list[str]:
    """The subjects that a scorecard has rows for."""
    stages = ("subject", "regression", "attack", "ner", "sts", "corruption", "trust", "overfitting")
    return [name for name in distinct(f.subject for stage in stages for f in findings.select(stage)) if name]


def answers_of(findings: FindingIndex) -> list[Finding]:
    """All that stands in the scorecard, subject by subject."""
    answers = (answer(findings, subject) for subject in subjects_of(findings) for answer in QUESTIONS.values())
    return [answer for answer in answers if answer is not None]


def _asked(findings: FindingIndex) -> list[tuple[str, list[Finding | None]]]:
    """The questions that some subject was asked, each with the answers of all subjects."""
    subjects = subjects_of(findings)
    answered = ((title, [answer(findings, subject) for subject in subjects]) for title, answer in QUESTIONS.items())
    return [(title, answers) for title, answers in answered if any(answers)]


def scorecard(findings: FindingIndex) -> Scorecard | None:
    """A row per subject; questions that none of them was asked are left out."""
    subjects, asked = subjects_of(findings), _asked(findings)
    if not asked:
        return None
    asked = [(_titled(title, [*filter(None, answers)]), answers) for title, answers in asked]
    rows = [
        (name, [_mark(findings, answers[at], title) for title, answers in asked]) for at, name in enumerate(subjects)
    ]
    alone = [_alone(findings, next(filter(None, answers))) for _, answers in asked]
    return Scorecard([title for title, _ in asked], rows, alone, _checks(findings, any(alone)))


def side_by_side(before: FindingIndex, after: FindingIndex, gains: Mapping[tuple[str, ...], float]) -> Scorecard | None:
    """The later scorecard, and in its cells where each number was before; marked are those that moved (`gains`)."""
    was, now = scorecard(before), scorecard(after)
    if was is None or now is None:
        return now
    earlier = {name: dict(zip(was.columns, cells, strict=True)) for name, cells in was.rows}
    answers = [answers for _, answers in _asked(after)]
    rows = []
    for at, (name, cells) in enumerate(now.rows):
        then = [earlier.get(name, {}).get(column) for column in now.columns]
        own = (of_all[at] for of_all in answers)
        moved = [0.0 if finding is None else gains.get(finding.key, 0.0) for finding in own]
        rows.append((name, [_moved(*sides) for sides in zip(then, cells, moved, strict=True)]))
    return Scorecard(now.columns, rows, now.alone, "Underlined: worse by more than chance; green: better.")


def _moved(was: Mark | None, now: Mark | None, gain: float) -> Mark | None:
    """A cell of the later scorecard with what stood there before."""
    if now is None or was is None:
        return now
    tone: Tone = "bad" if gain < 0 else "good" if gain > 0 else "neutral"
    if was.text == now.text:
        return replace(now, tone=tone)
    before = was.below.replace("\n", " ")
    return Mark(f"{was.text} → {now.text}", tone, f"{now.below}\nbefore {before}")


def _titled(title: str, answers: Sequence[Finding]) -> str:
    """The head of a column, with the ε that all of it is at, or that it is of a larger piece than a tenth."""
    if answers[0].slice.stratum is not None:
        return "Hardest end"
    eps, *others = distinct(map(eps_text, answers))
    return f"{title}, ε = {eps}" if eps and not others else title


def constant_of(findings: FindingIndex, finding: Finding) -> Finding | None:
    """What one constant answer gets on the samples of a finding, or on the clean ones of its subject; None of what is
    no accuracy."""
    if not finding.metric.endswith("accuracy"):
        return None
    names = ("constant_accuracy", "majority_rate")
    own = (findings.get(f"{finding.stage}.{name}", *finding.about) for name in names)
    clean = (findings.first(f"subject.{name}", subject=finding.subject) for name in names)
    return next(filter(None, (*own, *clean)), None)


def _alone(findings: FindingIndex, finding: Finding) -> str:
    constant = constant_of(findings, finding)
    return percent(0.0) if finding.metric.endswith("recall") else percent(constant.value, 0) if constant else ""


def is_beaten(findings: FindingIndex, finding: Finding) -> bool:
    """Whether one constant answer gets as much, as far as this can tell: by the run's own test where it made one."""
    test = findings.get("subject.above_constant_p", *finding.about) if finding.metric == "subject.accuracy" else None
    if test is not None or finding.metric == "regression.r2":
        return not (test or finding).verdict.startswith("better")
    if finding.metric.endswith("recall"):  # a constant answer finds no sample of the other classes
        return finding.low is not None and round(finding.low, 9) <= 0
    constant = constant_of(findings, finding)
    return constant is not None and finding.low is not None and finding.low <= (constant.value or 0.0)


def is_worse(findings: FindingIndex, finding: Finding) -> bool:
    """Whether one constant answer is shown to get more, by the run's own test and its interval."""
    return is_shown_worse(*(findings.get(f"subject.above_constant{part}", *finding.about) for part in ("", "_p")))


def _mark(findings: FindingIndex, finding: Finding | None, title: str) -> Mark | None:
    """A cell of the scorecard: the number, its interval and n; underlined where one constant answer gets as much."""
    if finding is None:
        return None
    if finding.metric == "overfitting.p_value":
        shown = _OVERFITTED.get(finding.verdict, finding.verdict)
        return Mark(shown, "bad" if shown == "shown" else "neutral", f"n = {integer(finding.n)}")
    share = finding.metric not in SCORES
    value = percent(finding.value, 0) if share else f"{SCORES[finding.metric]} {number(finding.value)}"
    ends = interval(finding.low, finding.high, "percent" if share else "number", 0)
    named = class_called(finding.verdict) if finding.metric.endswith(("worst_recall", "worst_accuracy")) else ""
    if (eps := eps_text(finding)) and not title.endswith(f"= {eps}"):
        named = f"ε = {eps}"
    elif title == "Under attack":
        named = finding.of
    below = f"{ends} of {integer(finding.n)}"
    tone: Tone = "bad" if is_beaten(findings, finding) else "neutral"
    return Mark(value, tone, f"{named.replace('severity=', 'severity ')}\n{below}" if named else below)


def _checks(findings: FindingIndex, beside_constant: bool) -> str:
    """Under the scorecard: what is underlined, where anything can be, and whether the attacks can be trusted."""
    looked = [flag for flag in findings.select("attack.red_flag") if flag.n]
    raised = len(red_flags(findings))
    found = f"raised {plural(raised, 'red flag')}: see below" if raised else "raised no red flag"
    checks = f"{plural(len(looked), 'check')} of the attacks {found}." if looked else ""
    compared = beside_constant or bool(findings.select("regression.r2"))
    legend = "Underlined: one constant answer may get as much." if compared else ""
    return f"{legend} {checks}".strip()
