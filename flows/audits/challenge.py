"""Attack → defend → attack the defended → compare: written once, for subjects of images, of texts and of terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

from assay.data.schemas import Findings, Samples
from assay.flows.audits.subjects_flow import Examination, Examined, clean_outcomes, learn
from assay.flows.kind import Measurements, Outcomes, Result
from assay.infra.stages.branches import Branch, branch_outcomes, start_branch, start_each
from assay.infra.storage.artifacts import Artifact
from assay.tasks.defenses.comparison import NONE
from assay.tasks.defenses.settings import MIXED, AttackedCopies
from assay.tasks.defenses.table import AnyDefence
from assay.tasks.defenses.text_task import join_samples


class Named(Protocol):
    """The settings of an attack or a defence."""

    @property
    def called(self) -> str:
        """The name by which findings tell it apart."""


A = TypeVar("A", bound=Named)
D = TypeVar("D", bound=Named)
T = TypeVar("T")
M = TypeVar("M", bound=Result)
C = TypeVar("C", bound="Challenged[Any, Any]")


class Medium(Protocol[A, D, T, M]):
    """How subjects of one sort are attacked, measured and defended: calls of stages, a handful of lines each."""

    @property
    def attacks(self) -> Sequence[A]:
        """The attacks that are asked for."""

    def attacks_on(self, _subject: Examined) -> Sequence[A]:
        """Those of them that the subject can be under: all, where none needs more than answers."""
        return self.attacks

    def defences(self, subject: Examined) -> Sequence[D]:
        """The defences that the subject can have, each a training of its own."""

    def attack(self, model: Examined, original: Examined, attack: A) -> T:
        """One attack on one model; a defended one has an `original`, others are their own."""

    @property
    def transferred(self) -> Sequence[A]:
        """The attacks of which is asked what those made against each model do to the others."""
        return ()

    def across(
        self, _attack: A, _attacked: Mapping[str, T], _models: Mapping[str, Examined]
    ) -> Artifact[Findings] | None:
        """What an attack made against each model does to the others, if there are any."""
        return None

    def measure(self, model: Examined, attacked: Mapping[str, T], across: Mapping[str, Artifact[Findings]]) -> M:
        """What all attacks on one model come to; `across` is what was found of the transferred ones, by attack."""

    def defend(self, subject: Examined, defence: D) -> Examined:
        """The subject, trained anew to withstand more."""

    def compare(self, subject: Examined, models: Mapping[str, Examined], challenged: Challenged[T, M]) -> Measurements:
        """What each defence of a subject gains and costs; `models` are the defended ones, by defence."""


@dataclass(frozen=True)
class Challenged(Generic[T, M]):
    """What was done to the subjects and to their defended copies; what broke is not there."""

    attacked: Mapping[str, Mapping[str, T]] = field(default_factory=dict)
    """By model and attack."""
    measures: Mapping[str, M] = field(default_factory=dict)
    """By model."""
    models: Mapping[str, Examined] = field(default_factory=dict)
    """Every model: the subjects and their defended copies."""
    defended: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By subject and defence the name under which the defended copy is a model of its own."""
    across: Mapping[str, Artifact[Findings]] = field(default_factory=dict)
    gains: Mapping[str, Measurements] = field(default_factory=dict)
    """By subject."""

    @property
    def copies(self) -> list[str]:
        """The names of all defended copies."""
        return [name for by_defence in self.defended.values() for name in by_defence.values()]

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """What was measured: the copies clean, everything under attack, and what the defences gain."""
        clean = [self.models[name].clean for name in self.copies]
        parts: list[Result] = [*self.measures.values(), *self.gains.values()]
        measured = [*self.across.values(), *(findings for part in parts for findings in part.findings)]
        return [*(table for table in clean if table is not None), *measured]


def challenge(medium: Medium[A, D, T, M], subjects: Sequence[Examined], into: type[C]) -> C:
    """Attack every subject and defend it against that; attack the defended copies alike; compare."""
    training = {
        (subject.name, defence.called): start_branch(
            f"defence {defence.called} of {subject.name}", medium.defend, subject, defence
        )
        for subject in subjects
        for defence in medium.defences(subject)
    }
    originals = {subject.name: subject for subject in subjects}
    whole: dict[str, Examined | Branch[Examined]] = {**originals}
    whole |= {f"{name}+{defence}": branch for (name, defence), branch in training.items()}
    original_of = originals | {f"{name}+{defence}": originals[name] for name, defence in training}
    attacking = {
        name: {
            attack.called: start_branch(f"{attack.called} on {name}", medium.attack, model, original_of[name], attack)
            for attack in medium.attacks_on(original_of[name])
        }
        for name, model in whole.items()
    }
    attacked_by = {
        attack: {name: branches[attack.called] for name, branches in attacking.items() if attack.called in branches}
        for attack in medium.transferred
    }
    transferred = {attack.called: (attack, attacked, whole) for attack, attacked in attacked_by.items()}
    crossing = start_each("transfer of", medium.across, transferred)
    measured = {name: (model, attacking[name], crossing) for name, model in whole.items()}
    measuring = start_each("attacks on", medium.measure, measured)
    defended = branch_outcomes(training)
    models = {**originals, **{copy.name: copy for copy in defended.values()}}
    attacked = {name: branch_outcomes(branches) for name, branches in attacking.items() if name in models}
    across, measures = branch_outcomes(crossing), branch_outcomes(measuring)
    by_subject: dict[str, dict[str, Examined]] = {}
    for (name, defence), copy in defended.items():
        by_subject.setdefault(name, {})[defence] = copy
    names = {name: {defence: copy.name for defence, copy in copies.items()} for name, copies in by_subject.items()}
    challenged = into(attacked, measures, models, names, across)
    compared = {name: (originals[name], copies, challenged) for name, copies in by_subject.items()}
    return replace(challenged, gains=branch_outcomes(start_each("defences of", medium.compare, compared)))


DEFENSE = "defense.accuracy"


def outcomes_of_challenge(
    challenged: Challenged[Any, Any],
    examination: Examination,
    attacked: Mapping[str, Sequence[Outcomes]],
    compared: Mapping[str, Sequence[Outcomes]],
) -> Iterator[Outcomes]:
    """The accuracy of every model, clean and `attacked`, and of what defences are `compared` by beside that; each by
    the name of the model."""
    clean = {name: clean_outcomes(model, examination) for name, model in challenged.models.items()}
    yield from (clean[name] for name in challenged.copies)
    for outcomes in attacked.values():
        yield from outcomes
    for subject, by_defence in challenged.defended.items():
        for defence, model in {NONE: subject, **by_defence}.items():
            for each in (clean[model], *compared.get(model, ())):
                yield replace(each, metric=DEFENSE, subject=subject, of=defence, key=each.of)


@dataclass(frozen=True)
class CopiesOf:
    """One training on attacked copies; with `control`, on unchanged copies of the same samples."""

    defence: AttackedCopies
    control: bool

    @property
    def called(self) -> str:
        """What its model is called."""
        return self.defence.control_called if self.control else self.defence.called


def defences_by(defences: Sequence[AnyDefence], attacks: Sequence[Named]) -> list[AttackedCopies]:
    """The defences that make their copies with one of these attacks, or with all of them."""
    return [defence for defence in defences if isinstance(defence, AttackedCopies) and copied_attacks(defence, attacks)]


def trainings(defences: Sequence[AttackedCopies]) -> list[CopiesOf]:
    """What is trained for the defences; a control first, where one is asked for."""
    controls = [(defence, (True, False) if defence.control else (False,)) for defence in defences]
    return [CopiesOf(defence, control) for defence, each in controls for control in each]


def copied_attacks(defence: AttackedCopies, attacks: Sequence[A]) -> list[A]:
    """The attacks that a defence makes copies with."""
    return [attack for attack in attacks if defence.attack in (attack.called, MIXED)]


def learn_from_copies(
    subject: Examined, training: CopiesOf, copies: Artifact[Samples], examination: Examination
) -> Examined:
    """The subject trained anew on what it learned from and one copy of that; it predicts, and is measured clean."""
    joined = join_samples(subject.learned_from, copies, unchanged=training.control)
    settings = subject.resolved.settings.model_copy(update={"name": f"{subject.name}+{training.called}"})
    return learn(replace(subject.resolved, settings=settings), examination, joined)
