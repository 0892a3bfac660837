"""Everything that a pipeline can name: kinds of audit and the choices in their settings, ours and those of plug-ins."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from assay.flows.audits.kind import AuditKind
from assay.flows.audits.protocol import troubles_beside, troubles_in_order, troubles_of
from assay.flows.audits.table import KINDS, AnyKind, with_kind
from assay.flows.configuration.mistakes import Where
from assay.flows.pipeline import Pipeline
from assay.infra.choices import Choices, NamedChoices, TaggedChoices
from assay.infra.errors import InputError
from assay.infra.plugins import Origin, called, installed, place_of
from assay.infra.settings import Settings
from assay.tasks.attacks.menu import ATTACKS
from assay.tasks.corruptions.settings import Corruptions
from assay.tasks.corruptions.table import CORRUPTIONS
from assay.tasks.defenses.menu import DEFENCES
from assay.tasks.ingest.readers import READERS
from assay.tasks.ingest.settings import Source
from assay.tasks.trust.explainers.table import EXPLAINERS
from assay.tasks.trust.settings import Trust
from assay.tasks.weak_labels.settings import WeakLabelling
from assay.tasks.weak_labels.table import LABELERS

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
_OURS: Mapping[Where, Choices[Any]] = {**TAGGED, **{place: table for place, (table, _) in LISTED.items()}}


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
    def types(self) -> dict[str, Any]:
        """The fields of every pipeline that plug-ins give other types."""
        tagged = {str(place[0]): table for place, table in self.tagged.items() if table is not TAGGED[place]}
        types: dict[str, Any] = {name: tuple[table.union, ...] for name, table in tagged.items()}  # type: ignore[name-defined]
        source = self._extended(("source", "reader"))
        return types if source is Source else {**types, "source": source}

    @property
    def presets(self) -> dict[str, Collection[str]]:
        """The names that settings go by, by the setting that says what they are (`attack: xu-pgd-4`)."""
        return {table.tag: (*table.presets, *table.bundles) for table in self.tagged.values()}

    @property
    def tagged(self) -> dict[Where, TaggedChoices[Any]]:
        """The tables of choices with settings."""
        return {place: cast(TaggedChoices[Any], self.tables[place]) for place in TAGGED}

    def _extended(self, place: Where) -> type[Settings]:
        table = cast(NamedChoices[Any], self.tables[place])
        return table.settings_with(LISTED[place][1], str(place[-1]))

    def with_installed(self, folder: Path) -> Menu:
        """With everything that installed packages offer; raises the sentence for a plug-in that cannot be used."""
        menu = replace(self, tables={place: table.with_plugins(folder) for place, table in self.tables.items()})
        for origin in installed(GROUP):
            menu = menu.with_audit(origin)
        return menu.in_order()

    def with_choice(self, place: Where, written: str, folder: Path) -> Menu:
        """With the `module:object` that is written at a place; raises the sentence for one that cannot be used."""
        return replace(self, tables={**self.tables, place: self.tables[place].with_plugins(folder, [written])})

    def with_audit(self, origin: Origin) -> Menu:
        """With another kind of audit; raises the sentence for one that cannot stand beside the others."""
        if any(kind.origin is not None and place_of(kind.origin) == place_of(origin) for kind in self.audits):
            return self
        kind = origin.reference.load()
        for trouble in (*troubles_of(kind), *troubles_beside(kind, self.audits, tuple(Pipeline.model_fields))):
            raise InputError(f"{called(origin)} is no kind of audit that can be used: {trouble}.")
        assert isinstance(kind, AuditKind)
        if origin.package and kind.name != origin.name:
            raise InputError(f'{called(origin)} calls itself "{kind.name}": give the entry point that name.')
        return replace(self, audits=with_kind(self.audits, replace(kind, origin=origin)))

    def in_order(self) -> Menu:
        """The menu, if every kind of audit stands on what there is; else raises the sentence for the first that does
        not."""
        for kind, trouble in troubles_in_order(self.audits):
            by = f'The audit "{kind.name}"' if kind.origin is None else called(kind.origin)
            raise InputError(f"{by} is no kind of audit that can be used: {trouble}.")
        return self
