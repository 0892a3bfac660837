"""Settings that are right one by one and impossible together. Read from the raw mapping, so that they are reported
in the same breath as wrong types and unknown keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.flows.audits.kind import AuditKind
from assay.flows.configuration.gated_findings import stages_of, unknown_metric
from assay.flows.configuration.mistakes import Where, suggestion
from assay.flows.configuration.written import Clash, as_list, each_subject, name_of
from assay.flows.configuration.yaml_source import Value


def clashes(pipeline: dict[str, Value], kinds: Sequence[AuditKind[Any]]) -> Iterator[Clash]:
    """Everything in a pipeline that cannot be together."""
    for kind in kinds:
        yield from kind.clashes(pipeline)
    for position, gate in enumerate(as_list(pipeline.get("gates"))):
        if isinstance(gate, dict):
            yield from _gate(pipeline, gate, ("gates", position), kinds)


def _gate(
    pipeline: dict[str, Value], gate: dict[str, Value], where: Where, kinds: Sequence[AuditKind[Any]]
) -> Iterator[Clash]:
    finding, known = gate.get("finding"), stages_of(kinds)
    stage = finding.partition(".")[0] if isinstance(finding, str) else ""
    if not stage:
        return
    if stage not in known:
        yield Clash((*where, "finding"), f"no stage measures {stage}; {suggestion(stage, known)}")
        return
    measured = known[stage]
    if unknown := unknown_metric(str(finding), kinds):
        yield Clash((*where, "finding"), unknown)
        return
    if all(pipeline.get(name) is None for name in measured.keys) and not measured.also(pipeline):
        yield Clash((*where, "finding"), f"nothing will measure it: the pipeline has no {' or '.join(measured.keys)}")
    better = next((metric.better for metric in measured.metrics if metric.name == finding), None)
    for key, worse, other in (("drop_at_most", "lower", "rise_at_most"), ("rise_at_most", "higher", "drop_at_most")):
        if gate.get(key) is not None and better == worse:
            yield Clash((*where, key), f"of {finding} {worse} is better, so that is no loss; write {other}")
    if measured.gate is not None:
        yield from measured.gate(pipeline, gate, where)
    subjects = [name_of(subject) for _, subject in each_subject(pipeline)]
    name = gate.get("subject")
    defended = pipeline.get("defenses") and str(name).partition("+")[0] in subjects  # plain+maadvt
    if isinstance(name, str) and name not in subjects and not defended:
        hint = suggestion(name, subjects) if subjects else "the pipeline has no subject"
        yield Clash((*where, "subject"), f"there is no such subject; {hint}")
