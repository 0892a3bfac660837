"""Signs that an evaluation cannot be trusted: most say that gradients are hidden, so that the model only looks robust.

None of them stops a run. Each is raised beyond what chance explains: of the samples on which two attacks differ, a
fair coin would have to say so rarely (one-sided exact test) that all comparisons of a flag together are wrong at most
once in a hundred honest audits. Carlini et al. 2019 and the checks of AutoAttack are where most of them come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter
from ruamel.yaml import YAML

from assay.data.templates import filled
from assay.tasks.attacks.measures import Trial
from assay.tasks.attacks.settings import Goal, ImageAttack, norm_and_slice
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.reporting.numerals import p_equals, percent, plural
from assay.tasks.statistics.classification import OneAnswer, accuracy, answer_name, majority_rate, one_answer
from assay.tasks.statistics.findings import Finding

CHANCE = 0.01
"""How often all comparisons of one flag together may raise it on an honest model."""
ENOUGH_STEPS = 5
"""An attack of fewer steps is not counted among those that a single step must not beat."""

FLAGS = TypeAdapter(dict[str, tuple[str, str]]).validate_python(YAML(typ="safe").load(filled("red_flags.yaml")))
"""Every flag: its title, and what it means and what to do, in words."""

PROBES = ("softmax-output", "zero-gradients", "randomised-output", "eps-1-above-chance")
"""Those that a subject raises by itself, before any attack is believed."""


@dataclass(frozen=True)
class Reading:
    """Whether a flag is raised, on how many samples that rests, and in words why; not measured where n is 0."""

    flag: str
    raised: bool
    n: int
    why: str = ""
    surprise: float = 1.0  # the p-value that decided, where one did

    def finding(self, subject: str) -> Finding:
        """The finding `attack.red_flag`: 1 where raised, so that a gate can ask for `at_most: 0`."""
        state = "not measured" if self.n == 0 else "raised" if self.raised else "silent"
        verdict, value = f"{state}: {self.why}" if self.why else state, float(self.raised) if self.n else None
        return Finding("attack.red_flag", of=self.flag, subject=subject, value=value, n=self.n, verdict=verdict)


Harm = npt.NDArray[np.bool_] | npt.NDArray[np.int64]
"""Per sample, how much an attack did: whether it succeeded, or how many labels are wrong."""


def chance_of_more(first: Harm, second: Harm) -> float:
    """How likely the first would win that many of the samples on which the two differ if each were a coin toss.

    >>> chance_of_more(np.array([True] * 10), np.array([False] * 10)) == 0.5**10
    True
    """
    from scipy.stats import binom

    more, less = int((first > second).sum()), int((second > first).sum())
    return float(binom.sf(more - 1, more + less, 0.5))


def flags_of_attacks(
    trials: Sequence[Trial], attacks: Sequence[ImageAttack], classes: Sequence[str], transfers: Sequence[Finding] = ()
) -> list[Reading]:
    """The flags that results of one subject's attacks raise; `transfers` are the findings `attack.transfer`."""
    known = {attack.called: attack for attack in attacks}
    own = [trial for trial in trials if trial.attack in known]
    one_step = [t for t in own if IMAGE_ATTACKS.of(known[t.attack]).steps(known[t.attack]) == 1]
    queries = [t for t in own if IMAGE_ATTACKS.of(known[t.attack]).black_box]
    strongest = _strongest(own, known)
    return [
        _beats_strongest("one-step-beats-multi-step", one_step, strongest, known),
        _beats_strongest("black-box-beats-white-box", queries, strongest, known),
        beaten_from_outside(transfers, strongest),
        rising_curve([t for t in own if IMAGE_ATTACKS.of(known[t.attack]).generator is None], known),
        constant_answer(own, classes),
    ]


def rising_curve(trials: Iterable[Trial], known: Mapping[str, ImageAttack]) -> Reading:
    """Whether an attack fools fewer samples with a larger ε; a generator, trained anew for each, is no such curve."""
    curves: dict[str, dict[float, Trial]] = {}
    for trial in trials:
        curves.setdefault(trial.attack, {})[trial.eps] = trial
    pairs = [
        (curve[small], curve[large], known[attack].goal)
        for attack, curve in curves.items()
        for small, large in combinations(sorted(curve), 2)
    ]
    text = "{first} at {at} fools {more} of {n} samples that it does not at {other_at}, and there only {less} others"
    labels = "{first} at {at} gets more labels wrong than at {other_at} for {more} of {n} samples, and fewer for {less}"
    return _significantly_more("non-monotone-curve", pairs, text, labels, "needs an attack at two ε")


def beaten_from_outside(transfers: Sequence[Finding], strongest: Mapping[tuple[float, str], Trial]) -> Reading:
    """Whether images made for another subject leave fewer right than the strongest attack on this one (Fisher's test).

    Of transfers only the shares are kept, so the two are compared as if of different samples: that raises it less
    often. Several labels of one sample count as one sample.
    """
    flag, pairs = "transfer-beats-white-box", []
    for transfer in transfers:
        eps, _, source = transfer.group.partition(", made for ")
        rival = next((t for (_, goal), t in strongest.items() if goal == "untargeted" and t.group == eps), None)
        if rival is not None and transfer.value is not None and source != rival.subject == transfer.subject:
            pairs.append((transfer, source, rival))
    readings = [_fewer_right(flag, transfer, source, rival, CHANCE / len(pairs)) for transfer, source, rival in pairs]
    return _decisive(flag, readings, "needs several subjects and an attack on this one at the same ε")


def _fewer_right(flag: str, transfer: Finding, source: str, rival: Trial, limit: float) -> Reading:
    from scipy.stats import fisher_exact

    known = rival.truth >= 0
    labels = rival.truth.shape[1] if rival.truth.ndim == 2 else 1
    right, n = int(((rival.robust == rival.truth) & known).sum()) // labels, int(known.sum()) // labels
    foreign_n = (transfer.n or 0) // labels
    foreign = round((transfer.value or 0.0) * foreign_n)
    p = float(fisher_exact([[foreign, foreign_n - foreign], [right, n - right]], alternative="less").pvalue)
    why = (
        f"at {_at(rival.group)} images of {transfer.of} made for {source} leave {percent(transfer.value, 0)} right, "
        f"and {rival.attack} on the subject itself {percent(right / max(n, 1), 0)} ({p_equals(p)})"
    )
    return Reading(flag, p <= limit, n, why, p)


def constant_answer(trials: Sequence[Trial], classes: Sequence[str]) -> Reading:
    """Whether clean or attacked images (almost) all get one answer, and that answer is why the accuracy looks good."""
    flag, judged = "majority-predictor", 0
    for trial in sorted(trials, key=lambda trial: trial.eps):
        k = trial.probabilities.shape[1]
        for answers, when in (
            (trial.clean, "without an attack"),
            (trial.attacked, f"{trial.attack} at {_at(trial.group)}"),
        ):
            alone = one_answer(answers, trial.truth, k)
            judged = max(judged, alone.share.n)
            if alone.verdict != "degenerate":
                continue
            right, most = accuracy(answers, trial.truth).value, majority_rate(trial.truth, k)
            if answers is trial.clean or (right is not None and most.low is not None and right >= most.low):
                return Reading(flag, True, alone.share.n, f"{_in_words(alone, classes)} ({when})")
    return Reading(flag, False, judged, "" if judged else "there are no predictions")


def _in_words(alone: OneAnswer, classes: Sequence[str]) -> str:
    if alone.judged:
        return f"{alone.constant} of {plural(alone.judged, 'label')} always get one answer"
    return f"{percent(alone.share.value, 0)} of the images are called {answer_name(alone.answer, classes)}"


def _beats_strongest(
    flag: str,
    contenders: Sequence[Trial],
    strongest: Mapping[tuple[float, str], Trial],
    known: Mapping[str, ImageAttack],
) -> Reading:
    """Whether a contender fools more than the strongest white-box attack at the same ε and with the same goal."""
    rivals = [(trial, strongest.get((trial.eps, known[trial.attack].goal))) for trial in contenders]
    pairs = [(trial, other, known[trial.attack].goal) for trial, other in rivals if trial.eps > 0 and other is not None]
    text = "at {at} {first} fools {more} of {n} samples that {second} does not, and {second} {less} that it does not"
    labels = "at {at} {first} gets more labels wrong than {second} for {more} of {n} samples, and fewer for {less}"
    return _significantly_more(flag, pairs, text, labels, "needs both kinds of attack at the same ε")


def _significantly_more(
    flag: str, pairs: Sequence[tuple[Trial, Trial, Goal]], text: str, of_labels: str, missing: str
) -> Reading:
    """Raised where the first of a pair does more to more samples than the second than chance explains over all pairs.

    Every comparison is in a currency that both attacks climb: success, or with several labels how many are wrong.
    """
    readings = []
    for first, second, goal in pairs:
        ids = np.intersect1d(first.ids, second.ids, assume_unique=True)
        ours, theirs = first.harm(goal, ids), second.harm(goal, ids)
        p = chance_of_more(ours, theirs)
        words = of_labels if first.truth.ndim == 2 else text
        why = words.format(
            first=first.attack,
            second=second.attack,
            at=_at(first.group),
            other_at=_at(second.group),
            n=len(ids),
            more=int((ours > theirs).sum()),
            less=int((theirs > ours).sum()),
        )
        readings.append(Reading(flag, p <= CHANCE / len(pairs), len(ids), f"{why} ({p_equals(p)})", p))
    return _decisive(flag, readings, missing)


def _decisive(flag: str, readings: Sequence[Reading], missing: str) -> Reading:
    """The reading that chance explains least, with its reason if it raises the flag; without any, what is `missing`."""
    if not readings:
        return Reading(flag, False, 0, missing)
    decisive = min(readings, key=lambda reading: reading.surprise)
    return decisive if decisive.raised else replace(decisive, why="")


def _strongest(trials: Sequence[Trial], known: Mapping[str, ImageAttack]) -> dict[tuple[float, str], Trial]:
    """Per ε and goal, the attack that sees the gradients, takes many steps and does the most.

    With several labels what climbs another loss than the others (the margin of APGD) is no measure for them.
    """
    best: dict[tuple[float, str], tuple[int, Trial]] = {}
    for trial in trials:
        attack, choice = known[trial.attack], IMAGE_ATTACKS.of(known[trial.attack])
        place, done = (trial.eps, attack.goal), int(trial.harm(attack.goal, trial.ids).sum())
        apart = trial.truth.ndim == 2 and not choice.climbs_the_loss(attack)
        crosses = choice.steps(attack) >= ENOUGH_STEPS and choice.reach(attack, trial.eps) >= trial.eps
        if crosses and not apart and (place not in best or done > best[place][0]):
            best[place] = done, trial
    return {place: trial for place, (_, trial) in best.items()}


def _at(group: str) -> str:
    """An ε as a sentence has it."""
    return f"ε = {norm_and_slice(group)[1].eps_text}"
