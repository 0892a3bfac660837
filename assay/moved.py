"""Modules that plug-ins, scripts and notebooks import and that have moved: their old names forward with a warning."""

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
    "assay.flows.trying.rulebooks": "assay.flows.rule_trial",
    "assay.infra.artifacts": "assay.infra.storage.artifacts",
    "assay.infra.choices": "assay.infra.user_code.choices",
    "assay.infra.devices": "assay.infra.engines.devices",
    "assay.infra.exact": "assay.infra.stages.exact",
    "assay.infra.partitions": "assay.infra.stages.partitions",
    "assay.infra.seeds": "assay.infra.stages.exact",
    "assay.infra.stage": "assay.infra.stages.stage",
    "assay.infra.trainings": "assay.infra.stages.trainings",
    "assay.tasks.attacks.ledger": "assay.tasks.attacks.batch",
    "assay.tasks.attacks.noise.settings": "assay.tasks.attacks.texts.settings",
    "assay.tasks.attacks.terms.changing": "assay.tasks.attacks.terms.changes",
    "assay.tasks.attacks.terms.choice": "assay.tasks.attacks.choice",
    "assay.tasks.attacks.terms.table": "assay.tasks.attacks.table",
    "assay.tasks.attacks.text_choice": "assay.tasks.attacks.choice",
    "assay.tasks.attacks.text_table": "assay.tasks.attacks.table",
    "assay.tasks.attacks.words.settings": "assay.tasks.attacks.texts.settings",
    "assay.tasks.labeling.frames": "assay.tasks.labeling.rules",
    "assay.tasks.labeling.patterns": "assay.tasks.labeling.rules",
    "assay.tasks.subjects.checkpoints": "assay.tasks.subjects.trained",
    "assay.tasks.subjects.images.learning": "assay.tasks.subjects.images.task",
    "assay.tasks.trust.explainers.explanation": "assay.tasks.trust.explainers.documents",
    "assay.tasks.weak_labels.choice": "assay.tasks.weak_labels.labelers",
}
"""The module that has what the old one had, by the name of the old one."""


class Forwarding(MetaPathFinder, Loader):
    """Imports the new module under the old name."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """A specification of what has moved, and of folders that are gone; None for everything else."""
        gone = any(old.startswith(f"{name}.") for old in MOVED)
        return ModuleSpec(name, self, is_package=gone) if gone or name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The new module itself, with a warning to whoever imports it by its old name; an empty one for a folder."""
        if spec.name not in MOVED:
            return None
        new = MOVED[spec.name]
        warnings.warn(
            f"{spec.name} is {new} now; the old name goes with version 0.2.", DeprecationWarning, stacklevel=2
        )
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do but to let it be called as before: it has been imported."""
        if module.__spec__ is not None and module.__spec__.loader_state is not None:
            module.__spec__ = module.__spec__.loader_state


def forward() -> None:
    """From now on the old names can be imported."""
    if not any(isinstance(finder, Forwarding) for finder in sys.meta_path):
        sys.meta_path.append(Forwarding())
