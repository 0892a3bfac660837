"""Services as a kind of audit: how often the models behind HTTP were asked in this run, and what that cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.flows.kind import AuditKind, AuditRequest, Clash, Ground, Late, Measured, Written, as_dict, each_subject
from assay.flows.yaml_document import Value
from assay.tasks.subjects.addresses.chat import form_at
from assay.tasks.subjects.addresses.services import METRICS, asked_services, is_service, service_findings, withholds
from assay.tasks.subjects.settings import WAYS

if TYPE_CHECKING:
    from assay.flows.audits.services_flow import Services
    from assay.flows.yaml_document import Where
    from assay.infra.stages.runs import Run
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import Finding, FindingIndex


FLOW = Late("assay.flows.audits.services_flow")


def asked(pipeline: AuditRequest) -> bool:
    """Whether a subject is a service."""
    return bool(asked_services(pipeline.subjects))


def count_requests(ground: Ground, services: Services, run: Run) -> tuple[Services, Sequence[Finding]]:
    """How often they were asked, once everybody has."""
    pipeline = ground.pipeline
    return services, service_findings(asked_services(pipeline.subjects), run.id, run.store, pipeline.masked)


def page(ground: Ground, _services: Services, findings: FindingIndex) -> Iterator[Part]:
    """Questions, requests and cost, and what answers in words cannot tell."""
    from assay.tasks.subjects.addresses.services import services_page as of_services

    if findings.select("services"):
        yield of_services(findings, [subject.name for subject in ground.pipeline.subjects if withholds(subject)])


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
    FLOW.ask_again,
    after=("subjects", "texts"),
    measures=(Measured("services", METRICS, ("subject", "subjects"), gate=gate),),
    clashes=clashes,
    afterwards=count_requests,
    background=page,
)
