"""A pipeline as it was written, before it is validated: what can be read of it, and what cannot stand in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from assay.flows.configuration.mistakes import Where
from assay.flows.configuration.yaml_source import Value
from assay.infra.choices import Choices


@dataclass(frozen=True)
class Clash:
    """Two settings that cannot both stand: where to change one, and why."""

    where: Where
    why: str


class WrittenPipeline(dict[str, Value]):
    """A pipeline as it was written, short forms written out, with the choices of plug-ins that its words are of."""

    tables: Mapping[Where, Choices[Any]] = MappingProxyType({})
    """The tables of choices, by the place in a pipeline where their words are named."""


def choice_named(pipeline: dict[str, Value], place: Where, word: Value, ours: Choices[Any]) -> Any:
    """The choice that a word at a place of the pipeline names, one of ours or of a plug-in's; None for no such word."""
    tables = pipeline.tables if isinstance(pipeline, WrittenPipeline) else {}
    return next((choice for choice in tables.get(place, ours) if choice.word == word), None)


def each_subject(pipeline: dict[str, Value]) -> Iterator[tuple[Where, dict[str, Value]]]:
    """Every subject, and where it stands."""
    if isinstance(pipeline.get("subject"), dict):
        yield ("subject",), as_dict(pipeline["subject"])
    for position, subject in enumerate(as_list(pipeline.get("subjects"))):
        if isinstance(subject, dict):
            yield ("subjects", position), subject


def name_of(subject: dict[str, Value]) -> str:
    """What a subject is called."""
    return str(subject.get("name") or "subject")


def as_dict(value: Value) -> dict[str, Value]:
    """The mapping, or an empty one where it is none."""
    return value if isinstance(value, dict) else {}


def as_list(value: Value) -> list[Value]:
    """The list, or an empty one where it is none."""
    return value if isinstance(value, list) else []
