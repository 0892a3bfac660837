"""A subject with everything it consists of in hand (its settings, its code and its weights), and the hash of them.

The hash of its files is the key under which a worker keeps what it built of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Literal, Self, get_args

from assay.infra.errors import blame_setting
from assay.infra.user_code.references import CodeReference, note_elsewhere, refer_to_code
from assay.tasks.subjects.addresses.given import GivenModel
from assay.tasks.subjects.addresses.table import address_of
from assay.tasks.subjects.networks.libraries import LibraryNetwork
from assay.tasks.subjects.own_models import answering_function, predictor, read_weights
from assay.tasks.subjects.settings import KNOWN, Subject, options_of
from assay.tasks.subjects.token_networks.sources import ModelSource, find_model, minilm_source

Way = Literal["small-bert", "minilm-linear", "small-tagger", "small-scorer", "minilm", "hugging-face", "own"]

# What a subject's predictions depend on, by its kind; its name is not among it, so renaming one computes nothing.
_MATTERS: dict[str, set[str]] = {
    "logistic": {"model", "features", "train_on", "folds"},
    "own": {"features", "predicts", "interval"},
    "predictions": {"predictions"},
    "network": {"network", "width", "mean", "std", "train", "block"},
    "classifier": {"text", "train"},
    "tagger": {"tokens", "tags"},
    "scorer": {"pair", "score"},
}


@dataclass(frozen=True)
class ResolvedSubject:
    """A subject ready to travel: picklable, and with the same fingerprint exactly when it predicts the same."""

    settings: Subject
    code: CodeReference | GivenModel | None = None
    weights: bytes | None = None
    source: ModelSource | None = None
    library: LibraryNetwork | None = None
    masked: bool = False
    """Whether no text may be quoted, not even in an error; it changes no prediction."""

    @property
    def kind(self) -> Literal["logistic", "own", "predictions", "network", "classifier", "tagger", "scorer"]:
        """Who predicts: a model that Assay trains, one of the user's, a network over images, a classifier of texts, a
        tagger of words, a scorer of pairs, or another system that already has."""
        if self.settings.kind != "model":
            return self.settings.kind
        return "logistic" if self.code is None else "own"

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the settings that matter, the code's source, the weights and a named model's files."""
        matters = _MATTERS[self.kind] | ({"crop"} if self.settings.crop is not None else set())
        state = hashlib.sha256(f"{self.kind}\0{self.settings.model_dump_json(include=matters)}".encode())
        state.update(f"\0{self.code.fingerprint if self.code else ''}\0".encode())
        state.update(hashlib.sha256(self.weights or b"").digest())
        if self.kind in ("tagger", "scorer"):
            options = options_of(self.settings)
            state.update(b"" if options is None else options.model_dump_json().encode())
        if self.library is not None:
            state.update(self.library.fingerprint.encode())
        if self.kind == "network" and self.source is not None:
            state.update(f"{self.source.fingerprint}\0{version('transformers')}".encode())
        if self.kind in ("classifier", "tagger", "scorer"):
            state.update(f"{self.way}\0{self.source.fingerprint if self.source else ''}".encode())
        return state.hexdigest()

    def asked_again(self) -> Iterator[Self]:
        """The subject for every further time that it is asked: what it answered before does not answer for it."""
        if isinstance(self.code, GivenModel):
            for time in range(1, self.code.asking.repeats):
                yield self.asked_as(replace(self.code, time=time), "again")

    def asked_as(self, given: GivenModel, how: str) -> Self:
        """The subject as it is asked otherwise; its answers are noted, so that a clean-up keeps them."""
        note_elsewhere(f"answers of {given.written}", f"{given.written}, {how}", given.fingerprint)
        return replace(self, code=given)

    @property
    def asked_in(self) -> str:
        """What a model that is kept built may not outlive: that of a service, the run that asks it."""
        return f"{self.fingerprint}\0{self.code.session}" if isinstance(self.code, GivenModel) else ""

    @property
    def has_gradient(self) -> bool:
        """Whether attacks can follow its gradient: some models at an address are only asked."""
        return not isinstance(self.code, GivenModel)

    @property
    def gives_chances(self) -> bool:
        """Whether its numbers are probabilities; some models at an address give classes alone."""
        return not isinstance(self.code, GivenModel) or self.code.gives_chances

    @property
    def is_ours_by_name(self) -> bool:
        """Whether it is a part of Assay, but for what it has learned."""
        return self.code is None and self.source is None and self.library is None

    @property
    def is_known_whole(self) -> bool:
        """Whether its fingerprint stands for all that its answers depend on; somebody's code may read what nobody
        heard of, and a service change, unless a person says which version answers."""
        if isinstance(self.code, GivenModel):
            return self.code.vouched or not self.code.asks_elsewhere
        return self.code is None or self.code.is_ours or bool(self.code.version)

    @property
    def way(self) -> Way:
        """What a classifier, tagger or scorer is: one that Assay trains, a Hugging Face model, the user's function."""
        if self.code is not None:
            return "own"
        return next((way for way in get_args(Way) if way == self.settings.named), "hugging-face")


def resolve_subject(settings: Subject, beside: Path) -> ResolvedSubject:
    """The subject behind the settings; paths in them count from the folder `beside`.

    An own model is built once on the way, so that what is wrong with it is said before anything runs.

    >>> resolve_subject(Subject(model="logistic"), Path()).kind
    'logistic'
    """
    with blame_setting(settings.kind, settings.named):
        address = address_of(settings.named)
        if address is not None and settings.kind != "predictions":
            address.require_library(settings.named)
            match address.refer(settings, settings.named, beside):
                case ModelSource() as source:
                    return ResolvedSubject(settings, source=source)
                case LibraryNetwork() as library:
                    return ResolvedSubject(settings, weights=_weights(settings, beside), library=library)
                case GivenModel() as given:
                    return ResolvedSubject(settings, given)
        if settings.kind == "predictions":
            return ResolvedSubject(settings)
        resolve = _resolve_module if settings.kind in ("model", "network") else _resolve_reader
        return resolve(settings, settings.named, beside)


def _resolve_module(settings: Subject, written: str, beside: Path) -> ResolvedSubject:
    """A model of columns or a network of images: by its name, or the user's code."""
    weights = _weights(settings, beside)
    if ":" not in written:
        return ResolvedSubject(settings, weights=weights)
    code = refer_to_code(written, beside, settings)
    if settings.kind == "model":
        predictor(code, weights, settings.features, "predict_proba" if settings.predicts is None else "predict")
    else:
        code.load()
    return ResolvedSubject(settings, code, weights)


def _weights(settings: Subject, beside: Path) -> bytes | None:
    with blame_setting("weights", settings.weights):
        return None if settings.weights is None else read_weights(beside / settings.weights)


def _resolve_reader(settings: Subject, written: str, beside: Path) -> ResolvedSubject:
    """A classifier, a tagger or a scorer: by its name, its folder or hub id, or the user's function."""
    kind = settings.kind
    small, encoder = KNOWN[kind]
    if written == small:
        return ResolvedSubject(settings)
    if written == encoder:
        instead = () if kind == "classifier" else (f"{kind}: {encoder}", f"{kind}: {small}")
        return ResolvedSubject(settings, source=minilm_source(*instead))
    if ":" not in written:
        return ResolvedSubject(settings, source=find_model(written, settings.revision, beside))
    code = refer_to_code(written, beside, settings)
    answering_function(code, kind)
    return ResolvedSubject(settings, code)


@dataclass(frozen=True)
class BuiltFrom:
    """A subject and its files; two are the same when the fingerprint in their cards is, what they may say aloud, and
    the folder that code of the user's reads from: on another night other files may lie there."""

    key: tuple[str, bool, str, str, str]
    subject: ResolvedSubject = field(compare=False)
    files: dict[str, bytes] = field(compare=False)
    classes: int = 0

    @classmethod
    def of(cls, subject: ResolvedSubject, files: dict[str, bytes], classes: int = 0) -> Self:
        """The key of these files, by their card."""
        card, code = json.loads(files["card.json"])["fingerprint"], subject.code
        home, beside = (code.home, code.beside) if isinstance(code, CodeReference) else ("", "")
        return cls((card, subject.masked, home, beside, subject.asked_in), subject, files, classes)
