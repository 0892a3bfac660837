"""The columns of the samples that a pipeline names outside its source: looked for before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.flows.configuration.mistakes import Where
from assay.flows.pipeline import Pipeline
from assay.tasks.subjects.settings import Subject

NamedColumn = tuple[Where, str, str]
"""Where a column is named, its name, and who reads it."""


def named_columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """Every column of the samples that subjects and tests read by name."""
    for position, subject in enumerate(pipeline.subjects):
        where: Where = ("subject",) if pipeline.subject is not None else ("subjects", position)
        for step, column, reader in _of_subject(subject):
            yield (*where, *step), column, reader
    if pipeline.evaluation.column is not None:
        yield ("evaluation", "column"), pipeline.evaluation.column, "the evaluation goes by"
    if pipeline.trust is not None and pipeline.trust.rationales is not None:
        yield ("trust", "rationales"), pipeline.trust.rationales, "the trust oracle reads"
    orbit = pipeline.overfitting.orbit if pipeline.overfitting is not None else None
    if orbit is not None:
        yield ("overfitting", "orbit", "orbit"), orbit.orbit, "the overfitting test reads"
        yield ("overfitting", "orbit", "original"), orbit.original, "the overfitting test reads"


def _of_subject(subject: Subject) -> Iterator[NamedColumn]:
    if subject.classifier is not None:
        yield ("text",), subject.text, "the classifier reads"
    if subject.tagger is not None:
        yield ("tokens",), subject.tokens, "the tagger reads"
        yield ("tags",), subject.tags, "the tagger is held against"
    if subject.scorer is not None:
        yield from ((("pair", at), column, "the scorer reads") for at, column in enumerate(subject.pair))
        yield ("score",), subject.score, "the scorer is held against"
    if subject.predictions is not None:
        yield ("predictions",), subject.predictions, "the predictions are in"
    for at, column in enumerate(subject.features or ()):
        yield ("features", at), column, "the model sees"


def no_such_column(column: str, reader: str, columns: Sequence[str]) -> str:
    """What is wrong with a column that the samples do not have.

    >>> no_such_column("txt", "the classifier reads", ["text", "age"])
    "the samples have no column 'txt', which the classifier reads; beside id and label they have text, age."
    """
    listed = ", ".join(columns[:20]) + (", …" if len(columns) > 20 else "")
    return f"the samples have no column {column!r}, which {reader}; beside id and label they have {listed}."
