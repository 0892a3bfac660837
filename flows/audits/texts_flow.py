"""Texts under attack: every classifier against word attacks and noise, then taught by attacked copies, and again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from assay.data.schemas import AttackedTexts, ChangedTexts, Findings, Predictions, SampleHardness, Samples
from assay.flows.audits.challenge import (
    DEFENSE,
    Challenged,
    CopiesOf,
    Medium,
    challenge,
    copied_attacks,
    defences_by,
    learn_from_copies,
    outcomes_of_challenge,
    trainings,
)
from assay.flows.audits.data import classes_of
from assay.flows.audits.subjects_flow import CLEAN, Examination, Examined, clean_samples
from assay.flows.audits.trust_flow import TrustAudit
from assay.flows.kind import SAMPLES, Ground, Handles, Measurements, Outcomes, Tables, codes
from assay.infra.errors import RunError
from assay.infra.stages.branches import Branch, branch_outcomes, start_branch, subflow
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import current_run
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.table import TEXT_ATTACKS, AnyTextAttack
from assay.tasks.attacks.texts.checklist import Check
from assay.tasks.attacks.texts.noise import EVERY_KIND, NEWS, ORIGINAL, SEVERITY, answers_under_noise, group_of
from assay.tasks.attacks.texts.noise import NOISE as NOISE_KIND
from assay.tasks.attacks.texts.page import ShownTexts as AttackedTextsPage
from assay.tasks.attacks.texts.page import page
from assay.tasks.attacks.texts.resolved import SwapSearch, resolve_word_attack
from assay.tasks.attacks.texts.settings import Guided, Noise, TextRewrite, WordAttack
from assay.tasks.attacks.texts.task import (
    Rewritten,
    Swaps,
    add_noise,
    attack_words,
    compare_words,
    copy_with_noise,
    find_neighbours,
    flag_texts,
    limit_texts,
    look_into_pools,
    measure_noise,
    measure_words,
    rewrite_texts,
    show_noise,
    show_words,
)
from assay.tasks.defenses.comparison import NONE
from assay.tasks.defenses.settings import AttackedCopies
from assay.tasks.defenses.text_page import page as copies_page
from assay.tasks.defenses.text_task import draw_samples, measure_text_defences, put_texts
from assay.tasks.hardness.task import find_hardness
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.between_runs import Sampled, right_or_wrong
from assay.tasks.statistics.findings import FindingIndex
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
    must_change: bool = False
    """Whether the texts say the opposite then: nobody knows their class, so no answer to them is right or wrong."""


def tables_of(attacks: Mapping[str, TextAttack], what: Literal["attacked", "noisy", "answers"]) -> Handles:
    """By attack whose texts keep their class, the tables of one sort that there are: noise has no `attacked` texts, and
    other attacks only those."""
    tables = {name: getattr(attack, what) for name, attack in attacks.items() if not attack.must_change}
    return {name: table for name, table in tables.items() if table is not None}


class WordAudit(Challenged[TextAttack, Measurements]):
    """What was done to the texts of classifiers, and what attacked copies taught."""


@subflow("texts")
def attack_texts(ground: Ground) -> WordAudit:
    """Attack the texts of every classifier; defend each against that, and attack the defended ones alike."""
    examination = ground.of(Examination)
    return challenge(Texts(ground, examination), examination.of("classifier"), WordAudit)


@dataclass(frozen=True)
class Texts(Medium[AnyTextAttack, CopiesOf, TextAttack, Measurements]):
    """How classifiers of texts are attacked and defended."""

    ground: Ground
    examination: Examination

    @property
    def attacks(self) -> Sequence[AnyTextAttack]:
        """The attacks on whole texts."""
        return [attack for attack in self.ground.pipeline.attacks if isinstance(attack, AnyTextAttack)]

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
        return defences_by(self.ground.pipeline.defenses, self.taught)

    @property
    def taught(self) -> list[AnyTextAttack]:
        """The attacks that copies are made with: those whose texts still are of their class."""
        return [attack for attack in self.attacks if not TEXT_ATTACKS.of(attack).must_change]

    def attack(self, model: Examined, original: Examined, attack: AnyTextAttack) -> TextAttack:
        """One attack on the audited texts."""
        if isinstance(attack, Noise):
            return self.noise(model, original, attack)
        samples, examined = self.examination.evaluation, self.examination
        if attack.texts is not None:
            samples = limit_texts(samples, attack.texts)
        attacked, limits = self.attacked_texts(samples, model, original, attack)
        measured = measure_words(attacked, attack.called, model.name, limits, examined.evaluation, examined.classes)
        shown = None
        if attack.examples and model.name == original.name:
            shown = show_words(attacked, attack.called, attack.examples, self.ground.pipeline.masked)
        return TextAttack(attacked, None, None, measured, shown, TEXT_ATTACKS.of(attack).must_change)

    def attacked_texts(
        self, samples: Artifact[Samples], model: Examined, original: Examined, attack: WordAttack | TextRewrite
    ) -> Rewritten:
        """The texts under attack: made anew, or with words swapped; what may replace what is found once, for the
        original and all its copies."""
        if isinstance(attack, TextRewrite):
            return rewrite_texts(samples, *model.model, attack.for_attacking())
        swaps, resolved = self.swaps(samples, original, attack), resolve_word_attack(attack, self.ground.folder)
        attacked = attack_words(samples, *model.model, resolved, swaps.swaps, swaps.vectors, swaps.limits)
        return Rewritten(attacked, swaps.limits)

    def swaps(self, samples: Artifact[Samples], subject: Examined, attack: WordAttack) -> Swaps:
        """What may take the place of the words: near words, or those that the oracle's pools offer."""
        training, resolved = subject.learned_from, resolve_word_attack(attack, self.ground.folder)
        if not TEXT_ATTACKS.of(attack).guided:
            return find_neighbours(samples, training, *subject.model, resolved)
        oracle = self.ground.pipeline.asked(Trust)
        opinions = {} if (trust := self.ground.awaited(TrustAudit)) is None else trust.opinions.get(subject.name, {})
        asked = attack.explainer if isinstance(attack, Guided) else None
        explainer = asked or (oracle.explainers[0] if oracle is not None else None)
        if oracle is None or explainer is None or explainer not in opinions:
            raise RunError(
                f"{attack.called} is guided by the trust oracle, which has no opinion of {subject.name} by "
                f"{explainer or 'any explainer'}: see why it broke, or leave the attack out."
            )
        first = opinions[explainer].first
        providers = resolve_trust(oracle, subject.resolved, self.ground.folder).providers
        classes, files, asked_subject = subject.model
        text, thresholds, search = asked_subject.settings.text, first.embedded.thresholds, SwapSearch(resolved)
        inside = (asked_subject, files) if providers.asks_subject else ()
        return look_into_pools(
            samples, training, first.keywords, thresholds, classes, text, search, providers, oracle.lemmatise, *inside
        )

    def noise(self, model: Examined, original: Examined, attack: Noise) -> TextAttack:
        """What one model says of noisy texts; these are made once for all subjects that read the same column."""
        evaluation, classes = self.examination.evaluation, self.examination.classes
        text, significance = model.resolved.settings.text, self.ground.pipeline.statistics.significance
        noisy = add_noise(evaluation, text, attack.kinds, attack.severities)
        answers = predict_texts(noisy, *model.model)
        answered = (noisy, answers, model.predictions, evaluation, classes)
        measured, shown = measure_noise(*answered, attack.called, model.name, significance), None
        if attack.examples and model.name == original.name:
            shown = show_noise(*answered, text, attack.called, attack.examples, self.ground.pipeline.masked)
        return TextAttack(None, noisy, answers, measured, shown)

    def measure(
        self, model: Examined, attacked: Mapping[str, TextAttack], _across: Mapping[str, Artifact[Findings]]
    ) -> Measurements:
        """Whether a model always answers alike, so that attacks say nothing; attacks alone and beside each other."""
        if not self.attacks:
            return Measurements(())
        evaluation, significance = self.examination.evaluation, self.ground.pipeline.statistics.significance
        name, answers = model.name, (model.predictions, evaluation, self.examination.classes)
        flags = start_branch(f"red flags of {name}", flag_texts, *answers, name)
        pairs = dict[tuple[str, str], Branch[Artifact[Findings]]]()
        for first, second in pairs_of(self.attacks):
            made = (attacked[at].attacked for at in (first, second) if at in attacked)
            texts = [table for table in made if table is not None]
            if len(texts) == 2 and texts[0].rows == texts[1].rows:  # as many of the audited texts are the same ones
                what = f"{first} beside {second} on {name}"
                branch = start_branch(what, compare_words, *texts, first, second, name, significance, evaluation)
                pairs[first, second] = branch
        alone = [attack.measured for attack in attacked.values()]
        return Measurements((*branch_outcomes({"": flags}).values(), *alone, *branch_outcomes(pairs).values()))

    def defend(self, subject: Examined, defence: CopiesOf) -> Examined:
        """Train a classifier on the training texts and copies of them, let it predict, measure it clean."""
        return learn_from_copies(subject, defence, self.attacked_copies(subject, defence.defence), self.examination)

    def attacked_copies(self, subject: Examined, defence: AttackedCopies) -> Artifact[Samples]:
        """The training texts, those of a share of them attacked: by one attack, or by one of all that each draws."""
        training, text = subject.learned_from, subject.resolved.settings.text
        chosen = copied_attacks(defence, self.taught)
        attacked: list[Artifact[AttackedTexts]] = []
        noisy: list[Artifact[Samples]] = []
        for part, attack in enumerate(chosen):
            drawn = draw_samples(training, defence.share, part, len(chosen))
            if isinstance(attack, Noise):
                noisy.append(copy_with_noise(drawn, text, attack.kinds, attack.severities))
            else:
                attacked.append(self.attacked_texts(drawn, subject, subject, attack).attacked)
        return put_texts(training, text, attacked, noisy)

    def compare(
        self, subject: Examined, models: Mapping[str, Examined], challenged: Challenged[TextAttack, Measurements]
    ) -> Measurements:
        """What the defences of one subject gain and cost: what each was trained with, by what all are tested on."""
        compared = {NONE: subject, **models}
        attacked = {defence: challenged.attacked.get(model.name, {}) for defence, model in compared.items()}
        gained = measure_text_defences(
            {defence: model.predictions for defence, model in compared.items()},
            {defence: tables_of(by_attack, "attacked") for defence, by_attack in attacked.items()},
            tables_of(attacked[NONE], "noisy"),
            {defence: tables_of(by_attack, "answers") for defence, by_attack in attacked.items()},
            self.examination.evaluation,
            self.examination.classes,
            subject.name,
            self.ground.pipeline.statistics.significance,
            {
                defence.called: tuple(attack.called for attack in copied_attacks(defence, self.taught))
                for defence in self.copies()
                if defence.control
            },
            self.ground.pipeline.statistics.margin,
        )
        return Measurements((gained,))


def pairs_of(attacks: Sequence[AnyTextAttack]) -> list[tuple[str, str]]:
    """Which attacks are compared: those that search with each other, the guided ones first."""
    searching = [attack for attack in attacks if not isinstance(attack, Noise | Check)]
    first = sorted(searching, key=lambda attack: not TEXT_ATTACKS.of(attack).guided)
    return [(attack.called, other.called) for attack, other in combinations(first, 2)]


WORDS, NOISE = "words", "noise"


def outcomes_of_texts(ground: Ground, result: WordAudit) -> Iterator[Outcomes]:
    """The accuracy of every model under every attack, and what each defence leaves of it."""
    examination = ground.of(Examination)
    attacked = dict[str, list[Outcomes]]()
    for model, by_attack in result.attacked.items():
        for called, attack in by_attack.items():
            tables = {"attacked": attack.attacked, "noisy": attack.noisy, "answers": attack.answers}
            made: Handles = {name: table for name, table in tables.items() if table is not None}
            reading, made = WORDS if "attacked" in made else NOISE, made | {SAMPLES: examination.evaluation}
            attacked.setdefault(model, []).append(Outcomes("attack.accuracy", model, reading, made, called))
    return outcomes_of_challenge(result, examination, attacked, attacked)


def sampled(outcomes: Outcomes, tables: Tables, _of: str, group: str) -> Sampled | None:
    """Which texts a model is right on: clean, after a word attack, or with noise."""
    defends = outcomes.metric == DEFENSE
    if outcomes.reading == CLEAN:
        return clean_samples(tables) if group == (CLEAN if defends else "") else None
    if outcomes.reading == WORDS:
        return _attacked(tables, defends) if group == (outcomes.key if defends else "") else None
    return _noisy(tables, group)


def _attacked(tables: Tables, from_the_start: bool) -> Sampled:
    """After a word attack; in the matrix of defences what was wrong `from_the_start` stays wrong."""
    rows = tables.read("attacked", ["id", "gold", "predicted", "attacked"])
    truth, before, after = (codes(rows[name]) for name in ("gold", "predicted", "attacked"))
    right = (after == truth) & ((before == truth) | (not from_the_start))
    return right_or_wrong(rows["id"].to_pylist(), right, truth >= 0)


def _noisy(tables: Tables, group: str) -> Sampled | None:
    samples = tables.read(SAMPLES, ["id", "gold"])
    noisy = tables.read("noisy", ["id", ORIGINAL, NOISE_KIND, SEVERITY, NEWS])
    answers = answers_under_noise(noisy, tables.read("answers", ["id", "predicted"]), samples)
    truth = codes(samples["gold"])
    wanted = [answer.predicted == truth for answer in answers if answer.condition.group == group]
    wanted = wanted or [
        answer.predicted == truth for answer in answers if group_of(EVERY_KIND, answer.condition.severity) == group
    ]
    return right_or_wrong(samples["id"].to_pylist(), np.all(wanted, axis=0), truth >= 0) if wanted else None


_CARRIERS = ["status", "originals", "replacements"]


def show_texts(ground: Ground, audit: WordAudit, findings: FindingIndex) -> Iterator[Part]:
    """What attacks did to texts, and what attacked copies taught."""
    if any(audit.attacked.values()):
        yield page(findings, list(_shown(audit, classes_of(ground), ground.pipeline.masked)))
    if audit.defended:
        yield copies_page(findings)


def _shown(audit: WordAudit, classes: Sequence[str], masked: bool) -> Iterator[AttackedTextsPage]:
    """Word attacks with their examples and what carries them, then noise with its examples; originals only."""
    attacks = [
        (subject, name, attack)
        for subject, by_attack in audit.attacked.items()
        if subject not in audit.copies
        for name, attack in by_attack.items()
    ]
    for subject, name, attack in attacks:
        if attack.attacked is not None:
            table = None if attack.shown is None else collect(attack.shown, None)
            yield AttackedTextsPage(subject, name, classes, table, collect(attack.attacked, _CARRIERS), masked)
    for subject, name, attack in attacks:
        if attack.noisy is not None and attack.shown is not None:
            yield AttackedTextsPage(subject, name, classes, collect(attack.shown, None), None, masked)


def fewest_words(ground: Ground, audit: WordAudit) -> Iterator[Artifact[SampleHardness]]:
    """The fewest words whose replacement turns the answer, of the classifiers themselves, not of defended copies. Only
    word attacks search for the fewest: tests of behaviour do not, and a negated text counts where its answer stays."""
    swapping = [attack.called for attack in ground.pipeline.attacks if isinstance(attack, WordAttack)]
    for subject in ground.pipeline.subjects:
        for name, attacked in tables_of(audit.attacked.get(subject.name, {}), "attacked").items():
            if name in swapping:
                yield find_hardness(attacked, "words", subject.name)
