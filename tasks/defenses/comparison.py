"""The findings on defences: what each leaves right, clean and attacked, beside the undefended model, beside a control
that learned from unchanged copies, and beside the other defences.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.measures import WORST, trials_one_by_one
from assay.tasks.statistics.between_runs import right_or_wrong
from assay.tasks.statistics.class_scores import ClassCounts, class_counts, class_gains
from assay.tasks.statistics.classification import (
    Groups,
    Said,
    Truth,
    accuracy,
    answer_name,
    extreme_share,
    majority_rate,
    one_answer,
)
from assay.tasks.statistics.classification_findings import About, class_findings, recall_findings
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import COMPARED, not_shown
from assay.tasks.statistics.paired import Difference, compared_shares, mean_difference
from assay.tasks.subjects.images.model import said
from assay.tasks.subjects.predictions import probabilities_of

CLEAN = "clean"


@dataclass(frozen=True)
class Answers:
    """What a model says and what is true, in the order of the sorted ids; `attack` and `group` say of what.

    They are `given` where a model gave them to one version of the samples, and are no worst case put together of
    several.
    """

    attack: str  # empty for clean samples
    group: str  # what findings call it: `clean`, ε by name; of texts also the attack, or noise with its severity
    ids: npt.NDArray[np.str_]  # [n]
    predicted: Said  # [n] codes, or [n, k] bool
    truth: Truth  # [n], or [n, k]; -1 where unknown
    groups: Groups = None  # [n], or None where samples are independent
    given: bool = True

    def grouped(self, of_id: Mapping[str, int] | None) -> Answers:
        """The same with the group of each sample, where they have some."""
        groups = None if of_id is None else np.array([of_id[sample] for sample in self.ids.tolist()])
        return replace(self, groups=groups)

    def same_question(self, other: Answers) -> bool:
        """Whether the other answers are to the same samples under the same attack."""
        return self.label == other.label and np.array_equal(self.ids, other.ids)

    @property
    def label(self) -> str:
        """The group of a finding on these answers and no others: `clean`, or ε and the attack."""
        return f"{self.group}, {self.attack}" if self.attack else self.group

    def class_counts(self, classes: int) -> ClassCounts:
        """What is right class by class."""
        return class_counts(self.predicted, self.truth, classes, self.groups)

    def right(self) -> npt.NDArray[np.float64]:
        """Per sample whether it is right, 1 or 0; of several labels how many are; NaN where nobody knows."""
        known = np.atleast_2d((self.truth >= 0).T)
        hits = np.atleast_2d((self.predicted == self.truth).T) & known
        return np.where(known.any(axis=0), hits.sum(axis=0), np.nan)


def clean_answers(predictions: pa.Table, truth: Truth, classes: int) -> Answers:
    """The answers to clean samples, out of a table of predictions and the truth in its order."""
    ids = np.array(predictions["id"].to_pylist(), dtype=np.str_)
    order = np.argsort(ids)
    answers = said(probabilities_of(predictions, classes), multilabel=truth.ndim == 2)
    return Answers("", CLEAN, ids[order], answers[order], truth[order])


def attacked_answers(tables: Iterable[pa.Table]) -> Iterator[Answers]:
    """The answers that robust accuracy is taken of, under every attack and ε above 0."""
    for trial in trials_one_by_one(tables):
        if trial.eps > 0:
            yield Answers(trial.attack, trial.group, trial.ids, trial.robust, trial.truth)


def by_label(answers: Sequence[Answers]) -> dict[str, Answers]:
    """The answers by attack and ε."""
    return {given.label: given for given in answers}


NONE = "none"
"""What findings call the undefended model where they would name a defence."""


def accuracy_findings(
    answers: Sequence[Answers], defence: str, subject: str, classes: Sequence[str], things: str = "samples"
) -> list[Finding]:
    """`defense.accuracy` of one model with what stands beside it: of images under what decides, of texts under
    everything that was tried, a row of the matrix of what it was trained with by what it is tested on.

    The verdict says where a model (almost) always answers the same, clean or under noise: such a model withstands every
    attack, and knows nothing. Of two classes alike in number it is right for half, under every kind of noise at once.
    """
    findings: list[Finding] = []
    for given in answers:
        verdict = ""
        if given.given:
            alone = one_answer(given.predicted, given.truth, len(classes))
            if alone.verdict == "degenerate":
                called = answer_name(alone.answer, classes)
                verdict = f"degenerate: {alone.share.value:.1%} of {things} are called {called}"
        share = accuracy(given.predicted, given.truth, given.groups)
        about, counts = About("defense", defence, given.group, subject), given.class_counts(len(classes))
        always = majority_rate(given.truth, len(classes), given.groups) if (given.truth >= 0).any() else None
        findings.append(about.finding("accuracy", share, verdict=verdict))
        findings += [*class_findings(about, counts, classes, always), *recall_findings(about, counts, classes)]
    return findings


def comparison_findings(
    original: Sequence[Answers],
    defended: Sequence[Answers],
    defence: str,
    subject: str,
    telling: str,
    significance: float,
    seeds: Seeds,
) -> list[Finding]:
    """`defense.gain` wherever both models answered, and the tests that are concluded from: `defense.mcnemar_p`.

    Concluded are two of the gains per defence, fixed before
    anything is seen, so that the family that Holm corrects stays small: clean samples, and the worst case (or the only
    attack) at the `telling` ε.
    """
    concluded = {given.label for given in deciding_answers(original) if given.group in (CLEAN, telling)}
    about = Finding("defense.gain", of=defence, subject=subject)
    generators = {given.label: seeds.generator(f"{subject}/{defence}/{given.label}") for given in defended}
    return gain_findings(by_label(original), by_label(defended), about, concluded, significance, generators=generators)


def deciding_answers(answers: Sequence[Answers]) -> list[Answers]:
    """Those answers that robustness is read from: clean ones, and the worst case, or the first attack there is."""
    attacks = list(dict.fromkeys(given.attack for given in answers if given.attack))
    decides = WORST if WORST in attacks else next(iter(attacks), "")
    return [given for given in answers if given.attack in ("", decides)]


def known_rights(first: Answers, second: Answers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], Groups]:
    """How right each is on every sample whose truth is known, and the groups of these samples."""
    ours, theirs = first.right(), second.right()
    known = ~np.isnan(ours)
    return ours[known], theirs[known], None if first.groups is None else first.groups[known]


def paired_gain(
    before: Answers, after: Answers, generator: np.random.Generator | None = None
) -> tuple[Difference, float] | None:
    """The gain in accuracy, and McNemar's mid-p; None where no sample's truth is known.

    With several labels per image a sample counts for the model that has more of its labels right, since the labels of
    one image are not independent of each other: with one label that is McNemar's test, with several the sign test. Only
    there the interval is a bootstrap's, for which a `generator` is needed; where all samples gain alike, `unvaried`.
    The gain is that of the accuracies, to which a label that is known of few samples adds as much as the others.
    """
    if not np.array_equal(before.ids, after.ids):
        raise ValueError("only answers to the same samples can be compared")
    first, second, groups = known_rights(before, after)
    if not len(first):
        return None
    if before.truth.ndim == 1:
        return compared_shares(second, first, groups)
    assert generator is not None
    was, now = (
        right_or_wrong(each.ids.tolist(), each.predicted == each.truth, each.truth >= 0) for each in (before, after)
    )
    labels = was.below.mean()
    gain = mean_difference(now.above / labels, was.above / labels, groups, generator)
    return gain, compared_shares(second > first, first > second, groups)[1]


def between_findings(answers: Mapping[str, Answers], subject: str, significance: float) -> list[Finding]:
    """`defense.between_p` of every two defences, `of` as in `mpadvt - standard`: McNemar's mid-p test, and its verdict.

    `answers` are those of each defended model to the same attacked samples. All pairs are a family of their own for
    Holm, so that it does not matter which of them is asked about once the accuracies were seen. Of several labels it is
    the sign test over the samples. Defences that were not attacked alike (an attack on one of them broke) are not
    compared.
    """
    findings = []
    for first, second in combinations(answers, 2):
        if not answers[first].same_question(answers[second]):
            continue
        ours, theirs, groups = known_rights(answers[first], answers[second])
        if not len(ours):
            continue
        p = compared_shares(ours > theirs, theirs > ours, groups)[1]
        verdict = not_shown(significance) if p > significance else "better" if ours.mean() > theirs.mean() else "worse"
        about = Finding("defense.between_p", of=f"{first} - {second}", group=answers[first].label, subject=subject)
        findings.append(replace(about, n=len(ours), value=p, p_value=p, verdict=verdict, unit=COMPARED))
    return findings


def best_findings(answers: Mapping[str, Answers], subject: str, classes: int) -> list[Finding]:
    """`defense.best_accuracy`: what the best defence leaves right, its name the verdict, with an interval that holds
    for whichever of them had come out best. Of those that met the same attack on the same samples as the first one, and
    do not always say the same."""
    alone = {name: one_answer(given.predicted, given.truth, classes) for name, given in answers.items()}
    sound = {name: given for name, given in answers.items() if alone[name].verdict != "degenerate"}
    first = next(iter(sound.values()), None)
    if first is None:
        return []
    met = {name: given for name, given in sound.items() if first.same_question(given)}
    best = extreme_share(
        [(given.predicted == given.truth, given.truth >= 0) for given in met.values()], "highest", first.groups
    )
    if best is None:
        return []
    place, share = best
    return [About("defense", "", first.group, subject).finding("best_accuracy", share, verdict=list(met)[place])]


def class_gain_findings(
    original: Mapping[str, Answers],
    defended: Mapping[str, Answers],
    defence: str,
    subject: str,
    classes: Sequence[str],
    significance: float,
    margin: float,
) -> list[Finding]:
    """What a defence does to every class, on the samples that both answered: `defense.balanced_gain`, the
    `defense.recall_gain` of each, and `defense.worst_recall_gain` of the one that gains least, which its verdict names.

    `defense.kept_p`, on clean samples, is of the claim that no class's recall is lower by as much as the `margin`.
    """
    findings: list[Finding] = []
    for group, after in defended.items():
        before = original.get(group)
        if before is None or not np.array_equal(before.ids, after.ids):
            continue
        gains = class_gains(before.predicted, after.predicted, after.truth, len(classes), after.groups)
        if gains is None or not gains.of_class:
            continue
        about = Finding("defense.balanced_gain", defence, group, subject, n=gains.balanced.n, unit="share")
        findings.append(about.estimated(gains.balanced))
        for code, (gain, p) in gains.of_class.items():
            of_class = replace(about, metric="defense.recall_gain", group=f"{group}, {classes[code]}", n=gain.n)
            findings.append(replace(of_class.estimated(gain), p_value=p))
        least, p = gains.of_class[gains.lowest()]
        worst = replace(about, metric="defense.worst_recall_gain", n=least.n, p_value=p)
        findings.append(worst.estimated(least, verdict=classes[gains.lowest()]))
        if group == CLEAN:
            p = gains.kept_p(margin)
            verdict = "kept" if p <= significance else not_shown(significance)
            findings.append(replace(about, metric="defense.kept_p", value=p, p_value=p, verdict=verdict, unit="p"))
    return findings


def attacked_texts(called: str, attacked: pa.Table, truth: Mapping[str, int]) -> Answers:
    """The answers under a word attack; what was wrong before stays wrong, whatever the attack made of it."""
    ids = attacked["id"].to_pylist()
    known = np.array([truth[sample] for sample in ids], dtype=np.int64)
    before, after = (attacked[name].to_numpy().astype(np.int64) for name in ("predicted", "attacked"))
    predicted = np.where((known >= 0) & (before != known), before, after)
    return answers_to_texts(called, ids, predicted, truth, attack=called, given=False)


def answers_to_texts(
    group: str,
    ids: Sequence[str],
    predicted: npt.NDArray[np.int64],
    truth: Mapping[str, int],
    *,
    attack: str = "",
    given: bool = True,
) -> Answers:
    """Answers in the order of the sorted ids."""
    order = sorted(range(len(ids)), key=ids.__getitem__)
    names = [ids[place] for place in order]
    known = np.array([truth[name] for name in names], dtype=np.int64)
    return Answers(attack, group, np.array(names, dtype=np.str_), predicted[order], known, given=given)


def gain_findings(
    original: Mapping[str, Answers],
    defended: Mapping[str, Answers],
    about: Finding,
    concluded: Collection[str],
    significance: float,
    test: str = "defense.mcnemar_p",
    generators: Mapping[str, np.random.Generator] = MappingProxyType({}),
) -> list[Finding]:
    """`defense.gain` (what `about` says) wherever both models answered, and the `test`s of the `concluded` groups.

    A gain is the accuracy of the defended model minus that of the original, with Tango's score interval (of several
    labels a bootstrap over the samples, for which there are `generators`) and McNemar's p beside it, by group where
    samples stand in some.
    """
    findings = []
    for group, after in defended.items():
        paired = paired_gain(original[group], after, generators.get(group)) if group in original else None
        if paired is None:
            continue
        gain, p = paired
        known = replace(about, group=group, n=gain.n, p_value=p)
        findings.append(replace(known, unit="share").estimated(gain))
        if group in concluded:
            verdict = not_shown(significance) if p > significance else "better" if gain.value > 0 else "worse"
            findings.append(replace(known, metric=test, value=p, verdict=verdict, unit="p"))
    return findings
