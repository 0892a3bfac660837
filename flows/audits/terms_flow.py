"""Taggers, and scorers of sentence pairs: their terms are attacked, and they are trained on attacked copies.

The attacked sentences are made once and shown to every subject (Araujo et al., Section 4.1), and so are the attacked
copies of the training sentences that defended subjects learn from (Tables 4-6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from assay.data.schemas import EntityMatches, Findings, Samples, Tagged
from assay.flows.audits.challenge import (
    Challenged,
    CopiesOf,
    Medium,
    challenge,
    copied_attacks,
    defences_by,
    learn_from_copies,
    trainings,
)
from assay.flows.audits.subjects_flow import Answers, Examination, Examined
from assay.flows.kind import SAMPLES, Ground, Handles, Measurements, Outcomes, Tables, of_type
from assay.infra.errors import InputError
from assay.infra.stages.branches import branch_outcomes, start_branch, subflow
from assay.infra.stages.partitions import collect, collect_rows
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.terms.measures import CLEAN, Stage, counts_of
from assay.tasks.attacks.terms.page import (
    examples_block,
    most_moved,
    most_telling,
    page,
    scored_example,
    tagged_example,
)
from assay.tasks.attacks.terms.perturbing import SentenceColumns, resolve_attack
from assay.tasks.attacks.terms.settings import TermAttack
from assay.tasks.attacks.terms.task import (
    Perturbed,
    column_of_units,
    compare_scorers,
    compare_taggers,
    match_entities,
    measure_scorer,
    measure_tagger,
    perturb_terms,
)
from assay.tasks.reporting.estimates import counted_by
from assay.tasks.reporting.parts import Block, MarkedText, Part
from assay.tasks.statistics.between_runs import Sampled
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.groups import group_sizes
from assay.tasks.subjects.holding_out import DOCUMENT
from assay.tasks.subjects.page import learning
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import options_of

ORIGINAL = f"{CLEAN}|"


@dataclass(frozen=True)
class Asked:
    """What one model says of one set of samples and, for a tagger, which entities it found."""

    answers: Answers
    matches: Artifact[EntityMatches] | None
    perturbed: Perturbed | None = None
    """The attacked samples; none where they are the original ones."""

    @property
    def measured(self) -> Artifact[Any]:
        """What measures read: of a tagger which entities it found, of a scorer what it said."""
        return self.answers if self.matches is None else self.matches


SetsAsked = Mapping[str, Asked]
"""By `attack|severity`."""


@dataclass(frozen=True)
class TermMeasures:
    """One model on every set of samples, and what that comes to."""

    sets: SetsAsked
    findings: tuple[Artifact[Findings], ...]


class TermAudit(Challenged[SetsAsked, TermMeasures]):
    """What was done to the terms that taggers and scorers read, and what attacked copies taught."""


@subflow("terms")
def audit_terms(ground: Ground) -> TermAudit:
    """Attack the terms of what taggers and scorers read, measure them, and train them on attacked copies."""
    examination = ground.of(Examination)
    return challenge(Terms(ground, examination), [*examination.of("tagger"), *examination.of("scorer")], TermAudit)


@dataclass(frozen=True)
class Terms(Medium[TermAttack, CopiesOf, SetsAsked, TermMeasures]):
    """How taggers and scorers are attacked and defended."""

    ground: Ground
    examination: Examination

    @property
    def attacks(self) -> Sequence[TermAttack]:
        """The attacks on terms."""
        return of_type(self.ground.pipeline.attacks, TermAttack)

    def defences(self, _subject: Examined) -> Sequence[CopiesOf]:
        """The trainings on attacked copies, and their controls."""
        return trainings(defences_by(self.ground.pipeline.defenses, self.attacks))

    def attack(self, model: Examined, original: Examined, attack: TermAttack) -> SetsAsked:
        """What a model says of the attacked samples at every severity; a defended one at the first."""
        columns = attacked_columns(model.resolved, attack)
        asked: dict[str, Asked] = {}
        for variant in attack.each()[: None if model.name == original.name else 1]:
            meant = resolve_attack(variant, self.ground.folder, self.ground.pipeline.masked)
            perturbed = perturb_terms(self.examination.evaluation, [meant], columns)
            answers = model.model.answers(perturbed.samples)
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

    def measure(
        self, model: Examined, attacked: Mapping[str, SetsAsked], _across: Mapping[str, Artifact[Findings]]
    ) -> TermMeasures:
        """What a model says of the original samples and of the attacked ones, and what that comes to."""
        sets = {ORIGINAL: Asked(model.answers, self.matches(model, model.answers))}
        sets |= {name: asked for by_severity in attacked.values() for name, asked in by_severity.items()}
        tables, evaluation = {name: asked.measured for name, asked in sets.items()}, self.examination.evaluation
        if model.resolved.settings.tagger is not None:
            return TermMeasures(
                sets, (measure_tagger(tables, model.name, self.ground.pipeline.statistics, evaluation),)
            )
        return TermMeasures(sets, (measure_scorer(tables, model.name, evaluation),))

    def defend(self, subject: Examined, defence: CopiesOf) -> Examined:
        """The subject trained anew on the training samples and one attacked copy of them."""
        asked = defence.defence
        if not learns(subject.resolved):
            raise InputError(
                f"The subject {subject.name} comes trained, and cannot learn from attacked copies: give it `train`, "
                f"or take {asked.called} out of `defenses`."
            )
        attacks = copied_attacks(asked, self.attacks)
        columns, *others = dict.fromkeys(attacked_columns(subject.resolved, attack) for attack in attacks)
        if others:
            raise InputError(
                f"The copies of {asked.called} mix attacks on both sentences of a pair; give the attacks one "
                "`sentence`."
            )
        masked = self.ground.pipeline.masked
        meant = [resolve_attack(attack.each()[0], self.ground.folder, masked) for attack in attacks]
        copies = perturb_terms(subject.learned_from, meant, columns, asked.share)
        return learn_from_copies(subject, defence, copies.samples, self.examination)

    def compare(
        self, subject: Examined, models: Mapping[str, Examined], challenged: Challenged[SetsAsked, TermMeasures]
    ) -> Measurements:
        """What a subject gained by training on attacked copies, and how much of that over its control."""
        sets = {name: measured.sets for name, measured in challenged.measures.items()}
        if subject.name not in sets:
            return Measurements(())
        gains = {
            defence.called: start_branch(
                f"gain of {models[defence.called].name}", self.gain, sets, subject, models, defence
            )
            for defence in self.defences(subject)
            if defence.called in models and models[defence.called].name in sets
        }
        return Measurements(tuple(branch_outcomes(gains).values()))

    def gain(
        self, sets: Mapping[str, SetsAsked], subject: Examined, models: Mapping[str, Examined], defence: CopiesOf
    ) -> Artifact[Findings]:
        """What one defended model gained."""
        model = models[defence.called]
        control = None if defence.control else models.get(defence.defence.control_called)
        beside = None if control is None else sets.get(control.name)
        trained_on = (
            () if defence.control else [attack.called for attack in copied_attacks(defence.defence, self.attacks)]
        )
        shared = [name for name in sets[model.name] if name in sets[subject.name]]
        before, after = ({name: sets[of][name].measured for name in shared} for of in (subject.name, model.name))
        other = None if beside is None else {name: beside[name].measured for name in shared}
        compare = compare_scorers if subject.resolved.settings.tagger is None else compare_taggers
        return compare(before, after, model.name, trained_on, self.examination.evaluation, other)


def learns(subject: ResolvedSubject) -> bool:
    """Whether Assay trains this tagger or scorer; if not, nobody knows what it has learned from."""
    return subject.way != "own" and options_of(subject.settings) is not None


def attacked_columns(subject: ResolvedSubject, attack: TermAttack) -> SentenceColumns:
    """Where the sentences stand that an attack changes before this subject reads them."""
    settings = subject.settings
    if settings.tagger is not None:
        return SentenceColumns(words=settings.tokens, tags=settings.tags)
    return SentenceColumns(words=settings.pair[0 if attack.sentence == "first" else 1])


TAGGED = ("ner.f1", "ner.precision", "ner.recall")


def outcomes_of_terms(ground: Ground, result: TermAudit) -> Iterator[Outcomes]:
    """The measures of every model, on the original samples and on the attacked ones; a correlation belongs to no single
    pair, so of scorers there is the mean absolute error."""
    samples = ground.of(Examination).evaluation
    for model, measured in result.measures.items():
        for name, asked in measured.sets.items():
            of, _, group = name.partition("|")
            if asked.matches is not None:
                tables: Handles = {"matches": asked.matches, SAMPLES: samples}
                yield from (Outcomes(metric, model, "matches", tables, of, key=group) for metric in TAGGED)
            else:
                yield Outcomes("sts.mae", model, "scores", {"scores": asked.answers, SAMPLES: samples}, of, key=group)


def sampled(outcomes: Outcomes, tables: Tables, _of: str, group: str) -> Sampled | None:
    """What single sentences or pairs add at one severity."""
    if group != outcomes.key:
        return None
    return _scored(tables) if outcomes.reading == "scores" else _tagged(tables, outcomes.metric)


def _tagged(tables: Tables, metric: str) -> Sampled:
    rows = tables.read("matches", ["id", "gold_hits", "said_hits"])
    hits, named, there = counts_of(rows).astype(np.float64).T
    shares = {"ner.f1": (2 * hits, named + there), "ner.precision": (hits, named), "ner.recall": (hits, there)}
    above, below = shares[metric]
    return Sampled(np.array(rows["id"].to_pylist(), dtype=np.str_), above, below)


def _scored(tables: Tables) -> Sampled:
    rows = tables.read("scores", ["id", "gold", "predicted"])
    rows = rows.filter(rows["gold"].is_valid())
    apart = np.abs(rows["gold"].to_numpy() - rows["predicted"].to_numpy())
    return Sampled(np.array(rows["id"].to_pylist(), dtype=np.str_), apart, np.ones(len(apart)))


def term_parts(ground: Ground, audit: TermAudit, findings: FindingIndex) -> Iterator[Part]:
    """The parts about taggers and about scorers, where there are any; no sentence is in them where texts are masked."""
    examination = ground.of(Examination)
    stages: tuple[tuple[Stage, str], ...] = (("ner", "tagger"), ("sts", "scorer"))
    for stage, way in stages:
        subjects = [subject for subject in examination.of(way) if subject.name in audit.measures]
        blocks: list[Block] = [
            block
            for subject in (subjects if not ground.pipeline.masked else ())
            for block in examples_block(
                subject.name,
                [
                    example
                    for attack in of_type(ground.pipeline.attacks, TermAttack)
                    for example in _examples(attack, examination, subject, audit.measures[subject.name].sets)
                ],
            )
        ]
        blocks += learning({subject.name: collect(subject.curve, None) for subject in subjects})
        if subjects:
            yield page(findings, stage, blocks, _counted(examination.evaluation, tagged=stage == "ner"))


def _counted(samples: Artifact[Samples], *, tagged: bool) -> str:
    """What intervals count, in a sentence; empty where it is samples."""
    column = column_of_units(samples, tagged=tagged)
    sizes = None if column is None else group_sizes(samples, column)
    return "" if sizes is None else counted_by(sizes, "document" if column == DOCUMENT else "group")


def _examples(attack: TermAttack, examination: Examination, subject: Examined, sets: SetsAsked) -> Iterator[MarkedText]:
    """Sentences in which an attack hides entities that the tagger had found, or pairs whose score it moves most."""
    after = sets.get(f"{attack.called}|{attack.each()[0].group}")
    if after is None or after.perturbed is None or not attack.examples:
        return
    settings, asked = subject.resolved.settings, (sets[ORIGINAL], after)
    tagged = settings.tagger is not None
    read = ["id", "gold_hits"] if tagged else ["id", "gold", "predicted"]
    tables = [collect(each.measured, read) for each in asked]
    chosen = (most_telling if tagged else most_moved)(tables[0], tables[1], attack.examples)
    answers = [_by_id(each.answers, chosen) for each in asked]
    if tagged:
        yield from (tagged_example(attack.called, answers[0][sample], answers[1][sample]) for sample in chosen)
        return
    words, other = settings.pair if attack.sentence == "first" else reversed(settings.pair)
    samples, attacked = _by_id(examination.evaluation, chosen), _by_id(after.perturbed.samples, chosen)
    for sample in chosen:
        sentences = samples[sample][words], attacked[sample][words], samples[sample][other]
        yield scored_example(attack.called, *sentences, answers[0][sample], answers[1][sample])


def _by_id(table: Artifact[Any], ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in collect_rows(table, ids).to_pylist()}
