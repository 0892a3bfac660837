"""Services as a kind of audit: how often the models behind HTTP were asked in this run, and what that cost; and of
those that may answer otherwise when they are asked again, how often they do, as texts are and attacked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.flows.kind import AuditKind, AuditRequest, Clash, Ground, Measured, Written, as_dict, each_subject
from assay.flows.yaml_document import Value
from assay.infra.stages.branches import subflow
from assay.tasks.subjects.addresses.chat import form_at
from assay.tasks.subjects.addresses.given import GivenModel
from assay.tasks.subjects.addresses.services import METRICS, asked_services, is_service, service_findings, withholds
from assay.tasks.subjects.settings import WAYS

if TYPE_CHECKING:
    from assay.data.schemas import Findings, Predictions, Samples
    from assay.flows.audits.subjects_flow import Examined
    from assay.flows.yaml_document import Where
    from assay.infra.stages.runs import Run
    from assay.infra.storage.artifacts import Artifact
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import Finding, FindingIndex
    from assay.tasks.subjects.resolved import ResolvedSubject


@dataclass(frozen=True)
class Services:
    """What asking again says; how often services are asked is another number in every run, and nothing to keep."""

    findings: Sequence[Artifact[Findings]] = ()


def asked(pipeline: AuditRequest) -> bool:
    """Whether a subject is a service."""
    return bool(asked_services(pipeline.subjects))


@subflow("services")
def ask_again(ground: Ground) -> Services:
    """Ask every service of texts that has `repeats` again, about the texts as they are and as attacks left them."""
    from assay.flows.audits.subjects_flow import Examination

    examination = ground.maybe(Examination)
    findings: list[Artifact[Findings]] = []
    for model in [] if examination is None else examination.of("classifier"):
        subjects = list(_again(model.resolved))
        if examination is not None and subjects:
            findings += _above_chance(ground, examination.evaluation, model, subjects)
    return Services(findings)


def _again(subject: ResolvedSubject) -> Iterator[ResolvedSubject]:
    """The subject for every further time that it is asked: what it answered before does not answer for it."""
    from assay.infra.user_code.references import note_elsewhere

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
    from assay.flows.audits.texts_flow import WordAudit
    from assay.tasks.attacks.texts.task import measure_above_chance, measure_chance, take_attacked_texts
    from assay.tasks.subjects.texts.task import predict_texts

    def answers(texts: Artifact[Samples]) -> list[Artifact[Predictions]]:
        return [predict_texts(texts, model.model.classes, model.model.files, subject) for subject in subjects]

    again, audit = answers(samples), ground.maybe(WordAudit)
    yield measure_chance(model.predictions, again, samples, model.name)
    attacks = {} if audit is None else audit.attacked.get(model.name, {})
    significance = ground.pipeline.statistics.significance
    for called, attack in attacks.items():
        texts, fresh = attack.noisy, [] if attack.answers is None else [attack.answers]
        if attack.attacked is not None:  # it searched: what it found is asked about afresh
            texts = take_attacked_texts(attack.attacked, model.resolved.settings.text)
            fresh = answers(texts)
        if texts is not None:
            yield measure_above_chance(
                texts, fresh, model.predictions, again, samples, called, model.name, significance
            )


def count_requests(ground: Ground, services: Services, run: Run) -> tuple[Services, Sequence[Finding]]:
    """How often they were asked, once everybody has."""
    pipeline = ground.pipeline
    return services, service_findings(asked_services(pipeline.subjects), run.id, run.store, pipeline.masked)


def page(ground: Ground, _services: Services, findings: FindingIndex) -> Iterator[Part]:
    """Questions, requests and cost, and what answers in words cannot tell."""
    from assay.tasks.subjects.addresses.services import services_page

    if findings.select("services"):
        yield services_page(findings, [subject.name for subject in ground.pipeline.subjects if withholds(subject)])


def gate(pipeline: Written, named: dict[str, Value], where: Where) -> Iterator[Clash]:
    """Requests are counted where a subject is a service, and have a cost where they have a price."""
    services = [
        subject for _, subject in each_subject(pipeline) if any(is_service(str(subject.get(way))) for way in WAYS)
    ]
    if not services:
        yield Clash((*where, "finding"), "nothing will measure it: no subject is a service (`model: https://…`)")
        return
    priced = any(as_dict(subject.get("asking")).get("price") for subject in services)
    if named.get("finding") == "services.cost" and not priced:
        yield Clash((*where, "finding"), "nothing will measure it: say the `price` of a request under `asking`")


def clashes(pipeline: Written) -> Iterator[Clash]:
    """The trust oracle explains probabilities, which answers in words have only with `logprobs`."""
    for where, subject in each_subject(pipeline):
        asking, named = as_dict(subject.get("asking")), next((subject[way] for way in WAYS if subject.get(way)), "")
        in_words = asking.get("form") in ("chat", "completions") or form_at(str(named)) != "auto"
        if in_words and not asking.get("logprobs") and pipeline.get("trust") is not None:
            yield Clash(
                (*where, "asking"), "answers in words, and `trust` explains probabilities: set `logprobs: true`"
            )


SERVICES = AuditKind(
    "services",
    asked,
    ask_again,
    after=("subjects", "texts"),
    measures=(Measured("services", METRICS, ("subject", "subjects"), gate=gate),),
    clashes=clashes,
    afterwards=count_requests,
    background=page,
)
