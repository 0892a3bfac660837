"""Plug-ins in words: what each that a project can name brings with it, and whether one keeps what it must."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from assay.flows.audits.kind import AuditKind
from assay.flows.audits.protocol import troubles_beside, troubles_in_order, troubles_of
from assay.flows.configuration.expectations import expected_of_field, tags, written
from assay.flows.configuration.menu import GROUP, Menu
from assay.flows.configuration.mistakes import suggestion
from assay.flows.configuration.plugins import audit_named
from assay.flows.pipeline import Pipeline
from assay.infra.choices import Named, Tagged, check_plugin
from assay.infra.errors import InputError
from assay.infra.plugins import Origin, installed, place_of, referred
from assay.infra.settings import Settings


def plugin_rows(menu: Menu) -> Iterator[list[object]]:
    """Every plug-in: what it is called, what it is, and where it comes from."""
    for kind in menu.audits:
        if kind.origin is not None:
            yield [kind.name, "kind of audit", _from(kind.origin)]
    for table in menu.tables.values():
        for word, origin in table.origins.items():
            yield [word, table.what, _from(origin)]


def setting_rows(menu: Menu) -> Iterator[list[object]]:
    """Every setting that plug-ins have of their own: its name, its sentence, and what it expects."""
    for kind in menu.audits:
        for key in kind.keys if kind.origin is not None else ():
            yield [key.name, key.about, f"a mapping, as in {key.name}: {key.example}"]
            yield from _fields(key.name, key.settings)
    for table in menu.tables.values():
        for choice in table:
            if choice.word in table.origins and isinstance(choice, Tagged):
                yield from _fields(choice.word, choice.settings)


def findings_on(named: str, folder: Path) -> list[str]:
    """What keeps a plug-in from being used, a sentence each: it is named as `module:object`, or as it is installed."""
    menu, findings = Menu(), list[str]()
    for origin in _meant(named, folder, menu):
        with _told_in(findings):
            findings += _findings(origin, folder, menu)
    return [f"{named}: {finding}" for finding in findings]


def _findings(origin: Origin, folder: Path, menu: Menu) -> list[str]:
    plugin = origin.reference.load()
    if isinstance(plugin, AuditKind):
        return list(_of_audit(plugin, origin, folder, menu))
    if not isinstance(plugin, Named | Tagged):
        kind = type(plugin).__name__
        return [f"it is of the type {kind}, and a plug-in is an AuditKind, or a choice such as an ImageAttackChoice"]
    findings = check_plugin(plugin)
    for place, table in menu.tables.items():
        if isinstance(plugin, table.kind) and not origin.package:
            with _told_in(findings):
                menu.with_choice(place, origin.name, folder)
    return findings


@contextmanager
def _told_in(findings: list[str]) -> Iterator[None]:
    """Within the block, what cannot be used is a finding."""
    try:
        yield
    except InputError as error:
        findings.append(str(error))


def _of_audit(kind: AuditKind[Any], origin: Origin, folder: Path, menu: Menu) -> Iterator[str]:
    for other in installed(GROUP):
        if place_of(other) != place_of(origin):
            with suppress(InputError):  # of another package, and told to those who check that one
                menu = menu.with_audit(other)
    if not origin.package:
        with _told_in(named := list[str]()):
            audit_named(origin.name, folder)
        yield from named
    elif kind.name != origin.name:
        yield f'it calls itself "{kind.name}": give the entry point that name'
    of_its_own = list(troubles_of(kind))
    yield from of_its_own
    if not of_its_own:
        yield from troubles_beside(kind, menu.audits, tuple(Pipeline.model_fields))
        yield from (trouble for _, trouble in troubles_in_order((*menu.audits, kind)))


def _meant(named: str, folder: Path, menu: Menu) -> Sequence[Origin]:
    if ":" in named:
        return [referred(named, folder)]
    groups = dict.fromkeys([GROUP, *(table.group for table in menu.tables.values())])
    offered = [origin for group in groups for origin in installed(group)]
    meant = [origin for origin in offered if origin.name == named]
    if not meant:
        known = suggestion(named, [origin.name for origin in offered]) if offered else "no package here offers any"
        raise InputError(f'There is no plug-in "{named}" installed; {known}. One of your own is module:object.')
    return meant


def _fields(name: str, settings: type[Settings]) -> Iterator[list[object]]:
    of_tags = [id(field) for field in tags(settings)]
    for field_name, field in written(settings).items():
        if id(field) not in of_tags:
            yield [f"{name}.{field_name}", " ".join((field.description or "").split()), expected_of_field(field)]


def _from(origin: Origin) -> str:
    return f"{origin.package} {origin.version}".rstrip() or origin.name
