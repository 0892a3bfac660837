"""What defences show in the report: what each leaves right under attack (the paper's Table 5), what it costs on clean
images and single classes, and the headline that is followed over the nights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product

import pyarrow as pa

from assay.infra.errors import all_named
from assay.tasks.attacks.measures import WORST
from assay.tasks.attacks.page import eps_text, spaced_ticks
from assay.tasks.defenses.class_page import class_table, losses, points
from assay.tasks.defenses.comparison import CLEAN, NONE
from assay.tasks.reporting.estimates import NAMED, About, column, series_of, share_text
from assay.tasks.reporting.numerals import integer, percent
from assay.tasks.reporting.parts import Block, DataTable, LinePlot, Part, in_panels
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.subjects.page import learning

_COMPARED = ("defense.accuracy", "defense.gain", "defense.mcnemar_p")
_VARIED = re.compile(r"(-(eps=[^-]+|lambda=[^-]+|beta=[^-]+|scratch|subject|last|best))+$")


class DefenceFindings:
    """What was measured about defences; everything is compared at one ε, the `telling` one."""

    def __init__(self, findings: FindingIndex) -> None:
        self.all = findings
        compared = [finding for finding in findings.select("defense") if finding.metric in _COMPARED]
        texts = {finding.subject for finding in compared if finding.group != CLEAN and finding.slice.eps is None}
        # texts have a part of their own, without ε
        of_images = [finding for finding in compared if finding.subject not in texts]
        self.subjects = distinct(finding.subject for finding in of_images)
        self.defences = distinct(finding.of for finding in of_images if finding.of != NONE)
        tests = [finding for finding in of_images if finding.metric == "defense.mcnemar_p"]
        tested = [test.slice for test in tests if test.slice.eps is not None]
        self.group = f"eps={tested[0].eps_text}" if tested else ""  # defences are trained and compared in L∞
        self.attack = tested[0].name if tested else ""
        self.defended = list(product(self.subjects, self.defences))

    def accuracy(self, subject: str, defence: str, group: str) -> Finding | None:
        """What is right at ε of that name, or on clean samples."""
        return self.all.get("defense.accuracy", subject, defence, group)

    def test(self, subject: str, defence: str) -> Finding | None:
        """McNemar's test of what a defence changes under the deciding attack at the telling ε."""
        return self.all.get("defense.mcnemar_p", subject, defence, self._label(attacked=True))

    def degenerate(self, subject: str, defence: str) -> str:
        """What is wrong with a model that (almost) always says the same, in words; empty where nothing is."""
        shares = measured(self.accuracy(subject, defence, group) for group in (CLEAN, self.group) if group)
        return next((share.verdict for share in shares if share.degenerate), "")

    def best(self, subject: str) -> str:
        """The defence that leaves most right at the telling ε, of those that do not always say the same."""
        left = self._accuracies(subject)
        return max(left, key=lambda defence: left[defence], default="")

    def best_accuracy(self, subject: str) -> Finding | None:
        """What the best leaves right, with an interval that holds for whichever had come out best."""
        named = self.all.get("defense.best_accuracy", subject, group=self.group)
        return named or self.accuracy(subject, self.best(subject), self.group)

    def leaders(self, subject: str) -> list[str]:
        """The best defence, and those that no test tells apart from it, by what they leave right, the best first."""
        best = self.best(subject)
        left = self._accuracies(subject)
        near = [defence for defence in left if defence != best and not self.differ(subject, best, defence)]
        return [best, *sorted(near, key=lambda defence: -left[defence])] if best else []

    def _accuracies(self, subject: str) -> dict[str, float]:
        """What the defences leave right at the telling ε that do not always say the same, of those that met the
        deciding attack: one on which it broke met less, and would look better for it."""
        return {share.of: share.value or 0.0 for share in measured(self.scores("accuracy", subject))}

    def scores(self, metric: str, subject: str) -> Iterator[Finding | None]:
        """`defense.metric` of those defences at the telling ε."""
        for defence in self.defences:
            if self.test(subject, defence) and not self.degenerate(subject, defence):
                yield self.all.get(f"defense.{metric}", subject, defence, self.group)

    def differ(self, subject: str, first: str, second: str) -> bool:
        """Whether McNemar's test, after Holm over all pairs, tells two defences apart at the telling ε."""
        pairs = (f"{first} - {second}", f"{second} - {first}")
        tests = (self.all.first("defense.between_p", subject=subject, of=pair) for pair in pairs)
        return any(test is not None and test.verdict in ("better", "worse") for test in tests)

    def against(self) -> str:
        """The deciding attack, as a sentence has it."""
        return "the worst case over all attacks" if self.attack == WORST else self.attack

    def class_table(self) -> DataTable:
        """What every model gets of every class, clean and at the telling ε."""
        groups = [group for group in (CLEAN, self.group) if group]
        models = product(self.subjects, groups, (NONE, *self.defences))
        leading = [
            *([column("Subject", "subject")] if len(self.subjects) > 1 else []),
            column("Defence", "of"),
            column("Images", lambda row: "clean" if row.group == CLEAN else f"ε = {eps_text(row.group)}"),
        ]
        title = "What each defence keeps, gains and loses"
        rows = [About(subject, defence, group) for subject, group, defence in models]
        return class_table(self.all, title, rows, leading, lambda group: self._label(attacked=group != CLEAN))

    def losses(self, subject: str) -> str:
        """Which defences lose a class, in words."""
        at = f"at ε = {eps_text(self.group)}"
        return losses(self.all, subject, self.defences, lambda place: CLEAN if place == CLEAN else at)

    def _label(self, attacked: bool) -> str:
        return f"{self.group}, {self.attack}" if attacked else CLEAN


def variant(defence: str) -> str:
    """What tells a variant from the others of its family, as a plot writes it.

    >>> variant("maadvt-scratch-lambda=3"), variant("mpadvt"), variant("standard-eps=4/255")
    ('scratch, λ = 3', '', 'ε = 4/255')
    """
    pieces = defence.removeprefix(family(defence)).strip("-").split("-")
    symbols = {"eps=": "ε = ", "lambda=": "λ = ", "beta=": "β = "}
    return ", ".join(re.sub("^(eps|lambda|beta)=", lambda name: symbols[name[0]], piece) for piece in pieces if piece)


def family(defence: str) -> str:
    """The defence that a variant is one of.

    >>> family("maadvt-scratch-lambda=3"), family("standard"), family("my-own-eps=4/255")
    ('maadvt', 'standard', 'my-own')
    """
    return _VARIED.sub("", defence)


_CROWDED = 0.12  # of the axis: ticks nearer than that to the one before carry no name
_LEARNING = (
    "Training accuracy is that on the images as the defence attacked them; validation images were set aside from those "
    "that may train. They are clean and choose nothing, but where a model stops at its best epoch: there they are "
    "attacked, and choose that epoch."
)
_TRADE = "Further up withstands more, further right costs less. Whiskers are 95 % intervals (Wilson)."


def page(findings: FindingIndex, curves: Mapping[str, pa.Table]) -> Part:
    """The part of the report about defences, from the findings `defense.*`; `curves` are how each model learned."""
    defence_findings = DefenceFindings(findings)
    blocks: list[Block] = []
    if defence_findings.group:
        blocks += _trade_off(defence_findings)
    if defence_findings.subjects:
        blocks.append(defence_findings.class_table())
    blocks += learning(curves, _LEARNING)
    constant = [
        f"{subject}+{defence} is {judgement}."
        for subject, defence in defence_findings.defended
        if (judgement := defence_findings.degenerate(subject, defence))
    ]
    subjects = defence_findings.subjects
    lost = [f"{line}." for subject in subjects if (line := defence_findings.losses(subject))]
    about = [tell(defence_findings, subject) for subject in subjects for tell in (_sentence, _price, _overfitting)]
    sentences = [*lost, *about, *constant]
    judged = "red flag" if constant else "loses a class" if lost else ""
    sentence = " ".join(filter(None, sentences)) or "No defended model came through."
    return Part("Defences", sentence, blocks, "defences", "bad" if judged else "neutral", judged)


def _sentence(findings: DefenceFindings, subject: str) -> str:
    leaders, best = findings.leaders(subject), findings.best_accuracy(subject)
    before = findings.accuracy(subject, NONE, findings.group)
    after = measured(findings.accuracy(subject, defence, findings.group) for defence in leaders)
    if best is None or not after or before is None:
        return ""
    opening = (
        f"{findings.against().capitalize()} at ε = {eps_text(findings.group)} leaves {share_text(before)} "
        f"of {integer(before.n)} samples right of {subject} as it is, and "
    )
    if len(leaders) == 1:
        return f"{opening}{share_text(best)} of {subject}+{leaders[0]}."
    left = " to ".join(distinct(percent(end(share.value or 0.0 for share in after), 1) for end in (min, max)))
    named = f"{len(leaders)} of {len(findings.defences)} defences" if len(leaders) > NAMED else all_named(leaders)
    return f"{opening}{left} with {named}, which no paired test tells apart (McNemar, Holm over all pairs)."


def _price(findings: DefenceFindings, subject: str) -> str:
    """With which defence balanced accuracy and the worst class's recall have their highest value, and what it costs on
    clean images; no test says that it is the best."""
    lines = []
    for called, metric in (("balanced accuracy", "balanced_accuracy"), ("the worst class's recall", "worst_recall")):
        scores = measured(findings.scores(metric, subject))
        if len(findings.defences) < 2 or not scores:
            return ""
        lead = max(scores, key=lambda score: score.value or 0.0)
        cost = findings.all.get("defense.gain", subject, lead.of, CLEAN)
        clean = "" if cost is None else f" (clean images change by {points(cost)})"
        lines.append(f"{called} is highest with {lead.of}, {share_text(lead)}{clean}")
    return f"By value alone, under attack {' and '.join(lines)}."


def _overfitting(findings: DefenceFindings, subject: str) -> str:
    """Of a defence with its best and its last epoch, whether learning on lost robustness (Rice et al. 2020)."""
    lines = []
    for best in findings.defences:
        last = re.sub(r"-best(?=-|$)", "-last", best)
        shares = [findings.accuracy(subject, defence, findings.group) for defence in (best, last)]
        if last != best and shares[0] is not None and shares[1] is not None:
            worse = findings.differ(subject, best, last) and (shares[0].value or 0.0) > (shares[1].value or 0.0)
            verdict = "robust overfitting" if worse else "no robust overfitting is shown"
            lines.append(f"{best} keeps {share_text(shares[0])} and {last} {share_text(shares[1])}: {verdict}.")
    return " ".join(lines)


def _trade_off(findings: DefenceFindings) -> list[Block]:
    """Accuracy under attack over clean accuracy: a mark per model, a colour per defence; several subjects in panels."""
    plots = [plot for subject in findings.subjects if (plot := _trade_plot(findings, subject)) is not None]
    return in_panels("What robustness costs", plots, _TRADE)


def _trade_plot(findings: DefenceFindings, subject: str) -> LinePlot | None:
    points: dict[str, list[tuple[Finding, Finding, str]]] = {}
    for defence in (NONE, *findings.defences):
        clean, attacked = (findings.accuracy(subject, defence, group) for group in (CLEAN, findings.group))
        if clean is not None and attacked is not None:
            name = "undefended" if defence == NONE else family(defence)
            points.setdefault(name, []).append((clean, attacked, "" if defence == NONE else variant(defence)))
    if not points:
        return None
    series = []
    for name, pairs in points.items():
        pairs.sort(key=lambda pair: pair[0].value or 0.0)
        clean_shares, attacked_shares, variants = zip(*pairs, strict=True)
        places = [share.value or 0.0 for share in clean_shares]
        series.append(series_of(name, places, attacked_shares, "points", list(variants)))
    ends = [f"{line.name} {percent(line.x[-1])} clean and {percent(line.y[-1])} attacked" for line in series]
    alt = f"Accuracy of {subject} under attack over its clean accuracy: {'; '.join(ends)}."
    label, ticks = f"Accuracy at ε = {eps_text(findings.group)}", spaced_ticks(series, _CROWDED, percent)
    return LinePlot(subject, series, "Accuracy on clean images", label, alt, (0.0, 1.0), ticks, scale="percent")


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject the accuracy of its best defended model at the ε that most defences were made for."""
    defence_findings = DefenceFindings(findings)
    if defence_findings.group:
        for subject in defence_findings.subjects:
            best = defence_findings.best_accuracy(subject)
            yield from headline_of(metrics_of("defense"), best, subject, f"ε = {eps_text(defence_findings.group)}")
