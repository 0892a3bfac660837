"""Services that may answer otherwise when they are asked again: how often they do, as texts are and attacked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay.data.schemas import Findings, Predictions, Samples
from assay.flows.audits.subjects_flow import Examination, Examined
from assay.flows.audits.texts_flow import WordAudit
from assay.flows.kind import Ground
from assay.infra.stages.branches import subflow
from assay.infra.storage.artifacts import Artifact
from assay.infra.user_code.references import note_elsewhere
from assay.tasks.attacks.texts.task import measure_above_chance, measure_chance, take_attacked_texts
from assay.tasks.subjects.addresses.given import GivenModel
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.task import predict_texts


@dataclass(frozen=True)
class Services:
    """What asking again says; how often services are asked is another number in every run, and nothing to keep."""

    findings: Sequence[Artifact[Findings]] = ()


@subflow("services")
def ask_again(ground: Ground) -> Services:
    """Ask every service of texts that has `repeats` again, about the texts as they are and as attacks left them."""
    examination, findings = ground.maybe(Examination), list[Artifact[Findings]]()
    for model in [] if examination is None else examination.of("classifier"):
        subjects = list(_again(model.resolved))
        if examination is not None and subjects:
            findings += _above_chance(ground, examination.evaluation, model, subjects)
    return Services(findings)


def _again(subject: ResolvedSubject) -> Iterator[ResolvedSubject]:
    """The subject for every further time that it is asked: what it said before does not answer for it."""
    given = subject.code
    if isinstance(given, GivenModel):
        for time in range(1, given.asking.repeats):
            once_more = replace(given, time=time)
            note_elsewhere(f"answers of {given.written}", f"{given.written}, again", once_more.fingerprint)
            yield replace(subject, code=once_more)


def _above_chance(
    ground: Ground, samples: Artifact[Samples], model: Examined, subjects: Sequence[ResolvedSubject]
) -> Iterator[Artifact[Findings]]:
    """How often answers change by themselves, and how much oftener under each attack."""

    def answers(texts: Artifact[Samples]) -> list[Artifact[Predictions]]:
        return [predict_texts(texts, model.model.classes, model.model.files, subject) for subject in subjects]

    again, audit = answers(samples), ground.maybe(WordAudit)
    yield measure_chance(model.predictions, again, samples, model.name)
    attacks = {} if audit is None else audit.attacked.get(model.name, {})
    significance = ground.pipeline.statistics.significance
    for called, attack in attacks.items():
        asked, fresh = attack.noisy, [] if attack.answers is None else [attack.answers]
        if attack.attacked is not None:  # it searched: what it found is asked about afresh
            asked = take_attacked_texts(attack.attacked, model.resolved.settings.text)
            fresh = answers(asked)
        if asked is not None:
            yield measure_above_chance(
                asked, fresh, model.predictions, again, samples, called, model.name, significance
            )
