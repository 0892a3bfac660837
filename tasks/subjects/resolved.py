"""A subject with everything it consists of in hand: its settings, its code and its weights, and the hash of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from assay.infra.code_reference import CodeReference, refer_to_code
from assay.tasks.subjects.own import read_weights, require_usable
from assay.tasks.subjects.settings import Subject

# What a subject's predictions depend on, by its kind; its name is not among it, so renaming one computes nothing.
_MATTERS: dict[str, set[str]] = {
    "logistic": {"model", "features", "train_on", "folds"},
    "own": {"features"},
    "predictions": {"predictions"},
    "network": {"network", "width", "mean", "std", "train"},
}


@dataclass(frozen=True)
class ResolvedSubject:
    """A subject ready to travel: picklable, and with the same fingerprint exactly when it predicts the same."""

    settings: Subject
    code: CodeReference | None = None
    weights: bytes | None = None

    @property
    def kind(self) -> Literal["logistic", "own", "predictions", "network"]:
        """Who predicts: a model that Assay trains, one of the user's, a network, or another system that already has."""
        if self.settings.predictions is not None:
            return "predictions"
        if self.settings.network is not None:
            return "network"
        return "logistic" if self.code is None else "own"

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the settings that matter, the code's source and the weights."""
        state = hashlib.sha256(f"{self.kind}\0{self.settings.model_dump_json(include=_MATTERS[self.kind])}".encode())
        state.update(f"\0{self.code.fingerprint if self.code else ''}\0".encode())
        state.update(hashlib.sha256(self.weights or b"").digest())
        return state.hexdigest()


def resolve_subject(settings: Subject, beside: Path) -> ResolvedSubject:
    """The subject behind the settings; paths in them count from the folder `beside`.

    An own model is built once on the way, so that what is wrong with it is said before anything runs.

    >>> resolve_subject(Subject(model="logistic"), Path()).kind
    'logistic'
    """
    weights = None if settings.weights is None else read_weights(beside / settings.weights)
    if settings.network is not None:
        code = refer_to_code(settings.network, beside) if ":" in settings.network else None
        return ResolvedSubject(settings, code, weights)
    if settings.model in (None, "logistic"):
        return ResolvedSubject(settings)
    code = refer_to_code(str(settings.model), beside)
    require_usable(code, weights, settings.features)
    return ResolvedSubject(settings, code, weights)
