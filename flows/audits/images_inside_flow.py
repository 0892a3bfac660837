"""Image subjects from inside: where they look, whether their layers tell classes apart under attack, and what
smoothing certifies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.data.schemas import Certified, CoOccurrence, DiagnosticImages, Findings, LayerPoints
from assay.flows.audits.data import classes_of
from assay.flows.audits.images_flow import AttackOnImages, Robustness
from assay.flows.audits.subjects_flow import Examination, Examined
from assay.flows.kind import AuditRequest, BySubject, Ground, of_type
from assay.infra.stages.branches import branch_outcomes, start_branch, start_each, subflow
from assay.infra.stages.partitions import collect
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.settings import ImageAttack, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.attacks.task import Attacks, attack_subject
from assay.tasks.defenses.settings import Smoothing
from assay.tasks.defenses.smoothing_page import page as smoothing_page
from assay.tasks.defenses.smoothing_task import (
    AS_IT_IS,
    UNDER_NOISE,
    certify_subject,
    measure_certified,
    train_under_noise,
)
from assay.tasks.diagnostics.page import InsideSubject
from assay.tasks.diagnostics.page import page as insides_page
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.diagnostics.task import choose_samples, count_labels, embed_layers, look_inside
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.subjects.task import HeldOut


@dataclass(frozen=True)
class Inspection:
    """What was seen inside one subject."""

    pictures: Artifact[DiagnosticImages]
    points: Artifact[LayerPoints]
    counts: tuple[Artifact[CoOccurrence], ...]
    findings: tuple[Artifact[Findings], ...]


class Inspections(BySubject[Inspection]):
    """What was seen inside the subjects."""


@subflow("diagnostics")
def look(ground: Ground, settings: Diagnostics | None) -> Inspections:
    """Look inside every image subject, clean and under the attacks that were named."""
    pipeline, examination, robustness = ground.pipeline, ground.of(Examination), ground.of(Robustness)
    settings = settings or Diagnostics()
    wanted = settings.subjects or tuple(subject.name for subject in pipeline.subjects)
    subjects = [model for model in robustness.models.values() if model.name in wanted and model.resolved.has_gradient]
    if not subjects:
        return Inspections({})
    sides = (examination.training, examination.evaluation)
    chosen = HeldOut(*(choose_samples(samples, settings.tsne_samples) for samples in sides))
    watching = watched(pipeline, settings)
    branches = {}
    for subject in subjects:
        attacked = robustness.attacked.get(subject.name, {})
        attacks = {attack: attacked[attack.called] for attack in watching if attack.called in attacked}
        branches[subject.name] = start_branch(
            f"inside of {subject.name}", inspect_subject, subject, chosen, settings, attacks
        )
    return Inspections(branch_outcomes(branches))


def watched(pipeline: AuditRequest, settings: Diagnostics) -> list[ImageAttack]:
    """The attacks under which subjects are looked into: those named, or the first one and the first generator."""
    attacks = of_type(pipeline.attacks, ImageAttack)
    if settings.attacks is not None:
        return [attack for attack in attacks if attack.called in settings.attacks]
    generators = [attack for attack in attacks if IMAGE_ATTACKS.of(attack).generator]
    return list(dict.fromkeys([*attacks[:1], *generators[:1]]))


def inspect_subject(
    subject: Examined, chosen: HeldOut, settings: Diagnostics, attacks: Mapping[ImageAttack, AttackOnImages]
) -> Inspection:
    """Make one subject's pictures, embed its layers, and count the classes it names together."""
    eps = {attack.called: settings.eps or max(attack.eps) for attack in attacks}
    again = {
        attack.called: on_chosen(subject, chosen, attack, made, eps[attack.called]) for attack, made in attacks.items()
    }
    images = {name: attack.images for name, attack in again.items()}
    attacked = {name: attack.attacked for name, attack in again.items()}
    pictures = look_inside(chosen.evaluation, subject.files, subject.resolved, settings, attacked, images, eps)
    embedded = embed_layers(*chosen, subject.files, subject.resolved, settings, images, eps)
    counted = [
        count_labels(made.audited.attacked, subject.model.classes, subject.name, attack.called, eps[attack.called])
        for attack, made in attacks.items()
    ]
    findings = (embedded.findings, *(measured.findings for measured in counted))
    return Inspection(pictures, embedded.points, tuple(measured.counts for measured in counted), findings)


def on_chosen(subject: Examined, chosen: HeldOut, attack: ImageAttack, audited: AttackOnImages, eps: float) -> Attacks:
    """The attack once more on the chosen samples alone, every image kept: the same images that the audit made."""
    alone = attack.model_copy(
        update={"eps": (eps,), "keep": 0, "keep_all": True, "only_accuracy": False, "transfer": False}
    )
    learned = {at: files for at, files in (audited.generators or {}).items() if at == eps_name(eps)}
    return attack_subject(chosen.evaluation, *subject.model, alone, subject.name, learned or None)


@dataclass(frozen=True)
class Certificate:
    """The certified samples of one model, and what they come to."""

    certified: Artifact[Certified]
    measured: Artifact[Findings]


@dataclass(frozen=True)
class Certificates:
    """By subject, and by whether it was trained under noise."""

    models: Mapping[tuple[str, str], Certificate]

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """How far the subjects are certified."""
        return [certificate.measured for certificate in self.models.values()]


@subflow("smoothing")
def certify(ground: Ground, settings: Smoothing | None) -> Certificates:
    """Certify the pipeline's own image subjects by randomised smoothing, and the defended ones where that is asked."""
    examination, settings = ground.of(Examination), settings or Smoothing()
    own = {subject.name for subject in ground.pipeline.subjects}
    as_they_come = settings.model_copy(update={"train": False})
    each = {
        name: (examination, subject, settings if name in own else as_they_come)
        for name, subject in ground.of(Robustness).models.items()
        if name in own or settings.defended
    }
    made = branch_outcomes(start_each("smoothing of", certify_one, each))
    return Certificates({(name, how): each for name, by_how in made.items() for how, each in by_how.items()})


def certify_one(examination: Examination, subject: Examined, settings: Smoothing) -> dict[str, Certificate]:
    """The subject's certificates as it is and, where it is ours to train, after a training under noise."""
    weights = {AS_IT_IS: subject.files}
    if settings.train and subject.resolved.settings.train is not None:
        learned = train_under_noise(subject.learned_from, examination.classes, subject.resolved, settings.sigma)
        weights[UNDER_NOISE] = learned.files
    certificates: dict[str, Certificate] = {}
    for how, files in weights.items():
        certified = certify_subject(examination.evaluation, files, subject.resolved, settings.for_certifying())
        measured = measure_certified(certified, subject.name, how, settings.for_certifying(), examination.evaluation)
        certificates[how] = Certificate(certified, measured)
    return certificates


def show_insides(ground: Ground, inspections: Inspections, findings: FindingIndex) -> Iterator[Part]:
    """What was seen inside the subjects."""
    classes = classes_of(ground)
    seen = []
    for name, subject in inspections.subjects.items():
        pictures, points = collect(subject.pictures, None), collect(subject.points, None)
        counted = [collect(counts, None) for counts in subject.counts]
        seen.append(InsideSubject(name, classes, pictures, points, counted))
    if seen:
        yield insides_page(findings, seen)


def show_certificates(ground: Ground, certificates: Certificates, findings: FindingIndex) -> Iterator[Part]:
    """How far subjects are certified."""
    settings = ground.pipeline.asked(Smoothing)
    if certificates.models and settings is not None:
        tables = {key: collect(certificate.certified, None) for key, certificate in certificates.models.items()}
        yield smoothing_page(findings, tables, settings.alpha)
