"""The head of a run's page: its state, what changed since the baseline, the scorecard, the sentences and what to look
at next, from the findings of the run and those of the run that it is held against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from assay.flows.audits.table import AnyKind
from assay.flows.report.comparison import Change, KeptOutcomes, difference_between, finding_changes
from assay.flows.report.gates import accepted
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.reporting.estimates import capital, share_text
from assay.tasks.reporting.head import SENTENCES, Head, Scorecard
from assay.tasks.reporting.numerals import integer, interval, number, percent, plural
from assay.tasks.reporting.parts import Mark, Part, Tone, Verdict
from assay.tasks.reporting.report import red_flags
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, findings_of, highest, lowest, measured
from assay.tasks.statistics.gates import GateResult
from assay.tasks.statistics.multiplicity import adjusted

_LEVEL, _APART = 0.05, 0.05
"""How sure a change must be; and how far a class must lie below the rest to be named."""
CLEAN = "clean"


@dataclass(frozen=True)
class Question:
    """A column of the scorecard: its head, and the finding that answers it for a subject."""

    title: str
    answer: Callable[[FindingIndex, str], Finding | None]


def _clean(findings: FindingIndex, subject: str) -> Finding | None:
    """How much is right on samples as they are; along D1 … DN, on the last of these, which holds all."""
    along = (findings.select("subject.accuracy", subject=subject, of=labels)[-1:] for labels in ("gold", "weak"))
    scores = (findings.get(metric, subject, CLEAN) for metric in ("subject.accuracy", *_SCORES))
    return next(filter(None, scores), None) or next((last[0] for last in along if last), None)


def _worst_class(findings: FindingIndex, subject: str) -> Finding | None:
    clean = _clean(findings, subject)
    worst = clean and findings.get("subject.worst_recall", subject, clean.of, clean.group)
    return worst or findings.first("subject.worst_recall", subject=subject)


def _hardest(findings: FindingIndex, subject: str) -> Finding | None:
    """The hardest tenth, or, where an order is cut into other pieces, the last of these."""
    tenths = (
        findings.get(f"{room}.last_tenth", subject, of) for room in ("along", "subject") for of in (CLEAN, "gold")
    )
    cut = findings.select("along.accuracy", subject=subject, of=CLEAN)
    return next(filter(None, tenths), None) or next((last for last in reversed(cut) if last.slice.stratum), None)


@lru_cache(maxsize=2)
def asked_eps(findings: FindingIndex) -> str:
    """The group of the ε at which subjects are compared."""
    from assay.tasks.attacks.page import AttackFindings

    return AttackFindings(findings).common()


def _attacked(findings: FindingIndex, subject: str) -> Finding | None:
    """What the strongest attack leaves: on images at the ε that subjects are compared at."""
    eps = asked_eps(findings)
    if eps and any(finding.group == eps for finding in findings.select("attack.accuracy", subject=subject)):
        return lowest(findings.select("attack.accuracy", subject=subject, group=eps))
    words = [finding for finding in findings.select("attack.accuracy", subject=subject) if not finding.group]
    terms = [score for metric in _SCORES for score in findings.select(metric, subject=subject)]
    return lowest(words or [score for score in terms if score.of != CLEAN])


def _corrupted(findings: FindingIndex, subject: str) -> Finding | None:
    worst = findings.get("corruption.worst_accuracy", subject)
    return worst or findings.first("attack.worst_accuracy", subject=subject)


def _trusted(findings: FindingIndex, subject: str) -> Finding | None:
    return next(iter(findings.select("trust.trustworthy", subject=subject, group="all")), None)


def _overfitted(findings: FindingIndex, subject: str) -> Finding | None:
    tests = findings.select("overfitting.p_value", subject=subject, group="")
    return next((test for test in tests if test.verdict), None)


QUESTIONS = (
    Question("Clean", _clean),
    Question("Worst class", _worst_class),
    Question("Hardest tenth", _hardest),
    Question("Under attack", _attacked),
    Question("Corrupted", _corrupted),
    Question("Right for the right reasons", _trusted),
    Question("Overfitting", _overfitted),
)


def head_of(
    kinds: Sequence[AnyKind],
    findings: FindingIndex,
    gates: Sequence[GateResult],
    record: RunRecord,
    store: Store,
    parts: Sequence[Part],
    failures: Sequence[str],
) -> Head:
    """The head of a run's page."""
    against = baseline_of(store, record)
    changes = [] if against is None else scorecard_changes(store, against, record, findings, kinds)
    samples = next((part.samples for part in reversed(parts) if part.samples), ())
    return Head(
        state_of(gates, failures, against, sum(_gain(change, kinds) < 0 for change in changes)),
        [change_in_words(change, kinds) for change in changes],
        scorecard(findings),
        sentences(kinds, findings),
        next(iter(settings_to_try(findings)), ""),
        samples,
    )


def baseline_of(store: Store, record: RunRecord) -> RunRecord | None:
    """The run that a page is held against: the accepted one of its pipeline, else the one before it."""
    chosen = accepted(store, record.pipeline)
    before = [
        run
        for run in store.runs()
        if run.pipeline == record.pipeline and run.findings and not run.is_trial and run.started < record.started
    ]
    return next((run for run in before if chosen and run.id == chosen["run"]), before[-1] if before else None)


def scorecard_changes(
    store: Store, against: RunRecord, record: RunRecord, findings: FindingIndex, kinds: Sequence[AnyKind]
) -> list[Change]:
    """What the scorecard says otherwise than the run before, beyond chance among all its numbers, worst first."""
    earlier, later = KeptOutcomes(store, against, kinds), KeptOutcomes(store, record, kinds)
    try:
        old = {finding.key: finding for finding in findings_of(store, against)}
    except InputError:
        return []
    pairs = {finding.key: finding for finding in answers_of(findings) if finding.key in old}
    compared = finding_changes(
        [old[key] for key in pairs], list(pairs.values()), lambda was, new: difference_between(earlier, later, was, new)
    )
    tested = [change for change in compared if change.difference is not None and not change.difference.identical]
    held = adjusted([change.difference.p for change in tested if change.difference], "holm")
    moved = [change for change, p in zip(tested, held, strict=True) if p <= _LEVEL]
    return sorted(moved, key=lambda change: _gain(change, kinds))


def _gain(change: Change, kinds: Sequence[AnyKind]) -> float:
    """How much better a number got; negative where it got worse."""
    better = {metric.name: metric.better for kind in kinds for metric in kind.metrics}
    return (change.moved or 0.0) * (-1 if better.get(change.key[0]) == "less" else 1)


def change_in_words(change: Change, kinds: Sequence[AnyKind]) -> Verdict:
    """One change as a line: which number of whom, from where to where, and the difference with its interval."""
    after, difference = change.after, change.difference
    assert after is not None, "the later run has it"
    assert change.before is not None, "the earlier run has it"
    assert difference is not None, "they were compared"
    declared = {metric.name: metric for kind in kinds for metric in kind.metrics}
    title = declared[after.metric].title if after.metric in declared else after.metric
    about = ", ".join(filter(None, (after.of if after.of != CLEAN else "", after.group)))
    points = interval(difference.low, difference.high, digits=1)
    text = (
        f"{after.subject}: {title[:1].lower()}{title[1:]}{f' ({about})' if about else ''} "
        f"{percent(change.before.value)} → {percent(after.value)}, "
        f"{percent(difference.value, sign=False)} points {points}"
    )
    return Verdict(text, "bad" if _gain(change, kinds) < 0 else "good")


def state_of(gates: Sequence[GateResult], failures: Sequence[str], against: RunRecord | None, worse: int) -> Verdict:
    """The state in one line: whether the gates passed, and whether anything got worse."""
    broken = [gate for gate in gates if not gate.passed]
    since = "nothing to compare with yet"
    if against is not None:
        since = f"{plural(worse, 'number') if worse else 'nothing'} got worse since {against.id}"
    if failures:
        return Verdict(f"Broken: {plural(len(failures), 'part')} of the run failed · {since}", "bad")
    if broken:
        rest = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        return Verdict(f"Failed: {broken[0].gate.title()}{rest} · {since}", "bad")
    unsure = sum(gate.outcome != "passed" for gate in gates)
    passed = f"Passed, {unsure} with a warning" if unsure else "Passed" if gates else "Done, no gate is set"
    return Verdict(f"{passed} · {since}", "bad" if worse else "good" if gates else "neutral")


def subjects_of(findings: FindingIndex) -> list[str]:
    """The subjects that a scorecard has rows for."""
    stages = ("subject", "attack", "ner", "sts", "corruption", "trust", "overfitting")
    return [name for name in distinct(f.subject for stage in stages for f in findings.select(stage)) if name]


def answers_of(findings: FindingIndex) -> list[Finding]:
    """All that stands in the scorecard, subject by subject."""
    answers = (question.answer(findings, subject) for subject in subjects_of(findings) for question in QUESTIONS)
    return [answer for answer in answers if answer is not None]


def scorecard(findings: FindingIndex) -> Scorecard | None:
    """A row per subject; questions that none of them was asked are left out."""
    subjects = subjects_of(findings)
    asked = [
        (question, answers)
        for question in QUESTIONS
        if any(answers := [question.answer(findings, subject) for subject in subjects])
    ]
    if not asked:
        return None
    titles = [_titled(question, next(filter(None, answers))) for question, answers in asked]
    rows = [(subject, [_mark(findings, answers[at]) for _, answers in asked]) for at, subject in enumerate(subjects)]
    alone = [_alone(findings, next(filter(None, answers))) for _, answers in asked]
    return Scorecard(titles, rows, alone, _checks(findings))


def _titled(question: Question, finding: Finding) -> str:
    """The head of a column, with the ε that it is at, or that what stands in it is a larger piece than a tenth."""
    if finding.slice.stratum is not None:
        return "Hardest end"
    return f"{question.title}, ε = {finding.slice.eps_text}" if finding.slice.eps_text else question.title


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
    if test is not None:
        return test.verdict != "better"
    constant = constant_of(findings, finding)
    return constant is not None and finding.low is not None and finding.low <= (constant.value or 0.0)


def _mark(findings: FindingIndex, finding: Finding | None) -> Mark | None:
    """A cell of the scorecard: the number, its interval and n; underlined where one constant answer gets as much."""
    if finding is None:
        return None
    if finding.metric == "overfitting.p_value":
        shown = _OVERFITTED.get(finding.verdict, finding.verdict)
        return Mark(shown, "bad" if shown == "shown" else "neutral", f"n = {integer(finding.n)}")
    share = finding.metric not in _SCORES
    value = percent(finding.value, 0) if share else number(finding.value, 2)
    ends = interval(finding.low, finding.high, "percent" if share else "number", 0)
    named = finding.verdict if finding.metric.endswith(("worst_recall", "worst_accuracy")) else ""
    below = f"{ends} of {integer(finding.n)}"
    tone: Tone = "bad" if is_beaten(findings, finding) else "neutral"
    return Mark(value, tone, f"{named.replace('severity=', 'severity ')}\n{below}" if named else below)


_SCORES = {"ner.f1": "F1", "sts.pearson": "Pearson's r"}
_OVERFITTED = {"overfit": "shown", "underpowered": "too few samples"}


def _checks(findings: FindingIndex) -> str:
    """Under the scorecard: what is underlined, and whether the attacks can be trusted."""
    looked = [flag for flag in findings.select("attack.red_flag") if flag.n]
    raised = len(red_flags(findings))
    found = f"raised {plural(raised, 'red flag')}: see below" if raised else "raised no red flag"
    checks = f" {plural(len(looked), 'check')} of the attacks {found}." if looked else ""
    return f"Underlined: one constant answer may get as much.{checks}"


def sentences(kinds: Sequence[AnyKind], findings: FindingIndex) -> list[Verdict]:
    """What was found, one thing a sentence, the most consequential first; of subjects, what the first withstands."""
    about = (_beaten, _suffering, _flagged, _memorised, _slice, _fallen, _reasons, _doubted, _worn)
    base = next(iter(bases_of(findings)), "")
    lines = [Verdict(*line) for sentence in about for line in sentence(findings, base)]
    others = [kind for kind in kinds if kind.origin is not None or not lines]
    return [*lines, *(line for kind in others for line in kind.verdict(findings))][:SENTENCES]


Lines = Iterator[tuple[str, Tone]]


def listed(names: Sequence[str]) -> str:
    """The first three names in words.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    rest = [f"{len(names) - 3} more"] if len(names) > 3 else []
    *first, last = [*names[:3], *rest]
    return f"{', '.join(first)} and {last}" if first else last


def _share(finding: Finding) -> str:
    return share_text(finding, 0)


def _copies(findings: FindingIndex, base: str) -> list[str]:
    """The defended copies of a subject."""
    return [name for name in subjects_of(findings) if name.startswith(f"{base}+") and not name.endswith("-control")]


def bases_of(findings: FindingIndex) -> list[str]:
    """The subjects that are no copy of another."""
    return [name for name in subjects_of(findings) if "+" not in name]


def _beaten(findings: FindingIndex, _: str) -> Lines:
    """Subjects that are not shown to be better than one constant answer."""
    clean = {name: answer for name in subjects_of(findings) if (answer := _clean(findings, name)) is not None}
    beaten = {name: answer for name, answer in clean.items() if is_beaten(findings, answer)}
    if beaten:
        names, first = list(beaten), next(iter(beaten.values()))
        are, right = ("are", "") if len(names) > 1 else ("is", f" ({_share(first)})")
        text = f"{listed(names)} {are} not shown to be right more often{right} than one constant answer"
        constant = constant_of(findings, first)
        alone = percent(constant.value if constant else None, 0)
        yield f"{text}, which gets {alone}.", "neutral" if all("+" in name for name in names) else "bad"


def _suffering(findings: FindingIndex, base: str) -> Lines:
    """The class that a subject recognises least, and the copy of it that recognises its own worst class least."""
    worst, clean = _worst_class(findings, base), _clean(findings, base)
    if worst is None or clean is None or (worst.value or 0.0) > (clean.value or 0.0) - _APART:
        return
    copy, then = lowest(_worst_class(findings, name) for name in _copies(findings, base)), ""
    if copy is not None and (copy.value or 0.0) < (worst.value or 0.0) - _APART:
        named = "" if copy.verdict == worst.verdict else f" of {copy.verdict}"
        then = f"; {copy.subject} finds {_share(copy)}{named}"
    text = f"{base} finds {_share(worst)} of {worst.verdict}, its worst class{then}."
    yield text, "bad" if (worst.value or 0.0) < 0.5 else "neutral"


def _raised(findings: FindingIndex) -> list[Finding]:
    return [flag for flag in findings.select("attack.red_flag") if flag.value == 1.0]


def _flagged(findings: FindingIndex, _: str) -> Lines:
    from assay.tasks.attacks.red_flags import FLAGS

    for flag in (raised := _raised(findings))[:1]:
        named = FLAGS.get(flag.of, (flag.of, ""))[0]
        rest = f" ({plural(len(raised) - 1, 'more red flag')})" if len(raised) > 1 else ""
        whose = f" of {flag.subject}" if flag.subject else ""
        yield f"What attacks say{whose} cannot be trusted as it stands: {named[:1].lower()}{named[1:]}{rest}.", "bad"


def _fallen(findings: FindingIndex, base: str) -> Lines:
    """What the strongest attack does to a subject, and what its best defence keeps."""
    left, clean = _attacked(findings, base), _clean(findings, base)
    if left is None:
        return
    best = highest(_attacked(findings, name) for name in _copies(findings, base))
    kept = f"; {best.subject} keeps {_share(best)}" if best is not None else ""
    success = highest(rate for rate in findings.select("attack.success_rate", subject=base) if not rate.group)
    if left.slice.eps is not None:
        yield (
            f"At ε = {left.slice.eps_text} the strongest attack leaves {base} right on {_share(left)}{kept}.",
            "neutral",
        )
    elif left.stage == "attack" and success is not None:
        yield (
            f"{capital(success.of)} changes the answer of {base} on {_share(success)} of the texts it attacks.",
            "neutral",
        )
    elif left.stage != "attack" and clean is not None:
        fall = f"from {number(clean.value, 2)} to {number(left.value, 2)} {interval(left.low, left.high, 'number')}"
        yield f"{_SCORES[left.metric]} of {base} falls {fall} under {left.of}.", "neutral"


def _worn(findings: FindingIndex, base: str) -> Lines:
    worst = _corrupted(findings, base)
    if worst is not None and worst.verdict:
        what = capital(worst.verdict.replace("-", " ").replace(", severity=", " at severity "))
        yield f"{what} leaves {base} right on {_share(worst)}, the least of all corruptions tried.", "neutral"


def _reasons(findings: FindingIndex, base: str) -> Lines:
    for wrong in measured(findings.select("trust.untrustworthy", subject=base, group="all"))[:1]:
        yield f"Of what {base} gets right, {_share(wrong)} is right for the wrong reasons, by {wrong.of}.", "neutral"


def _memorised(findings: FindingIndex, base: str) -> Lines:
    test = _overfitted(findings, base)
    if test is not None and test.verdict == "overfit":
        yield f"{base} is shown to be fitted to its test samples: what it scores on them is too good.", "bad"


def _slice(findings: FindingIndex, _: str) -> Lines:
    for worse in [test for test in findings.select("slices.worse_p") if test.verdict == "worse"][:1]:
        about = worse.subject, worse.of
        right, rest = (findings.get(f"slices.{half}_accuracy", *about) for half in ("confirmed", "rest"))
        if right is not None and rest is not None:
            elsewhere = f"on {percent(rest.value, 0)} of the rest"
            yield f"{worse.subject} is right on {_share(right)} where {worse.of}, {elsewhere}.", "bad"


def _doubted(findings: FindingIndex, _: str) -> Lines:
    """Whether the rules' labels get worse along the order."""
    test = findings.first("ordering.trend_p", of="ours")
    if test is None or test.value is None:
        return
    first, last = (findings.get(f"ordering.{end}_tenth", of="ours", group=test.group) for end in ("first", "last"))
    ends = ""
    if first is not None and last is not None:
        ends = f": {percent(first.value, 0)} right in the easiest tenth, {_share(last)} in the hardest"
    shown, tone = _ORDERS.get(test.verdict, ("are not shown to get worse", "neutral"))
    yield f"The rules' labels {shown} along the order{ends}.", tone


_ORDERS: dict[str, tuple[str, Tone]] = {
    "adverse": ("get worse", "good"),
    "violation": ("get better, not worse,", "bad"),
}


def settings_to_try(findings: FindingIndex) -> Iterator[str]:
    """Settings that would tell more, the one that tells most first."""
    from assay.tasks.attacks.red_flags import FLAGS

    for base in bases_of(findings):
        clean = _clean(findings, base)
        if clean is not None and is_beaten(findings, clean):
            better = f"Train {base} longer or on more samples (train: epochs)."
            yield f"{better} Until it beats one constant answer, attacks on it tell little."
    for flag in _raised(findings):
        yield f"Before the attacks are believed: {FLAGS.get(flag.of, ('', 'look for what misleads them.'))[1]}"
    for need in measured(findings.select("overfitting.samples_needed")):
        many = f"Audit {integer(round(need.value or 0))} samples in place of {integer(need.n)}"
        yield f"{many} (evaluation: limit): so many would show overfitting."
    sized = [answer for answer in answers_of(findings) if answer.high is not None and answer.metric not in _SCORES]
    for wide in sorted(sized, key=lambda answer: (answer.low or 0.0) - (answer.high or 0.0)):
        whose = f"{wide.verdict} of {wide.subject}" if wide.metric == "subject.worst_recall" else wide.subject
        widest = f"The widest interval is that of {whose}, {_share(wide)} of {integer(wide.n)}"
        yield f"Audit more samples (evaluation: limit). {widest}; four times as many would halve it."
    test = findings.first("ordering.trend_p", of="ours")
    if test is not None and test.verdict.startswith("not shown"):
        yield f"Give more samples a true label: {integer(test.n)} do not show whether the order is adverse."
