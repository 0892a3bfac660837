"""Taggers, and scorers of sentence pairs: their terms are attacked, and they are trained on attacked copies.

The attacked sentences are made once and shown to every subject (Araujo et al., Section 4.1), and so are the attacked
copies of the training sentences that defended subjects learn from (Tables 4-6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from assay.data.biomedical_schemas import Scored, Tagged
from assay.data.schemas import Findings, Samples
from assay.data.term_schemas import EntityMatches
from assay.flows.audits.attacked_copies import CopiesOf, asked_of, learn_from_copies, meant_by, trainings
from assay.flows.audits.challenging import Challenged, Shares, challenge
from assay.flows.audits.kind import Ground
from assay.flows.audits.subjects.flow import Answers, Examination, Examined
from assay.infra.artifacts import Artifact
from assay.infra.branches import outcomes, start
from assay.infra.errors import InputError
from assay.infra.subflows import subflow
from assay.tasks.attacks.terms.estimates import CLEAN
from assay.tasks.attacks.terms.measuring_task import (
    compare_scorers,
    compare_taggers,
    match_entities,
    measure_scorer,
    measure_tagger,
)
from assay.tasks.attacks.terms.resolved import resolve_attack
from assay.tasks.attacks.terms.rows import SentenceColumns
from assay.tasks.attacks.terms.settings import AnyTermAttack
from assay.tasks.attacks.terms.task import Perturbed, perturb_terms
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.scorer_task import predict_scores
from assay.tasks.subjects.sequences.tagger_task import predict_tags
from assay.tasks.subjects.sequences.usual_training import options_of

ORIGINAL = f"{CLEAN}|"
T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """What one model says of one set of samples and, for a tagger, which entities it found."""

    answers: Answers
    matches: Artifact[EntityMatches] | None
    perturbed: Perturbed | None = None
    """The attacked samples; none where they are the original ones."""


SetsAsked = Mapping[str, Asked]
"""By `attack|severity`."""


@dataclass(frozen=True)
class TermMeasures:
    """One model on every set of samples, and what that comes to."""

    sets: SetsAsked
    findings: tuple[Artifact[Findings], ...]


@dataclass(frozen=True)
class TermAudit:
    """What was done to the terms that taggers and scorers read, and what attacked copies taught."""

    challenged: Challenged[SetsAsked, TermMeasures]

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """What was measured."""
        return self.challenged.findings


@subflow("terms")
def audit_terms(ground: Ground) -> TermAudit:
    """Attack the terms of what taggers and scorers read, measure them, and train them on attacked copies."""
    examination = ground.of(Examination)
    subjects = [*examination.of("tagger"), *examination.of("scorer")]
    return TermAudit(challenge(Terms(ground, examination), subjects))


@dataclass(frozen=True)
class Terms:
    """How taggers and scorers are attacked and defended."""

    ground: Ground
    examination: Examination

    @property
    def attacks(self) -> Sequence[AnyTermAttack]:
        """The attacks on terms."""
        return self.ground.pipeline.term_attacks

    def attacks_on(self, _subject: Examined) -> Sequence[AnyTermAttack]:
        """All of them: none needs more than answers."""
        return self.attacks

    def defences(self, _subject: Examined) -> Sequence[CopiesOf]:
        """The trainings on attacked copies, and their controls."""
        return trainings(asked_of(self.ground.pipeline.text_defenses, self.attacks))

    def attack(self, model: Examined, original: Examined, attack: AnyTermAttack) -> SetsAsked:
        """What a model says of the attacked samples at every severity; a defended one at the first."""
        columns = attacked_columns(model.resolved, attack)
        asked: dict[str, Asked] = {}
        for variant in attack.each()[: None if model.name == original.name else 1]:
            perturbed = perturb_terms(
                self.examination.evaluation, [resolve_attack(variant, self.ground.folder)], columns
            )
            answers = answers_of(model, perturbed.samples)
            asked[f"{attack.called}|{variant.group}"] = Asked(answers, self.matches(model, answers), perturbed)
        return asked

    def matches(self, model: Examined, answers: Answers) -> Artifact[EntityMatches] | None:
        """Which entities a tagger found, and which of them it had seen in what it learned from."""
        settings = model.resolved.settings
        if settings.tagger is None:
            return None
        columns = SentenceColumns(words=settings.tokens, tags=settings.tags)
        learned_from = model.learned_from if learns(model.resolved) else None
        return match_entities(cast("Artifact[Tagged]", answers), self.examination.evaluation, learned_from, columns)

    @property
    def transferred(self) -> tuple[()]:
        """None: what was made against one model is shown to no other."""
        return ()

    def across(
        self, _attack: AnyTermAttack, _attacked: Mapping[str, SetsAsked], _models: Mapping[str, Examined]
    ) -> None:
        """Nothing: the attacked samples are the same for all models as it is."""

    def measure(
        self, model: Examined, attacked: Mapping[str, SetsAsked], _across: Mapping[str, Artifact[Findings]]
    ) -> TermMeasures:
        """What a model says of the original samples and of the attacked ones, and what that comes to."""
        sets = {ORIGINAL: Asked(model.answers, self.matches(model, model.answers))}
        sets |= {name: one for by_severity in attacked.values() for name, one in by_severity.items()}
        if model.resolved.settings.tagger is not None:
            measured = measure_tagger(
                matches_in(sets, sets), model.name, self.ground.pipeline.statistics, self.examination.evaluation
            )
        else:
            measured = measure_scorer(scores_in(sets, sets), model.name, self.examination.evaluation)
        return TermMeasures(sets, (measured,))

    def defend(self, subject: Examined, defence: CopiesOf) -> Examined:
        """The subject trained anew on the training samples and one attacked copy of them."""
        asked = defence.defence
        if not learns(subject.resolved):
            raise InputError(
                f"The subject {subject.name} comes trained, and cannot learn from attacked copies: give it `train`, "
                f"or take {asked.called} out of `defenses`."
            )
        attacks = meant_by(asked, self.attacks)
        columns, *others = dict.fromkeys(attacked_columns(subject.resolved, attack) for attack in attacks)
        if others:
            raise InputError(
                f"The copies of {asked.called} mix attacks on both sentences of a pair; give the attacks one "
                "`sentence`."
            )
        meant = [resolve_attack(attack.each()[0], self.ground.folder) for attack in attacks]
        copies = perturb_terms(subject.learned_from, meant, columns, asked.share)
        return learn_from_copies(subject, defence, copies.samples, self.examination)

    def compare(
        self, subject: Examined, models: Mapping[str, Examined], challenged: Challenged[SetsAsked, TermMeasures]
    ) -> Shares:
        """What a subject gained by training on attacked copies, and how much of that over its control."""
        sets = {name: one.sets for name, one in challenged.measures.items()}
        if subject.name not in sets:
            return Shares(())
        gains = {
            defence.called: start(f"gain of {models[defence.called].name}", self.gain, sets, subject, models, defence)
            for defence in self.defences(subject)
            if defence.called in models and models[defence.called].name in sets
        }
        return Shares(tuple(outcomes(gains).values()))

    def gain(
        self, sets: Mapping[str, SetsAsked], subject: Examined, models: Mapping[str, Examined], defence: CopiesOf
    ) -> Artifact[Findings]:
        """What one defended model gained."""
        model = models[defence.called]
        before, after, samples = sets[subject.name], sets[model.name], self.examination.evaluation
        shared = [name for name in after if name in before]
        control = None if defence.control else models.get(defence.defence.control_called)
        beside = None if control is None else sets.get(control.name)
        trained_on = () if defence.control else [attack.called for attack in meant_by(defence.defence, self.attacks)]
        if subject.resolved.settings.tagger is not None:
            other = None if beside is None else matches_in(beside, shared)
            return compare_taggers(
                matches_in(before, shared), matches_in(after, shared), model.name, trained_on, samples, other
            )
        same = None if beside is None else scores_in(beside, shared)
        return compare_scorers(
            scores_in(before, shared), scores_in(after, shared), model.name, trained_on, samples, same
        )


def learns(subject: ResolvedSubject) -> bool:
    """Whether Assay trains this tagger or scorer; if not, nobody knows what it has learned from."""
    return subject.way != "own" and options_of(subject.settings) is not None


def attacked_columns(subject: ResolvedSubject, attack: AnyTermAttack) -> SentenceColumns:
    """Where the sentences stand that an attack changes before this subject reads them."""
    settings = subject.settings
    if settings.tagger is not None:
        return SentenceColumns(words=settings.tokens, tags=settings.tags)
    return SentenceColumns(words=settings.pair[0 if attack.sentence == "first" else 1])


def answers_of(model: Examined, samples: Artifact[Samples]) -> Answers:
    """What a model says of the samples."""
    if model.resolved.settings.tagger is not None:
        return predict_tags(samples, model.files, model.resolved)
    return predict_scores(samples, model.files, model.resolved)


def matches_in(sets: SetsAsked, names: Iterable[str]) -> dict[str, Artifact[EntityMatches]]:
    """Which entities a tagger found, in the sets of these names."""
    return {name: sets[name].matches for name in names if sets[name].matches is not None}  # type: ignore[misc]


def scores_in(sets: SetsAsked, names: Iterable[str]) -> dict[str, Artifact[Scored]]:
    """What a scorer said, of the sets of these names."""
    return {name: cast("Artifact[Scored]", sets[name].answers) for name in names}
