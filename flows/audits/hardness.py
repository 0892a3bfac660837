"""Hardness as a kind of audit: it stands on every audit that says how hard it found each sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from assay.flows.kind import AuditKind, Clash, Ground, Key, Measured, as_dict, as_list, each_subject, name_of, nothing
from assay.flows.yaml_document import Value, suggestion
from assay.tasks.hardness.association import METRICS, Hardness

if TYPE_CHECKING:
    from assay.flows.audits.hardness_flow import HardnessAudit
    from assay.flows.pipeline import Pipeline
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.reporting.report import Headline
    from assay.tasks.statistics.findings import FindingIndex


def hardness_over(kinds: Sequence[AuditKind[Any]]) -> AuditKind[HardnessAudit]:
    """The audit of hardness over these kinds of audit: it waits for all that have something to say."""
    heard = tuple(kind.name for kind in kinds if kind.hardness is not nothing)
    return AuditKind(
        "hardness",
        asked,
        run,
        keys=(
            Key(
                "hardness",
                Hardness,
                "Whether the samples that one audit finds hard are hard for others too; `{}` takes every default.",
                "{hardest: 0.25, shown: 12}",
            ),
        ),
        stands_on=("data", *heard),
        measures=(Measured("hardness", METRICS, ("hardness",)),),
        clashes=clashes,
        page=page,
        verdict=verdict,
        followed=followed,
    )


def run(ground: Ground) -> HardnessAudit:
    """Gather what every audit has to say, and hold it against each other."""
    from assay.flows.audits.hardness_flow import relate

    return relate(ground)


def asked(pipeline: Pipeline) -> bool:
    """Whether the pipeline asks for it."""
    return pipeline.asked(Hardness) is not None


def clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """Somebody says how hard samples are, and the subjects that are named are there."""
    if "hardness" not in pipeline or pipeline["hardness"] is None:
        return
    subjects = [name_of(one) for _, one in each_subject(pipeline)]
    if not subjects:
        yield Clash(("hardness",), "relates what audits find hard, and nothing is audited: add a subject")
    for position, name in enumerate(as_list(as_dict(pipeline["hardness"]).get("subjects"))):
        if isinstance(name, str) and subjects and name not in subjects:
            yield Clash(("hardness", "subjects", position), f"there is no such subject; {suggestion(name, subjects)}")


def page(ground: Ground, audit: HardnessAudit, findings: FindingIndex) -> Iterator[Part]:
    """Which measures agree, which rank errors, and the samples that a person should look at."""
    if audit.pairs is None or audit.hardest is None:
        return
    from assay.flows.audits.hardness_flow import hardest_samples
    from assay.infra.stages.partitions import collect
    from assay.tasks.hardness.page import page as hardness_page

    settings = ground.pipeline.asked(Hardness) or Hardness()
    hardest = collect(audit.hardest, None)
    shown = list(hardest_samples(ground, hardest, settings.shown))
    yield hardness_page(findings, collect(audit.pairs, None), shown, ground.pipeline.masked)


def verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """Whether hardness is shared."""
    from assay.tasks.hardness.page import verdict as of_hardness

    yield from of_hardness(findings)


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """How well the order and the confidence rank the subjects' errors."""
    from assay.tasks.hardness.page import followed as of_hardness

    yield from of_hardness(findings)
