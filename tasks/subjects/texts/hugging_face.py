"""Hugging Face's sequence classifiers as classifiers of texts: which output is which class, and how they are asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from assay.infra.devices import torch_device_here
from assay.infra.errors import InputError
from assay.tasks.subjects.texts.network import NetworkModel
from assay.tasks.subjects.token_networks.computing import tokenizer_in
from assay.tasks.subjects.token_networks.hugging_face import about_as_it_came, complete, pad_of, read_network
from assay.tasks.subjects.token_networks.model_bounds import made_of_files
from assay.tasks.subjects.token_networks.sources import ModelSource


@dataclass(frozen=True, eq=False)
class HuggingFaceClassifier:
    """A sequence classifier of transformers as a `Classifier`."""

    module: torch.nn.Module

    def eval(self) -> object:
        """Leaves the training mode."""
        return self.module.eval()

    def logits(self, ids: torch.Tensor | None, mask: torch.Tensor, embedded: torch.Tensor | None) -> torch.Tensor:
        """The logits of ids, or of their embeddings."""
        given = {"input_ids": ids} if embedded is None else {"inputs_embeds": embedded}
        return self.module(**given, attention_mask=mask).logits

    def table(self) -> torch.Tensor:
        """The input embeddings of the vocabulary."""
        return self.module.get_input_embeddings().weight


def network_from_files(files: Mapping[str, bytes], device: str | None) -> NetworkModel:
    """The model in a subject's files; `card.json` says which of its outputs is which class."""
    card = json.loads(files["card.json"])
    device = device or torch_device_here()
    module = read_network(files, card["who"], "classes").to(device)
    return NetworkModel(
        HuggingFaceClassifier(module),
        tokenizer_in(files),
        tuple(card["columns"]),
        pad_of(module.config),
        card["limit"],
        device,
    )


def given_model(source: ModelSource, classes: Sequence[str]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a model that came trained, and what its card says; refused here where it does not fit."""
    who = f'The classifier "{source.written}"'
    files = complete(source.read(), source.written)
    module = read_network(files, who, "classes")
    with made_of_files(who, "sequence classifier"):
        columns = columns_for(module.config, classes, who)
        tokenizer_in(files)
        return files, about_as_it_came(module, files, source) | {"columns": columns}


def in_its_own_order(files: Mapping[str, bytes]) -> bool:
    """Whether a model was saved without the names of its classes, so that only their order says which is which."""
    named = json.loads(files["config.json"]).get("id2label") or {}
    return all(str(name).casefold() in (f"label_{code}", str(code)) for code, name in named.items())


def columns_for(config: Any, classes: Sequence[str], who: str) -> list[int]:
    """Which of a model's outputs is which class: by name; in its own order where it was saved without names."""
    names = [str(config.id2label[code]).casefold() for code in range(config.num_labels)]
    wanted = [name.casefold() for name in classes]
    if sorted(names) == sorted(wanted):
        return [names.index(name) for name in wanted]
    if len(names) != len(wanted):
        raise InputError(
            f"{who} tells {len(names)} classes apart ({', '.join(names[:8])}), and the pipeline has {len(wanted)} "
            f"({', '.join(wanted[:8])})."
        )
    if not all(name in (f"label_{code}", str(code)) for code, name in enumerate(names)):
        raise InputError(
            f"{who} answers with {', '.join(names[:8])}, and the pipeline's classes are {', '.join(wanted[:8])}: which "
            "is which? Write the pipeline's names under id2label in the model's config.json."
        )
    return list(range(len(names)))
