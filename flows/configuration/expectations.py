"""What a setting expects, in words: the same words in error messages and in docs/pipelines.md."""

from __future__ import annotations

import re
import types
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, Literal, TypeVar, Union, get_args, get_origin

import annotated_types as bounds
from pydantic import BaseModel, BeforeValidator, JsonValue
from pydantic.fields import FieldInfo

from assay.flows.configuration.mistakes import Where

GIVEN: dict[str, JsonValue] = {"given": "by its key"}
"""Marks a field that nobody writes: it is filled in from where the mapping stands."""

P = TypeVar("P")

_PLAIN: dict[object, str] = {bool: "true or false", str: "text", type(None): "null"}


def expected_of(annotation: object, metadata: Sequence[object] = ()) -> str:
    """What a value of this type is, in words.

    >>> from typing import Literal
    >>> expected_of(float, [bounds.Ge(0), bounds.Le(1)])
    'a number between 0 and 1'
    >>> expected_of(Literal["cliques", "degree"])
    'one of cliques, degree'
    >>> expected_of(list[int] | None)
    'a list, each item a whole number'
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return expected_of(arguments[0], [*metadata, *arguments[1:]])
    if origin in (Union, types.UnionType):
        if kinds := _kinds(arguments):
            return f"one of {', '.join(kinds)}, alone or with its settings, as in {kinds[0]}: {{…}}"
        parts = dict.fromkeys(expected_of(part, metadata) for part in arguments if part is not type(None))
        return " or ".join(parts)
    if origin is Literal:
        return f"the word {arguments[0]}" if len(arguments) == 1 else f"one of {', '.join(map(str, arguments))}"
    if annotation in (int, float):
        return _number(annotation, _flat(metadata))
    if origin in (list, tuple, set, frozenset, Sequence):
        alone = f"{expected_of(arguments[0])}, or " if any(isinstance(m, BeforeValidator) for m in metadata) else ""
        return alone + _list(arguments[0], _flat(metadata))
    if origin is dict:
        return f"a mapping of names, each to {expected_of(arguments[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"a mapping with some of {', '.join(writable(annotation))}"
    return _PLAIN.get(annotation, "any YAML value")


def expected_of_field(field: FieldInfo) -> str:
    """What a setting expects, in words."""
    return expected_of(field.annotation, field.metadata)


def type_at(model: type[BaseModel], where: Where, kinds: Collection[str] = ()) -> FieldInfo | None:
    """The declaration behind a place in a configuration: that of its field, or of the item or entry of a field. Of
    several models on the way, those that are of one of the `kinds` (`attack: fgsm`) are meant, if any is."""
    fields = [FieldInfo(annotation=model)]
    for step in where:
        fields = [inner for field in fields for inner in _inside(field.annotation, step, kinds)]
    return fields[0] if fields else None


def fields_at(model: type[BaseModel], where: Where, kinds: Collection[str] = ()) -> list[str]:
    """The names that may stand at a place; empty where it is no mapping of ours. Of several models that may stand
    there, those that are of one of the `kinds` (`attack: fgsm`) are meant, if any is."""
    field = type_at(model, where)
    models = [] if field is None else _of_kinds(_models(field.annotation), kinds)
    return list(dict.fromkeys(name for inner in models for name in writable(inner)))


def tags(model: type[BaseModel]) -> Iterator[FieldInfo]:
    """The fields that say which of several models a mapping is: a single word is allowed, and it is the default."""
    for field in model.model_fields.values():
        if get_origin(field.annotation) is Literal and get_args(field.annotation) == (field.default,):
            yield field


def writable(model: type[BaseModel]) -> list[str]:
    """The settings of a model that a person writes."""
    return [name for name, field in written(model).items() if field.json_schema_extra != GIVEN]


def written(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The settings of a model under the names they are written with: `lambda` is no name for Python."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def _inside(annotation: object, step: str | int, kinds: Collection[str] = ()) -> list[FieldInfo]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _inside(arguments[0], step, kinds)
    if origin in (Union, types.UnionType):
        return [field for part in _of_kinds(arguments, kinds) for field in _inside(part, step, kinds)]
    if origin in (list, tuple, set, frozenset, Sequence) and isinstance(step, int):
        return [FieldInfo.from_annotation(arguments[0])]
    if origin is dict:
        return [FieldInfo.from_annotation(arguments[1])]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and step in written(annotation):
        return [written(annotation)[str(step)]]
    return []


def _of_kinds(parts: Sequence[P], kinds: Collection[str]) -> list[P]:
    """Those parts of a union that are models of one of the kinds, if any is; else all."""
    return [part for part in parts if any(tag.default in kinds for tag in _tags_of(part))] or list(parts)


def _kinds(parts: Sequence[object]) -> list[str]:
    """What the models of a union are told apart by; empty where they are not."""
    tags = [str(tag.default) for part in parts for tag in _tags_of(part)]
    return tags if len(tags) == len(parts) else []


def _tags_of(part: object) -> list[FieldInfo]:
    return list(tags(part)) if isinstance(part, type) and issubclass(part, BaseModel) else []


def _models(annotation: object) -> list[type[BaseModel]]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType, Annotated):
        return [model for part in arguments for model in _models(part)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []


def _flat(metadata: Sequence[object]) -> list[object]:
    """Bounds on their own, whether they were given singly, as an interval, or inside a `Field`."""
    flat: list[object] = []
    for item in metadata:
        inner = (
            item.metadata
            if isinstance(item, FieldInfo)
            else list(item)
            if isinstance(item, bounds.GroupedMetadata)
            else None
        )
        flat.extend([item] if inner is None else _flat(inner))
    return flat


def _number(kind: object, metadata: list[object]) -> str:
    noun = "a whole number" if kind is int else "a number"
    low = high = ""
    for bound in metadata:
        match bound:
            case bounds.Ge(ge=value):
                low = f"of at least {value:,}"
            case bounds.Gt(gt=value):
                low = f"above {value:,}"
            case bounds.Le(le=value):
                high = f"at most {value:,}"
            case bounds.Lt(lt=value):
                high = f"below {value:,}"
    if low.startswith("of") and high.startswith("at"):
        return f"{noun} between {low[12:]} and {high[8:]}".replace(".0", "")
    both = f"{low} and {high}" if low and high else low or high.replace("at most", "of at most")
    return f"{noun} {both}".strip().replace(".0", "") if re.search(r"\.0(\D|$)", both) else f"{noun} {both}".strip()


def _list(item: object, metadata: list[object]) -> str:
    least = next((bound.min_length for bound in metadata if isinstance(bound, bounds.MinLen)), 0)
    most = next((bound.max_length for bound in metadata if isinstance(bound, bounds.MaxLen)), None)
    size = f" of at least {least}" if least else ""
    size += f"{' and' if least else ' of'} at most {most}" if most is not None else ""
    return f"a list{size}, each item {expected_of(item)}"
