"""Texts under attack: every classifier against word attacks and noise, then taught by attacked copies, and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from assay.data.changed_text_schemas import ChangedTexts
from assay.data.schemas import Findings, Predictions, Samples
from assay.data.word_schemas import AttackedTexts
from assay.flows.audits.attacked_copies import CopiesOf, asked_of, learn_from_copies, meant_by, trainings
from assay.flows.audits.challenging import Challenged, Shares, challenge
from assay.flows.audits.kind import Ground
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.flows.audits.trust.flow import TrustAudit
from assay.infra.artifacts import Artifact
from assay.infra.branches import outcomes, start
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
from assay.tasks.attacks.words.swaps_task import Swaps, find_guided_swaps, find_neighbours
from assay.tasks.attacks.words.task import attack_words, compare_words, measure_words
from assay.tasks.defenses.comparing import NONE
from assay.tasks.defenses.copies_task import draw_samples, put_texts
from assay.tasks.defenses.text_settings import AttackedCopies
from assay.tasks.defenses.text_task import measure_text_defences
from assay.tasks.subjects.kinds import kind_of
from assay.tasks.subjects.texts.task import predict_texts
from assay.tasks.trust.resolved import resolve_trust
from assay.tasks.trust.settings import Trust


@dataclass(frozen=True)
class TextAttack:
    """One attack on one classifier: the texts it made, and for noise what the classifier says of them."""

    attacked: Artifact[AttackedTexts] | None
    noisy: Artifact[Samples] | None
    answers: Artifact[Predictions] | None
    measured: Artifact[Findings]
    shown: Artifact[ChangedTexts] | None
    """Examples, of the originals only."""


@dataclass(frozen=True)
class WordAudit:
    """What was done to the texts of classifiers, and what attacked copies taught."""

    challenged: Challenged[TextAttack, Shares]

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """What was measured."""
        return self.challenged.findings


@subflow("texts")
def attack_texts(ground: Ground) -> WordAudit:
    """Attack the texts of every classifier; defend each against that, and attack the defended ones alike."""
    examination = ground.of(Examination)
    texts = Texts(ground, examination, ground.maybe(TrustAudit))
    return WordAudit(challenge(texts, examination.of("classifier")))


@dataclass(frozen=True)
class Texts:
    """How classifiers of texts are attacked and defended."""

    ground: Ground
    examination: Examination
    trust: TrustAudit | None

    @property
    def attacks(self) -> Sequence[AnyTextAttack]:
        """The attacks on whole texts."""
        return self.ground.pipeline.text_attacks

    def attacks_on(self, _subject: Examined) -> Sequence[AnyTextAttack]:
        """All of them: none needs more than answers."""
        return self.attacks

    def defences(self, subject: Examined) -> Sequence[CopiesOf]:
        """The trainings on attacked copies, and their controls; where a subject learns nothing, that is told."""
        asked, settings = self.copies(), subject.resolved.settings
        if asked and not kind_of(settings).learns(str(settings.classifier), settings.train):
            current_run().notice(
                f"{settings.name} comes as it is and learns from no attacked copies: it is not defended."
            )
            return []
        return trainings(asked)

    def copies(self) -> list[AttackedCopies]:
        """The defences by attacks on whole texts."""
        return asked_of(self.ground.pipeline.text_defenses, self.attacks)

    def attack(self, model: Examined, original: Examined, attack: AnyTextAttack) -> TextAttack:
        """One attack on the audited texts."""
        if not isinstance(attack, WordAttack):
            return self.noise(model, original, attack)
        samples = self.examination.evaluation
        if attack.texts is not None:
            samples = limit_texts(samples, attack.texts)
        swaps, examined = self.swaps(samples, original, attack), self.examination
        attacked = self.swap_words(samples, model, attack, swaps)
        measured = measure_words(
            attacked, attack.called, model.name, swaps.limits, examined.evaluation, examined.classes
        )
        shown = None
        if attack.examples and model.name == original.name:
            shown = show_words(attacked, attack.called, attack.examples, self.ground.pipeline.masked)
        return TextAttack(attacked, None, None, measured, shown)

    def swap_words(
        self, samples: Artifact[Samples], model: Examined, attack: WordAttack, swaps: Swaps
    ) -> Artifact[AttackedTexts]:
        """The texts with words swapped; what may replace what is found once, for the original and all its copies."""
        resolved = resolve_word_attack(attack, self.ground.folder)
        return attack_words(samples, *model.model, resolved, swaps.swaps, swaps.vectors, swaps.limits)

    def swaps(self, samples: Artifact[Samples], subject: Examined, attack: WordAttack) -> Swaps:
        """What may take the place of the words: near words, or those that the oracle's pools offer."""
        training, resolved = subject.learned_from, resolve_word_attack(attack, self.ground.folder)
        if not TEXT_ATTACKS.of(attack).guided:
            return find_neighbours(samples, training, *subject.model, resolved)
        oracle = self.ground.pipeline.asked(Trust)
        opinions = self.trust.opinions.get(subject.name, {}) if self.trust is not None else {}
        explainer = attack.guided_by or (oracle.explainers[0] if oracle is not None else None)
        if oracle is None or explainer is None or explainer not in opinions:
            raise RunError(
                f"{attack.called} is guided by the trust oracle, which has no opinion of {subject.name} by "
                f"{explainer or 'any explainer'}: see why it broke, or leave the attack out."
            )
        first = opinions[explainer].first
        providers = resolve_trust(oracle, subject.resolved, self.ground.folder).providers
        return find_guided_swaps(
            samples,
            training,
            first.keywords,
            first.embedded.thresholds,
            *subject.model,
            resolved,
            providers,
            oracle.lemmatise,
        )

    def noise(self, model: Examined, original: Examined, attack: Noise) -> TextAttack:
        """What one model says of noisy texts; these are made once for all subjects that read the same column."""
        evaluation, classes = self.examination.evaluation, self.examination.classes
        text, significance = model.resolved.settings.text, self.ground.pipeline.statistics.significance
        noisy = add_noise(evaluation, text, attack.kinds, attack.severities)
        answers = self.answers(noisy, model)
        measured = measure_noise(
            noisy, answers, model.predictions, evaluation, classes, attack.called, model.name, significance
        )
        shown = None
        if attack.examples and model.name == original.name:
            shown = show_noise(
                noisy,
                answers,
                model.predictions,
                evaluation,
                classes,
                text,
                attack.called,
                attack.examples,
                self.ground.pipeline.masked,
            )
        return TextAttack(None, noisy, answers, measured, shown)

    @staticmethod
    def answers(samples: Artifact[Samples], model: Examined) -> Artifact[Predictions]:
        """What a model says of these texts."""

        return predict_texts(samples, *model.model)

    @property
    def transferred(self) -> tuple[()]:
        """None: what was made against one model is shown to no other."""
        return ()

    def across(self, *_: object) -> None:
        """Nothing: attacked texts are shown to no other model."""

    def measure(
        self, model: Examined, attacked: Mapping[str, TextAttack], _across: Mapping[str, Artifact[Findings]]
    ) -> Shares:
        """Whether a model always answers alike, so that attacks say nothing; attacks alone and beside each other."""
        if not self.attacks:
            return Shares(())
        examined, significance = self.examination, self.ground.pipeline.statistics.significance
        flags = start(
            f"red flags of {model.name}",
            flag_texts,
            model.predictions,
            examined.evaluation,
            examined.classes,
            model.name,
        )
        pairs = {
            (first, second): start(
                f"{first} beside {second} on {model.name}",
                compare_words,
                attacked[first].attacked,
                attacked[second].attacked,
                first,
                second,
                model.name,
                significance,
                examined.evaluation,
            )
            for first, second in pairs_of(self.attacks)
            if first in attacked and second in attacked
        }
        alone = [one.measured for one in attacked.values()]
        return Shares((*outcomes({"": flags}).values(), *alone, *outcomes(pairs).values()))

    def defend(self, subject: Examined, defence: CopiesOf) -> Examined:
        """Train a classifier on the training texts and copies of them, let it predict, measure it clean."""
        return learn_from_copies(subject, defence, self.attacked_copies(subject, defence.defence), self.examination)

    def attacked_copies(self, subject: Examined, defence: AttackedCopies) -> Artifact[Samples]:
        """The training texts, those of a share of them attacked: by one attack, or by one of all that each draws."""
        training, text = subject.learned_from, subject.resolved.settings.text
        chosen = meant_by(defence, self.attacks)
        attacked: list[Artifact[AttackedTexts]] = []
        noisy: list[Artifact[Samples]] = []
        for part, attack in enumerate(chosen):
            drawn = draw_samples(training, defence.share, part, len(chosen))
            if not isinstance(attack, WordAttack):
                noisy.append(copy_with_noise(drawn, text, attack.kinds, attack.severities))
            else:
                attacked.append(self.swap_words(drawn, subject, attack, self.swaps(drawn, subject, attack)))
        return put_texts(training, text, attacked, noisy)

    def compare(
        self, subject: Examined, models: Mapping[str, Examined], challenged: Challenged[TextAttack, Shares]
    ) -> Shares:
        """What the defences of one subject gain and cost: what each was trained with, by what all are tested on."""
        compared = {NONE: subject, **models}
        attacked = {defence: challenged.attacked.get(one.name, {}) for defence, one in compared.items()}
        gained = measure_text_defences(
            {defence: one.predictions for defence, one in compared.items()},
            {
                defence: {name: one.attacked for name, one in by_attack.items() if one.attacked is not None}
                for defence, by_attack in attacked.items()
            },
            {name: one.noisy for name, one in attacked[NONE].items() if one.noisy is not None},
            {
                defence: {name: one.answers for name, one in by_attack.items() if one.answers is not None}
                for defence, by_attack in attacked.items()
            },
            self.examination.evaluation,
            self.examination.classes,
            subject.name,
            self.ground.pipeline.statistics.significance,
            {
                one.called: tuple(attack.called for attack in meant_by(one, self.attacks))
                for one in self.copies()
                if one.control
            },
        )
        return Shares((gained,))


def pairs_of(attacks: Sequence[AnyTextAttack]) -> list[tuple[str, str]]:
    """Which word attacks are compared: all with each other, the guided ones first."""
    words = [one for one in attacks if TEXT_ATTACKS.of(one).swaps_words]
    first = sorted(words, key=lambda one: not TEXT_ATTACKS.of(one).guided)
    return [(one.called, other.called) for one, other in combinations(first, 2)]
