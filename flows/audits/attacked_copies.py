"""Trainings on attacked copies of what a subject learned from, beside their controls: for texts and for terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from assay.data.schemas import Samples
from assay.flows.audits.challenging import Named
from assay.flows.audits.subjects.flow import Examination, Examined, learn
from assay.infra.artifacts import Artifact
from assay.tasks.defenses.copies_task import join_samples
from assay.tasks.defenses.text_settings import MIXED, AttackedCopies

A = TypeVar("A", bound=Named)


@dataclass(frozen=True)
class CopiesOf:
    """One training on attacked copies; with `control`, on unchanged copies of the same samples."""

    defence: AttackedCopies
    control: bool

    @property
    def called(self) -> str:
        """What its model is called."""
        return self.defence.control_called if self.control else self.defence.called


def asked_of(defences: Sequence[AttackedCopies], attacks: Sequence[Named]) -> list[AttackedCopies]:
    """The defences that make their copies with one of these attacks, or with all of them."""
    return [defence for defence in defences if meant_by(defence, attacks)]


def trainings(defences: Sequence[AttackedCopies]) -> list[CopiesOf]:
    """What is trained for the defences; a control first, where one is asked for."""
    controls = [(defence, (True, False) if defence.control else (False,)) for defence in defences]
    return [CopiesOf(defence, control) for defence, each in controls for control in each]


def meant_by(defence: AttackedCopies, attacks: Sequence[A]) -> list[A]:
    """The attacks that a defence makes copies with."""
    return [attack for attack in attacks if defence.attack in (attack.called, MIXED)]


def learn_from_copies(
    subject: Examined, training: CopiesOf, copies: Artifact[Samples], examination: Examination
) -> Examined:
    """The subject trained anew on what it learned from and one copy of that; it predicts, and is measured clean."""
    joined = join_samples(subject.learned_from, copies, unchanged=training.control)
    settings = subject.resolved.settings.model_copy(update={"name": f"{subject.name}+{training.called}"})
    return learn(replace(subject.resolved, settings=settings), examination, joined)
