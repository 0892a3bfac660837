"""A model that a person brings, looked at before anything runs: what it looks at, which classes it answers with, and
how many samples an audit of it can look at in the time allowed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.flows.starting.column_roles import Kind, Roles
from assay.infra.errors import InputError
from assay.tasks.reporting.numerals import plural
from assay.tasks.subjects.addresses.given import KindName
from assay.tasks.subjects.addresses.table import address_of, is_only_asked, refused

SETTINGS: dict[Kind, KindName] = {"table": "model", "texts": "classifier", "images": "network"}
"""The setting that names a model, by what the data are."""
_LOOKS_AT = {"model": "columns", "classifier": "texts", "network": "images"}
_NOISE = [0.1, 0.5]
"""In standard deviations of each column: what a regression model is tried under."""
_HEADS: dict[str, KindName] = {"ForSequenceClassification": "classifier", "ForImageClassification": "network"}


@dataclass(frozen=True)
class Line:
    """A key of a pipeline, its value as plain YAML, and a comment."""

    key: str
    value: object
    comment: str = ""


@dataclass(frozen=True)
class Brought:
    """A model as it was written, and what was seen of it."""

    written: str
    looks_at: tuple[KindName, ...]
    """The settings that it may stand under."""
    what: str
    """What it is, in words."""
    classes: tuple[str, ...] = ()
    """The names of its classes in their order, where it knows them."""
    columns: int | None = None
    """How many columns it reads, or their names, where it says so."""
    features: tuple[str, ...] = ()
    side: int | None = None
    """How many pixels an image has on a side, where it says so."""
    channels: int | None = None
    """How many channels an image has, where only one number of them will do."""
    numbers: int = 0
    """How many weights it has, where they can be counted."""
    settings: tuple[tuple[str, object], ...] = ()
    """What a subject says of it besides."""
    predicts: bool = False
    """Whether it predicts a number, and no class."""
    beside: Path = Path()
    """The folder that its path counts from."""

    @property
    def kind(self) -> Kind | None:
        """What the data have to be; None where it may be one or another."""
        fits = [kind for kind, setting in SETTINGS.items() if setting in self.looks_at]
        return fits[0] if len(fits) == 1 else None

    def subject(self, roles: Roles, classes: Sequence[str]) -> dict[str, object]:
        """The subject of a pipeline; refused where it looks at something else than the data are, or answers with other
        classes."""
        setting = SETTINGS[roles.kind]
        if setting not in self.looks_at:
            wanted = " or ".join(_LOOKS_AT[name] for name in self.looks_at)
            pictures = "a folder of images; of a table of their paths write the pipeline by hand (docs/images.md)"
            give = pictures if self.looks_at[0] == "network" else "others"
            raise InputError(f"{self.written} looks at {wanted}, and the data are {_LOOKS_AT[setting]}: give {give}.")
        if setting != "model" and self.features:
            raise InputError(f"{self.written} looks at {_LOOKS_AT[setting]}, not at columns: leave --features out.")
        if self.classes and len(self.classes) != len(classes):
            fewer = "leave out the samples of classes that it does not know, or " * (len(classes) > len(self.classes))
            raise InputError(
                f"{self.written} tells {len(self.classes)} classes apart ({', '.join(self.classes[:8])}), and the data "
                f"name {len(classes)} ({', '.join(classes[:8])}): {fewer}say which column is the label with --label."
            )
        same = {name.casefold() for name in self.classes} == {name.casefold() for name in classes}
        if self.classes and setting != "model" and not same:
            raise InputError(
                f"{self.written} answers with {', '.join(self.classes[:8])}, and the classes of the data are "
                f"{', '.join(classes[:8])}: which is which? Let the model name them as the data does (id2label in its "
                "config.json), or say which column is the label with --label."
            )
        read: dict[str, object] = {"text": str(roles.text)} if setting == "classifier" else {}
        if setting == "model" and (features := self._features(roles)):
            read = {"features": list(features)}
            if self.predicts:
                noisy = {"noise": _NOISE} if set(features) <= set(roles.numbers) else {}
                read = {"predicts": roles.label, **read, **noisy}
        return {"name": "model", setting: self.written, **read, **dict(self.settings)}

    def _features(self, roles: Roles) -> tuple[str, ...]:
        if self.features:
            return self.features
        every = tuple(name for name in (*roles.numbers, *roles.give_away))
        fits = [names for names in (roles.numbers, every) if self.columns in (None, len(names))]
        if not fits:
            wanted, way = int(self.columns or 0), "name those that it reads, in their order, with --features"
            raise InputError(
                f"{self.written} reads {plural(wanted, 'column')}, and {len(every)} of the data hold numbers "
                f"({', '.join(every[:8])}): {'give data with all of them' if wanted > len(every) else way}."
            )
        return fits[0] if self.settings or ":" not in self.written or "://" in self.written else ()


def look_at_model(
    written: str, revision: str | None, features: tuple[str, ...], weights: str | None, trusted: tuple[str, ...] = ()
) -> Brought:
    """What a model is, by its address, and the columns that it reads as a person says, else as it does; refused in a
    sentence where nothing can be audited of it."""
    brought = _look_at(written, revision, weights, trusted)
    return replace(brought, features=features or brought.features)


def _look_at(written: str, revision: str | None, weights: str | None, trusted: tuple[str, ...]) -> Brought:
    if not written.startswith((".", "/")) and Path(written).is_dir():
        written = f"./{written}"
    if ":" not in written and (why := refused(written)):
        raise InputError(f"{written}: {why}.")
    address = address_of(written)
    if address is None and ":" not in written:
        raise InputError(
            f"{written} is no model that can be found: give a folder or an id of Hugging Face (./folder, org/name), "
            "timm:NAME, torchvision:NAME, a file (model.onnx, model.skops), models:/NAME of MLflow, https://…, or a "
            "function of your own (file.py:object)."
        )
    named = (("weights", weights),) if weights else ()
    if address is None:
        what = "a Torch module of yours" if weights else "a function of yours"
        return Brought(written, tuple(SETTINGS.values()), what, settings=named)
    address.require_library(written)
    if address.word == "hugging-face":
        return _of_hugging_face(written, revision)
    if address.word == "onnx":
        return _of_onnx(written)
    if address.word == "skops":
        return _of_skops(written, trusted)
    if address.word in ("timm", "torchvision"):
        what = f"a network of {address.word}" + (", with weights from a file" if weights else ", trained here")
        return Brought(written, address.looks_at, what, settings=named)
    what = {"endpoint": "a service", "mlflow": "a model of MLflow"}[address.word]
    return Brought(written, address.looks_at, what)


def _of_hugging_face(written: str, revision: str | None) -> Brought:
    from assay.tasks.subjects.token_networks.hugging_face import in_its_own_order
    from assay.tasks.subjects.token_networks.sources import PROCESSOR, find_model

    source = find_model(written, revision, Path.cwd())
    files = source.read()
    config: dict[str, Any] = json.loads(files["config.json"])
    made = str((config.get("architectures") or ["model without architectures in its config.json"])[0])
    setting = next((setting for ending, setting in _HEADS.items() if made.endswith(ending)), None)
    if setting is None:
        tagger = made.endswith("ForTokenClassification")
        why = (
            "marks words: its tagged sentences are named by hand, as in docs/biomedical.md"
            if tagger
            else (
                "answers with no classes: audited are models saved as …ForSequenceClassification, "
                "…ForImageClassification or …ForTokenClassification"
            )
        )
        raise InputError(f"{written} is a {made}, which {why}.")
    named = [str(name) for _, name in sorted((config.get("id2label") or {}).items(), key=lambda pair: int(pair[0]))]
    if len(named) == 1 or config.get("problem_type") in ("regression", "multi_label_classification"):
        raise InputError(
            f"{written} is a {made} that gives a number or several labels at once, and what is audited here is one "
            "class a sample: write its pipeline by hand, as in docs/bring-your-own.md."
        )
    classes = () if in_its_own_order(config) else tuple(named)
    weights = sum(len(content) for name, content in files.items() if name.endswith(".safetensors")) // 4
    pinned = () if source.folder is not None else (("revision", source.commit),)
    side = _side(json.loads(files[PROCESSOR])) if PROCESSOR in files else None
    return Brought(written, (setting,), made, classes, side=side, numbers=weights, settings=pinned)


def _side(processor: dict[str, Any]) -> int | None:
    """How many pixels the network sees on a side, by its processor."""
    size = processor.get("crop_size") if processor.get("do_center_crop") else processor.get("size")
    sides = size.values() if isinstance(size, dict) else [size]
    return max((int(side) for side in sides if isinstance(side, int)), default=None)


def _of_onnx(written: str) -> Brought:
    from assay.infra.user_code.references import content_at
    from assay.tasks.subjects.addresses.model_files import open_session

    content = content_at(written, Path.cwd(), "The ONNX file")
    inputs = open_session(content, f'The ONNX file "{written}"').get_inputs()
    shape, numbers = inputs[0].shape, len(content) // 4
    if len(shape) == 4:
        side = shape[2] if isinstance(shape[2], int) else None
        colours = shape[1] if shape[1] in (1, 3) else None
        return Brought(written, ("network",), "an ONNX graph over images", side=side, channels=colours, numbers=numbers)
    width = shape[1] if len(shape) == 2 and isinstance(shape[1], int) else None
    named = tuple(given.name for given in inputs) if len(inputs) > 1 else ()
    return Brought(written, ("model",), "an ONNX graph over columns", columns=width, features=named, numbers=numbers)


def _of_skops(written: str, trusted: tuple[str, ...]) -> Brought:
    from assay.infra.user_code.references import content_at
    from assay.tasks.subjects.addresses.model_files import predicts_number, read_skops, reads_texts

    model = read_skops(content_at(written, Path.cwd(), "The skops file"), f'The skops file "{written}"', trusted)
    classes = tuple(f"{name:g}" if isinstance(name, float) else str(name) for name in getattr(model, "classes_", ()))
    named, width = tuple(map(str, getattr(model, "feature_names_in_", ()))), getattr(model, "n_features_in_", None)
    predicts, settings = predicts_number(model), (("trusted", list(trusted)),) if trusted else ()
    looks_at: KindName = "classifier" if classes and reads_texts(model) else "model"
    what = f"a fitted {'regressor' if predicts else 'classifier'}"
    brought = Brought(written, (looks_at,), what, classes, columns=width, features=named, predicts=predicts)
    return replace(brought, settings=settings)


_WORK, _SHARE = 2e10, 0.4
"""Multiplications a second of one processor, and the share of the time allowed that is planned for the model."""
_MOST, _FEW = 200, 24
_TOKENS, _PATCH, _SIDE = 64, 16, 64
_UNKNOWN = 0.01
"""Seconds that a service, or code that nobody can count, is expected to take for a sample."""


def within(seconds: float, brought: Brought, kind: Kind) -> Iterator[Line]:
    """The keys of a pipeline on what is done to samples, and to how many, with comments: the most that the time allows;
    what would leave too few samples is left out, the dearest first."""
    places = _TOKENS if kind == "texts" else ((brought.side or _SIDE) / _PATCH) ** 2
    each = max(2 * brought.numbers * places / _WORK, 0.002 if brought.numbers else _UNKNOWN)
    left = {"table": [], "texts": [(NOISE, 20)], "images": [(CORRUPTIONS, 28), _attack(brought)]}[kind]
    while left and _SHARE * seconds / each / (1 + sum(passes for _, passes in left)) < _FEW:
        left = left[1:]
    passes = 1 + sum(passes for _, passes in left)
    if kind != "table":
        limit = int(min(_MOST, max(_FEW, _SHARE * seconds / each / passes)))
        about = f"about {passes} answers a sample in the time allowed"
        yield Line("evaluation", {"holdout": 0.9, "limit": limit}, about)
    yield from (step for step, _ in reversed(left))


NOISE = Line("attacks", ["noise"], "typing errors; more: docs/word-attacks.md")
CORRUPTIONS = Line(
    "corruptions",
    {"perturbations": ["gaussian-noise", "brightness"], "severities": [1, 3], "frames": 7},
    "what cameras do; left out: all perturbations",
)


def _attack(brought: Brought) -> tuple[Line, int]:
    """The attack on images, and how many answers it takes: along the gradient where there is one, else by asking."""
    how = "how little makes it wrong; more: docs/images.md"
    if is_only_asked(brought.written):
        return Line("attacks", [{"square": {"eps": ["8/255"], "queries": 50}}], how), 50
    return Line("attacks", [{"pgd": {"eps": ["2/255", "8/255"], "steps": 10}}], how), 60


def seen_of(brought: Brought) -> str:
    """What was seen of the model, in a sentence."""
    classes = f", classes {', '.join(brought.classes[:8])}" if brought.classes else ""
    shown = f", {brought.side} pixels a side" if brought.side else ""
    counted = f", {brought.numbers:,} weights" if brought.numbers else ""
    return f"Model {os.path.basename(brought.written.rstrip('/'))}: {brought.what}{shown}{counted}{classes}"
