"""The findings on one set of predictions: right or wrong, per class, beside what knowing nothing would get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.auc import AUC, auc_finding, label_auc, macro_auc
from assay.tasks.statistics.classification import (
    Groups,
    OneAnswer,
    Proportion,
    Said,
    Truth,
    accuracy,
    answer_name,
    majority_rate,
    one_answer,
    prediction_entropy,
    recalls,
)
from assay.tasks.statistics.findings import Finding


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
        conclusion = verdict if measured.value is not None else verdict or "not measured"
        return Finding(
            f"{self.stage}.{metric}",
            of=self.of,
            group=self._group(part),
            subject=self.subject,
            value=measured.value,
            low=measured.low,
            high=measured.high,
            n=measured.n,
            verdict=conclusion,
            unit=unit,
        )

    def area(self, metric: str, area: AUC, classes: Sequence[str], *, part: str = "") -> Finding:
        """The same of an area under the ROC curve; its verdict names the classes that have none."""
        name, group = f"{self.stage}.{metric}", self._group(part)
        return auc_finding(name, area, classes, of=self.of, group=group, subject=self.subject)

    def _group(self, part: str) -> str:
        return ", ".join(one for one in (self.group, part) if one)


def prediction_findings(
    about: About,
    answers: Said,
    probabilities: npt.NDArray[np.float64],
    truth: Truth,
    classes: Sequence[str],
    *,
    robust: Said | None = None,
    groups: Groups = None,
) -> list[Finding]:
    """Accuracy, AUC, recall per class, the majority rate, the entropy of the answers, and whether there is but one.

    `answers` and `truth` as in `classification`; `probabilities` [n, k]. Under attack accuracy and recall are of the
    answers `robust`, in which a sample stays wrong that was wrong before. `groups` [n] are what is independent.

    >>> flat = np.full((4, 2), 0.5)
    >>> about = About("subject", "clean")
    >>> answers, truth = np.zeros(4, np.int64), np.array([0, 0, 0, 1])
    >>> findings = prediction_findings(about, answers, flat, truth, ["benign", "malignant"])
    >>> findings[0].metric, findings[0].value, findings[-1].verdict
    ('subject.accuracy', 0.75, 'degenerate: every sample is called benign')
    """
    k, judged = len(classes), answers if robust is None else robust
    if not (truth >= 0).any():
        area = AUC(None, None, None, 0)
        most = Proportion(None, None, None, 0)
    else:
        area = (label_auc if truth.ndim == 2 else macro_auc)(probabilities, truth, groups=groups)
        most = majority_rate(truth, k, groups)
    measured = [
        about.finding("accuracy", accuracy(judged, truth, groups)),
        about.area("auc", area, classes),
        about.finding("majority_rate", most),
        about.finding("prediction_entropy", prediction_entropy(answers, k), unit="bits"),
    ]
    measured += [
        about.finding("recall", one, part=name)
        for name, one in zip(classes, recalls(judged, truth, k, groups), strict=True)
    ]
    alone = one_answer(answers, truth, k)
    return [*measured, about.finding("degenerate", alone.share, verdict=_verdict(alone, classes))]


def _verdict(alone: OneAnswer, classes: Sequence[str]) -> str:
    """The verdict in words: which answer it is that a degenerate predictor gives, and how many labels are constant."""
    if alone.judged and (alone.constant or alone.verdict == "degenerate"):
        labels = f"{alone.judged} label{'' if alone.judged == 1 else 's'}"
        return f"{alone.verdict}: {alone.constant} of {labels} {_is_or_are(alone.constant)} constant"
    if alone.verdict != "degenerate":
        return alone.verdict
    if alone.share.value == 1.0:
        return f"degenerate: every sample is called {answer_name(alone.answer, classes)}"
    return f"degenerate: {alone.share.value:.1%} of samples are called {answer_name(alone.answer, classes)}"


def _is_or_are(count: int) -> str:
    return "is" if count == 1 else "are"
