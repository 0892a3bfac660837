"""Overfitting as a kind of audit: can a test score be believed?"""

from __future__ import annotations

from collections.abc import Iterator

from assay.flows.kind import (
    AuditKind,
    AuditRequest,
    Clash,
    Key,
    Late,
    Measured,
    NamedColumn,
    Written,
    as_dict,
    each_subject,
    name_of,
)
from assay.flows.yaml_document import Value, Where
from assay.tasks.overfitting.settings import METRICS, Overfitting
from assay.tasks.subjects.settings import Evaluation

ANSWERING = ("network", "classifier", "predictions", "model")
"""The subjects that answer with a class."""

FLOW, PAGE = Late("assay.flows.audits.overfitting_flow"), Late("assay.tasks.overfitting.page")


def overfitting_clashes(pipeline: Written) -> Iterator[Clash]:
    """Windows are shifted before subjects that see a window; orbits need a subject that answers, and one answer."""
    asked = as_dict(pipeline.get("overfitting"))
    subjects = list(each_subject(pipeline))
    several = as_dict(pipeline.get("source")).get("labels") is not None
    if asked and as_dict(pipeline.get("source")).get("group") is not None:
        yield Clash(
            ("overfitting",),
            "counts samples as independent, which its bounds need, and source.group says "
            "that they are not: leave source.group out of this pipeline, or audit one sample per group",
        )
    for test in ("translations", "orbit"):
        if several and asked.get(test) is not None:
            yield Clash(("overfitting", test), "tests one class per sample, and source.labels gives several")
    if asked.get("translations") is not None:
        if not any("network" in subject for _, subject in subjects):
            yield Clash(
                ("overfitting", "translations"),
                "needs a subject for images: add one with network and crop, as in subject: {network: …, crop: 20}",
            )
        for where, subject in subjects:
            if "network" in subject and subject.get("crop") is None:
                yield Clash(
                    (*where, "network"),
                    f"{name_of(subject)} sees whole images, which overfitting.translations could "
                    "shift only by padding them: add crop, smaller than the images by 6 × eps",
                )
        yield from _translation_clashes(pipeline, as_dict(asked["translations"]), subjects)
    if asked.get("orbit") is not None and not any(way in subject for _, subject in subjects for way in ANSWERING):
        yield Clash(
            ("overfitting", "orbit"),
            "needs a subject that answers with a class: add one, as in subject: {predictions: COLUMN}",
        )


def _translation_clashes(
    pipeline: Written, asked: dict[str, Value], subjects: list[tuple[Where, dict[str, Value]]]
) -> Iterator[Clash]:
    """Fresh samples are neither audited nor learned from; other seeds need a training."""
    fresh, evaluation = asked.get("fresh"), as_dict(pipeline.get("evaluation"))
    for option in ("split", "train"):
        if fresh is not None and fresh == evaluation.get(option, Evaluation.model_fields[option].default):
            yield Clash(
                ("overfitting", "translations", "fresh"),
                f"is what evaluation.{option} names: fresh samples are neither audited nor learned from, so name a "
                "third value of the split column",
            )
    retrain = asked.get("retrain", 1)
    for where, subject in subjects:
        if isinstance(retrain, int) and retrain > 1 and "network" in subject and subject.get("weights") is not None:
            yield Clash(
                (*where, "weights"),
                f"leaves {name_of(subject)} no training that overfitting.translations.retrain "
                "could repeat with other seeds: leave retrain out, or let Assay train it",
            )


def columns(pipeline: AuditRequest) -> Iterator[NamedColumn]:
    """The columns that say which samples are of one orbit."""
    asked = pipeline.asked(Overfitting)
    if asked is not None and asked.orbit is not None:
        yield ("overfitting", "orbit", "orbit"), asked.orbit.orbit, "the overfitting test reads"
        yield ("overfitting", "orbit", "original"), asked.orbit.original, "the overfitting test reads"


OVERFITTING = AuditKind(
    "overfitting",
    lambda pipeline: pipeline.asked(Overfitting) is not None,
    FLOW.measure_overfitting,
    extras=lambda _pipeline: [(("overfitting",), "images")],
    keys=(Key("overfitting", Overfitting, "{translations: {eps: 2}}"),),
    stands_on=("data", "tables", "subjects"),
    measures=(Measured("overfitting", METRICS, ("overfitting",)),),
    clashes=overfitting_clashes,
    columns=columns,
    afterwards=FLOW.judge_audit,
    page=FLOW.show_overfitting,
    followed=PAGE.followed,
)
