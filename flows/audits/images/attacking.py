"""Attacks → corruptions: how little it takes to make each subject wrong, and how often it flips for nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.data.image_schemas import AdversarialImages, Attacked, GeneratorFiles
from assay.data.schemas import Findings, Samples
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branches
from assay.infra.errors import RunError
from assay.infra.subflows import subflow
from assay.tasks.attacks.gap_task import train_generator
from assay.tasks.attacks.judging_task import measure_attacks, probe_subject
from assay.tasks.attacks.settings import AnyImageAttack, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.attacks.task import Attacks, attack_subject, transfer_attacks, worst_case
from assay.tasks.corruptions.settings import Corruptions
from assay.tasks.corruptions.task import Corrupted, corrupt_subjects, measure_corruptions

Generators = dict[str, Artifact[GeneratorFiles]]


@dataclass
class Robustness:
    """Everything that was done to the subjects, as handles; what was not asked for is not there."""

    attacked: dict[str, dict[str, Attacks]] = field(default_factory=dict)
    """By subject and attack."""
    on_training: dict[str, dict[str, Attacks]] = field(default_factory=dict)
    """Generators on the images they learned from, by subject and attack."""
    worst: dict[str, Artifact[Attacked]] = field(default_factory=dict)
    generators: dict[str, dict[str, Generators]] = field(default_factory=dict)
    """By attack and subject."""
    transfers: list[Artifact[Findings]] = field(default_factory=list)
    corrupted: Corrupted | None = None
    findings: list[Artifact[Findings]] = field(default_factory=list)

    def under(self, attack: str) -> list[str]:
        """The subjects that came through the attack of that name."""
        return [subject for subject, made in self.attacked.items() if attack in made]

    @property
    def images(self) -> list[Artifact[AdversarialImages]]:
        """The adversarial images that were kept."""
        return [made.images for attacks in self.attacked.values() for made in attacks.values()]


@subflow("robustness")
def challenge(pipeline: Pipeline, examination: Examination, branches: Branches) -> Robustness:
    """Attack every image subject, see which attack is worst and what transfers, then corrupt the images."""
    result = Robustness()
    subjects = examination.of("network")
    for subject in subjects if pipeline.image_attacks else ():
        branches.attempt(f"probes of {subject.name}", probe, result, examination, subject)
        for settings in pipeline.image_attacks:
            branches.attempt(f"{settings.called} on {subject.name}", attack, result, examination, subject, settings)
    for settings in pipeline.image_attacks:
        if settings.transfer and len(result.under(settings.called)) > 1:
            branches.attempt(f"transfer of {settings.called}", transfer, result, examination, settings)
    for subject in subjects:
        if subject.name in result.attacked:
            branches.attempt(
                f"attacks on {subject.name}", measure, result, examination, subject, pipeline.image_attacks
            )
    if pipeline.corruptions is not None and subjects:
        branches.attempt("corruptions", corrupt, result, examination, pipeline.corruptions)
    return result


def probe(result: Robustness, examination: Examination, subject: Examined) -> None:
    """Look whether the subject can be attacked honestly."""
    probed = probe_subject(examination.evaluation, examination.classes, subject.files, subject.resolved, subject.name)
    result.findings.append(probed)


def attack(result: Robustness, examination: Examination, subject: Examined, settings: AnyImageAttack) -> None:
    """Attack the subject in one way; a generator also on the images that it learned from."""
    generators = learned(result, examination, subject, settings)
    made = against(examination.evaluation, examination, subject, settings, generators)
    result.attacked.setdefault(subject.name, {})[settings.called] = made
    if IMAGE_ATTACKS.of(settings).generator:
        on_training = against(examination.training, examination, subject, settings, generators)
        result.on_training.setdefault(subject.name, {})[settings.called] = on_training


def learned(
    result: Robustness, examination: Examination, subject: Examined, settings: AnyImageAttack
) -> Generators | None:
    """The generators of an attack that has them, one per ε."""
    if IMAGE_ATTACKS.of(settings).generator is None:
        return None
    generators = {
        eps_name(eps): train_generator(
            examination.training, examination.classes, subject.files, subject.resolved, settings.for_training(eps), eps
        )
        for eps in settings.eps
        if eps > 0
    }
    result.generators.setdefault(settings.called, {})[subject.name] = generators
    return generators


def against(
    samples: Artifact[Samples], examination: Examination, subject: Examined, settings: AnyImageAttack,
    generators: Generators | None,
) -> Attacks:  # fmt: skip
    """One subject under one attack, on these samples."""
    return attack_subject(
        samples,
        examination.classes,
        subject.files,
        subject.resolved,
        settings.for_attacking(),
        subject.name,
        generators,
    )


def transfer(result: Robustness, examination: Examination, settings: AnyImageAttack) -> None:
    """Show the images that were made against each subject to all of them."""
    subjects = {name: examination.subjects[name] for name in result.under(settings.called)}
    found = transfer_attacks(
        examination.evaluation, examination.classes, settings.for_transfer(),
        {name: one.files for name, one in subjects.items()}, {name: one.resolved for name, one in subjects.items()},
        result.generators.get(settings.called),
    )  # fmt: skip
    result.transfers.append(found)
    result.findings.append(found)


def measure(
    result: Robustness, examination: Examination, subject: Examined, attacks: tuple[AnyImageAttack, ...],
) -> None:  # fmt: skip
    """What the attacks on a subject come to, the worst case of all of them included."""
    tables = [made.attacked for made in result.attacked[subject.name].values()]
    if len(tables) > 1:
        result.worst[subject.name] = worst_case(tables)
        tables.append(result.worst[subject.name])
    listed = list(attacks)
    result.findings.append(measure_attacks(tables, examination.classes, listed, subject.name, result.transfers))
    on_training = result.on_training.get(subject.name)
    if on_training:
        seen = [made.attacked for made in on_training.values()]
        result.findings.append(measure_attacks(seen, examination.classes, listed, subject.name, [], split="training"))


def corrupt(result: Robustness, examination: Examination, settings: Corruptions) -> None:
    """Perturb the audited images step by step, each frame once for all subjects, and count the flips."""
    subjects = {one.name: one for one in examination.of("network")}
    result.corrupted = corrupt_subjects(
        examination.evaluation, examination.classes, {name: one.files for name, one in subjects.items()},
        {name: one.resolved for name, one in subjects.items()}, settings,
    )  # fmt: skip
    reference = settings.reference or next(iter(subjects))
    if reference not in subjects:
        raise RunError(f"The subject {reference}, which flips are compared with, could not be measured itself.")
    result.findings.append(measure_corruptions(result.corrupted.flips, settings, reference))
