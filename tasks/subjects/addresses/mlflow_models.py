"""A model in MLflow's registry, `models:/name@alias` or `models:/name/3`: resolved to a version, and fetched.

MLflow runs nothing of it, and what was logged as a pickle is refused.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.infra.errors import InputError, faults_in_words
from assay.infra.masking import mask
from assay.infra.storage.folders import contained
from assay.infra.storage.network import require_usable
from assay.infra.user_code.references import MOST_BYTES, note_elsewhere
from assay.tasks.subjects.addresses.given import Addressed, GivenModel
from assay.tasks.subjects.addresses.model_files import onnx_model, skops_model

_ADDRESS = re.compile(r"models:/+(?P<name>.+?)(@(?P<alias>[^@]+)|/+(?P<number>[0-9]+))")
_READ: Mapping[str, Callable[[Addressed, str, bytes], GivenModel]] = {".onnx": onnx_model, ".skops": skops_model}
"""What reads the file of a logged model, by its suffix."""
_FILES = {"onnx": "data", "sklearn": "pickled_model"}
"""The flavours whose files can be read, with the entry of MLmodel that names the file, whatever is in it."""


def refer_to_mlflow(settings: Addressed, written: str, _beside: Path) -> GivenModel:
    """The model that the address leads to tonight; its content enters the key, so that a moved alias is noticed."""
    if not (os.environ.get("MLFLOW_REGISTRY_URI") or os.environ.get("MLFLOW_TRACKING_URI")):
        raise InputError(f'"{written}" is asked of MLflow: set MLFLOW_TRACKING_URI to the address of its server.')
    require_usable(written)
    with tempfile.TemporaryDirectory() as folder:
        version, place = _fetched(written, Path(folder))
        name, content = _file_of(place, written)
        suffix = Path(name).suffix.lower()
        if suffix not in _READ:
            raise InputError(
                f'"{written}" (version {version}) was logged as {name}, and Assay opens no pickle, which can run code '
                'hidden in it: log it with mlflow.onnx, or with mlflow.sklearn and serialization_format="skops".'
            )
        given = _READ[suffix](settings, written, content)
    note_elsewhere(f"{written} is version {version}", written, given.fingerprint)
    return replace(given, written=written)


def _fetched(written: str, folder: Path) -> tuple[str, Path]:
    """The version behind the address, and where its files lie now."""
    from mlflow import MlflowClient
    from mlflow.artifacts import download_artifacts
    from mlflow.utils.file_utils import local_file_uri_to_path

    name, alias, number = _parts(written)
    try:
        client = MlflowClient()
        version = client.get_model_version_by_alias(name, alias) if alias else client.get_model_version(name, number)
        place = client.get_model_version_download_uri(name, version.version)
        if place.startswith("file:"):  # read where it lies: a copy would follow the links in it
            return str(version.version), Path(local_file_uri_to_path(place))
        return str(version.version), Path(download_artifacts(artifact_uri=place, dst_path=str(folder)))
    except Exception as fault:  # its own, those of its database, and those of whatever holds the files
        said = " ".join(mask(str(fault)).split())[:200] or type(fault).__name__
        raise InputError(f'MLflow does not give "{written}": {said}') from fault


def _parts(written: str) -> tuple[str, str, str]:
    """The name, and the alias or the version.

    >>> _parts("models:/spam@nightly"), _parts("models:/spam/3")
    (('spam', 'nightly', ''), ('spam', '', '3'))
    """
    if parts := _ADDRESS.fullmatch(written.strip("/")):
        return parts["name"], parts["alias"] or "", parts["number"] or ""
    raise InputError(f'"{written}" says no version: write models:/name@alias, or models:/name/3.')


def _file_of(place: Path, written: str) -> tuple[str, bytes]:
    """The name and the content of the one file that a logged model consists of."""
    who = f'"{written}"'
    flavours = _flavours(Path(contained(place, "MLmodel", who)))
    read = ((flavours.get(flavour), entry) for flavour, entry in _FILES.items())
    named = [about.get(entry, "") for about, entry in read if isinstance(about, dict)]
    if not named:
        there = ", ".join(sorted(map(str, flavours))) or "none"
        raise InputError(
            f'"{written}" was logged in flavours that Assay does not read ({there}): log it with mlflow.onnx, or with '
            "mlflow.sklearn."
        )
    name = str(named[0])
    path = Path(contained(place, name, who))
    if not path.is_file():
        raise InputError(f"{who} names the file {name!r}, which is not among its own: log it again.")
    if path.stat().st_size > MOST_BYTES:
        raise InputError(f'"{written}" is larger than {MOST_BYTES >> 30} GiB; log a smaller model.')
    return name, path.read_bytes()


def _flavours(path: Path) -> dict[str, Any]:
    """The flavours that an MLmodel file lists."""
    from ruamel.yaml import YAML

    with faults_in_words(
        lambda fault: f"What MLflow gave has no MLmodel that can be read ({type(fault).__name__}): log it again."
    ):
        about = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    flavours = about.get("flavors") if isinstance(about, dict) else None
    return flavours if isinstance(flavours, dict) else {}
