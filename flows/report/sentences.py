"""What a run found, in sentences: one thing each, every figure from its finding, the most consequential first. The
page, the terminal, the index of nights and messages all say these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from assay.flows.audits.table import AnyKind
from assay.flows.report.scorecard import (
    CLEAN,
    SCORES,
    answers_of,
    attacked,
    clean,
    constant_of,
    corrupted,
    eps_text,
    hardest,
    is_beaten,
    is_worse,
    overfitted,
    subjects_of,
    worst_class,
)
from assay.infra.errors import all_named
from assay.tasks.attacks.chance.flips import NO_MORE
from assay.tasks.attacks.terms.measures import HIGHER, LOWER
from assay.tasks.attacks.texts.measures import BLIND
from assay.tasks.attacks.texts.settings import MUST_CHANGE
from assay.tasks.defenses.class_page import lost
from assay.tasks.reporting.estimates import capital, share_text
from assay.tasks.reporting.head import SENTENCES
from assay.tasks.reporting.numerals import class_called, coefficient, integer, interval, number, percent, plural
from assay.tasks.reporting.parts import Tone, Verdict
from assay.tasks.statistics.findings import Finding, FindingIndex, highest, lowest, measured

_APART = 0.05
"""How far a class must lie below the rest to be named."""


def sentences(kinds: Sequence[AnyKind], findings: FindingIndex) -> list[Verdict]:
    """What was found, the most consequential first; of subjects, what the first withstands. Kinds of other packages
    add sentences of their own."""
    base = next(iter(bases_of(findings)), "")
    lines = [Verdict(*line) for about in _ABOUT for line in about(findings, base)]
    others = [kind for kind in kinds_measured(kinds, findings) if kind.origin is not None]
    lines += [line for kind in others for line in kind.verdict(findings)]
    return sorted(lines, key=lambda line: line.tone != "bad")[:SENTENCES]


def kinds_measured(kinds: Sequence[AnyKind], findings: FindingIndex) -> list[AnyKind]:
    """The audits that there are findings of, or that have no findings of their own: the others have nothing to say, and
    saying it may need libraries that are not installed."""
    return [kind for kind in kinds if not kind.measures or any(findings.select(each.stage) for each in kind.measures)]


Lines = Iterator[tuple[str, Tone]]


def listed(names: Sequence[str]) -> str:
    """The first three names in words.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    return all_named(names if len(names) <= 3 else [*names[:3], f"{len(names) - 3} more"])


def _share(finding: Finding) -> str:
    return share_text(finding, 0)


def _score(finding: Finding) -> str:
    """A finding with its interval, as a share or as the score that it is."""
    if finding.metric not in SCORES:
        return _share(finding)
    return f"{number(finding.value)} {interval(finding.low, finding.high, 'number')}".strip()


def _alike(findings: FindingIndex) -> set[str]:
    """The subjects that answer (almost) everything alike."""
    return {flag.subject for flag in findings.select("subject.degenerate") if flag.degenerate}


def _copies(findings: FindingIndex, base: str) -> list[str]:
    """The defended copies of a subject that do not answer everything alike."""
    alike = _alike(findings)
    names = (name for name in subjects_of(findings) if name.startswith(f"{base}+") and name not in alike)
    return [name for name in names if not name.endswith("-control")]


def bases_of(findings: FindingIndex) -> list[str]:
    """The subjects that are no copy of another."""
    return [name for name in subjects_of(findings) if "+" not in name]


def _beaten(findings: FindingIndex, _: str) -> Lines:
    """Subjects that are shown to be worse than one constant answer, or not shown to be better."""
    by_outcome = defaultdict[str, dict[str, Finding]](dict)
    for name in subjects_of(findings):
        answer = clean(findings, name)
        if answer is not None and answer.metric not in SCORES and is_beaten(findings, answer):
            outcome = "right less often" if is_worse(findings, answer) else "not shown to be right more often"
            by_outcome[outcome][name] = answer
    for outcome, beaten in sorted(by_outcome.items(), reverse=True):  # those shown to be worse come first
        names, first = list(beaten), next(iter(beaten.values()))
        are, right = ("are", "") if len(names) > 1 else ("is", f" ({_share(first)})")
        text = f"{listed(names)} {are} {outcome}{right} than one constant answer"
        constant = constant_of(findings, first)
        alone = percent(constant.value if constant else None, 0)
        yield f"{text}, which gets {alone}.", "neutral" if all("+" in name for name in names) else "bad"


def _leaking(findings: FindingIndex, _: str) -> Lines:
    """Audited samples that are nearly in the training."""
    for leaked in findings.select("duplicates.leaked"):
        if leaked.value:
            text = f"{_share(leaked)} of the audited samples are nearly the same as one that trains"
            yield f"{text}: what is measured on them is no measure of new ones.", "bad"


def _off(findings: FindingIndex, _: str) -> Lines:
    """Subjects whose numbers are no better than one constant number, or whose intervals promise too much."""
    for r2 in findings.select("regression.r2", of=CLEAN):
        if is_beaten(findings, r2):
            why = r2.verdict.removeprefix("not measured: ") if r2.value is None else f"R² {_score(r2)}"
            yield f"{r2.subject} is not shown to predict better than one constant number: {why}.", "bad"
    for held in findings.select("regression.coverage", of=CLEAN):
        if held.verdict.startswith("less"):
            yield f"The intervals of {held.subject} hold {_share(held)} of the true numbers, {held.verdict}.", "bad"


def _suffering(findings: FindingIndex, base: str) -> Lines:
    """The class that a subject recognises least, where it lies apart or a copy of the subject loses more of its own."""
    worst, whole = worst_class(findings, base), clean(findings, base)
    if worst is None or whole is None:
        return
    copies = [name for name in subjects_of(findings) if name.startswith(f"{base}+")]
    copy, then = lowest(worst_class(findings, name) for name in copies), ""
    if copy is not None and (copy.value or 0.0) < (worst.value or 0.0) - _APART:
        named = "" if copy.verdict == worst.verdict else f" of {class_called(copy.verdict)}"
        then = f"; {copy.subject} finds {_share(copy)}{named}"
    elif (worst.value or 0.0) > (whole.value or 0.0) - _APART:
        return
    text = f"{base} finds {_share(worst)} of {class_called(worst.verdict)}, its worst class{then}."
    yield text, "bad" if then or (worst.value or 0.0) < 0.5 else "neutral"


def _costly(findings: FindingIndex, base: str) -> Lines:
    """What errors cost, where they have a price."""
    whole = clean(findings, base)
    for cost in findings.select("subject.expected_cost", subject=base)[:1] if whole is not None else ():
        constant = findings.get("subject.constant_cost", *cost.about)
        always = "" if constant is None else f"; always {class_called(constant.verdict)} costs {number(constant.value)}"
        ends = interval(cost.low, cost.high, "number")
        yield f"Errors of {base} cost {number(cost.value)} {ends} per sample{always}.", "neutral"


def _raised(findings: FindingIndex) -> list[Finding]:
    return [flag for flag in findings.select("attack.red_flag") if flag.value == 1.0]


def _flagged(findings: FindingIndex, _: str) -> Lines:
    from assay.tasks.attacks.red_flags import FLAGS

    for flag in (raised := _raised(findings))[:1]:
        named = FLAGS.get(flag.of, (flag.of, ""))[0]
        why = flag.verdict.partition(": ")[2]
        rest = f" ({plural(len(raised) - 1, 'more red flag')})" if len(raised) > 1 else ""
        whose = f" of {flag.subject}" if flag.subject else ""
        reason = f"{named[:1].lower()}{named[1:]}{': ' if why else ''}{why}{rest}"
        yield f"What attacks say{whose} cannot be trusted as it stands, for {reason}.", "bad"


def _fallen(findings: FindingIndex, base: str) -> Lines:
    """What the strongest attack does to a subject, and what its best defence keeps."""
    left, whole = attacked(findings, base), clean(findings, base)
    if left is None or base in _alike(findings):
        blind = [rate.of for rate in findings.select("attack.success_rate", subject=base) if rate.verdict == BLIND]
        if blind:
            yield f"Not tried on {base}: {listed(blind)} ({BLIND}).", "neutral"
        return
    best = highest(attacked(findings, name, left) for name in _copies(findings, base))
    kept = f"; {best.subject} keeps {_score(best)}" if best is not None else ""
    success = _success(findings, base)
    if at := eps_text(left):
        beyond = _by_chance(findings, left)
        text = f"At ε = {at} the strongest attack leaves {base} right on {_share(left)}{beyond}{kept}."
    elif left.stage == "attack" and success is not None:
        copy = lowest(findings.get("attack.success_rate", name, success.of) for name in _copies(findings, base))
        spared = f", that of {copy.subject} on {_share(copy)}" if copy is not None else ""
        changed = f"{_share(success)} of the texts it attacks{_by_chance(findings, success)}{spared}"
        text = f"The attack {success.of} changes the answer of {base} on {changed}."
    elif left.stage != "attack" and whole is not None and whole.degenerate:
        text = f"{base} is {whole.verdict}, and attacks on it tell nothing."
    elif left.stage != "attack" and whole is not None:
        verdict = getattr(findings.get(f"{left.stage}.drop", *left.about), "verdict", "")
        goes = "falls" if verdict == LOWER else "goes"
        doubt = "" if verdict in (LOWER, HIGHER) else ", not shown to be more than chance"
        ends = f"from {number(whole.value)} to {_score(left)}"
        text = f"{SCORES[left.metric]} of {base} {goes} {ends} under {left.of}{doubt}{kept}."
    else:
        return
    yield text, "neutral"


def _by_chance(findings: FindingIndex, about: Finding) -> str:
    """How much oftener answers change under an attack than by themselves, where the model was asked again."""
    floor = findings.get("attack.above_chance", about.subject, about.of, about.group)
    if floor is None:
        return ""
    if floor.verdict == NO_MORE:
        return ", not shown to be more than chance"
    return f", changing {_share(floor)} beyond what {about.subject} changes by itself"


def _success(findings: FindingIndex, subject: str) -> Finding | None:
    """How often the attack on texts that changes most answers does."""
    rates = findings.select("attack.success_rate", subject=subject)
    return highest(rate for rate in rates if not rate.group and rate.verdict != MUST_CHANGE)


def _lost(findings: FindingIndex, base: str) -> Lines:
    """The class that a defence loses most of under an attack or a noise."""
    worst = lowest(gain for gain in lost(findings, base) if not gain.group.startswith(CLEAN))
    if worst is not None:
        place, _, name = worst.group.rpartition(", ")
        at = f"at ε = {worst.slice.eps_text}" if worst.slice.eps_text else f"on {_place(place)}"
        low, high = (None if end is None else -end for end in (worst.high, worst.low))
        points = f"{percent(-(worst.value or 0.0), 0, sign=False)} points {interval(low, high, digits=0)}"
        yield f"{base}+{worst.of} finds {points} less of {name} than {base} does {at}.", "bad"


def _gained(findings: FindingIndex, base: str) -> Lines:
    """The noise in texts against which a defence is shown to help most."""
    tests = [test for test in findings.select("defense.mcnemar_p", subject=base) if test.verdict == "better"]
    of_texts = [test for test in tests if test.slice.eps is None and test.group != CLEAN]
    best = highest(findings.get("defense.gain", *test.about) for test in of_texts)
    if best is not None:
        points = f"{percent(best.value, 0, sign=False)} points {interval(best.low, best.high, digits=0)}"
        yield f"{base}+{best.of} gets {points} more right than {base} on {_place(best.group)}.", "good"


def _place(group: str) -> str:
    """A kind of noise or a corruption and its severity, as a sentence has them.

    >>> _place("gaussian-noise, severity=3"), _place("dermamnist/brightness-down, severity=1")
    ('gaussian noise at severity 3', 'brightness down at severity 1')
    """
    return group.rpartition("/")[2].replace("-", " ").replace(", severity=", " at severity ")


def _worn(findings: FindingIndex, base: str) -> Lines:
    worst = corrupted(findings, base)
    if worst is not None and worst.verdict and base not in _alike(findings):
        what, without = _place(worst.verdict), clean(findings, base)
        before = "" if without is None or without.metric in SCORES else f", and on {percent(without.value, 0)} without"
        yield f"Under {what} {base} is right on {_share(worst)}, the least of all corruptions tried{before}.", "neutral"


def _reasons(findings: FindingIndex, base: str) -> Lines:
    """How much of what is right is untrustworthy: corrected by how often the oracle is right, where that is known."""
    if base in _alike(findings):
        return
    for doubted in measured(findings.select("trust.untrustworthy", subject=base, group="all"))[:1]:
        share = findings.entry("trust.untrustworthy_corrected", *doubted.about)
        doubt = "but how often TOKI is right here is not known" if share is None else share.verdict
        known = doubt.replace("not measured:", "but") or "its own errors allowed for"
        told = _share(doubted if doubt or share is None else share)
        yield f"By TOKI ({doubted.of}), {told} of what {base} gets right is untrustworthy, {known}.", "neutral"


def _memorised(findings: FindingIndex, base: str) -> Lines:
    test = overfitted(findings, base)
    if test is not None and test.verdict == "overfit":
        yield f"{base} is shown to be fitted to its test samples: what it scores on them is too good.", "bad"


def _not_memorised(findings: FindingIndex, _: str) -> Lines:
    """What the tests of overfitting say that show none, and how often that of the simulation rejects."""
    for subject in bases_of(findings):
        test = overfitted(findings, subject)
        if test is not None and test.verdict in _OVERFITTING:
            text, tone = _OVERFITTING[test.verdict]
            yield text.format(subject, integer(test.n)), tone
    for models in findings.distinct("of", "overfitting.rejected"):
        most = highest(findings.select("overfitting.rejected", of=models))
        if most is not None:
            rejected = round((most.value or 0.0) * (most.n or 0))
            yield (
                f"Of {integer(most.n)} {models} models the test rejects {rejected}, at the ε where it rejects most.",
                "neutral",
            )


_OVERFITTING: dict[str, tuple[str, Tone]] = {
    "no evidence": ("Nothing says that {0} is fitted to its {1} test samples.", "good"),
    "inconclusive": ("Whether {0} is fitted to its {1} test samples cannot be told from this test.", "neutral"),
    "underpowered": ("The {1} test samples are too few to tell whether {0} is fitted to them.", "neutral"),
}


def _slice(findings: FindingIndex, _: str) -> Lines:
    for worse in [test for test in findings.select("slices.worse_p") if test.verdict == "worse"][:1]:
        about = worse.subject, worse.of
        right, rest = (findings.get(f"slices.{half}_accuracy", *about) for half in ("confirmed", "rest"))
        if right is not None and rest is not None:
            elsewhere = f"on {percent(rest.value, 0)} of the rest"
            yield f"{worse.subject} is right on {_share(right)} where {worse.of}, {elsewhere}.", "bad"


def order_in_words(findings: FindingIndex, _: str = "") -> Lines:
    """Whether the rules' labels get worse along the order: by the first labeler, and by others that show otherwise."""
    tests = findings.select("ordering.trend_p", of="ours")
    others = [test for test in tests[1:] if test.verdict in _ORDERS and test.verdict != tests[0].verdict]
    for test in (*tests[:1], *others):
        whose = "The rules' labels" if test is tests[0] else f"The labels of {test.group}"
        if test.value is None:
            why = test.verdict.partition(": ")[2]
            never = "Whether the rules' labels get worse along the order was not measured"
            yield f"{never}: {why}." if why else f"{never}.", "neutral"
            continue
        first, last = (findings.get(f"ordering.{end}_tenth", of="ours", group=test.group) for end in ("first", "last"))
        ends = ""
        if first is not None and last is not None:
            ends = f": {percent(first.value, 0)} right in the easiest tenth, {_share(last)} in the hardest"
        shown, tone = _ORDERS.get(test.verdict, ("are not shown to get worse", "neutral"))
        yield f"{whose} {shown} along the order{ends}.", tone


_ORDERS: dict[str, tuple[str, Tone]] = {
    "adverse": ("get worse", "good"),
    "violation": ("get better, not worse,", "bad"),
}


def _related(findings: FindingIndex, _: str) -> Lines:
    """Which two measures find the same samples hard, of those that are not read off the same probabilities."""
    pairs = measured(findings.select("hardness.association"))
    if not pairs:
        return
    from assay.tasks.hardness.measures import CONFIDENCE, DYNAMICS, MARGIN, measure_named

    pairs = [pair for pair in pairs if not {pair.of, pair.group} <= {CONFIDENCE, DYNAMICS, MARGIN}]
    shown = highest(pair for pair in pairs if pair.verdict == "together")
    if shown is not None:
        whose = shown.subject or "the subject"
        first, second = (measure_named(name).words.replace("the subject", whose) for name in (shown.of, shown.group))
        ends = f"[{coefficient(shown.low, 2)}, {coefficient(shown.high, 2)}]" if shown.low is not None else ""
        rank = f"rank correlation {coefficient(shown.value, 2)} {ends}".strip()
        yield f"{capital(first)} and {second} tend to be the same samples: {rank}.", "neutral"
    elif pairs:
        opposite = sum(pair.verdict == "opposite" for pair in pairs)
        none = f"Of {plural(len(pairs), 'pair')} of measures of hardness none is shown to find the same samples hard"
        yield f"{none}{f'; {opposite} to find opposite ones' if opposite else ''}.", "neutral"


def _right(findings: FindingIndex, base: str) -> Lines:
    """How much subjects get right, where nothing is done to their samples."""
    if attacked(findings, base) is not None or corrupted(findings, base) is not None:
        return
    for subject in bases_of(findings):
        whole, end = clean(findings, subject), hardest(findings, subject)
        if whole is not None and whole.metric not in SCORES:
            piece = "tenth" if end is None or end.slice.stratum is None else "end"
            last = "" if end is None else f", and on {_share(end)} of the hardest {piece}"
            yield (
                f"{subject or 'The subject'} is right on {_share(whole)} of {integer(whole.n)} samples{last}.",
                "neutral",
            )
        elif whole is not None:
            yield f"{subject} reaches {SCORES[whole.metric]} {_score(whole)}.", "neutral"


_ABOUT = (
    _leaking,
    _beaten,
    _off,
    _suffering,
    _lost,
    _costly,
    _flagged,
    _memorised,
    _slice,
    _fallen,
    _gained,
    _reasons,
    order_in_words,
    _right,
    _worn,
    _related,
    _not_memorised,
)


def _in_words(findings: FindingIndex, base: str) -> bool:
    """Whether a subject answers in words; findings of services do not say of whom they are, where there are several."""
    own = findings.select("subject.unanswered", subject=base) or findings.select("attack.flips_by_chance", subject=base)
    return bool(own or (len(bases_of(findings)) == 1 and findings.select("services.unparsed")))


def settings_to_try(findings: FindingIndex) -> Iterator[str]:
    """Settings that would tell more, the one that tells most first."""
    from assay.tasks.attacks.red_flags import FLAGS

    for base in bases_of(findings):
        answer = clean(findings, base)
        if answer is not None and answer.metric not in SCORES and is_beaten(findings, answer):
            better = (
                f"Train {base} longer or on more samples (train.epochs, where Assay trains it); where it is your own, "
                "look first whether its columns are the classes in the audit's order."
            )
            if _in_words(findings, base):
                better = (
                    f"Put the question to {base} otherwise (asking.prompt, with examples of each class; asking.model)."
                )
                if (none := findings.first("subject.unanswered", subject=base)) is not None:
                    named = "list its words under asking.answers, or constrain them (asking.parameters)"
                    better += f" {_share(none)} of its answers name no class: {named}."
            yield f"{better} Until it beats one constant answer, attacks on it tell little."
        floor = findings.first("attack.flips_by_chance", subject=base)
        if floor is None and _in_words(findings, base) and findings.select("attack.success_rate", subject=base):
            yield f"Ask {base} more than once (asking.repeats: 3): nobody knows what it changes by itself."
    for flag in _raised(findings):
        yield f"Before the attacks are believed: {FLAGS.get(flag.of, ('', 'look for what misleads them.'))[1]}"
    for need in measured(findings.select("overfitting.samples_needed")):
        many = f"Audit {integer(round(need.value or 0))} samples in place of {integer(need.n)}"
        yield f"{many} (evaluation.limit, or more data): so many could show overfitting, if there is any."
    sized = [answer for answer in answers_of(findings) if answer.high is not None and answer.metric not in SCORES]
    for wide in sorted(sized, key=lambda answer: (answer.low or 0.0) - (answer.high or 0.0)):
        whose = wide.subject
        if wide.metric == "subject.worst_recall":
            whose = f"{class_called(wide.verdict)} of {whose}"
        widest = f"The widest interval is that of {whose}, {_share(wide)} of {integer(wide.n)}"
        more, audited = "Audit more samples (evaluation.limit, or more data)", clean(findings, wide.subject)
        if wide.metric == "attack.accuracy" and audited is not None and (wide.n or 0) < (audited.n or 0):
            more = "Attack more of the texts (the attack's texts)"
        yield f"{more}. {widest}; four times as many would halve it."
    test = findings.first("ordering.trend_p", of="ours")
    if test is not None and test.verdict.startswith("not shown"):
        yield f"Give more samples a true label: {integer(test.n)} do not show whether the order is adverse."
