"""What a run was made of, part by part: samples, rules, models, their weights, the other settings, the seed.

A part is what is swapped as a whole: a piece of the settings, and the files that belong to it.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any

from assay.flows.audits.data import Data
from assay.flows.report.samples import taken_in
from assay.infra.ingredients import Ingredient
from assay.infra.manifests import RunRecord
from assay.tasks.subjects.settings import WAYS

SAMPLES, RULES, MODEL, WEIGHTS, SETTINGS, SEED = "samples", "rules", "model", "weights", "settings", "seed"
PARTS = (SAMPLES, RULES, MODEL, WEIGHTS, SETTINGS, SEED)
"""In the order in which they are read; files that two of them share are a part of their own."""
_KEYS = {"source": SAMPLES, "labeling": RULES, "subject": MODEL, "subjects": MODEL}
_SAYS_NOTHING = ("name", "description", "schedule", "budget", "gates")
"""What of a pipeline changes no finding."""
_WEIGHTS = (".safetensors", ".npz", ".npy", ".joblib", ".onnx", ".pt", ".bin")


@dataclass(frozen=True)
class Side:
    """One of the two runs, by its record."""

    record: RunRecord

    @property
    def settings(self) -> Mapping[str, Any]:
        """Those of its pipeline."""
        return self.record.settings

    @cached_property
    def files(self) -> tuple[Ingredient, ...]:
        """The team's own files that it stood on."""
        return tuple(Ingredient.from_json(one) for one in self.record.ingredients)

    @cached_property
    def data(self) -> Data:
        """The samples that it audited, as the store keeps them."""
        handles = taken_in(self.record)
        return Data(handles["samples"], handles["classes"], handles["rejects"], handles["contract"])

    def pieces(self) -> dict[str, Any]:
        """The settings, part by part."""
        pieces: dict[str, Any] = {part: {} for part in (RULES, MODEL, WEIGHTS, SETTINGS)} | {SEED: self.record.seed}
        for key, value in self.settings.items():
            part = _KEYS.get(key, SETTINGS)
            if part == MODEL:
                pieces[WEIGHTS][key] = [one.get("weights") for one in _subjects({key: value})]
                pieces[MODEL][key] = _without_weights(value)
            elif part != SAMPLES and key not in _SAYS_NOTHING:
                pieces[part][key] = value
        return pieces

    def parts_of(self, file: Ingredient) -> Iterator[str]:
        """The parts that a file belongs to, by who names it; none where nobody does, as in the cache of a model hub."""
        if not file.of and PurePath(file.name).is_absolute() and file.name not in str(self.settings):
            return
        rules, named = self.settings.get("labeling") or {}, set[str]()
        for subject in _subjects(self.settings):
            named |= {str(subject[way]) for way in WAYS if subject.get(way) is not None}
            if file.name == subject.get("weights"):
                yield WEIGHTS
                return
        if file.of == rules.get("functions") and file.of:
            yield RULES
        elif file.of in named:
            yield MODEL if file.what != "file" else WEIGHTS
        elif not file.of and any(file.name.startswith(f"{folder.rstrip('/')}/") for folder in named):
            yield WEIGHTS if file.name.endswith(_WEIGHTS) else MODEL
        else:
            yield SETTINGS


def assembled(before: Side, after: Side, new: Collection[str]) -> dict[str, Any]:
    """The settings of a pipeline in which the `new` parts are as in the later run, the others as in the earlier."""
    chosen = {part: after if part in new else before for part in PARTS}
    settings = copy.deepcopy(dict(chosen[SETTINGS].settings))
    for key, part in _KEYS.items():
        settings[key] = copy.deepcopy(chosen[part].settings.get(key))
    weights = {one.get("name"): one.get("weights") for one in _subjects(chosen[WEIGHTS].settings)}
    for subject in _subjects(settings):
        subject["weights"] = weights.get(subject.get("name"), subject.get("weights"))
    return settings | {"gates": [], "schedule": None, "subjects": settings["subjects"] or []}


def _subjects(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    single, several = settings.get("subject"), settings.get("subjects") or []
    return [*([single] if single else []), *several]


def _without_weights(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_without_weights(one) for one in value]
    return {key: item for key, item in value.items() if key != "weights"} if isinstance(value, dict) else value
