"""Taggers, and scorers of sentence pairs: their terms are attacked, and they are trained on attacked copies.

The attacked sentences are made once and shown to every subject (Araujo et al., Section 4.1), and so are the attacked
copies of the training sentences that defended subjects learn from (Tables 4-6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, cast

from assay.data.biomedical_schemas import Scored, Tagged
from assay.data.schemas import Findings, Samples, SubjectFiles
from assay.data.term_schemas import EntityMatches
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branches
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
from assay.tasks.defenses.copies_task import join_samples
from assay.tasks.defenses.text_settings import AttackedCopies
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.scorer_task import predict_scores, train_scorer
from assay.tasks.subjects.sequences.tagger_task import predict_tags, train_tagger
from assay.tasks.subjects.sequences.usual_training import options_of

MIXED = "mixed"
ORIGINAL = f"{CLEAN}|"
Answers = Artifact[Tagged] | Artifact[Scored]
T = TypeVar("T")


@dataclass
class Tested:
    """One model on every set of samples, by `attack|severity`: what it said, and for taggers what that comes to."""

    resolved: ResolvedSubject
    answers: dict[str, Answers] = field(default_factory=dict)
    matches: dict[str, Artifact[EntityMatches]] = field(default_factory=dict)

    @property
    def scored(self) -> dict[str, Artifact[Scored]]:
        """What a scorer said."""
        return cast("dict[str, Artifact[Scored]]", self.answers)


@dataclass
class TermAudit:
    """The attacked samples by the columns that were attacked, the models on them by name, and what they come to."""

    perturbed: dict[SentenceColumns, dict[str, Perturbed]] = field(default_factory=dict)
    tested: dict[str, Tested] = field(default_factory=dict)
    findings: list[Artifact[Findings]] = field(default_factory=list)


@subflow("biomedical text")
def audit_terms(pipeline: Pipeline, examination: Examination, branches: Branches, folder: Path) -> TermAudit:
    """Attack the terms of what taggers and scorers read, measure them, and train them on attacked copies."""
    result = TermAudit()
    subjects = [*examination.of("tagger"), *examination.of("scorer")]
    called = {MIXED, *(attack.called for attack in pipeline.term_attacks)}
    for subject in subjects:
        for attack in pipeline.term_attacks:
            branches.attempt(attack.called, perturb, result, examination, subject, attack, folder)
    for subject in subjects:
        branches.attempt(f"terms before {subject.name}", challenge_one, result, pipeline, examination, subject)
        for defence in pipeline.text_defenses if pipeline.term_attacks else ():
            if defence.attack not in called:
                continue  # copies of whole texts, for classifiers
            what = f"{defence.called} of {subject.name}"
            branches.attempt(what, train_one, result, pipeline, examination, subject, defence, folder)
    return result


def perturb(
    result: TermAudit, examination: Examination, subject: Examined, attack: AnyTermAttack, folder: Path
) -> None:
    """The audited samples under one attack at every severity, unless another subject reads the same columns."""
    columns = attacked_columns(subject.resolved, attack)
    made = result.perturbed.setdefault(columns, {})
    for one in attack.each():
        name = f"{attack.called}|{one.group}"
        if name not in made:
            made[name] = perturb_terms(examination.evaluation, [resolve_attack(one, folder)], columns)


def challenge_one(result: TermAudit, pipeline: Pipeline, examination: Examination, subject: Examined) -> None:
    """What a subject says of the original samples and of the attacked ones, and what that comes to."""
    sets: dict[str, Answers] = {ORIGINAL: cast("Answers", subject.answers)}
    sets |= {
        name: answers(subject.resolved, subject.files, samples)
        for name, samples in attacked_samples(result, pipeline, subject.resolved).items()
    }
    training = examination.training if learns(subject.resolved) else None
    result.tested[subject.name] = tested(examination, subject.resolved, sets, training)
    result.findings.append(measured(pipeline, result.tested[subject.name], subject.name))


def train_one(
    result: TermAudit, pipeline: Pipeline, examination: Examination, subject: Examined, defence: AttackedCopies,
    folder: Path,
) -> None:  # fmt: skip
    """The subject trained anew on the training samples and one attacked copy, tested on every attack's first severity,
    and compared with the subject as it was and with the control, where one is asked for."""
    if not learns(subject.resolved):
        raise InputError(
            f"The subject {subject.name} comes trained, and cannot learn from attacked copies: give it `train`, or "
            f"take {defence.called} out of `defenses`."
        )
    attacks = [one for one in pipeline.term_attacks if defence.attack in (one.called, MIXED)]
    columns, *others = dict.fromkeys(attacked_columns(subject.resolved, attack) for attack in attacks)
    if others:
        raise InputError(
            f"The copies of {defence.called} mix attacks on both sentences of a pair; give the attacks one `sentence`."
        )
    meant = [resolve_attack(attack.each()[0], folder) for attack in attacks]
    copy = perturb_terms(examination.training, meant, columns, defence.share)
    control = None
    if defence.control:
        unchanged = join_samples(examination.training, copy.samples, unchanged=True)
        control = learn_and_test(result, pipeline, examination, subject, unchanged, defence.control_called)
    training, own = join_samples(examination.training, copy.samples), [attack.called for attack in attacks]
    learn_and_test(result, pipeline, examination, subject, training, defence.called, own, control)


def learn_and_test(
    result: TermAudit, pipeline: Pipeline, examination: Examination, subject: Examined, training: Artifact[Samples],
    called: str, trained_on: Sequence[str] = (), control: Tested | None = None,
) -> Tested:  # fmt: skip
    """The subject trained anew on these samples, tested on the original ones and under every attack, and compared."""
    files, name = trained(subject.resolved, training), f"{subject.name}+{called}"
    sets = {ORIGINAL: examination.evaluation, **attacked_samples(result, pipeline, subject.resolved, first_only=True)}
    said = {key: answers(subject.resolved, files, samples) for key, samples in sets.items()}
    made = result.tested[name] = tested(examination, subject.resolved, said, training)
    result.findings.append(measured(pipeline, made, name))
    before = result.tested.get(subject.name)
    if before is not None:
        result.findings.append(compared(before, made, name, trained_on, control))
    return made


def learns(subject: ResolvedSubject) -> bool:
    """Whether Assay trains this tagger or scorer; if not, nobody knows what it has learned from."""
    return subject.way != "own" and options_of(subject.settings) is not None


def attacked_columns(subject: ResolvedSubject, attack: AnyTermAttack) -> SentenceColumns:
    """Where the sentences stand that an attack changes before this subject reads them."""
    settings = subject.settings
    if settings.tagger is not None:
        return SentenceColumns(words=settings.tokens, tags=settings.tags)
    return SentenceColumns(words=settings.pair[0 if attack.sentence == "first" else 1])


def attacked_samples(
    result: TermAudit, pipeline: Pipeline, subject: ResolvedSubject, *, first_only: bool = False
) -> dict[str, Artifact[Samples]]:
    """The attacked samples that a subject reads, by `attack|severity`, as far as they could be made."""
    found = {}
    for attack in pipeline.term_attacks:
        made = result.perturbed.get(attacked_columns(subject, attack), {})
        for one in attack.each()[: 1 if first_only else None]:
            name = f"{attack.called}|{one.group}"
            if name in made:
                found[name] = made[name].samples
    return found


def trained(subject: ResolvedSubject, training: Artifact[Samples]) -> Artifact[SubjectFiles]:
    """The files of the subject, trained on these samples."""
    learn = train_tagger if subject.settings.tagger is not None else train_scorer
    return learn(training, subject).files


def answers(subject: ResolvedSubject, files: Artifact[SubjectFiles], samples: Artifact[Samples]) -> Answers:
    """What a model says of the samples."""
    if subject.settings.tagger is not None:
        return predict_tags(samples, files, subject)
    return predict_scores(samples, files, subject)


def tested(
    examination: Examination, subject: ResolvedSubject, said: Mapping[str, Answers], training: Artifact[Samples] | None
) -> Tested:
    """The answers of a model, and for a tagger which entities it found; `training` is all that it learned from."""
    found = Tested(subject, dict(said))
    if subject.settings.tagger is not None:
        columns = SentenceColumns(words=subject.settings.tokens, tags=subject.settings.tags)
        for name, one in cast("Mapping[str, Artifact[Tagged]]", said).items():
            found.matches[name] = match_entities(one, examination.evaluation, training, columns)
    return found


def measured(pipeline: Pipeline, found: Tested, name: str) -> Artifact[Findings]:
    """The findings about one model."""
    if found.matches:
        return measure_tagger(found.matches, name, pipeline.statistics)
    return measure_scorer(found.scored, name)


def compared(
    before: Tested, after: Tested, name: str, trained_on: Sequence[str], control: Tested | None = None
) -> Artifact[Findings]:
    """The findings about what a model gained by training on attacked copies, and how much of that over its control."""
    shared = [one for one in after.answers if one in before.answers]
    if after.matches:
        other = None if control is None else _of(control.matches, shared)
        return compare_taggers(_of(before.matches, shared), _of(after.matches, shared), name, trained_on, other)
    same = None if control is None else _of(control.scored, shared)
    return compare_scorers(_of(before.scored, shared), _of(after.scored, shared), name, trained_on, same)


def _of(tables: Mapping[str, T], names: Iterable[str]) -> dict[str, T]:
    return {name: tables[name] for name in names}
