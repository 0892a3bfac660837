"""A model by its address is written as `model`; what it looks at is found out from what stands beside it."""

from __future__ import annotations

from assay.data.samples.registry import EMBEDDED
from assay.flows.configuration.mistakes import Where
from assay.flows.configuration.validation import value_or_nothing
from assay.flows.configuration.written import as_dict, each_subject
from assay.flows.configuration.yaml_source import Document, Value
from assay.tasks.subjects.addresses.table import address_of
from assay.tasks.subjects.kinds import KINDS

_OF_IMAGES = ("crop", "mean", "std", "block")
"""Settings of a subject that only one which looks at images has."""


def name_what_is_addressed(document: Document) -> None:
    """Writes `model: ADDRESS` as the setting that says what is looked at: `network: ADDRESS` over images.

    >>> subject, source = {"model": "m.onnx"}, {"images": "scans"}
    >>> name_what_is_addressed(Document("x", {"pipelines": {"p": {"source": source, "subject": subject}}}, {}))
    >>> subject
    {'network': 'm.onnx'}
    """
    for name, written in value_or_nothing(value_or_nothing(document.value).get("pipelines")).items():
        pipeline = as_dict(written)
        for where, subject in each_subject(pipeline):
            model = subject.get("model")
            if not isinstance(model, str) or address_of(model) is None:
                continue
            way = what_it_looks_at(subject, as_dict(pipeline.get("source")))
            if way != "model":
                subject[way] = subject.pop("model")
                _keep_line(document, ("pipelines", name, *where), way)


def what_it_looks_at(subject: dict[str, Value], source: dict[str, Value]) -> str:
    """The setting that a model at an address goes by: what the subject reads says it, else what the source has.

    >>> what_it_looks_at({"text": "body"}, {}), what_it_looks_at({"features": ["age"]}, {"images": "scans"})
    ('classifier', 'model')
    """
    reader = next((kind.name for kind in KINDS if any(setting in subject for setting in kind.reads)), None)
    if reader is not None:
        return reader
    if "features" in subject:
        return "model"
    sample = EMBEDDED.get(str(source.get("dataset")))
    images = any(source.get(name) is not None for name in ("images", "image")) or (sample and sample.has_images)
    return "network" if images or any(setting in subject for setting in _OF_IMAGES) else "model"


def _keep_line(document: Document, where: Where, way: str) -> None:
    line = document.lines.get((*where, "model"))
    if line is not None:
        document.lines[(*where, way)] = line
