"""The JSON Schema of pipelines.yaml, out of the settings models: what an editor completes, explains and underlines.

What cannot be together is for `assay check`: a schema looks at one place after another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.flows.configuration.menu import Menu, with_named
from assay.flows.pipeline import file_model
from assay.flows.yaml_document import Document

FRACTION = {"type": "string", "pattern": r"^\s*[-+]?[\d.]+\s*/\s*[\d.]+\s*$"}
_OWN = {"type": "string", "pattern": ":"}  # module:object
_BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}


def json_schema(folder: Path = Path(), document: Document | None = None) -> dict[str, Any]:
    """What a pipelines.yaml in this folder may say, and with the plug-ins that the document names."""
    menu = Menu() if document is None else with_named(Menu().with_installed(folder, document), document, folder)
    schema = file_model(menu.kinds, menu.types, menu.notify).model_json_schema()
    names: dict[str, list[str]] = {}
    for table in menu.tagged.values():
        names.setdefault(table.tag, []).extend([*table.presets, *table.bundles])
    widened: dict[str, Any] = _widened(schema, names)
    subjects = widened["$defs"]["Pipeline"]["properties"]["subjects"]
    subjects["anyOf"][0]["items"] = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Subject"}, _short_form({})]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **widened, "title": "pipelines.yaml"}


def _widened(node: Any, names: Mapping[str, Sequence[str]]) -> Any:
    """A part of the schema with what may be written instead: a fraction for a number, one thing for a list of one, and
    the short forms of choices."""
    if isinstance(node, list):
        return [_widened(item, names) for item in node]
    if not isinstance(node, dict):
        return node
    properties = node.get("properties")
    if isinstance(properties, dict):
        given = [name for name, field in properties.items() if isinstance(field, dict) and "given" in field]
        node = node | {"properties": {name: field for name, field in properties.items() if name not in given}}
        node["required"] = [name for name in node.get("required", ()) if name not in given]
    wide = {_BOUNDS.get(key, key): _widened(value, names) for key, value in node.items()}
    if "discriminator" in node:
        return {"anyOf": [*wide.pop("oneOf"), *_shortened(wide.pop("discriminator"), names)], **wide}
    about = {key: wide.pop(key) for key in ("description", "examples", "default", "title") if key in wide}
    if node.get("type") == "number":
        return {"anyOf": [wide, FRACTION], **about}
    if node.get("type") == "array":
        alone = [wide["items"]] if "items" in wide else wide.get("prefixItems", [])[:1]
        return {"anyOf": [wide, *alone], **about}
    return {**wide, **about}


def _shortened(discriminator: Mapping[str, Any], names: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """The short forms of a choice: its word, a mapping under its word, and the names of settings and plug-ins."""
    tag, kinds = discriminator["propertyName"], discriminator["mapping"]
    named = [*names.get(tag, ())]
    elsewhere = {"required": [tag], "properties": {tag: {"anyOf": [{"enum": named}, _OWN]}}}
    return [{"enum": [*kinds, *named]}, _OWN, {"type": "object", **elsewhere}, _short_form(kinds, named)]


def _short_form(kinds: Mapping[str, str], named: Sequence[str] = ()) -> dict[str, Any]:
    """A mapping of one key, the word of a choice, to its settings without that word."""
    others: dict[str, Any] = {"type": ["object", "null"]}
    known: dict[str, Any] = {word: {"anyOf": [{"$ref": kind}, {"type": "null"}]} for word, kind in kinds.items()}
    known |= dict.fromkeys(named, others)
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": known,
        "patternProperties": {":": others},
        "additionalProperties": others if not kinds else False,
    }
