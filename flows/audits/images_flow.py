"""Image subjects under attack, defended, and under corruptions: how little it takes to make each wrong, and what a
defence gains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from toolz import groupby

from assay.data.schemas import Attacked, Findings, GeneratorFiles, SampleHardness, Samples
from assay.flows.audits.challenge import DEFENSE, Challenged, Medium, challenge, outcomes_of_challenge
from assay.flows.audits.data import classes_of
from assay.flows.audits.subjects_flow import CLEAN, Examination, Examined, Model, clean_samples
from assay.flows.kind import SAMPLES, AuditRequest, Ground, Handles, Measurements, Outcomes, Tables, of_type
from assay.infra.errors import InputError, RunError
from assay.infra.stages.branches import subflow
from assay.infra.stages.partitions import collect, collect_rows
from assay.infra.stages.runs import current_run
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks import page as attacks_page
from assay.tasks.attacks.gallery import CHOSEN_BY, AttackedImages, shown_of, to_be_shown
from assay.tasks.attacks.measures import COLUMNS, WORST, trials, worst_called
from assay.tasks.attacks.page import without_gradient
from assay.tasks.attacks.settings import ImageAttack, Norm, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.attacks.task import (
    Attacks,
    attack_subject,
    measure_attacks,
    probe_subject,
    train_generator,
    transfer_attacks,
    worst_case,
)
from assay.tasks.corruptions import page as corruptions_page
from assay.tasks.corruptions.table import Corruptions
from assay.tasks.corruptions.tallies import ALL, MEAN, severity_group
from assay.tasks.corruptions.task import Corrupted, corrupt_subjects, measure_corruptions
from assay.tasks.defenses import page as defences_page
from assay.tasks.defenses.comparison import NONE
from assay.tasks.defenses.settings import Defence
from assay.tasks.defenses.task import defend_subject, measure_defences
from assay.tasks.hardness.task import find_hardness
from assay.tasks.reporting.parts import Part
from assay.tasks.reporting.report import Headline
from assay.tasks.statistics.between_runs import Sampled, right_or_wrong
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.subjects.addresses.given import Asking
from assay.tasks.subjects.images.task import measure_images, predict_images

Generators = dict[str, Artifact[GeneratorFiles]]


@dataclass(frozen=True)
class AttackOnImages:
    """One attack on one model: what it did to the audited images and, where generators learned it, to theirs."""

    audited: Attacks
    on_training: Attacks | None = None
    generators: Generators | None = None
    """One per ε."""


@dataclass(frozen=True)
class ImageMeasures:
    """What the attacks on one model come to, and their worst cases."""

    findings: tuple[Artifact[Findings], ...]
    worst: Mapping[str, Artifact[Attacked]] = field(default_factory=dict)
    """By norm, where there are several attacks in it."""


@dataclass(frozen=True)
class Robustness(Challenged[AttackOnImages, ImageMeasures]):
    """What was done to image subjects and to their defended copies."""

    def tables(self, model: str) -> dict[str, Artifact[Attacked]]:
        """What became of every sample, by attack; the worst cases are the last."""
        tables = {name: attack.audited.attacked for name, attack in self.attacked.get(model, {}).items()}
        worst = self.measures[model].worst if model in self.measures else {}
        return tables | {worst_called(norm): table for norm, table in worst.items()}


@subflow("attacks and defences of images")
def challenge_images(ground: Ground) -> Robustness:
    """Attack every image subject, defend it, attack the defended copies, and compare."""
    examination = ground.of(Examination)
    return challenge(Images(ground.pipeline, examination), examination.of("network"), Robustness)


@dataclass(frozen=True)
class Images(Medium[ImageAttack, Defence, AttackOnImages, ImageMeasures]):
    """How image subjects are attacked and defended."""

    pipeline: AuditRequest
    examination: Examination

    @property
    def attacks(self) -> Sequence[ImageAttack]:
        """The attacks on images."""
        return of_type(self.pipeline.attacks, ImageAttack)

    def attacks_on(self, subject: Examined) -> Sequence[ImageAttack]:
        """All of them, or, where a subject has no gradient, those that need none; what is left out is told."""
        missing = left_out(self.attacks, subject)
        if missing:
            current_run().notice(without_gradient({subject.name: missing}))
        return [attack for attack in self.attacks if attack.called not in missing]

    def defences(self, subject: Examined) -> Sequence[Defence]:
        """Every model that the pipeline's defences make of a subject; one that is only asked learns nothing."""
        if not subject.resolved.has_gradient and variants(self.pipeline):
            current_run().notice(f"{subject.name} comes as it is and learns nothing: it is not defended.")
            return []
        return variants(self.pipeline)

    def attack(self, model: Examined, _original: Examined, attack: ImageAttack) -> AttackOnImages:
        """One attack; a generator also on the images that it learned from."""
        generators = self.learn(model, attack)
        audited = self._against(self.examination.evaluation, model, attack, generators)
        if generators is None:
            return AttackOnImages(audited)
        return AttackOnImages(audited, self._against(model.learned_from, model, attack, generators), generators)

    def learn(self, model: Examined, attack: ImageAttack) -> Generators | None:
        """The generators of an attack that has them, one per ε."""
        if IMAGE_ATTACKS.of(attack).generator is None:
            return None
        return {
            eps_name(eps): train_generator(model.learned_from, *model.model, attack.for_training(eps), eps)
            for eps in attack.eps
            if eps > 0
        }

    def _against(
        self, samples: Artifact[Samples], model: Examined, attack: ImageAttack, generators: Generators | None
    ) -> Attacks:
        afresh = (model.resolved.settings.asking or Asking()).repeats > 1  # every image is asked about again
        return attack_subject(samples, *model.model, attack.for_attacking(afresh), model.name, generators)

    @property
    def transferred(self) -> Sequence[ImageAttack]:
        """The attacks that ask for it."""
        return [attack for attack in self.attacks if attack.transfer]

    def across(
        self, attack: ImageAttack, attacked: Mapping[str, AttackOnImages], models: Mapping[str, Examined]
    ) -> Artifact[Findings] | None:
        """Show the images that were made against each model to all of them."""
        if len(attacked) < 2:
            return None
        generators = {name: attack.generators for name, attack in attacked.items() if attack.generators is not None}
        files = {name: models[name].files for name in attacked}
        resolved = {name: models[name].resolved for name in attacked}
        samples, classes = self.examination.evaluation, self.examination.classes
        return transfer_attacks(samples, classes, attack.for_transfer(), files, resolved, generators or None)

    def measure(
        self, model: Examined, attacked: Mapping[str, AttackOnImages], across: Mapping[str, Artifact[Findings]]
    ) -> ImageMeasures:
        """Whether the model can be attacked honestly, and what the attacks come to, their worst case included."""
        if not self.attacks:
            return ImageMeasures(())
        findings, worst = [probe_subject(self.examination.evaluation, *model.model, model.name)], {}
        classes, evaluation = self.examination.classes, self.examination.evaluation
        by_norm = groupby(lambda attack: attack.norm, self.attacks)
        for norm, listed in by_norm.items():
            names = [attack.called for attack in listed]
            tables = [attack.audited.attacked for name, attack in attacked.items() if name in names]
            if len(tables) > 1:
                worst[norm] = worst_case(tables)
                tables.append(worst[norm])
            moved = [table for name, table in across.items() if name in names]
            if tables:
                findings.append(measure_attacks(tables, classes, listed, model.name, moved, evaluation=evaluation))
        learned_from = [attack.on_training.attacked for attack in attacked.values() if attack.on_training is not None]
        if learned_from:
            about, training = (classes, by_norm["linf"], model.name), self.examination.training
            findings.append(measure_attacks(learned_from, *about, [], split="training", evaluation=training))
        return ImageMeasures(tuple(findings), worst)

    def defend(self, subject: Examined, defence: Defence) -> Examined:
        """Train one defended model, let it predict, and measure it on clean samples."""
        name, examination = f"{subject.name}+{defence.called}", self.examination
        settings = subject.resolved.settings.model_copy(update={"name": name})
        resolved = replace(subject.resolved, settings=settings)
        files, curve = defend_subject(subject.learned_from, *subject.model, defence, name)
        predictions = predict_images(examination.evaluation, examination.classes, files, resolved)
        clean = measure_images(predictions, examination.evaluation, examination.classes, name)
        return Examined(Model(examination.classes, files, resolved), curve, predictions, subject.learned_from, clean)

    def compare(
        self, subject: Examined, models: Mapping[str, Examined], challenged: Challenged[AttackOnImages, ImageMeasures]
    ) -> Measurements:
        """Hold every defended model against its original, sample by sample."""
        assert isinstance(challenged, Robustness)
        compared = {NONE: subject, **models}
        trained_against = {WORST, *(attack.called for attack in on_pixels(self.pipeline))}
        predictions = {defence: model.predictions for defence, model in compared.items()}
        attacked = {
            defence: [table for name, table in challenged.tables(model.name).items() if name in trained_against]
            for defence, model in compared.items()
        }
        gained = measure_defences(
            predictions,
            attacked,
            self.examination.evaluation,
            self.examination.classes,
            subject.name,
            eps_name(compared_eps(self.pipeline)),
            self.pipeline.statistics.significance,
            self.pipeline.statistics.margin,
        )
        return Measurements((gained,))


def left_out(attacks: Sequence[ImageAttack], subject: Examined) -> list[str]:
    """The attacks that a subject without a gradient cannot be under."""
    return [
        attack.called for attack in attacks if not (subject.resolved.has_gradient or IMAGE_ATTACKS.of(attack).black_box)
    ]


def variants(pipeline: AuditRequest) -> list[Defence]:
    """Every model that the pipeline's defences make of a subject."""
    defences = of_type(pipeline.defenses, Defence)
    given = all(defence.eps is not None for defence in defences)
    audited = 0.0 if given else audited_eps(on_pixels(pipeline))
    return [variant for defence in defences for variant in defence.variants(audited)]


def on_pixels(pipeline: AuditRequest) -> list[ImageAttack]:
    """The attacks whose ε bounds every pixel, as that of defences does."""
    return [attack for attack in of_type(pipeline.attacks, ImageAttack) if attack.norm == "linf"]


def audited_eps(attacks: Sequence[ImageAttack]) -> float:
    """The ε that a defence defends against where it names none: the largest that all attacks try, else the first's."""
    grids = [{eps for eps in attack.eps if eps > 0} for attack in attacks]
    shared = set.intersection(*grids) if grids else set()
    for grid in (shared, *grids):
        if grid:
            return max(grid)
    raise InputError(
        "A defence needs an ε to defend against: give it one (`maadvt: {eps: 0.1}`), or add attacks whose ε it takes."
    )


def compared_eps(pipeline: AuditRequest) -> float:
    """The ε at which defences are compared: the one that most of them were made for, of those that are attacked."""
    attacks = on_pixels(pipeline)
    tried = {eps for attack in attacks for eps in attack.eps if eps > 0}
    made_for = Counter(variant.budget for variant in variants(pipeline))
    attacked = [eps for eps, _ in made_for.most_common() if eps in tried]
    if attacked:
        return attacked[0]
    return audited_eps(attacks) if tried else made_for.most_common(1)[0][0]


@dataclass(frozen=True)
class Flips:
    """The flips along every sequence, and how often they happen."""

    corrupted: Corrupted | None = None
    findings: tuple[Artifact[Findings], ...] = ()


@subflow("corruptions")
def corrupt(ground: Ground, settings: Corruptions | None) -> Flips:
    """Perturb the audited images step by step, each frame once for all subjects, and count the flips."""
    examination, settings = ground.of(Examination), settings or Corruptions()
    subjects = ground.of(Robustness).models
    if not subjects:
        return Flips()
    audited = (examination.evaluation, examination.classes)
    files = {name: subject.files for name, subject in subjects.items()}
    resolved = {name: subject.resolved for name, subject in subjects.items()}
    corrupted = corrupt_subjects(*audited, files, resolved, settings)
    reference = settings.reference or next(iter(subjects))
    if reference not in subjects:
        raise RunError(f"The subject {reference}, which flips are compared with, could not be measured itself.")
    predictions = {name: subject.predictions for name, subject in subjects.items()}
    return Flips(corrupted, (measure_corruptions(corrupted.flips, settings, reference, *audited, predictions),))


ATTACKED = "attacked"


def outcomes_under_attack(ground: Ground, result: Robustness) -> Iterator[Outcomes]:
    """The accuracy of every model under every attack and their worst case, and what each defence leaves of it."""
    examination = ground.of(Examination)
    attacked = {
        model: [
            Outcomes("attack.accuracy", model, ATTACKED, {ATTACKED: table, SAMPLES: examination.evaluation}, attack)
            for attack, table in result.tables(model).items()
        ]
        for model in result.attacked
    }
    bounded = [WORST, *(attack.called for attack in on_pixels(ground.pipeline))]
    decisive = {
        model: [each for name in bounded for each in made if each.of == name][:1] for model, made in attacked.items()
    }
    return outcomes_of_challenge(result, examination, attacked, decisive)


def sampled_attacks(outcomes: Outcomes, tables: Tables, _of: str, group: str) -> Sampled | None:
    """Which images a model is right on, clean or at one ε."""
    if outcomes.reading == CLEAN:
        wanted = CLEAN if outcomes.metric == DEFENSE else ""
        return clean_samples(tables) if group == wanted else None
    rows = tables.read(ATTACKED, COLUMNS)
    _, _, wanted = group.partition("=")
    eps = next((tried for tried in rows["eps"].unique().to_pylist() if eps_name(tried) == f"eps={wanted}"), None)
    if eps is None:
        return None
    (trial,) = trials([rows.filter(pc.equal(rows["eps"], eps))])
    return right_or_wrong(trial.ids.tolist(), trial.robust == trial.truth, trial.truth >= 0)


def outcomes_of_corruptions(ground: Ground, result: Flips) -> Iterator[Outcomes]:
    """The accuracy and the flips of every model, per perturbation and severity."""
    if result.corrupted is not None:
        tables: Handles = {"flips": result.corrupted.flips, SAMPLES: ground.of(Examination).evaluation}
        for model in ground.of(Robustness).models.values():
            for metric in ("corruption.accuracy", "corruption.flip_probability"):
                yield Outcomes(metric, model.name, "corrupted", tables)


def sampled_corruptions(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """What single images add to one perturbation at one severity, or to the mean of all."""
    hits, trials_ = ("correct", "judged") if outcomes.metric == "corruption.accuracy" else ("flips", "comparisons")
    rows = tables.read("flips", ["id", "subject", "perturbation", "severity", hits, trials_])
    rows = rows.filter(pc.equal(rows["subject"], outcomes.subject))
    weights = _frames_alike(rows) if hits == "correct" else {}
    if of != MEAN:
        rows = rows.filter(pc.equal(rows["perturbation"], of))
    if group != ALL:
        rows = rows.filter(pc.equal(pc.cast(rows["severity"], pa.string()), group.rpartition("=")[2]))
        if group != severity_group(int(rows["severity"][0].as_py()) if rows.num_rows else 0):
            return None
    if not rows.num_rows:
        return None
    each = np.array([weights.get(perturbation, 1.0) for perturbation in rows["perturbation"].to_pylist()])
    ids, at = np.unique(np.array(rows["id"].to_pylist(), dtype=np.str_), return_inverse=True)
    above, below = (
        np.bincount(at, rows[column].to_numpy() * each, len(ids)).astype(np.float64) for column in (hits, trials_)
    )
    there = below > 0
    return Sampled(ids[there], above[there], below[there]) if there.any() else None


def _frames_alike(rows: pa.Table) -> dict[str, float]:
    """What a frame of each perturbation counts, so that all perturbations count the same in their mean: they have 1, 2
    or all but one of the frames at full strength."""
    most = rows.group_by("perturbation").aggregate([("judged", "max")])
    judged = dict(zip(most["perturbation"].to_pylist(), most["judged_max"].to_pylist(), strict=True))
    return {name: max(judged.values()) / count for name, count in judged.items() if count}


def smallest_eps(ground: Ground, robustness: Robustness) -> Iterator[Artifact[SampleHardness]]:
    """The smallest ε at which an attack succeeds, of the subjects themselves, not of defended copies."""
    for subject in ground.pipeline.subjects:
        for attack in robustness.attacked.get(subject.name, {}).values():
            yield find_hardness(attack.audited.attacked, "eps", subject.name)


def show_challenge(ground: Ground, robustness: Robustness, findings: FindingIndex) -> Iterator[Part]:
    """What attacks did, shown, and what defences gained."""
    models, classes = robustness.models, classes_of(ground)
    asked = of_type(ground.pipeline.attacks, ImageAttack)
    norms = {attack.called: attack.norm for attack in asked}
    attacked = [each for by_attack in robustness.attacked.values() for each in by_attack.items()]
    if attacked:
        pictures = [shown for name, attack in attacked for shown in pictures_of(attack.audited, classes, norms[name])]
        missing = {name: unfit for name, model in models.items() if (unfit := left_out(asked, model))}
        yield attacks_page.page(findings, pictures, missing)
    if of_type(ground.pipeline.defenses, Defence):
        yield defences_page.page(findings, {name: collect(models[name].curve, None) for name in robustness.copies})


def pictures_of(under_attack: Attacks, classes: Sequence[str], norm: Norm = "linf") -> list[AttackedImages]:
    """The images of one attack that its gallery shows: however many were kept, only those are read."""
    ids = to_be_shown(collect(under_attack.attacked, CHOSEN_BY), collect(under_attack.images, ["id", "eps"]))
    return shown_of(collect_rows(under_attack.attacked, ids), collect_rows(under_attack.images, ids), classes, norm)


def challenge_followed(findings: FindingIndex) -> tuple[Headline, ...]:
    """How right subjects are under attack, and what defences gain."""
    return (*attacks_page.followed(findings), *defences_page.followed(findings))


def flips_per_sample(ground: Ground, flips: Flips) -> Iterator[Artifact[SampleHardness]]:
    """How often the answer flips, of the subjects themselves."""
    for subject in ground.pipeline.subjects:
        if flips.corrupted is not None and subject.network is not None:
            yield find_hardness(flips.corrupted.flips, "flips", subject.name)


def show_corruptions(_ground: Ground, flips: Flips, findings: FindingIndex) -> Iterator[Part]:
    """How often predictions flip."""
    if flips.corrupted is not None:
        yield corruptions_page.page(findings, collect(flips.corrupted.images, None))
