"""The findings on attacks: what they leave of the accuracy, how far they went for it, and which of them was worst."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.tasks.attacks.trials import Trial
from assay.tasks.statistics.chances import chance_findings
from assay.tasks.statistics.class_areas import class_areas
from assay.tasks.statistics.classification import Groups, Proportion, fooling_rate, proportion
from assay.tasks.statistics.classification_findings import About, prediction_findings
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding

UNITS = {"distance": "of [0, 1]", "distance_l2": "L2", "steps": "steps", "queries": "queries"}


def attack_findings(
    trial: Trial, classes: Sequence[str], split: str = "", target: int | None = None, groups: Groups = None
) -> list[Finding]:
    """Everything measured about one attack at one ε: `attack.accuracy`, `.auc`, `.fooling_rate`, `.recall` and so on.

    Accuracy and recall count an image that is right before the attack and after it; AUC and fooling rate are of all
    attacked images, so the latter counts every sample whose prediction changes, also one that was wrong before. What
    the probabilities are worth (`.class_auc`, `.ece`, `.brier`, `.aurc`) is of all attacked images as well; of clean
    ones the subject's own findings say it. The success rate is of the images that were right before, as that of texts
    is (with several labels, where no image is simply right, it is the share of all images of which more labels are
    wrong than before). The distances and steps are means over the samples. `split` names a split that is not the
    audited one; `target` is the class that the attack aims at, whose own samples have no part in the success rate;
    `groups` are of its samples.
    """
    group = ", ".join(one for one in (trial.group, split) if one)
    about = About("attack", trial.attack, group, trial.subject)
    findings = prediction_findings(
        about, trial.attacked, trial.probabilities, trial.truth, classes, robust=trial.robust, groups=groups
    )
    findings += [
        about.finding("fooling_rate", fooling_rate(trial.clean, trial.attacked, groups)),
        about.finding("success_rate", proportion(trial.success, _attackable(trial, target), groups=groups)),
    ]
    findings += [
        about.finding(name, mean_of(values, groups), unit=UNITS[name])
        for name, values in sorted(trial.measured.items())
    ]
    if trial.eps > 0 and not split:
        findings += class_areas(about, trial.probabilities, trial.truth, classes, groups)
        findings += chance_findings(about, trial.probabilities, trial.truth, groups)
    return findings + _winner_shares(trial, about)


def mean_of(values: npt.NDArray[np.float64], groups: Groups = None) -> Proportion:
    """A mean with its 95 % interval by Student's t, over what the groups add to it where samples stand in some; of one
    sample or group, which shows no spread, without one.

    >>> mean_of(np.array([1.0, 1.0, 1.0])).high
    1.0
    >>> [round(mean_of(np.array([1.0, 1.0, 3.0, 3.0]), of).high, 1) for of in (None, np.array([0, 0, 1, 1]))]
    [3.8, 14.7]
    """
    from scipy.stats import t

    n = len(values)
    if not n:
        return Proportion(None, None, None, n)
    mean = float(values.mean())
    apart = values - mean if groups is None else np.bincount(codes_of(groups), values - mean)
    units = len(apart)
    if units < 2:
        return Proportion(mean, None, None, n)
    half = float(t.ppf(0.975, units - 1) * np.sqrt(units / (units - 1) * (apart @ apart)) / n)
    return Proportion(mean, mean - half, mean + half, n)


def _attackable(trial: Trial, target: int | None) -> npt.NDArray[np.bool_]:
    """The samples that an attack can succeed on: right before it, and not yet what a targeted one wants of them.

    Where nobody knows the truth, what was said is taken for it. With several labels all samples can be made worse.
    """
    truth = np.where(trial.truth >= 0, trial.truth, trial.clean)
    if truth.ndim == 1:
        return np.asarray((truth == trial.clean) & (True if target is None else truth != target))
    if target is None:
        return np.ones(len(truth), np.bool_)
    return np.asarray((truth != (np.arange(truth.shape[1]) == target)).any(axis=1))


def _winner_shares(trial: Trial, about: About) -> list[Finding]:
    """Of the samples that fell in the worst case: whose image it was, per attack."""
    if trial.winner is None:
        return []
    won = trial.winner[trial.success]
    return [about.finding("winner", proportion(won == name), part=str(name)) for name in np.unique(won)]
