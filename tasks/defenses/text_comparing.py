"""The findings on defended text subjects: what each leaves right, clean and under every attack, beside the original."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.tasks.defenses.answers import CLEAN, Answers
from assay.tasks.defenses.comparing import compared
from assay.tasks.statistics.classification import accuracy, answer_name, one_answer
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import not_shown

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Tried:
    """What one model says of the audited samples, clean or under an `attack`.

    It is `given` where these are its answers to one version of the texts, and no worst case put together of several.
    """

    answers: Answers
    attack: str = ""
    given: bool = True

    @property
    def group(self) -> str:
        """What findings call it: `clean`, `a2t`, `typos, severity=5`."""
        return self.answers.group

    def grouped(self, of_id: Mapping[str, int] | None) -> Tried:
        """The same with the group of each text, where they have some."""
        return replace(self, answers=self.answers.grouped(of_id))


def clean_texts(predictions: pa.Table, truth: Mapping[str, int]) -> Tried:
    """The answers to the texts as they are."""
    ids = predictions["id"].to_pylist()
    return tried(CLEAN, ids, predictions["predicted"].to_numpy().astype(np.int64), truth)


def attacked_texts(called: str, attacked: pa.Table, truth: Mapping[str, int]) -> Tried:
    """The answers under a word attack; what was wrong before stays wrong, whatever the attack made of it."""
    ids = attacked["id"].to_pylist()
    known = np.array([truth[sample] for sample in ids], dtype=np.int64)
    before, after = (attacked[name].to_numpy().astype(np.int64) for name in ("predicted", "attacked"))
    predicted = np.where((known >= 0) & (before != known), before, after)
    return tried(called, ids, predicted, truth, attack=called, given=False)


def tried(
    group: str, ids: Sequence[str], predicted: Codes, truth: Mapping[str, int], *, attack: str = "", given: bool = True
) -> Tried:
    """Answers in the order of the sorted ids."""
    order = sorted(range(len(ids)), key=ids.__getitem__)
    names = [ids[place] for place in order]
    known = np.array([truth[name] for name in names], dtype=np.int64)
    return Tried(Answers("", group, np.array(names, dtype=np.str_), predicted[order], known), attack, given)


def text_accuracy_findings(given: Sequence[Tried], defence: str, subject: str, classes: Sequence[str]) -> list[Finding]:
    """`defense.accuracy` of one model: a row of the matrix of what it was trained with by what it is tested on.

    The verdict says where a model (almost) always answers the same, clean or under noise: such a model withstands every
    attack, and knows nothing. Of two classes alike in number it is right for half, under every kind of noise at once.
    """
    findings = []
    for trial in given:
        answers = trial.answers
        alone = one_answer(answers.predicted, answers.truth, len(classes)) if trial.given else None
        verdict = ""
        if alone is not None and alone.verdict == "degenerate":
            verdict = f"degenerate: {alone.share.value:.1%} of texts are called {answer_name(alone.answer, classes)}"
        about = About("defense", defence, trial.group, subject)
        findings.append(
            about.finding("accuracy", accuracy(answers.predicted, answers.truth, answers.groups), verdict=verdict)
        )
    return findings


def text_comparison_findings(
    original: Sequence[Tried],
    defended: Sequence[Tried],
    defence: str,
    subject: str,
    *,
    significance: float,
    conclude: bool = True,
) -> list[Finding]:
    """`defense.gain` wherever both models answered, and the tests that are concluded from: `defense.mcnemar_p`.

    A gain is the accuracy of the defended model minus that of the original, with Newcombe's paired interval and
    McNemar's p beside it, by group where texts stand in some. Concluded is wherever both were tried: clean texts, every
    word attack, and at the highest severity noise of each kind, and of all kinds together. What is right under all
    kinds is not enough: a model that gives one answer to all noisy texts is right for as many as have that answer. Of a
    control nothing is concluded (`conclude`): it is there to be compared with.
    """
    groups = [one.group for one in defended if conclude]
    return _compared(original, defended, Finding("defense.gain", of=defence, subject=subject), groups, significance)


def control_comparison_findings(
    control: Sequence[Tried],
    defended: Sequence[Tried],
    defence: str,
    subject: str,
    attacks: Collection[str],
    *,
    significance: float,
) -> list[Finding]:
    """`defense.gain_over_control` wherever both answered, and `defense.control_mcnemar_p` under the `attacks` that the
    copies were made with.

    The control learned from unchanged copies of the same texts, so from as many samples in as many steps: what is
    gained over it is due to the attack.
    """
    about = Finding("defense.gain_over_control", of=defence, subject=subject)
    own = [one.group for one in defended if one.attack in attacks]
    return _compared(control, defended, about, own, significance, "defense.control_mcnemar_p")


def _compared(
    original: Sequence[Tried],
    defended: Sequence[Tried],
    about: Finding,
    concluded: Collection[str],
    significance: float,
    test: str = "defense.mcnemar_p",
) -> list[Finding]:
    """The paired gain wherever both models answered, and the tests of the `concluded` groups."""
    before, findings = {one.group: one.answers for one in original}, []
    for after in defended:
        paired = compared(before[after.group], after.answers) if after.group in before else None
        if paired is None:
            continue
        gain, p = paired
        known = replace(about, group=after.group, n=gain.n, p_value=p)
        findings.append(replace(known, value=gain.value, low=gain.low, high=gain.high, unit="share"))
        if after.group in concluded:
            verdict = not_shown(significance) if p > significance else "better" if gain.value > 0 else "worse"
            findings.append(replace(known, metric=test, value=p, verdict=verdict, unit="p"))
    return findings
