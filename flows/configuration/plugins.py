"""The plug-ins that a pipelines file names as `module:object`: joined to the menu, or a mistake on their line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.flows.configuration.menu import LISTED, TAGGED, Menu
from assay.flows.configuration.mistakes import Mistake, Where, dotted, shown
from assay.flows.configuration.validation import value_or_nothing
from assay.flows.configuration.yaml_source import Document, Value
from assay.infra.errors import InputError
from assay.infra.plugins import Origin, referred


def with_named(menu: Menu, document: Document, folder: Path) -> Menu:
    """The menu with every `module:object` in the document; one that cannot be had is among the document's mistakes."""
    for where, word in _audits_named(document):
        with _mistakes_at(document, where, word):
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
    """Every `module:object` in a pipeline that stands for a choice: where, at which place of a pipeline, the word."""
    for name, pipeline in value_or_nothing(value_or_nothing(document.value).get("pipelines")).items():
        if not isinstance(pipeline, dict):
            continue
        for place in (*TAGGED, *LISTED):
            where: Where = ("pipelines", name, *place)
            value = document.found(where)
            items = list(enumerate(value)) if isinstance(value, list) else []
            for at, item in items:
                word = item.get(_tag_of(place)) if isinstance(item, dict) else item
                if isinstance(word, str) and ":" in word:
                    yield (*where, at), place, word
            if isinstance(value, str) and ":" in value:
                yield where, place, value


def _tag_of(place: Where) -> str:
    return TAGGED[place].tag if place in TAGGED else ""


def _audits_named(document: Document) -> Iterator[tuple[Where, str]]:
    listed: Value = value_or_nothing(document.value).get("audits")
    for at, word in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(word, str):
            yield ("audits", at), word


@contextmanager
def _mistakes_at(document: Document, where: Where, word: str = "") -> Iterator[None]:
    """Within the block, what is wrong is a mistake of the document at that place."""
    try:
        yield
    except InputError as error:
        written = shown(word) if word else ""
        mistake = Mistake(document.file, document.line(where), dotted(where), written, str(error))
        document.mistakes.append((where, mistake))
