"""`assay export --model`: a defended model of a run as a folder that any pipeline can name as its subject."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from assay.flows.export.curated_sets import appearing_whole, require_new
from assay.flows.kind import Outcomes
from assay.flows.report.records import artifacts_of, subjects_in
from assay.flows.yaml_document import suggestion
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import Artifact, RunRecord
from assay.infra.storage.store import Store
from assay.tasks.subjects.images.model import CARD, WEIGHTS

PIPELINE = "subject.yaml"
_CONFIG = "config.json"


def export_model(store: Store, record: RunRecord, name: str, target: Path) -> str:
    """Writes weights, card and the lines for pipelines.yaml, whole or not at all; returns what lies there.

    >>> import tempfile
    >>> store = Store(tempfile.mkdtemp())
    >>> export_model(store, RunRecord("r1", "p", "2026-11-21", 0, "host", 1), "plain+maadvt", Path("new"))
    Traceback (most recent call last):
        ...
    assay.infra.errors.InputError: Run r1 has no defended model: it has no defenses, or broke off.
    """
    require_new(target)
    models = defended_models(store, record)
    if not models:
        raise InputError(f"Run {record.id} has no defended model: it has no defenses, or broke off.")
    if name not in models:
        variants = [model for model in models if model.startswith(f"{name}-")]
        others = f"of that kind it has {', '.join(variants)}" if variants else suggestion(name, models)
        raise InputError(f"Run {record.id} has no defended model {name!r}; {others}")
    contents = store.contents(store.output(models[name]))
    card = json.loads(contents[CARD])
    lines = subject_lines(name, card, contents, target)
    with appearing_whole(target) as draft:
        for file, content in contents.items():
            (draft / file).write_bytes(content)
        (draft / PIPELINE).write_text(lines, encoding="utf-8")
    return f"{target}: {WEIGHTS}, {CARD}, and in {PIPELINE} how a pipeline names it as its subject"


def model_files(store: Store, record: RunRecord) -> dict[str, Artifact[Any]]:
    """The files of every model that a run measured by samples, by its name: those that it answered with."""
    models, made = dict[str, Artifact[Any]](), {each.digest: each for each in artifacts_of(record, "SubjectFiles")}
    for outcomes in map(Outcomes.from_json, record.outcomes):
        of_two = outcomes.metric.startswith("defense.")  # both the model and its defence answer
        for table in () if of_two or outcomes.subject in models else outcomes.tables.values():
            manifest = store.manifest(*table.uri.rstrip("/").split("/")[-3:-1])
            files = manifest.ingredients["arguments"].get("files") if manifest else None
            if isinstance(files, dict) and files.get("digest") in made:
                models[outcomes.subject] = made[files["digest"]]
    return models


def defended_models(store: Store, record: RunRecord) -> dict[str, Artifact[Any]]:
    """The files of every model of a run that is none of its pipeline's own subjects, by name."""
    given = {str(subject["name"]) for subject in subjects_in(record.settings)}
    return {name: files for name, files in model_files(store, record).items() if name and name not in given}


def subject_lines(name: str, card: dict[str, Any], contents: dict[str, bytes], target: Path) -> str:
    """What to write under `subjects:`. Mean and std of images are the model's own, and go with its weights; refused of
    a text classifier that no folder of Hugging Face can hold."""
    if "network" in card:
        own = {key: card[key] for key in ("network", "width")}
        values = {**own, "weights": f"{target}/{WEIGHTS}", "mean": card["mean"], "std": card["std"]}
        about = f"{card['defence']['defense']}, made of {card['defends']}"
    elif _CONFIG in contents:
        values = {"classifier": str(target), "text": card["text"]}
        about = f"trained on attacked copies too; its classes in their order: {', '.join(card['class_names'])}"
    else:
        raise InputError(
            f"{name} is a layer on MiniLM's features, which is no model of its own that a folder could hold: defend a "
            "`small-bert` or a Hugging Face model to hand one out."
        )
    written = ", ".join(f"{key}: {json.dumps(value)}" for key, value in {"name": name, **values}.items())
    return f"# {name}: {about}\nsubjects:\n  - {{{written}}}\n"
