"""Scorers that came trained: a Hugging Face model that reads two sentences and gives one number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assay.infra.errors import InputError
from assay.tasks.subjects.token_networks.hugging_face import about_as_it_came, complete, read_network
from assay.tasks.subjects.token_networks.model_bounds import made_of_files
from assay.tasks.subjects.token_networks.sources import ModelSource


def given_scorer(source: ModelSource) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a model with one output, and what its card says. Its numbers are taken as they are."""
    who = f'The scorer "{source.written}"'
    files = complete(source.read(), source.written)
    module = read_network(files, who, "score")
    if module.config.num_labels != 1:
        raise InputError(
            f"{who} gives {module.config.num_labels} numbers per pair, and a score is one: name a model that was "
            "trained for regression (num_labels 1), or train it further (`train`)."
        )
    with made_of_files(who, "scorer of sentence pairs"):
        sigmoid = ends_in_a_sigmoid(json.loads(files["config.json"]))
        about = about_as_it_came(module, files, source)
    return files, about | {"reads": "together", "line": {}, "sigmoid": sigmoid}


def ends_in_a_sigmoid(config: Mapping[str, Any]) -> bool:
    """Whether a model's own configuration says that its numbers go through a sigmoid, in the words of any version.

    A CrossEncoder of sentence-transformers writes down its activation, under one name up to version 3 and another
    since. A model that names none is taken as it is: nothing tells whether somebody would read it through a sigmoid.

    >>> ends_in_a_sigmoid({"sbert_ce_default_activation_function": "torch.nn.modules.activation.Sigmoid"})
    True
    >>> ends_in_a_sigmoid({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}})
    False
    """
    since = (config.get("sentence_transformers") or {}).get("activation_fn")
    return str(since or config.get("sbert_ce_default_activation_function") or "").endswith("Sigmoid")
