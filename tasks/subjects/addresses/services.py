"""What a run asked of services: questions, requests, retries and cost as findings, and the report's part about
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.infra.storage.store import Store, asked_in, counts_folder
from assay.tasks.reporting.numerals import plain, plural
from assay.tasks.reporting.parts import Cell, Column, DataTable, Part
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.metrics import metric
from assay.tasks.subjects.addresses.endpoint import shown
from assay.tasks.subjects.addresses.given import Asking
from assay.tasks.subjects.addresses.table import address_of
from assay.tasks.subjects.settings import Subject

METRICS = (
    metric("services.requests", better="less"),
    metric("services.retries", better="less"),
    metric("services.cost", better="less"),
    metric("services.questions"),
    metric("services.stored", unit="share"),
)


def is_service(written: str) -> bool:
    """Whether a subject that is named so is a service.

    >>> is_service("https://models/spam"), is_service("spam.onnx")
    (True, False)
    """
    address = address_of(written)
    return address is not None and address.word == "endpoint"


def asked_services(subjects: Sequence[Subject]) -> dict[str, Asking]:
    """The services that are asked for these subjects, each with how; those of one address are one service."""
    found: dict[str, Asking] = {}
    for subject in subjects:
        if is_service(subject.named):
            found.setdefault(subject.named, subject.asking or Asking())
    return found


def service_findings(services: Mapping[str, Asking], run: str, store: Store) -> list[Finding]:
    """`services.questions` of each service, the share of them that the store had `.stored`, `.requests` and how many of
    them were `.retries`; their `.cost` where a request has a price."""
    findings: list[Finding] = []
    for url, asking in services.items():
        counts = asked_in(store.folder, counts_folder(run, url))
        questions = counts["questions"]
        stored = counts["stored"] / questions if questions else None
        values: dict[str, float | None] = {
            "questions": questions,
            "stored": stored,
            "requests": counts["requests"],
            "retries": counts["retries"],
            "cost": None if asking.price is None else asking.price * counts["requests"],
        }
        units = {metric.name: metric.unit for metric in METRICS}
        findings += [
            Finding(f"services.{name}", of=shown(url), value=value, n=questions, unit=units[f"services.{name}"])
            for name, value in values.items()
            if value is not None
        ]
    return findings


_NOTE = (
    "A question is a sample in one state: attacked or corrupted it is another. Requests are batches of them, and those "
    "that hold stored answers against today's; what a worker asked in a call in which it was killed is not counted."
)


def services_page(findings: FindingIndex) -> Part:
    """The part of the report about services, from the findings `services.*`."""
    names = findings.distinct("of", "services.requests")
    rows: list[list[Cell]] = []
    requests = 0
    for name in names:
        asked = {
            metric: getattr(findings.get(f"services.{metric}", of=name), "value", None)
            for metric in ("questions", "stored", "requests", "retries", "cost")
        }
        requests += int(asked["requests"] or 0)
        cost = "" if asked["cost"] is None else plain(asked["cost"])
        counts = [int(asked[metric] or 0) for metric in ("requests", "retries")]
        rows.append([name, int(asked["questions"] or 0), asked["stored"], *counts, cost])
    columns = [
        Column("Service"),
        Column("Questions", "integer"),
        Column("From the store", "percent", "The share of the questions that were answered before"),
        Column("Requests", "integer", "Retries included"),
        Column("Retries", "integer"),
        Column("Cost", help="Requests times `asking.price`"),
    ]
    sentence = f"{plural(len(names), 'service')} got {plural(requests, 'request')} in this run."
    return Part("Services that were asked", sentence, [DataTable("Requests", columns, rows, _NOTE)], "services")
