"""Modules that documents told plug-ins to import and that have moved: their old names forward with a warning."""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "assay.flows.audits.kind": "assay.flows.kind",
    "assay.flows.configuration.written": "assay.flows.kind",
    "assay.flows.configuration.yaml_source": "assay.flows.yaml_document",
    "assay.infra.artifacts": "assay.infra.storage.artifacts",
    "assay.infra.partitions": "assay.infra.stages.partitions",
    "assay.infra.stage": "assay.infra.stages.stage",
    "assay.tasks.attacks.ledger": "assay.tasks.attacks.batch",
    "assay.tasks.labeling.frames": "assay.tasks.labeling.rules",
    "assay.tasks.labeling.patterns": "assay.tasks.labeling.rules",
}
"""The module that has what the old one had, by the name of the old one."""


class Forwarding(MetaPathFinder, Loader):
    """Imports the new module under the old name."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """A specification of what has moved; None for everything else."""
        return ModuleSpec(name, self) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The new module itself, with a warning to whoever imports it by its old name."""
        new = MOVED[spec.name]
        warnings.warn(
            f"{spec.name} is {new} now; the old name goes with version 0.2.", DeprecationWarning, stacklevel=2
        )
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do but to let it be called as before: it has been imported."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def forward() -> None:
    """From now on the old names can be imported."""
    if not any(isinstance(finder, Forwarding) for finder in sys.meta_path):
        sys.meta_path.append(Forwarding())
