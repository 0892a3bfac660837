"""The findings on one set of predictions: right or wrong, per class, beside what knowing nothing would get, the
area of every class, and whether probabilities are chances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.auc import AUC, auc_finding, label_auc, macro_auc, one_against_rest
from assay.tasks.statistics.calibration import brier, calibration_error, error_findings, risk_area_interval
from assay.tasks.statistics.class_scores import (
    ClassCounts,
    balanced_accuracy,
    class_counts,
    constant_accuracy,
    worst_recall,
)
from assay.tasks.statistics.classification import (
    NOTHING,
    Groups,
    OneAnswer,
    Proportion,
    Said,
    Truth,
    accuracy,
    answer_name,
    majority_rate,
    most_frequent,
    one_answer,
    prediction_entropy,
    proportion,
)
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import CONCLUDED
from assay.tasks.statistics.paired import Difference, compared_shares


@dataclass(frozen=True)
class About:
    """What a set of findings is about: the stage that measured, of what, which slice, whose predictions."""

    stage: str  # "subject", "attack", …
    of: str
    group: str = ""
    subject: str = ""

    def finding(
        self, metric: str, measured: Proportion, *, part: str = "", verdict: str = "", unit: str = "share"
    ) -> Finding:
        """The finding `stage.metric`; `part` (a class, say) is added to the group."""
        name, group = f"{self.stage}.{metric}", self._group(part)
        return Finding(name, self.of, group, self.subject, n=measured.n, unit=unit).estimated(measured, verdict=verdict)

    def area(self, metric: str, area: AUC, classes: Sequence[str], *, part: str = "") -> Finding:
        """The same of an area under the ROC curve; its verdict names the classes that have none."""
        name, group = f"{self.stage}.{metric}", self._group(part)
        return auc_finding(name, area, classes, of=self.of, group=group, subject=self.subject)

    def _group(self, part: str) -> str:
        return ", ".join(piece for piece in (self.group, part) if piece)


def prediction_findings(
    about: About,
    answers: Said,
    probabilities: npt.NDArray[np.float64] | None,
    truth: Truth,
    classes: Sequence[str],
    *,
    robust: Said | None = None,
    groups: Groups = None,
) -> list[Finding]:
    """Accuracy, AUC, recall per class, `class_findings`, the entropy of the answers, and whether there is but one.

    `answers` and `truth` as in `classification`; `probabilities` [n, k], without which there is no AUC. Under attack
    accuracy and recall are of the answers `robust`, in which a sample stays wrong that was wrong before. `groups` [n]
    are what is independent.

    >>> flat = np.full((4, 2), 0.5)
    >>> about = About("subject", "clean")
    >>> answers, truth = np.zeros(4, np.int64), np.array([0, 0, 0, 1])
    >>> findings = prediction_findings(about, answers, flat, truth, ["benign", "malignant"])
    >>> findings[0].metric, findings[0].value, findings[-1].verdict
    ('subject.accuracy', 0.75, 'degenerate: every sample is called benign')
    """
    k, judged = len(classes), answers if robust is None else robust
    area, most = AUC(None, None, None, 0), NOTHING
    if (truth >= 0).any():
        most = majority_rate(truth, k, groups)
        if probabilities is not None:
            area = (label_auc if truth.ndim == 2 else macro_auc)(probabilities, truth, groups=groups)
    measured = [
        about.finding("accuracy", accuracy(judged, truth, groups)),
        about.area("auc", area, classes),
        about.finding("majority_rate", most),
        about.finding("prediction_entropy", prediction_entropy(answers, k, groups), unit="bits"),
    ]
    counts = class_counts(judged, truth, k, groups)
    measured += [*recall_findings(about, counts, classes), *class_findings(about, counts, classes, most)]
    alone = one_answer(answers, truth, k, groups)
    return [*measured, about.finding("degenerate", alone.share, verdict=_verdict(alone, classes))]


def class_findings(
    about: About, counts: ClassCounts, classes: Sequence[str], constant: Proportion | None = None
) -> list[Finding]:
    """What stands beside every accuracy: `STAGE.balanced_accuracy`, `STAGE.worst_recall`, whose verdict names the
    class, and `STAGE.constant_accuracy`, which one constant answer gets.

    >>> counts = class_counts(np.zeros(10, int), np.repeat([0, 1], [8, 2]), 2)
    >>> [(finding.value, finding.verdict) for finding in class_findings(About("a", ""), counts, ["ham", "spam"])]
    [(0.5, ''), (0.0, 'spam'), (0.8, '')]
    """
    worst = worst_recall(counts, len(classes))
    least, called = (NOTHING, "") if worst is None else (worst[1], classes[worst[0]])
    return [
        about.finding("balanced_accuracy", balanced_accuracy(counts)),
        about.finding("worst_recall", least, verdict=called),
        about.finding("constant_accuracy", constant_accuracy(counts) if constant is None else constant),
    ]


def recall_findings(about: About, counts: ClassCounts, classes: Sequence[str]) -> list[Finding]:
    """`STAGE.recall` of every class; the class is added to the group."""
    return [about.finding("recall", counts.recall(code), part=name) for code, name in enumerate(classes)]


def constant_findings(about: About, gained: tuple[Difference, float] | None) -> list[Finding]:
    """`STAGE.above_constant`, how much oftener something is right than one constant answer, and the test of it."""
    gain = about.finding("above_constant", NOTHING)
    if gained is None:
        return [gain]
    difference, p = gained
    gain = replace(gain, n=difference.n, p_value=p).estimated(difference)
    verdict = "better" if difference.value > 0 else "worse"
    test = replace(gain, metric=f"{about.stage}.above_constant_p", value=p, low=None, high=None, verdict=verdict)
    return [gain, replace(test, unit=CONCLUDED)]


def above_constant_of(answers: Said, truth: Truth, classes: int, groups: Groups) -> tuple[Difference, float] | None:
    """How much oftener answers are right than the most frequent one, with McNemar's p, by group where there are some.

    Of several labels: on how many more samples more of them are right than under each label's more frequent value.
    """
    known = truth >= 0
    if not known.any():
        return None
    ours, theirs = (answers == truth) & known, (truth == most_frequent(truth, classes)) & known
    if truth.ndim == 2:
        ours, theirs = ours.sum(axis=1), theirs.sum(axis=1)
        return compared_shares(ours > theirs, theirs > ours, groups)
    return compared_shares(ours[known], theirs[known], None if groups is None else groups[known])


def _verdict(alone: OneAnswer, classes: Sequence[str]) -> str:
    """The verdict in words: which answer it is that a degenerate predictor gives, and how many labels are constant."""
    if alone.judged and (alone.constant or alone.verdict == "degenerate"):
        labels = f"{alone.judged} label{'' if alone.judged == 1 else 's'}"
        return f"{alone.verdict}: {alone.constant} of {labels} {'is' if alone.constant == 1 else 'are'} constant"
    if alone.verdict != "degenerate":
        return alone.verdict
    if alone.share.value == 1.0:
        return f"degenerate: every sample is called {answer_name(alone.answer, classes)}"
    return f"degenerate: {alone.share.value:.1%} of samples are called {answer_name(alone.answer, classes)}"


def class_areas(
    about: About,
    probabilities: npt.NDArray[np.float64],
    truth: npt.NDArray[np.integer],
    classes: Sequence[str],
    groups: Groups = None,
) -> list[Finding]:
    """`STAGE.class_auc` for every class against the rest, or for every label; the class is added to the group.

    `truth` holds codes [n] or labels [n, k], −1 where unknown. Of two classes that exclude each other there is one area
    only, that of `STAGE.auc`, and so nothing here.

    >>> scores = np.array([[0.9, 0.2], [0.1, 0.3], [0.8, 0.4]])
    >>> truth = np.array([[1, 1], [0, 0], [-1, 1]])
    >>> findings = class_areas(About("subject", "clean"), scores, truth, ["mass", "nodule"])
    >>> [(finding.group, finding.value, finding.n) for finding in findings]
    [('mass', 1.0, 2), ('nodule', 0.5, 3)]
    """
    if truth.ndim == 1 and len(classes) == 2:
        return []
    scores, labels = one_against_rest(probabilities, truth) if truth.ndim == 1 else (probabilities, truth)
    areas = [label_auc(scores[:, [at]], labels[:, [at]], groups=groups) for at in range(len(classes))]
    return [about.area("class_auc", area, classes, part=name) for name, area in zip(classes, areas, strict=True)]


def clean_findings(
    about: About,
    answers: Said,
    probabilities: npt.NDArray[np.float64] | None,
    truth: Truth,
    classes: Sequence[str],
    groups: Groups = None,
) -> list[Finding]:
    """How good a subject is on samples as they are, and whether it says more than one thing: `prediction_findings`,
    what it gains over one constant answer, and of probabilities the areas of classes and whether they are chances."""
    *findings, alone = prediction_findings(about, answers, probabilities, truth, classes, groups=groups)
    findings += constant_findings(about, above_constant_of(answers, truth, len(classes), groups))
    if probabilities is not None:
        findings += class_areas(about, probabilities, truth, classes, groups)
        findings += chance_findings(about, probabilities, truth, groups)
    none = answers >= len(classes)  # an answer in words that names no class, never of several labels
    return [*findings, alone, *([about.finding("unanswered", proportion(none, groups=groups))] if none.any() else [])]


_SEED = 0  # the same resamples for every subject: what is measured twice is the same twice


def chance_findings(
    about: About, probabilities: npt.NDArray[np.float64], truth: npt.NDArray[np.integer], groups: Groups = None
) -> list[Finding]:
    """`STAGE.ece`, `STAGE.ece_by_chance`, `STAGE.brier` and `STAGE.aurc` of the confidence in the most probable class;
    none of several labels at once, and none without truth.

    >>> chances = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> findings = chance_findings(About("subject", "clean"), chances, np.array([0, 1, 1]))
    >>> [(finding.metric, round(finding.value, 3)) for finding in findings]
    [('subject.ece', 0.274), ('subject.ece_by_chance', 0.196), ('subject.brier', 0.273), ('subject.aurc', 0.111)]
    """
    known = truth >= 0 if truth.ndim == 1 else np.zeros(len(truth), dtype=np.bool_)
    if not known.any():
        return []
    chances, codes = probabilities[known], truth[known]
    clusters = np.arange(len(codes)) if groups is None else groups[known]
    confidence, right = np.clip(chances.max(axis=1), 0, 1), (chances.argmax(axis=1) == codes).astype(np.int64)
    generator = np.random.default_rng(_SEED)
    blank = Finding("", about.of, about.group, about.subject, n=len(codes))
    error = calibration_error(confidence, right, clusters, generator)
    findings = error_findings(replace(blank, metric=f"{about.stage}.ece"), error)
    measured = {
        "brier": brier(chances, codes, clusters, generator),
        "aurc": risk_area_interval(confidence, right, clusters),
    }
    return findings + [
        replace(blank, metric=f"{about.stage}.{name}").estimated(score) for name, score in measured.items()
    ]
