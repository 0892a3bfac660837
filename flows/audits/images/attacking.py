"""Image subjects under attack: how little it takes to make each wrong, what defends it, and what that gains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.data.image_schemas import Attacked, GeneratorFiles
from assay.data.schemas import Findings, Samples
from assay.flows.audits.challenging import Challenged, Shares, challenge
from assay.flows.audits.kind import Ground
from assay.flows.audits.subjects.flow import Examination, Examined, Model
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.runs import current_run
from assay.infra.subflows import subflow
from assay.tasks.attacks.gap_task import train_generator
from assay.tasks.attacks.judging_task import measure_attacks, probe_subject
from assay.tasks.attacks.left_out import without_gradient
from assay.tasks.attacks.settings import AnyImageAttack, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.attacks.task import Attacks, attack_subject, transfer_attacks, worst_case
from assay.tasks.defenses.comparing import NONE
from assay.tasks.defenses.settings import AnyImageDefence, each_of
from assay.tasks.defenses.task import defend_subject, measure_defences
from assay.tasks.subjects.images.task import measure_images, predict_images

Generators = Mapping[str, Artifact[GeneratorFiles]]


@dataclass(frozen=True)
class ImageAttack:
    """One attack on one model: what it did to the audited images and, where generators learned it, to theirs."""

    audited: Attacks
    on_training: Attacks | None = None
    generators: Generators | None = None
    """One per ε."""


@dataclass(frozen=True)
class ImageMeasures:
    """What the attacks on one model come to, and their worst case where there are several."""

    findings: tuple[Artifact[Findings], ...]
    worst: Artifact[Attacked] | None = None


@dataclass(frozen=True)
class Robustness:
    """What was done to image subjects and to their defended copies."""

    challenged: Challenged[ImageAttack, ImageMeasures] = field(
        default_factory=lambda: Challenged({}, {}, {}, {}, {}, {})
    )

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """What was measured."""
        return self.challenged.findings

    @property
    def models(self) -> list[Examined]:
        """The subjects and their defended copies."""
        return list(self.challenged.models.values())

    def left_out(self, attacks: Sequence[AnyImageAttack]) -> dict[str, list[str]]:
        """By model the attacks that follow gradients, where it has none."""
        return {one.name: missing for one in self.models if (missing := left_out(attacks, one))}

    @property
    def attacked(self) -> dict[str, dict[str, Attacks]]:
        """By model and attack."""
        return {
            model: {name: one.audited for name, one in by_attack.items()}
            for model, by_attack in self.challenged.attacked.items()
            if by_attack
        }


@subflow("attacks and defences of images")
def challenge_images(ground: Ground) -> Robustness:
    """Attack every image subject, defend it, attack the defended copies, and compare."""
    examination = ground.of(Examination)
    return Robustness(challenge(Images(ground.pipeline, examination), examination.of("network")))


@dataclass(frozen=True)
class Images:
    """How image subjects are attacked and defended."""

    pipeline: Pipeline
    examination: Examination

    @property
    def attacks(self) -> Sequence[AnyImageAttack]:
        """The attacks on images."""
        return self.pipeline.image_attacks

    def attacks_on(self, subject: Examined) -> Sequence[AnyImageAttack]:
        """All of them, or, where a subject has no gradient, those that need none; what is left out is told."""
        missing = left_out(self.attacks, subject)
        if missing:
            current_run().notice(without_gradient({subject.name: missing}))
        return [one for one in self.attacks if one.called not in missing]

    def defences(self, subject: Examined) -> Sequence[AnyImageDefence]:
        """Every model that the pipeline's defences make of a subject; one that is only asked learns nothing."""
        if not subject.resolved.has_gradient and variants(self.pipeline):
            current_run().notice(f"{subject.name} comes as it is and learns nothing: it is not defended.")
            return []
        return variants(self.pipeline)

    def attack(self, model: Examined, _original: Examined, attack: AnyImageAttack) -> ImageAttack:
        """One attack; a generator also on the images that it learned from."""
        generators = self.learn(model, attack)
        audited = self._against(self.examination.evaluation, model, attack, generators)
        if generators is None:
            return ImageAttack(audited)
        return ImageAttack(audited, self._against(model.learned_from, model, attack, generators), generators)

    def learn(self, model: Examined, attack: AnyImageAttack) -> Generators | None:
        """The generators of an attack that has them, one per ε."""
        if IMAGE_ATTACKS.of(attack).generator is None:
            return None
        return {
            eps_name(eps): train_generator(model.learned_from, *model.model, attack.for_training(eps), eps)
            for eps in attack.eps
            if eps > 0
        }

    def _against(
        self, samples: Artifact[Samples], model: Examined, attack: AnyImageAttack, generators: Generators | None
    ) -> Attacks:
        learned = None if generators is None else dict(generators)
        return attack_subject(samples, *model.model, attack.for_attacking(), model.name, learned)

    @property
    def transferred(self) -> Sequence[AnyImageAttack]:
        """The attacks that ask for it."""
        return [attack for attack in self.attacks if attack.transfer]

    def across(
        self, attack: AnyImageAttack, attacked: Mapping[str, ImageAttack], models: Mapping[str, Examined]
    ) -> Artifact[Findings] | None:
        """Show the images that were made against each model to all of them."""
        if len(attacked) < 2:
            return None
        generators = {name: dict(one.generators) for name, one in attacked.items() if one.generators is not None}
        return transfer_attacks(
            self.examination.evaluation,
            self.examination.classes,
            attack.for_transfer(),
            {name: models[name].files for name in attacked},
            {name: models[name].resolved for name in attacked},
            generators or None,
        )

    def measure(
        self, model: Examined, attacked: Mapping[str, ImageAttack], across: Mapping[str, Artifact[Findings]]
    ) -> ImageMeasures:
        """Whether the model can be attacked honestly, and what the attacks come to, their worst case included."""
        if not self.attacks:
            return ImageMeasures(())
        probed = probe_subject(self.examination.evaluation, *model.model, model.name)
        tables, worst = [one.audited.attacked for one in attacked.values()], None
        if not tables:
            return ImageMeasures((probed,))
        if len(tables) > 1:
            worst = worst_case(tables)
            tables.append(worst)
        classes, listed = self.examination.classes, list(self.attacks)
        measured = measure_attacks(
            tables, classes, listed, model.name, list(across.values()), evaluation=self.examination.evaluation
        )
        findings = [probed, measured]
        learned_from = [one.on_training.attacked for one in attacked.values() if one.on_training is not None]
        if learned_from:
            findings.append(
                measure_attacks(
                    learned_from,
                    classes,
                    listed,
                    model.name,
                    [],
                    split="training",
                    evaluation=self.examination.training,
                )
            )
        return ImageMeasures(tuple(findings), worst)

    def defend(self, subject: Examined, defence: AnyImageDefence) -> Examined:
        """Train one defended model, let it predict, and measure it on clean samples."""
        name, examination = f"{subject.name}+{defence.called}", self.examination
        settings = subject.resolved.settings.model_copy(update={"name": name})
        resolved = replace(subject.resolved, settings=settings)
        files, curve = defend_subject(subject.learned_from, *subject.model, defence, name)
        predictions = predict_images(examination.evaluation, examination.classes, files, resolved)
        clean = measure_images(predictions, examination.evaluation, examination.classes, name)
        model = Model(examination.classes, files, resolved)
        return Examined(model, curve, predictions, subject.learned_from, clean)

    def compare(
        self, subject: Examined, models: Mapping[str, Examined], challenged: Challenged[ImageAttack, ImageMeasures]
    ) -> Shares:
        """Hold every defended model against its original, sample by sample."""
        compared = {NONE: subject, **models}
        gained = measure_defences(
            {defence: one.predictions for defence, one in compared.items()},
            {defence: _tables(challenged, one.name) for defence, one in compared.items()},
            self.examination.evaluation,
            self.examination.classes,
            subject.name,
            eps_name(telling_eps(self.pipeline)),
            self.pipeline.statistics.significance,
        )
        return Shares((gained,))


def left_out(attacks: Sequence[AnyImageAttack], subject: Examined) -> list[str]:
    """The attacks that a subject without a gradient cannot be under."""
    return [one.called for one in attacks if not (subject.resolved.has_gradient or IMAGE_ATTACKS.of(one).black_box)]


def _tables(challenged: Challenged[ImageAttack, ImageMeasures], model: str) -> list[Artifact[Attacked]]:
    tables = [one.audited.attacked for one in challenged.attacked.get(model, {}).values()]
    measures = challenged.measures.get(model)
    return tables if measures is None or measures.worst is None else [*tables, measures.worst]


def variants(pipeline: Pipeline) -> list[AnyImageDefence]:
    """Every model that the pipeline's defences make of a subject."""
    given = all(defense.eps is not None for defense in pipeline.image_defenses)
    return list(each_of(pipeline.image_defenses, 0.0 if given else audited_eps(pipeline.image_attacks)))


def audited_eps(attacks: Sequence[AnyImageAttack]) -> float:
    """The ε that a defence defends against where it names none: the largest that all attacks try, else the first's."""
    grids = [{eps for eps in attack.eps if eps > 0} for attack in attacks]
    shared = set.intersection(*grids) if grids else set()
    for grid in (shared, *grids):
        if grid:
            return max(grid)
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
