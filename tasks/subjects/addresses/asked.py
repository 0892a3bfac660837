"""How often services were asked in one run, and what that cost: added up from what every process counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.infra.answers import asked_in, counted_at
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.metrics import metrics
from assay.tasks.subjects.addresses.asking import Asking
from assay.tasks.subjects.addresses.posting import shown
from assay.tasks.subjects.addresses.table import address_of
from assay.tasks.subjects.settings import Subject

METRICS = metrics("services", lower={"": "requests retries cost"}, neither={"": "questions", "share": "stored"})


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
        counts = asked_in(store.folder, counted_at(run, url))
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
