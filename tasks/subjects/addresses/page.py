"""What the report shows of services that were asked: how many questions, how many requests, at what cost."""

from __future__ import annotations

from assay.tasks.reporting.numerals import plain, plural
from assay.tasks.reporting.parts import Cell, Column, DataTable, Part
from assay.tasks.statistics.findings import FindingIndex

_NOTE = (
    "A question is a sample in one state: attacked or corrupted it is another. Requests are batches of them, and those "
    "that hold stored answers against today's; what a worker asked in a call in which it was killed is not counted."
)


def page(findings: FindingIndex) -> Part:
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
