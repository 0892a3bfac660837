"""Look inside image subjects: where they look, and whether their layers still tell classes apart under attack."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.data.image_schemas import CoOccurrence, DiagnosticImages, LayerPoints
from assay.data.schemas import Findings, Samples
from assay.flows.audits.images.attacking import Robustness
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branches
from assay.infra.subflows import subflow
from assay.tasks.attacks.settings import AnyImageAttack, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.attacks.task import Attacks, attack_subject
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.diagnostics.task import choose_samples, count_labels, embed_layers, look_inside


@dataclass
class Inside:
    """What was seen inside the subjects, as handles by the subjects' names."""

    pictures: dict[str, Artifact[DiagnosticImages]] = field(default_factory=dict)
    points: dict[str, Artifact[LayerPoints]] = field(default_factory=dict)
    counts: dict[str, list[Artifact[CoOccurrence]]] = field(default_factory=dict)
    findings: list[Artifact[Findings]] = field(default_factory=list)


@dataclass(frozen=True)
class Chosen:
    """The samples that are looked at: audited ones, and training ones to compare them with."""

    audited: Artifact[Samples]
    training: Artifact[Samples]


@subflow("diagnostics")
def look(pipeline: Pipeline, examination: Examination, robustness: Robustness, branches: Branches) -> Inside:
    """Look inside every image subject, clean and under the attacks that were named."""
    result = Inside()
    settings = pipeline.diagnostics
    if settings is None:
        return result
    wanted = settings.subjects or tuple(one.name for one in pipeline.subjects)
    subjects = [one for one in examination.of("network") if one.name in wanted]
    if not subjects:
        return result
    chosen = Chosen(
        choose_samples(examination.evaluation, settings.tsne_samples),
        choose_samples(examination.training, settings.tsne_samples),
    )
    for subject in subjects:
        attacks = [
            one for one in watched(pipeline, settings) if one.called in robustness.attacked.get(subject.name, {})
        ]
        branches.attempt(
            f"inside of {subject.name}", look_into, result, examination, robustness, subject, chosen, settings, attacks
        )
    return result


def watched(pipeline: Pipeline, settings: Diagnostics) -> list[AnyImageAttack]:
    """The attacks under which subjects are looked into: those named, or the first one and the first generator."""
    if settings.attacks is not None:
        return [one for one in pipeline.image_attacks if one.called in settings.attacks]
    generators = [one for one in pipeline.image_attacks if IMAGE_ATTACKS.of(one).generator]
    return list(dict.fromkeys([*pipeline.image_attacks[:1], *generators[:1]]))


def look_into(
    result: Inside, examination: Examination, robustness: Robustness, subject: Examined, chosen: Chosen,
    settings: Diagnostics, attacks: list[AnyImageAttack],
) -> None:  # fmt: skip
    """Make one subject's pictures, embed its layers, and count the classes it names together."""
    eps = {one.called: settings.eps or max(one.eps) for one in attacks}
    made = {one.called: on_chosen(examination, robustness, subject, chosen, one, eps[one.called]) for one in attacks}
    images = {name: one.images for name, one in made.items()}
    result.pictures[subject.name] = look_inside(
        chosen.audited, subject.files, subject.resolved, settings,
        {name: one.attacked for name, one in made.items()}, images, eps,
    )  # fmt: skip
    embedded = embed_layers(chosen.training, chosen.audited, subject.files, subject.resolved, settings, images, eps)
    result.points[subject.name] = embedded.points
    result.findings.append(embedded.findings)
    for name, one in robustness.attacked.get(subject.name, {}).items():
        if name in eps:
            counted = count_labels(one.attacked, examination.classes, subject.name, name, eps[name])
            result.counts.setdefault(subject.name, []).append(counted.counts)
            result.findings.append(counted.findings)


def on_chosen(
    examination: Examination, robustness: Robustness, subject: Examined, chosen: Chosen, attack: AnyImageAttack,
    eps: float,
) -> Attacks:  # fmt: skip
    """The attack once more on the chosen samples alone, every image kept: the same images that the audit made."""
    alone = attack.model_copy(
        update={"eps": (eps,), "keep": 0, "keep_all": True, "only_accuracy": False, "transfer": False}
    )
    trained = robustness.generators.get(attack.called, {}).get(subject.name)
    generators = None if trained is None else {at: one for at, one in trained.items() if at == eps_name(eps)}
    return attack_subject(
        chosen.audited, examination.classes, subject.files, subject.resolved, alone, subject.name, generators
    )
