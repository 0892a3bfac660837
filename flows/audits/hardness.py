"""Hardness as a kind of audit: it stands on every audit that says how hard it found each sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.flows.kind import (
    AuditKind,
    Clash,
    Key,
    Late,
    Measured,
    Written,
    as_dict,
    as_list,
    each_subject,
    name_of,
    nothing,
    unknown,
)
from assay.tasks.hardness.association import METRICS, Hardness

FLOW, PAGE = Late("assay.flows.audits.hardness_flow"), Late("assay.tasks.hardness.page")


def hardness_over(kinds: Sequence[AuditKind[Any]]) -> AuditKind[Any]:
    """The audit of hardness over these kinds of audit: it waits for all that have something to say."""
    heard = tuple(kind.name for kind in kinds if kind.hardness is not nothing)
    return AuditKind(
        "hardness",
        lambda pipeline: pipeline.asked(Hardness) is not None,
        lambda ground, settings: FLOW.relate(ground, settings, kinds),
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
        page=FLOW.show_hardness,
        followed=PAGE.followed,
    )


def clashes(pipeline: Written) -> Iterator[Clash]:
    """There is a subject, and the subjects that `hardness` names are among them."""
    if "hardness" not in pipeline or pipeline["hardness"] is None:
        return
    subjects = [name_of(subject) for _, subject in each_subject(pipeline)]
    if not subjects:
        yield Clash(("hardness",), "relates what audits find hard, and nothing is audited: add a subject")
    for position, name in enumerate(as_list(as_dict(pipeline["hardness"]).get("subjects"))):
        if subjects:
            yield from unknown(("hardness", "subjects", position), name, "subject", subjects)
