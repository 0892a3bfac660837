"""The stage that looks at the findings of a run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.data.schemas import Findings
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.class_scores import cost_findings
from assay.tasks.statistics.findings import findings_from, findings_table
from assay.tasks.statistics.multiplicity import PRIMARY, corrected, family_size
from assay.tasks.statistics.settings import Claim, ErrorCost, Statistics


@stage(version=1, title="costs")
def price_errors(findings: list[Artifact[Findings]], costs: Mapping[str, ErrorCost]) -> Artifact[Findings]:
    """What the errors cost of everything whose recall was measured class by class."""
    gathered = [row for table in findings for row in findings_from(collect(table, Findings.schema.names))]
    priced = cost_findings(gathered, {name: cost.miss for name, cost in costs.items()})
    say(f"{len(priced)} costs, a miss of {', '.join(f'{name} {cost.miss:g}' for name, cost in costs.items())}")
    return write_table(findings_table(priced), into=Findings)


@stage(version=6, title="statistics")
def conclude(
    findings: list[Artifact[Findings]], settings: Statistics, claims: Sequence[Claim] = ()
) -> Artifact[Findings]:
    """All findings of a run in one table: the primary claims tested in their order, other p-values corrected for their
    number.

    Run and pipeline names are not in it yet: they would make every night's table a new one.
    """
    gathered = [row for table in findings for row in findings_from(collect(table, Findings.schema.names))]
    tests = family_size(gathered)
    counted = f"{tests} {'test' if tests == 1 else 'tests'}"
    how = f"Holm over {counted}" if settings.correction == "holm" else f"{counted}, not corrected"
    concluded = corrected(gathered, settings.significance, settings.correction, claims)
    shown = sum(finding.unit == PRIMARY for finding in concluded)
    first = f"{shown} primary claim{'' if shown == 1 else 's'} shown, " if claims else ""
    say(f"{len(gathered)} findings, {first}{how if tests else 'no test to correct'}")
    return write_table(findings_table(concluded), into=Findings)
