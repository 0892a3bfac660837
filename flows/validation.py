"""From a YAML document and a pydantic model to settings, or to every mistake in it: its line, and what was
expected, in words.
"""

from __future__ import annotations

import copy
import re
import types
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Literal, TypeVar, Union, get_args, get_origin

import annotated_types as bounds
from pydantic import BaseModel, BeforeValidator, JsonValue, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from assay.flows.yaml_document import Document, Mistake, Where, has_step, nearest, shown, suggestion, value_at
from assay.infra.errors import MOST_LISTED
from assay.tasks.reporting.numerals import plural

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
    >>> expected_of(str, [bounds.MaxLen(80)])
    'text of at most 80 letters'
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
    if annotation is str and (most := _most(_flat(metadata))) is not None:
        return f"text of at most {plural(most, 'letter')}"
    if origin in (list, tuple, set, frozenset, Sequence):
        alone = f"{expected_of(arguments[0])}, or " if any(isinstance(m, BeforeValidator) for m in metadata) else ""
        return alone + _list(arguments[0], _flat(metadata))
    if origin in (dict, Mapping):
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


def tags(part: object) -> list[FieldInfo]:
    """The fields that say which of several models a mapping is: a single word is allowed, and it is the default."""
    fields = part.model_fields.values() if isinstance(part, type) and issubclass(part, BaseModel) else ()
    return [
        each
        for each in fields
        if get_origin(each.annotation) is Literal and get_args(each.annotation) == (each.default,)
    ]


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
    if origin in (dict, Mapping):
        return [FieldInfo.from_annotation(arguments[1])]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and step in written(annotation):
        return [written(annotation)[str(step)]]
    return []


def _of_kinds(parts: Sequence[P], kinds: Collection[str]) -> list[P]:
    """Those parts of a union that are models of one of the kinds, if any is; else all."""
    return [part for part in parts if any(tag.default in kinds for tag in tags(part))] or list(parts)


def _kinds(parts: Sequence[object]) -> list[str]:
    """What the models of a union are told apart by; empty where they are not."""
    words = [str(tag.default) for part in parts for tag in tags(part)]
    return words if len(words) == len(parts) else []


def _models(annotation: object) -> list[type[BaseModel]]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType, Annotated):
        return [model for part in arguments for model in _models(part)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []


def _flat(metadata: Sequence[object]) -> list[object]:
    """Bounds on their own, whether they were given singly, as an interval, or inside a `Field`."""
    flat: list[object] = []
    for item in metadata:
        if isinstance(item, FieldInfo | bounds.GroupedMetadata):
            flat += _flat(item.metadata if isinstance(item, FieldInfo) else list(item))
        else:
            flat.append(item)
    return flat


def _number(kind: object, metadata: list[object]) -> str:
    """A number within bounds.

    >>> _number(float, [bounds.Ge(0.01), bounds.Le(1.0)]), _number(int, [bounds.Le(5000)])
    ('a number between 0.01 and 1', 'a whole number of at most 5,000')
    >>> _number(float, [bounds.Gt(0.0), bounds.Lt(1.05)])
    'a number above 0 and below 1.05'
    """
    noun = "a whole number" if kind is int else "a number"
    limits = {}
    for bound in metadata:
        match bound:
            case bounds.Ge(ge=value) | bounds.Gt(gt=value) | bounds.Le(le=value) | bounds.Lt(lt=value):
                limits[type(bound)] = f"{value:,}".removesuffix(".0")
    if limits.keys() == {bounds.Ge, bounds.Le}:
        return f"{noun} between {limits[bounds.Ge]} and {limits[bounds.Le]}"
    words = {bounds.Ge: "of at least", bounds.Gt: "above", bounds.Le: "at most", bounds.Lt: "below"}
    both = " and ".join(f"{word} {limits[bound]}" for bound, word in words.items() if bound in limits)
    of = "of " if limits.keys() == {bounds.Le} else ""
    return f"{noun} {of}{both}".strip()


def _most(metadata: list[object]) -> int | None:
    """The length that a text or a list may have, where it has a bound."""
    return next((bound.max_length for bound in metadata if isinstance(bound, bounds.MaxLen)), None)


def _list(item: object, metadata: list[object]) -> str:
    least = next((bound.min_length for bound in metadata if isinstance(bound, bounds.MinLen)), 0)
    most = _most(metadata)
    size = f" of at least {least}" if least else ""
    size += f"{' and' if least else ' of'} at most {most}" if most is not None else ""
    return f"a list{size}, each item {expected_of(item)}"


M = TypeVar("M", bound=BaseModel)

_FRACTION = re.compile(r"\s*([+-]?\d{1,15}(?:\.\d{1,15})?)\s*/\s*(\d{1,15}(?:\.\d{1,15})?)\s*")
_SAID_BY_VALIDATORS = ("value_error", "assertion_error")


def validate(
    model: type[M], document: Document, presets: Mapping[str, Collection[str]] = MappingProxyType({})
) -> tuple[M | None, list[tuple[Where, Mistake]]]:
    """The settings, if the document is right; else what is wrong, each with its place.

    `presets` are names that may stand for a whole mapping, by the key that says what it is (`attack: xu-pgd-4`).
    """
    value: object = copy.deepcopy(document.value)
    while True:
        try:
            return model.model_validate(value, strict=True), []
        except ValidationError as error:
            errors = error.errors(include_url=False)
        value, amended = _converted(value, errors, presets)
        if not amended:
            return None, _mistakes(model, document, errors, presets)


def fraction(text: str) -> float | None:
    """The number that a fraction stands for, or nothing where the text is no fraction.

    >>> fraction("4/255") == 4 / 255, fraction("4/0"), fraction("2026")
    (True, None, None)
    """
    match = _FRACTION.fullmatch(text)
    return None if match is None or float(match[2]) == 0 else float(match[1]) / float(match[2])


def _converted(value: object, errors: Sequence[ErrorDetails], tags: Collection[str]) -> tuple[object, bool]:
    """The value with fractions as numbers and lists as tuples where the model asked for them; whether any were."""
    amended = False
    for error in errors:
        given = error["input"]
        replacement: object = None
        if error["type"] == "float_type" and isinstance(given, str):
            replacement = fraction(given)
        elif error["type"] == "tuple_type" and isinstance(given, list):
            replacement = tuple(given)
        where = _place(value, error["loc"], tags)
        if replacement is not None and where and value_at(value, where) is given:
            value = replaced(value, where, replacement)
            amended = True
    return value, amended


def replaced(value: object, where: Where, replacement: object) -> object:
    """A copy of nested values in which the value at `where` is replaced.

    >>> replaced({"eps": [0, "x"]}, ("eps", 1), None)
    {'eps': [0, None]}
    """
    if not where:
        return replacement
    step, rest = where[0], where[1:]
    if isinstance(value, dict):
        return {**value, step: replaced(value[step], rest, replacement)}
    if isinstance(value, list | tuple) and isinstance(step, int):
        items = list(value)
        items[step] = replaced(items[step], rest, replacement)
        return type(value)(items)
    return value


def _place(value: object, location: Sequence[str | int], tags: Collection[str]) -> Where:
    """The place in the document that a validator's location means: without the steps that name union members, also
    where a key of that name stands there (`{attack: pgd, pgd: 3}`, of which `attack` is one of the `tags`)."""
    where: list[str | int] = []
    for position, step in enumerate(location):
        is_last = position == len(location) - 1
        if isinstance(value, dict) and not is_last and step in [value.get(tag) for tag in tags]:
            continue
        missing_key = is_last and isinstance(value, dict)
        if has_step(value, step) or missing_key:
            value = value_at(value, (step,))
            where.append(step)
    return tuple(where)


def _mistakes(
    model: type[BaseModel], document: Document, errors: Sequence[ErrorDetails], presets: Mapping[str, Collection[str]]
) -> list[tuple[Where, Mistake]]:
    mistakes: dict[Where, Mistake] = {}
    for error in errors:
        where = _place(document.value, error["loc"], presets)
        declared = type_at(model, where, _steps_of(error))
        if error["type"] not in ("missing", "extra_forbidden") and declared is None:
            where = where[:-1] if where and document.at(where) is None else where
        if where not in mistakes:
            if error["type"] == "union_tag_invalid":
                key, *words = _unknown_kind(error, presets)
                mistakes[where] = document.mistake((*where, key), *words)[1]
            else:
                mistakes[where] = document.mistake(where, *_found_and_expected(model, document, where, error))[1]
    # What is wrong with a part makes the whole look wrong as well: only the part is named.
    around = {where[:length] for where in mistakes for length in range(len(where))}
    return [(where, mistake) for where, mistake in mistakes.items() if where not in around]


def _found_and_expected(
    model: type[BaseModel], document: Document, where: Where, error: ErrorDetails
) -> tuple[str, str]:
    """What stands at the place of an error, as it is written, and what was expected there, in words."""
    kind = error["type"]
    declared = type_at(model, where, _steps_of(error))
    if kind == "literal_error":  # a word alone may stand for a mapping that has it somewhere inside
        declared = type_at(model, error["loc"], _steps_of(error)) or declared
    expected = "a value that fits" if declared is None else expected_of_field(declared)
    value = document.at(where)
    written = "" if isinstance(value, dict) and kind in _SAID_BY_VALIDATORS else shown(value)
    if kind == "extra_forbidden":
        known = fields_at(model, where[:-1], _steps_of(error))
        return ("", f"unknown key; {suggestion(str(where[-1]), known)}")
    if kind == "missing":
        return ("", f"missing; expected {expected}")
    if kind in _SAID_BY_VALIDATORS:
        context: Mapping[str, object] = error.get("ctx", {})
        return (written, " ".join(str(context.get("error", error["msg"])).split()))
    if kind == "literal_error" and isinstance(value, str):
        choices = expected.removeprefix("one of ").split(", ")
        if len(choices) > MOST_LISTED:
            return (written, f"is none of the {len(choices)} words known here; {suggestion(value, choices)}")
        match = nearest(value, choices)
        return (written, f"expected {expected}" + (f"; did you mean {match}?" if match else ""))
    if kind == "string_pattern_mismatch":
        shape = error.get("ctx", {}).get("pattern", "")
        examples = ", ".join(str(example) for example in (declared.examples if declared else None) or ())
        form = f"such as {examples}" if examples else f"of the form {shape}"
        return (written, f"expected {expected} {form}")
    if kind == "tuple_type" and (isinstance(value, str) or (isinstance(value, int | float) and "number" in expected)):
        return (written, f"expected {expected}; write [{value}]")
    if kind in ("model_type", "model_attributes_type") and declared is not None and declared.examples:
        return (written, f"expected {expected}, as in {declared.examples[0]}")
    return (written, f"expected {expected}")


def _steps_of(error: ErrorDetails) -> list[str]:
    """The steps of an error's place, among which are the words that say which of several models is meant."""
    return [str(step) for step in error["loc"]]


def _unknown_kind(error: ErrorDetails, presets: Mapping[str, Collection[str]]) -> tuple[str, str, str]:
    """The key that says what a mapping is (`attack: pdg`), its word, which is none of those that are known, and which
    was probably meant."""
    context: Mapping[str, str] = error.get("ctx", {})
    key = context.get("discriminator", "").strip("'")
    known = [*(tag.strip(" '") for tag in context.get("expected_tags", "").split(",")), *presets.get(key, ())]
    message = f"there is no such {key}; {suggestion(context.get('tag', ''), known)}"
    return key, shown(context.get("tag", "")), message
