"""Defences: each image subject is trained to withstand more, and every defended model is audited like the original."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.data.schemas import Findings
from assay.flows.audits.images.attacking import Robustness
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branches
from assay.infra.errors import InputError
from assay.infra.subflows import subflow
from assay.tasks.attacks.settings import AnyImageAttack, eps_name
from assay.tasks.defenses.comparing import NONE
from assay.tasks.defenses.settings import AnyImageDefence, each_of
from assay.tasks.defenses.task import defend_subject, measure_defences
from assay.tasks.subjects.images.task import measure_images, predict_images


@dataclass
class Defences:
    """The defended models: by subject and defence the name under which each is a subject of its own."""

    models: dict[str, dict[str, str]] = field(default_factory=dict)
    findings: list[Artifact[Findings]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of all defended models."""
        return [name for defended in self.models.values() for name in defended.values()]


@subflow("defences")
def defend(pipeline: Pipeline, examination: Examination, branches: Branches) -> Defences:
    """Train every defended model, and add it to the subjects that are challenged."""
    result = Defences()
    for subject in examination.of("network"):
        for variant in variants(pipeline):
            what = f"defence {variant.called} of {subject.name}"
            branches.attempt(what, defend_one, result, examination, subject, variant)
    return result


def defend_one(result: Defences, examination: Examination, subject: Examined, variant: AnyImageDefence) -> None:
    """Train one defended model, let it predict, and measure it on clean samples."""
    name = f"{subject.name}+{variant.called}"
    settings = subject.resolved.settings.model_copy(update={"name": name})
    resolved = replace(subject.resolved, settings=settings)
    files, curve = defend_subject(
        examination.training, examination.classes, subject.files, subject.resolved, variant, name
    )
    predictions = predict_images(examination.evaluation, examination.classes, files, resolved)
    examination.findings.append(measure_images(predictions, examination.evaluation, examination.classes, name))
    examination.subjects[name] = Examined(resolved, files, curve, predictions)
    result.models.setdefault(subject.name, {})[variant.called] = name


@subflow("what defences gain")
def compare_defences(
    result: Defences, pipeline: Pipeline, examination: Examination, robustness: Robustness, branches: Branches
) -> None:
    """Hold every defended model against its original, sample by sample."""
    for subject in result.models:
        branches.attempt(
            f"defences of {subject}", compare_with_original, result, pipeline, examination, robustness, subject
        )


def compare_with_original(
    result: Defences, pipeline: Pipeline, examination: Examination, robustness: Robustness, subject: str
) -> None:
    """What the defences of one subject gain and cost."""
    models = {NONE: subject, **result.models[subject]}
    attacked = {
        defence: [made.attacked for made in robustness.attacked.get(name, {}).values()]
        + ([robustness.worst[name]] if name in robustness.worst else [])
        for defence, name in models.items()
    }
    predictions = {defence: examination.subjects[name].predictions for defence, name in models.items()}
    found = measure_defences(
        predictions, attacked, examination.evaluation, examination.classes, subject,
        eps_name(telling_eps(pipeline)), pipeline.statistics.significance,
    )  # fmt: skip
    result.findings.append(found)


def variants(pipeline: Pipeline) -> list[AnyImageDefence]:
    """Every model that the pipeline's defences make of a subject."""
    given = all(defense.eps is not None for defense in pipeline.image_defenses)
    return list(each_of(pipeline.image_defenses, 0.0 if given else audited_eps(pipeline.image_attacks)))


def audited_eps(attacks: Sequence[AnyImageAttack]) -> float:
    """The ε that a defence defends against where it names none: the largest that all attacks try, else the first's."""
    grids = [{eps for eps in attack.eps if eps > 0} for attack in attacks]
    shared = set.intersection(*grids) if grids else set()
    for found in (shared, *grids):
        if found:
            return max(found)
    raise InputError(
        "A defence needs an ε to defend against: give it one (`maadvt: {eps: 0.1}`), or add attacks whose ε it takes."
    )


def telling_eps(pipeline: Pipeline) -> float:
    """The ε at which defences are compared: the one that most of them were made for, of those that are attacked."""
    tried = {eps for attack in pipeline.image_attacks for eps in attack.eps if eps > 0}
    made_for = Counter(variant.budget for variant in variants(pipeline))
    attacked = [eps for eps, _ in made_for.most_common() if eps in tried]
    if attacked:
        return attacked[0]
    return audited_eps(pipeline.image_attacks) if tried else made_for.most_common(1)[0][0]
