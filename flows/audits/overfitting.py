"""Overfitting as a kind of audit: can a test score be believed?"""

from __future__ import annotations

from collections.abc import Iterator

from assay.flows import kind
from assay.flows.yaml_document import Value, Where
from assay.tasks.overfitting.settings import Overfitting
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.subjects.settings import Evaluation

ANSWERING = ("network", "classifier", "predictions", "model")
"""The subjects that answer with a class."""

FLOW, PAGE = kind.Late("assay.flows.audits.overfitting_flow"), kind.Late("assay.tasks.overfitting.page")


def overfitting_clashes(pipeline: kind.Written) -> Iterator[kind.Clash]:
    """Windows are shifted before subjects that see a window; orbits need a subject that answers, and one answer."""
    asked = kind.as_dict(pipeline.get("overfitting"))
    subjects = list(kind.each_subject(pipeline))
    several = kind.as_dict(pipeline.get("source")).get("labels") is not None
    if asked and kind.as_dict(pipeline.get("source")).get("group") is not None:
        yield kind.Clash(
            ("overfitting",),
            "counts samples as independent, which its bounds need, and source.group says "
            "that they are not: leave source.group out of this pipeline, or audit one sample per group",
        )
    for test in ("translations", "orbit"):
        if several and asked.get(test) is not None:
            yield kind.Clash(("overfitting", test), "tests one class per sample, and source.labels gives several")
    if asked.get("translations") is not None:
        if not any("network" in subject for _, subject in subjects):
            why = "needs a subject for images: add one with network and crop, as in subject: {network: …, crop: 20}"
            yield kind.Clash(("overfitting", "translations"), why)
        for where, subject in subjects:
            if "network" in subject and subject.get("crop") is None:
                yield kind.Clash(
                    (*where, "network"),
                    f"{kind.name_of(subject)} sees whole images, which overfitting.translations could "
                    "shift only by padding them: add crop, smaller than the images by 6 × eps",
                )
        yield from _translation_clashes(pipeline, kind.as_dict(asked["translations"]), subjects)
    if asked.get("orbit") is not None and not any(way in subject for _, subject in subjects for way in ANSWERING):
        why = "needs a subject that answers with a class: add one, as in subject: {predictions: COLUMN}"
        yield kind.Clash(("overfitting", "orbit"), why)


def _translation_clashes(
    pipeline: kind.Written, asked: dict[str, Value], subjects: list[tuple[Where, dict[str, Value]]]
) -> Iterator[kind.Clash]:
    """Fresh samples are neither audited nor learned from; other seeds need a training."""
    fresh, evaluation = asked.get("fresh"), kind.as_dict(pipeline.get("evaluation"))
    for option in ("split", "train"):
        if fresh is not None and fresh == evaluation.get(option, Evaluation.model_fields[option].default):
            yield kind.Clash(
                ("overfitting", "translations", "fresh"),
                f"is what evaluation.{option} names: fresh samples are neither audited nor learned from, so name a "
                "third value of the split column",
            )
    retrain = asked.get("retrain", 1)
    for where, subject in subjects:
        if isinstance(retrain, int) and retrain > 1 and "network" in subject and subject.get("weights") is not None:
            yield kind.Clash(
                (*where, "weights"),
                f"leaves {kind.name_of(subject)} no training that overfitting.translations.retrain "
                "could repeat with other seeds: leave retrain out, or let Assay train it",
            )


def columns(pipeline: kind.AuditRequest) -> Iterator[kind.NamedColumn]:
    """The columns that say which samples are of one orbit."""
    asked = pipeline.asked(Overfitting)
    if asked is not None and asked.orbit is not None:
        yield ("overfitting", "orbit", "orbit"), asked.orbit.orbit, "the overfitting test reads"
        yield ("overfitting", "orbit", "original"), asked.orbit.original, "the overfitting test reads"


OVERFITTING = kind.AuditKind(
    "overfitting",
    lambda pipeline: pipeline.asked(Overfitting) is not None,
    FLOW.measure_overfitting,
    extras=lambda _pipeline: [(("overfitting",), "images")],
    keys=(kind.Key("overfitting", Overfitting, "{translations: {eps: 2}}"),),
    stands_on=("data", "tables", "subjects"),
    measures=(kind.Measured("overfitting", metrics_of("overfitting"), ("overfitting",)),),
    clashes=overfitting_clashes,
    columns=columns,
    afterwards=FLOW.judge_audit,
    page=FLOW.show_overfitting,
    followed=PAGE.followed,
)
