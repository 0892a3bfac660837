"""`assay export --model`: a defended model of a run as a folder that any pipeline can name as its subject."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from assay.flows.exporting import appearing_whole, require_new
from assay.flows.mistakes import suggestion
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError, RunError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.subjects.image_model import CARD, WEIGHTS

PIPELINE = "subject.yaml"


def export_model(store: Store, record: RunRecord, name: str, target: Path) -> str:
    """Writes weights, card and the lines for pipelines.yaml, whole or not at all; returns what lies there.

    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> export_model(store, RunRecord("r1", "p", "2026-11-21", 0, "host", 1), "plain+maadvt", Path("new"))
    Traceback (most recent call last):
        ...
    assay.infra.errors.InputError: Run r1 has no defended model: its pipeline configures no defenses.
    """
    require_new(target)
    models = defended_models(store, record)
    if not models:
        raise InputError(f"Run {record.id} has no defended model: its pipeline configures no defenses.")
    if name not in models:
        raise InputError(f"Run {record.id} has no defended model {name!r}; {suggestion(name, models)}")
    contents = files_of(store, models[name])
    with appearing_whole(target) as draft:
        for file, content in contents.items():
            (draft / file).write_bytes(content)
        lines = subject_lines(name, json.loads(contents[CARD]), target)
        (draft / PIPELINE).write_text(lines, encoding="utf-8")
    return f"{target}: {WEIGHTS}, {CARD}, and in {PIPELINE} how a pipeline names it as its subject"


def defended_models(store: Store, record: RunRecord) -> dict[str, Artifact[Any]]:
    """The files of every defended model of a run, by name."""
    found: dict[str, Artifact[Any]] = {}
    for stage in record.stages:
        if stage.stage == "defend_subject" and (manifest := store.manifest(stage.stage, stage.key)) is not None:
            found[str(manifest.ingredients["arguments"]["name"])] = Artifact.from_json(stage.outputs["files"])
    return found


def files_of(store: Store, artifact: Artifact[Any]) -> dict[str, bytes]:
    """The files behind a handle, by name, each checked against its sha256."""
    output, contents = store.output(artifact), dict[str, bytes]()
    for file in (one.file for part in output.parts for one in part.files):
        content = store.folder.read(file) if store.folder.exists(file) else b""
        name = Path(file).name
        if hashlib.sha256(content).hexdigest() != output.checksums[name]:
            raise RunError(f"The file {store.folder.url}/{file} is not what was written there: run the pipeline again.")
        contents[name] = content
    return contents


def subject_lines(name: str, card: dict[str, Any], target: Path) -> str:
    """What to write under `subjects:`; mean and std are the model's own, and go with its weights."""
    values = {"name": name, "network": card["network"], "width": card["width"], "weights": f"{target}/{WEIGHTS}",
              "mean": card["mean"], "std": card["std"]}  # fmt: skip
    about = f"# {name}: {card['defence']['defense']}, made of {card['defends']}\n"
    written = ", ".join(f"{key}: {json.dumps(value)}" for key, value in values.items())
    return f"{about}subjects:\n  - {{{written}}}\n"
