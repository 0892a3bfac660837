"""Everything that a pipeline can name: kinds of audit and the choices in their settings, ours and those of plug-
ins, installed or written as `module:object`; and the JSON Schema made of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from assay.flows.audits.table import KINDS, AnyKind, troubles_beside, troubles_in_order, troubles_of, with_kind
from assay.flows.kind import AuditKind
from assay.flows.notifiers.table import NOTIFIERS, Notify, notify_settings
from assay.flows.pipeline import Pipeline, file_model, pipeline_model
from assay.flows.yaml_document import Document, Value, Where, as_dict, as_list, shown
from assay.infra.errors import InputError
from assay.infra.settings import Settings
from assay.infra.user_code.choices import (
    Choices,
    NamedChoices,
    Origin,
    TaggedChoices,
    installed,
    object_identity,
    plugin_title,
    referred,
)
from assay.tasks.attacks.table import ATTACKS
from assay.tasks.corruptions.table import CORRUPTIONS, Corruptions
from assay.tasks.defenses.table import DEFENCES
from assay.tasks.ingest.readers import READERS
from assay.tasks.ingest.settings import Source
from assay.tasks.trust.explainers.table import EXPLAINERS
from assay.tasks.trust.settings import Trust
from assay.tasks.weak_labels.table import LABELERS, WeakLabelling

GROUP = "assay.audits"
"""Where installed packages offer kinds of audit."""
TAGGED: Mapping[Where, TaggedChoices[Any]] = MappingProxyType({("attacks",): ATTACKS, ("defenses",): DEFENCES})
"""The choices with settings, by the list in a pipeline that they are named in."""
LISTED: Mapping[Where, tuple[NamedChoices[Any], type[Settings]]] = MappingProxyType(
    {
        ("corruptions", "perturbations"): (CORRUPTIONS, Corruptions),
        ("trust", "explainers"): (EXPLAINERS, Trust),
        ("weak_labels", "labelers"): (LABELERS, WeakLabelling),
        ("source", "reader"): (READERS, Source),
    }
)
"""The choices that settings list by their words, with those settings, by the place in a pipeline."""
NOTIFY: Where = ("notify",)
"""Where a project, not a pipeline, names notifiers: the keys there are their words."""
_OURS: Mapping[Where, Choices[Any]] = {
    **TAGGED,
    **{place: table for place, (table, _) in LISTED.items()},
    NOTIFY: NOTIFIERS,
}


@dataclass(frozen=True)
class Menu:
    """The kinds of audit, and the tables of choices, each by the place in a pipeline where its words are named."""

    audits: tuple[AnyKind, ...] = KINDS
    tables: Mapping[Where, Choices[Any]] = field(default_factory=lambda: _OURS)

    @property
    def kinds(self) -> tuple[AnyKind, ...]:
        """The kinds of audit, whose settings can list the words of plug-ins."""
        wider = {base: self._extended(place) for place, (_, base) in LISTED.items()}
        return tuple(
            replace(kind, keys=tuple(replace(key, settings=wider.get(key.settings, key.settings)) for key in kind.keys))
            for kind in self.audits
        )

    @property
    def types(self) -> tuple[tuple[str, Any], ...]:
        """The fields of every pipeline that plug-ins give other types."""
        tagged = {str(place[0]): table for place, table in self.tagged.items() if table is not TAGGED[place]}
        types: dict[str, Any] = {name: tuple[table.union, ...] for name, table in tagged.items()}  # type: ignore[name-defined]
        source = self._extended(("source", "reader"))
        return (*types.items(),) if source is Source else (*types.items(), ("source", source))

    @property
    def notify(self) -> type[Notify]:
        """The settings of `notify`, which can name the notifiers of plug-ins."""
        table = cast(NamedChoices[Any], self.tables[NOTIFY])
        return Notify if table is NOTIFIERS else notify_settings(table)

    @property
    def presets(self) -> dict[str, Collection[str]]:
        """The names that settings go by, by the setting that says what they are (`attack: xu-pgd-4`)."""
        return {table.tag: (*table.presets, *table.bundles) for table in self.tagged.values()}

    @property
    def tagged(self) -> dict[Where, TaggedChoices[Any]]:
        """The tables of choices with settings."""
        return {place: cast("TaggedChoices[Any]", self.tables[place]) for place in TAGGED}

    def _extended(self, place: Where) -> type[Settings]:
        table = cast("NamedChoices[Any]", self.tables[place])
        return table.settings_with(LISTED[place][1], str(place[-1]))

    def with_installed(self, folder: Path, document: Document, overrides: Sequence[str] = ()) -> Menu:
        """With what installed packages offer and a project names, the rest of which is not even imported; raises the
        sentence for a plug-in that cannot be used. Kinds of audit are named by keys that none of ours has."""
        words = {*_words(document.value), *re.findall(r"[\w-]+", " ".join(overrides))}
        tables = {place: table.with_plugins(folder, (), words) for place, table in self.tables.items()}
        menu = replace(self, tables=tables)
        keys = {key for pipeline in document.pipelines.values() for key in as_dict(pipeline)}
        keys |= {re.split(r"[.=]", override)[0] for override in overrides}
        strange = keys - {*pipeline_model(KINDS).model_fields, "store", "compute"}
        for origin in installed(GROUP, None if strange else words):
            menu = menu.with_audit(origin)
        return menu.in_order()

    def with_choice(self, place: Where, written: str, folder: Path) -> Menu:
        """With the `module:object` that is written at a place; raises the sentence for one that cannot be used."""
        return replace(self, tables={**self.tables, place: self.tables[place].with_plugins(folder, [written], ())})

    def with_audit(self, origin: Origin) -> Menu:
        """With another kind of audit; raises the sentence for one that cannot stand beside the others."""
        if object_identity(origin) in [object_identity(kind.origin) for kind in self.audits if kind.origin is not None]:
            return self
        kind = origin.reference.load()
        for trouble in (*troubles_of(kind), *troubles_beside(kind, self.audits, tuple(Pipeline.model_fields))):
            raise InputError(f"{plugin_title(origin)} is no kind of audit that can be used: {trouble}.")
        assert isinstance(kind, AuditKind)
        if origin.package and kind.name != origin.name:
            raise InputError(f'{plugin_title(origin)} calls itself "{kind.name}": give the entry point that name.')
        return replace(self, audits=with_kind(self.audits, replace(kind, origin=origin)))

    def in_order(self) -> Menu:
        """The menu, if every kind of audit stands on what there is; else raises the sentence for the first that does
        not."""
        for kind, trouble in troubles_in_order(self.audits):
            by = f'The audit "{kind.name}"' if kind.origin is None else plugin_title(kind.origin)
            raise InputError(f"{by} is no kind of audit that can be used: {trouble}.")
        return self


def _words(value: Value) -> Iterator[str]:
    """Every key and every text in a document."""
    if isinstance(value, str):
        yield value
    for inner in (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _words(inner)


def with_named(menu: Menu, document: Document, folder: Path) -> Menu:
    """The menu with every `module:object` in the document; one that cannot be had is among the document's mistakes."""
    for at, word in enumerate(as_list(as_dict(document.value).get("audits"))):
        if isinstance(word, str):
            with _mistakes_at(document, ("audits", at), word):
                menu = menu.with_audit(audit_named(word, folder))
    with _mistakes_at(document, ("audits",)):
        menu.in_order()
    for where, place, word in choices_named(document):
        with _mistakes_at(document, where, word):
            menu = menu.with_choice(place, word, folder)
    return menu


def audit_named(written: str, folder: Path) -> Origin:
    """The kind of audit behind `module:object`; a file will not do, since workers import what its stages call."""
    if written.rpartition(":")[0].endswith(".py"):
        raise InputError(
            f'"{written}" is a file, and workers import the stages of an audit by their name: put the module where '
            "Python finds it (PYTHONPATH, or an installed package) and write module:object."
        )
    return referred(written, folder)


def choices_named(document: Document) -> Iterator[tuple[Where, Where, str]]:
    """Every `module:object` that stands for a choice: where, at which place of a pipeline or the project, the word."""
    for notifier in as_dict(document.at(NOTIFY)):
        if ":" in notifier:
            yield (*NOTIFY, notifier), NOTIFY, notifier
    for name, pipeline in document.pipelines.items():
        if not isinstance(pipeline, dict):
            continue
        for place in (*TAGGED, *LISTED):
            where: Where = ("pipelines", name, *place)
            value, tag = document.at(where), TAGGED[place].tag if place in TAGGED else ""
            for at, item in enumerate(as_list(value)):
                word = item.get(tag) if isinstance(item, dict) else item
                if isinstance(word, str) and ":" in word:
                    yield (*where, at), place, word
            if isinstance(value, str) and ":" in value:
                yield where, place, value


@contextmanager
def _mistakes_at(document: Document, where: Where, word: str = "") -> Iterator[None]:
    """Within the block, what is wrong is a mistake of the document at that place."""
    try:
        yield
    except InputError as error:
        document.mistakes.append(document.mistake(where, shown(word) if word else "", str(error)))


FRACTION = {"type": "string", "pattern": r"^\s*[-+]?[\d.]+\s*/\s*[\d.]+\s*$"}
_OWN = {"type": "string", "pattern": ":"}  # module:object
_BOUNDS = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}


def json_schema(folder: Path = Path(), document: Document | None = None) -> dict[str, Any]:
    """What a pipelines.yaml in this folder may say, and with the plug-ins that the document names."""
    menu = Menu() if document is None else with_named(Menu().with_installed(folder, document), document, folder)
    schema = file_model(menu.kinds, menu.types, menu.notify).model_json_schema()
    widened: dict[str, Any] = _widened(schema, menu.presets)
    subjects = widened["$defs"]["Pipeline"]["properties"]["subjects"]
    subjects["anyOf"][0]["items"] = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Subject"}, _short_form({})]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **widened, "title": "pipelines.yaml"}


def _widened(node: Any, names: Mapping[str, Collection[str]]) -> Any:
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


def _shortened(discriminator: Mapping[str, Any], names: Mapping[str, Collection[str]]) -> list[dict[str, Any]]:
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
