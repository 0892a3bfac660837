"""From a document and a model to settings, or to every mistake in it with the line it stands on."""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from assay.flows.configuration.expectations import expected_of_field, fields_at, type_at
from assay.flows.configuration.mistakes import Mistake, Where, dotted, nearest, shown, suggestion
from assay.flows.configuration.yaml_source import Document, Value

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

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
        value, amended = _amended(value, errors)
        if not amended:
            return None, _mistakes(model, document, errors, presets)


def fraction(text: str) -> float | None:
    """The number that a fraction stands for, or nothing where the text is no fraction.

    >>> fraction("4/255") == 4 / 255, fraction("4/0"), fraction("2026")
    (True, None, None)
    """
    match = _FRACTION.fullmatch(text)
    if match is None or float(match[2]) == 0:
        return None
    return float(match[1]) / float(match[2])


def _amended(value: object, errors: Sequence[ErrorDetails]) -> tuple[object, bool]:
    """The value with fractions as numbers and lists as tuples where the model asked for them; whether any were."""
    amended = False
    for error in errors:
        given = error["input"]
        replacement: object = None
        if error["type"] == "float_type" and isinstance(given, str):
            replacement = fraction(given)
        elif error["type"] == "tuple_type" and isinstance(given, list):
            replacement = tuple(given)
        where = _place(value, error["loc"])
        if replacement is not None and where and _value_at(value, where) is given:
            value = _replaced(value, where, replacement)
            amended = True
    return value, amended


def _replaced(value: object, where: Where, replacement: object) -> object:
    if not where:
        return replacement
    step, rest = where[0], where[1:]
    if isinstance(value, dict):
        return {**value, step: _replaced(value[step], rest, replacement)}
    if isinstance(value, list | tuple) and isinstance(step, int):
        items = list(value)
        items[step] = _replaced(items[step], rest, replacement)
        return type(value)(items)
    return value


def _value_at(value: object, where: Where) -> object:
    for step in where:
        if not _has(value, step):
            return None
        value = value[step]  # type: ignore[index]
    return value


def _place(value: object, location: Sequence[str | int]) -> Where:
    """The place in the document that a validator's location means: without the steps that name union members."""
    where: list[str | int] = []
    for position, step in enumerate(location):
        missing_key = position == len(location) - 1 and isinstance(value, dict)
        if _has(value, step) or missing_key:
            value = _value_at(value, (step,))
            where.append(step)
    return tuple(where)


def _has(value: object, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)


def _mistakes(
    model: type[BaseModel],
    document: Document,
    errors: Sequence[ErrorDetails],
    presets: Mapping[str, Collection[str]],
) -> list[tuple[Where, Mistake]]:
    mistakes: dict[Where, Mistake] = {}
    for error in errors:
        where = _place(document.value, error["loc"])
        declared = type_at(model, where, _kinds(error))
        if error["type"] not in ("missing", "extra_forbidden") and declared is None:
            where = where[:-1] if where and document.found(where) is None else where
        if where not in mistakes:
            tagged = error["type"] == "union_tag_invalid"
            mistakes[where] = (
                _unknown_kind(document, where, error, presets) if tagged else _mistake(model, document, where, error)
            )
    # What is wrong with a part makes the whole look wrong as well: only the part is named.
    return [
        (where, mistake) for where, mistake in mistakes.items() if not any(_within(other, where) for other in mistakes)
    ]


def _within(inner: Where, outer: Where) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _mistake(model: type[BaseModel], document: Document, where: Where, error: ErrorDetails) -> Mistake:
    kind = error["type"]
    declared = type_at(model, where, _kinds(error))
    expected = "a value that fits" if declared is None else expected_of_field(declared)
    value = document.found(where)
    written = "" if isinstance(value, dict) and kind in _SAID_BY_VALIDATORS else shown(value)
    if kind == "extra_forbidden":
        known = fields_at(model, where[:-1], _kinds(error))
        return _mistake_at(document, where, "", f"unknown key; {suggestion(str(where[-1]), known)}")
    if kind == "missing":
        return _mistake_at(document, where, "", f"missing; expected {expected}")
    if kind in _SAID_BY_VALIDATORS:
        context: Mapping[str, object] = error.get("ctx", {})
        return _mistake_at(document, where, written, " ".join(str(context.get("error", error["msg"])).split()))
    if kind == "literal_error" and isinstance(value, str):
        choices = expected.removeprefix("one of ").split(", ")
        match = nearest(value, choices)
        return _mistake_at(
            document, where, written, f"expected {expected}" + (f"; did you mean {match}?" if match else "")
        )
    if kind == "string_pattern_mismatch":
        shape = error.get("ctx", {}).get("pattern", "")
        examples = ", ".join(str(example) for example in (declared.examples if declared else None) or ())
        form = f"such as {examples}" if examples else f"of the form {shape}"
        return _mistake_at(document, where, written, f"expected {expected} {form}")
    if kind == "tuple_type" and (isinstance(value, str) or (isinstance(value, int | float) and "number" in expected)):
        return _mistake_at(document, where, written, f"expected {expected}; write [{value}]")
    if kind in ("model_type", "model_attributes_type") and declared is not None and declared.examples:
        return _mistake_at(document, where, written, f"expected {expected}, as in {declared.examples[0]}")
    return _mistake_at(document, where, written, f"expected {expected}")


def _kinds(error: ErrorDetails) -> list[str]:
    """The steps of an error's place, among which are the words that say which of several models is meant."""
    return [str(step) for step in error["loc"]]


def _unknown_kind(
    document: Document, where: Where, error: ErrorDetails, presets: Mapping[str, Collection[str]]
) -> Mistake:
    """The mistake of a mapping whose word for what it is (`attack: pdg`) is none of those that are known."""
    context: Mapping[str, str] = error.get("ctx", {})
    key = context.get("discriminator", "").strip("'")
    known = [*(tag.strip(" '") for tag in context.get("expected_tags", "").split(",")), *presets.get(key, ())]
    message = f"there is no such {key}; {suggestion(context.get('tag', ''), known)}"
    return _mistake_at(document, (*where, key), shown(context.get("tag", "")), message)


def _mistake_at(document: Document, where: Where, value: str, expected: str) -> Mistake:
    return Mistake(document.file, document.line(where), dotted(where), value, expected)


def value_or_nothing(value: Value) -> dict[str, Value]:
    """The value if it is a mapping, else an empty one: wrong types are reported elsewhere."""
    return value if isinstance(value, dict) else {}
