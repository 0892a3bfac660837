"""Texts under attack: every classifier against word attacks and noise, then taught by attacked copies, and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from assay.data.changed_text_schemas import ChangedTexts
from assay.data.schemas import Findings, Predictions, Samples
from assay.data.word_schemas import AttackedTexts
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.flows.audits.texts.clashes import learns
from assay.flows.audits.trust.flow import TrustAudit
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branches
from assay.infra.errors import RunError
from assay.infra.runs import current_run
from assay.infra.subflows import subflow
from assay.tasks.attacks.menu import AnyTextAttack
from assay.tasks.attacks.noise.settings import Noise
from assay.tasks.attacks.noise.task import add_noise, copy_with_noise, measure_noise, show_noise
from assay.tasks.attacks.text_table import TEXT_ATTACKS
from assay.tasks.attacks.words.flagging_task import flag_texts
from assay.tasks.attacks.words.resolved import resolve_word_attack
from assay.tasks.attacks.words.settings import WordAttack
from assay.tasks.attacks.words.showing_task import limit_texts, show_words
from assay.tasks.attacks.words.task import (
    Swaps,
    attack_words,
    compare_words,
    find_guided_swaps,
    find_neighbours,
    measure_words,
)
from assay.tasks.defenses.comparing import NONE
from assay.tasks.defenses.copies_task import draw_samples, join_samples, put_texts
from assay.tasks.defenses.text_settings import MIXED, AttackedCopies
from assay.tasks.defenses.text_task import measure_text_defences
from assay.tasks.subjects.texts.task import measure_texts, predict_texts, train_classifier
from assay.tasks.trust.resolved import resolve_trust


@dataclass(frozen=True)
class Noised:
    """The noisy texts, the same for all subjects, and what one subject says of them."""

    texts: Artifact[Samples]
    said: Artifact[Predictions]


@dataclass
class WordAudit:
    """What was done to the texts of classifiers, as handles; what was not asked for, or broke, is not there."""

    attacked: dict[str, dict[str, Artifact[AttackedTexts]]] = field(default_factory=dict)
    """By subject and attack."""
    noised: dict[str, dict[str, Noised]] = field(default_factory=dict)
    """By subject and attack."""
    models: dict[str, dict[str, str]] = field(default_factory=dict)
    """The defended models: by subject and defence the name under which each is a subject of its own."""
    shown: dict[str, dict[str, Artifact[ChangedTexts]]] = field(default_factory=dict)
    """By subject and attack."""
    findings: list[Artifact[Findings]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The names of all defended models."""
        return [name for defended in self.models.values() for name in defended.values()]


@dataclass(frozen=True)
class Scene:
    """Everything an attack on texts needs besides a subject and its settings."""

    pipeline: Pipeline
    examination: Examination
    trust: TrustAudit | None
    folder: Path

    @property
    def masked(self) -> bool:
        """Whether no word of the texts may be shown."""
        return self.pipeline.masked


@subflow("words")
def attack_texts(
    pipeline: Pipeline, examination: Examination, trust: TrustAudit | None, branches: Branches, folder: Path
) -> WordAudit:
    """Attack the texts of every classifier; defend each against that, and attack the defended ones alike."""
    result, scene = WordAudit(), Scene(pipeline, examination, trust, folder)
    subjects = examination.of("classifier")
    for subject in subjects:
        attack_one(result, scene, subject, subject, branches)
    for subject in subjects:
        for defense in defenses_of_texts(pipeline) if may_be_defended(subject, pipeline) else ():
            what = f"defence {defense.called} of {subject.name}"
            branches.attempt(what, defend_one, result, scene, subject, defense)
        for name in result.models.get(subject.name, {}).values():
            attack_one(result, scene, examination.subjects[name], subject, branches)
        if subject.name in result.models:
            branches.attempt(f"defences of {subject.name}", compare_with_original, result, scene, subject)
    return result


def may_be_defended(subject: Examined, pipeline: Pipeline) -> bool:
    """Whether a subject learns, so that it can learn from attacked copies; where it does not, that is said."""
    settings = subject.resolved.settings
    if learns(str(settings.classifier), settings.train):
        return True
    if defenses_of_texts(pipeline):
        current_run().notice(f"{settings.name} comes as it is and learns from no attacked copies: it is not defended.")
    return False


def defenses_of_texts(pipeline: Pipeline) -> list[AttackedCopies]:
    """The defences by attacks on whole texts."""
    known = {attack.called for attack in pipeline.text_attacks}
    return [one for one in pipeline.text_defenses if one.attack in known or (one.attack == MIXED and known)]


def attack_one(result: WordAudit, scene: Scene, subject: Examined, original: Examined, branches: Branches) -> None:
    """Every attack on one subject, word attacks beside each other, and whether the subject is worth attacking; a
    defended subject has an `original`."""
    branches.attempt(f"red flags of {subject.name}", flag_one, result, scene, subject)
    for settings in scene.pipeline.text_attacks:
        what = f"{settings.called} on {subject.name}"
        if isinstance(settings, WordAttack):
            branches.attempt(what, words_on, result, scene, subject, original, settings)
        else:
            branches.attempt(what, noise_on, result, scene, subject, settings)
    made = result.attacked.get(subject.name, {})
    for first, second in pairs_of(scene.pipeline.text_attacks):
        if first in made and second in made:
            branches.attempt(
                f"{first} beside {second} on {subject.name}", beside_each_other, result, scene, subject, first, second
            )


def flag_one(result: WordAudit, scene: Scene, subject: Examined) -> None:
    """Whether a subject always answers alike, so that no attack on it says anything."""
    if scene.pipeline.text_attacks:
        examined = scene.examination
        result.findings.append(flag_texts(subject.predictions, examined.evaluation, examined.classes, subject.name))


def pairs_of(attacks: Sequence[AnyTextAttack]) -> list[tuple[str, str]]:
    """Which word attacks are compared: all with each other, the guided ones first."""
    words = [one for one in attacks if TEXT_ATTACKS.of(one).swaps_words]
    first = sorted(words, key=lambda one: not TEXT_ATTACKS.of(one).guided)
    return [(one.called, other.called) for one, other in combinations(first, 2)]


def words_on(result: WordAudit, scene: Scene, subject: Examined, original: Examined, settings: WordAttack) -> None:
    """One word attack on one subject: what may replace what is found once, for the original and all its defended."""
    examination, samples = scene.examination, scene.examination.evaluation
    if settings.texts is not None:
        samples = limit_texts(samples, settings.texts)
    swaps = swaps_for(scene, samples, original, settings)
    attacked = attack_words(
        samples, examination.classes, subject.files, subject.resolved,
        resolve_word_attack(settings, scene.folder), swaps.swaps, swaps.vectors, swaps.limits,
    )  # fmt: skip
    result.attacked.setdefault(subject.name, {})[settings.called] = attacked
    result.findings.append(measure_words(attacked, settings.called, subject.name))
    if settings.examples and subject.name == original.name:
        shown = show_words(attacked, settings.called, settings.examples, scene.masked)
        result.shown.setdefault(subject.name, {})[settings.called] = shown


def swaps_for(scene: Scene, samples: Artifact[Samples], subject: Examined, settings: WordAttack) -> Swaps:
    """What may take the place of the words of these samples: near words, or those that the oracle's pools offer."""
    examination, attack = scene.examination, resolve_word_attack(settings, scene.folder)
    if not TEXT_ATTACKS.of(settings).guided:
        return find_neighbours(
            samples, examination.training, examination.classes, subject.files, subject.resolved, attack
        )
    oracle = scene.pipeline.trust
    opinions = scene.trust.opinions.get(subject.name, {}) if scene.trust is not None else {}
    explainer = settings.guided_by or (oracle.explainers[0] if oracle is not None else None)
    if oracle is None or explainer not in opinions:
        raise RunError(
            f"{settings.called} is guided by the trust oracle, which has no opinion of {subject.name} by "
            f"{explainer or 'any explainer'}: see why it broke, or leave the attack out."
        )
    first = opinions[explainer].first
    return find_guided_swaps(
        samples, examination.training, first.keywords, first.embedded.thresholds, examination.classes, subject.files,
        subject.resolved, attack, resolve_trust(oracle, subject.resolved, scene.folder).providers, oracle.lemmatise,
    )  # fmt: skip


def beside_each_other(result: WordAudit, scene: Scene, subject: Examined, first: str, second: str) -> None:
    """Two word attacks on the same texts."""
    made, significance = result.attacked[subject.name], scene.pipeline.statistics.significance
    result.findings.append(compare_words(made[first], made[second], first, second, subject.name, significance))


def noise_on(result: WordAudit, scene: Scene, subject: Examined, settings: Noise) -> None:
    """What one subject says of noisy texts; these are made once for all subjects that read the same column."""
    examination, text = scene.examination, subject.resolved.settings.text
    noisy = add_noise(examination.evaluation, text, settings.kinds, settings.severities)
    said = predict_texts(noisy, examination.classes, subject.files, subject.resolved)
    result.noised.setdefault(subject.name, {})[settings.called] = Noised(noisy, said)
    result.findings.append(measure_noise(
        noisy, said, subject.predictions, examination.evaluation, examination.classes, settings.called, subject.name,
        scene.pipeline.statistics.significance,
    ))  # fmt: skip
    if settings.examples and subject.name not in result.names:
        result.shown.setdefault(subject.name, {})[settings.called] = show_noise(
            noisy, said, subject.predictions, examination.evaluation, examination.classes, text, settings.called,
            settings.examples, scene.masked,
        )  # fmt: skip


def defend_one(result: WordAudit, scene: Scene, subject: Examined, defense: AttackedCopies) -> None:
    """Train one classifier on the training texts and attacked copies of them, let it predict, measure it clean; and
    where a control is asked for, another on unchanged copies of the same texts."""
    training, copies = scene.examination.training, attacked_copies(scene, subject, defense)
    if defense.control:
        learn_one(result, scene, subject, defense.control_called, join_samples(training, copies, unchanged=True))
    learn_one(result, scene, subject, defense.called, join_samples(training, copies))


def learn_one(result: WordAudit, scene: Scene, subject: Examined, called: str, joined: Artifact[Samples]) -> None:
    """A subject of its own that learns from these texts, like the one that it is named after."""
    examination, name = scene.examination, f"{subject.name}+{called}"
    resolved = replace(subject.resolved, settings=subject.resolved.settings.model_copy(update={"name": name}))
    files, curve = train_classifier(joined, examination.classes, resolved)
    predictions = predict_texts(examination.evaluation, examination.classes, files, resolved)
    result.findings.append(measure_texts(predictions, examination.evaluation, examination.classes, name))
    examination.subjects[name] = Examined(resolved, files, curve, predictions)
    result.models.setdefault(subject.name, {})[called] = name


def attacks_of(scene: Scene, defense: AttackedCopies) -> tuple[str, ...]:
    """The names of the attacks that a defence makes copies with."""
    return tuple(one.called for one in scene.pipeline.text_attacks if defense.attack in (one.called, MIXED))


def attacked_copies(scene: Scene, subject: Examined, defense: AttackedCopies) -> Artifact[Samples]:
    """The training texts, those of a share of them attacked: by one attack, or by one of all that each draws."""
    training, text = scene.examination.training, subject.resolved.settings.text
    chosen = [one for one in scene.pipeline.text_attacks if one.called in attacks_of(scene, defense)]
    attacked: list[Artifact[AttackedTexts]] = []
    noisy: list[Artifact[Samples]] = []
    for part, settings in enumerate(chosen):
        drawn = draw_samples(training, defense.share, part, len(chosen))
        if not isinstance(settings, WordAttack):
            noisy.append(copy_with_noise(drawn, text, settings.kinds, settings.severities))
        else:
            swaps = swaps_for(scene, drawn, subject, settings)
            attacked.append(attack_words(
                drawn, scene.examination.classes, subject.files, subject.resolved,
                resolve_word_attack(settings, scene.folder), swaps.swaps, swaps.vectors, swaps.limits,
            ))  # fmt: skip
    return put_texts(training, text, attacked, noisy)


def compare_with_original(result: WordAudit, scene: Scene, subject: Examined) -> None:
    """What the defences of one subject gain and cost: what each was trained with, by what all are tested on."""
    models = {NONE: subject.name, **result.models[subject.name]}
    noised = {defence: result.noised.get(name, {}) for defence, name in models.items()}
    result.findings.append(measure_text_defences(
        {defence: scene.examination.subjects[name].predictions for defence, name in models.items()},
        {defence: result.attacked.get(name, {}) for defence, name in models.items()},
        {called: one.texts for called, one in noised[NONE].items()},
        {defence: {called: one.said for called, one in heard.items()} for defence, heard in noised.items()},
        scene.examination.evaluation, scene.examination.classes, subject.name, scene.pipeline.statistics.significance,
        {one.called: attacks_of(scene, one) for one in defenses_of_texts(scene.pipeline) if one.control},
    ))  # fmt: skip
