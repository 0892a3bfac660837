"""What two runs were made of, part by part (samples, rules, models, weights, settings, seed), and which parts
changed and can be swapped.
"""

from __future__ import annotations

import copy
import posixpath
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Any

from assay.flows.audits.data import Data
from assay.flows.pipeline import CHANGES_NO_FINDING
from assay.flows.report.comparison import differing_names, setting_changes
from assay.flows.report.records import ingested, parts_of, subjects_in
from assay.infra.errors import all_named, first_named
from assay.infra.storage.artifacts import Artifact, RunRecord
from assay.infra.storage.store import Store
from assay.infra.user_code.choices import plugins_in, without_plugins
from assay.infra.user_code.references import Ingredient
from assay.tasks.drift.compare import INPUTS
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import FindingIndex, findings_of
from assay.tasks.subjects.settings import WAYS

SAMPLES, RULES, MODEL, WEIGHTS, SETTINGS, SEED = "samples", "rules", "model", "weights", "settings", "seed"
PARTS = (SAMPLES, RULES, MODEL, WEIGHTS, SETTINGS, SEED)
"""In the order in which they are read; files that two of them share are a part of their own."""
_KEYS = {"source": SAMPLES, "labeling": RULES, "subjects": MODEL}
_WEIGHTS = (".safetensors", ".npz", ".npy", ".joblib", ".onnx", ".pt", ".bin")


@dataclass(frozen=True)
class Side:
    """One of the two runs, by its record."""

    record: RunRecord

    @cached_property
    def files(self) -> tuple[Ingredient, ...]:
        """The team's own files that it stood on."""
        return tuple(Ingredient(**file) for file in self.record.ingredients)

    @cached_property
    def data(self) -> Data:
        """The samples that it audited, as the store keeps them."""
        handles = ingested(self.record)
        return Data(handles["samples"], handles["classes"], handles["rejects"], handles["contract"])

    def pieces(self) -> dict[str, Any]:
        """The settings, part by part."""
        pieces: dict[str, Any] = {part: {} for part in (RULES, MODEL, WEIGHTS, SETTINGS)} | {SEED: self.record.seed}
        for key, value in without_plugins(self.record.settings).items():
            part = _KEYS.get(key, SETTINGS)
            if part == MODEL:
                pieces[WEIGHTS][key] = [subject.get("weights") for subject in value or ()]
                pieces[MODEL][key] = [{**subject, "weights": None} for subject in value or ()]
            elif part != SAMPLES and key not in (*CHANGES_NO_FINDING, "subject"):  # which stands among `subjects`
                pieces[part][key] = value
        return pieces

    def part_of(self, file: Ingredient) -> str | None:
        """The part that a file belongs to, by who names it; none where nobody does, as in the cache of a model hub."""
        subjects, rules = subjects_in(self.record.settings), self.record.settings.get("labeling") or {}
        named = {str(subject[way]) for subject in subjects for way in WAYS if subject.get(way) is not None}
        if any(_lies_at(file.name, subject.get("weights") or "") for subject in subjects):
            return WEIGHTS
        if file.of and file.of == rules.get("functions"):
            return RULES
        if file.of in named:
            return MODEL if file.what != "file" else WEIGHTS
        if not file.of and any(_lies_at(file.name, place) for place in named):
            return WEIGHTS if file.name.endswith(_WEIGHTS) else MODEL
        if not file.of and PurePath(file.name).is_absolute() and file.name not in str(self.record.settings):
            return None
        return SETTINGS


def _lies_at(name: str, place: str) -> bool:
    """Whether a file, named from the folder of the settings or in full, is the one at this place, or in this folder.

    >>> _lies_at("vit/config.json", "./vit"), _lies_at("/models/net.onnx", "../models/net.onnx")
    (True, True)
    """
    path = posixpath.normpath(place)
    in_full = path.startswith("../") and f"/{path.rpartition('../')[2]}/" in f"{name}/"
    return bool(place) and (in_full or f"{name}/".startswith(f"{path}/"))


def mixed_settings(before: Side, after: Side, new: Collection[str]) -> dict[str, Any]:
    """The settings of a pipeline in which the `new` parts are as in the later run, the others as in the earlier."""
    chosen = {part: after if part in new else before for part in PARTS}
    settings = copy.deepcopy(chosen[SETTINGS].record.settings)
    for key, part in _KEYS.items():
        settings[key] = copy.deepcopy(chosen[part].record.settings.get(key))
    weights = {subject.get("name"): subject.get("weights") for subject in subjects_in(chosen[WEIGHTS].record.settings)}
    for subject in subjects_in(settings):
        subject["weights"] = weights.get(subject.get("name"), subject.get("weights"))
    return settings | {"gates": [], "schedule": None, "subject": None}


LIBRARIES, PLUGINS = "libraries", "plug-ins"
_ONLY_TODAY = "only those of today are installed"
_NAMES = {RULES: "the rules", MODEL: "the model", WEIGHTS: "the weights", SETTINGS: "the settings", SEED: "the seed"}
_NAMED = 3  # settings or files in a sentence


@dataclass(frozen=True)
class SampleChange:
    """How many samples came, went, or have the same id and another content."""

    added: int = 0
    removed: int = 0
    altered: int = 0
    columns: tuple[str, ...] = ()
    """The columns that came or went; content is compared in the others."""

    def in_words(self) -> str:
        """As a sentence goes on.

        >>> SampleChange(212).in_words(), SampleChange(1, 0, 40).in_words()
        ('212 new samples', '1 new sample and 40 altered samples')
        """
        counted = ((self.added, "new sample"), (self.removed, "removed sample"), (self.altered, "altered sample"))
        parts = [plural(count, what) for count, what in counted if count]
        parts += [f"other columns of the samples ({', '.join(self.columns[:_NAMED])})"] if self.columns else []
        return all_named(parts) or "the order of the samples"


@dataclass(frozen=True)
class PartChange:
    """A part that is not the same in both runs: what it is called in a sentence, and what of it changed.

    `lost` says why it cannot be swapped; empty where it can.
    """

    part: str
    words: str
    details: tuple[str, ...] = ()
    lost: str = ""


@dataclass(frozen=True)
class Changes:
    """Everything that changed between two runs."""

    before: Side
    after: Side
    parts: tuple[PartChange, ...]
    samples: SampleChange = field(default=SampleChange())
    roles: Mapping[str, str] = field(default_factory=dict)
    """The part that each file belongs to."""
    libraries: tuple[str, ...] = ()
    """Versions of packages that differ, whether or not a result depends on them."""

    @property
    def swappable(self) -> list[PartChange]:
        """The parts that can be put in place of each other."""
        return [change for change in self.parts if not change.lost]

    @property
    def lost(self) -> list[PartChange]:
        """The parts that cannot."""
        return [change for change in self.parts if change.lost]


def changes_between(store: Store, earlier: RunRecord, later: RunRecord) -> Changes:
    """What is not the same in two runs of a pipeline."""
    before, after = Side(earlier), Side(later)
    roles = _roles(before, after)
    samples = sample_change(store, before, after)
    changed = [] if samples is None else [PartChange(SAMPLES, samples.in_words(), parting_columns(store, later))]
    old, new = before.pieces(), after.pieces()
    for part in (*PARTS[1:], *sorted(set(roles.values()) - set(PARTS))):
        settings = setting_changes({"": old.get(part)}, {"": new.get(part)})
        files = _changed_files(before, after, part, roles)
        if settings or files:
            changed.append(_part_change(part, settings, files, before, after))
    earlier_plugins, later_plugins = plugins_in(earlier.settings), plugins_in(later.settings)
    others = [
        word for word in earlier_plugins if later_plugins.get(word, earlier_plugins[word]) != earlier_plugins[word]
    ]
    if others:
        changed.append(PartChange(PLUGINS, f"the plug-ins ({first_named(others, _NAMED)})", (), _ONLY_TODAY))
    libraries, stages = _libraries(store, before, after)
    if stages:
        shown = ", ".join(libraries[:_NAMED]) or f"Assay's {stages[0]}"
        details = tuple(f"{stage} is computed otherwise" for stage in stages)
        changed.append(PartChange(LIBRARIES, f"the libraries ({shown})", details, _ONLY_TODAY))
    return Changes(before, after, tuple(changed), samples or SampleChange(), roles, libraries)


def parting_columns(store: Store, later: RunRecord) -> tuple[str, ...]:
    """By which columns the later run's samples were told from its baseline's, where it asked for drift."""
    areas = FindingIndex(findings_of(store, later)).select("drift.feature_auc", of=INPUTS)
    apart = [area.group for area in areas if not (area.low or 0) <= 0.5 <= (area.high or 1)]
    return (f"drift: told from its baseline by {first_named(apart, _NAMED)}",) if apart else ()


def sample_change(store: Store, before: Side, after: Side) -> SampleChange | None:
    """By id and content, what is not the same among the samples; None where all of it is, order included."""
    pairs = [(getattr(before.data, name), getattr(after.data, name)) for name in ("samples", "classes")]
    if all(old.digest == new.digest for old, new in pairs):
        return None
    old_columns, new_columns = (set(next(parts_of(store, side.data.samples)).column_names) for side in (before, after))
    both, either = old_columns & new_columns, tuple(sorted(old_columns ^ new_columns))
    old_rows, new_rows = (_rows(store, side.data.samples, sorted(both)) for side in (before, after))
    altered = sum(old_rows[name] != new_rows[name] for name in old_rows.keys() & new_rows.keys())
    return SampleChange(len(new_rows.keys() - old_rows.keys()), len(old_rows.keys() - new_rows.keys()), altered, either)


def _rows(store: Store, samples: Artifact[Any], columns: Sequence[str]) -> dict[str, bytes]:
    """The hash of every sample's content, by id; a partition at a time."""
    from assay.infra.storage.parquet import row_hashes

    hashes: dict[str, bytes] = {}
    for table in (part.select(list(columns)) for part in parts_of(store, samples, columns)):
        hashes |= zip(table["id"].to_pylist(), row_hashes(table), strict=True)
    return hashes


def _roles(before: Side, after: Side) -> dict[str, str]:
    """The part that each file belongs to; where the two runs say different things, both."""
    roles = defaultdict[str, set[str]](set)
    for side in (before, after):
        for file in side.files:
            if part := side.part_of(file):
                roles[file.name].add(part)
    return {name: " and ".join(sorted(parts)) for name, parts in roles.items()}


Files = Mapping[str, tuple[Ingredient | None, Ingredient | None]]
"""By name a file as it was in the earlier and in the later run."""


def _changed_files(before: Side, after: Side, part: str, roles: Mapping[str, str]) -> Files:
    old, new = ({file.name: file for file in side.files if roles.get(file.name) == part} for side in (before, after))
    return {
        name: (old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if getattr(old.get(name), "sha256", "") != getattr(new.get(name), "sha256", "")
    }


def _part_change(part: str, settings: Sequence[str], files: Files, before: Side, after: Side) -> PartChange:
    changed = [line.removeprefix(".") for line in settings]
    names = [line.partition(":")[0] for line in changed] + [PurePath(name).name for name in files]
    shown = first_named(list(dict.fromkeys(names)), _NAMED)
    words = _NAMES.get(part, f"code of {part}") + (f" ({shown})" if part != SEED else "")
    details = (*changed, *(f"{name} has another content" for name in files))
    return PartChange(part, words, details, _why_lost(files, before, after))


def _why_lost(files: Files, before: Side, after: Side) -> str:
    """Why a part cannot be swapped: the first file of it that the store does not have as it was."""
    for side in (before, after):
        if files and not side.files:
            return f"run {side.record.id} kept none of its files, since it is older than that"
    for name, sides in files.items():
        for side, ingredient in zip((before, after), sides, strict=True):
            if ingredient is not None and not ingredient.kept:
                is_elsewhere = ingredient.what == "elsewhere" or PurePath(name).is_absolute()
                why = "lies elsewhere" if is_elsewhere else "is too large"
                return f"{name} {why} and was not kept with run {side.record.id}"
    return ""


def _libraries(store: Store, before: Side, after: Side) -> tuple[tuple[str, ...], list[str]]:
    """Versions that differ, and the stages whose keys know of a difference: of these only today's can be run."""
    (old, old_keys), (new, new_keys) = (_environment(store, side.record) for side in (before, after))
    names = tuple(
        f"{name} {', '.join(sorted(old.get(name, {'absent'})))} → {', '.join(sorted(new.get(name, {'absent'})))}"
        for name in differing_names(old, new)
    )
    return names, [name for name in sorted(old_keys.keys() & new_keys.keys()) if old_keys[name] != new_keys[name]]


def _environment(store: Store, record: RunRecord) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The versions of packages that a run's results were computed with; and per stage what of that is in its key."""
    packages, keys = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for manifest in (store.manifest(stage.stage, stage.key) for stage in record.stages):
        if manifest is not None:
            profile = {name: str(value) for name, value in manifest.ingredients.get("profile", {}).items()}
            keys[manifest.stage].add(f"{manifest.version} {sorted(profile.items())}")
            for name, version in {**manifest.packages, **profile}.items():
                packages[name].add(version)
    return packages, keys
