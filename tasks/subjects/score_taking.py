"""Scorers that came trained: a Hugging Face model that reads two sentences and gives one number."""

from __future__ import annotations

import json
from typing import Any

from assay.infra.errors import InputError
from assay.tasks.subjects.headed_models import read_headed
from assay.tasks.subjects.text_hugging_face import complete, limit_of
from assay.tasks.subjects.text_sources import ModelSource


def given_scorer(source: ModelSource) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a model with one output, and what its card says. Its numbers are taken as they are."""
    who = f'The scorer "{source.written}"'
    files = complete(source.read(), source.written)
    module = read_headed(files, who, "whole")
    if module.config.num_labels != 1:
        raise InputError(
            f"{who} gives {module.config.num_labels} numbers per pair, and a score is one: name a model that was "
            "trained for regression (num_labels 1), or train it further (`train`)."
        )
    told = json.loads(files["config.json"]).get("sentence_transformers") or {}
    about = {
        "how": "as it came", "commit": source.commit, "reads": "together", "line": {},
        "sigmoid": str(told.get("activation_fn", "")).endswith("Sigmoid"), "limit": limit_of(module.config, files),
        "parameters": sum(weight.numel() for weight in module.parameters()),
    }  # fmt: skip
    return files, about
