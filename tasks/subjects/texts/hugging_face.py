"""Hugging Face's sequence classifiers as classifiers of texts: which output is which class, and how they are asked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from assay.infra.devices import torch_device_here
from assay.tasks.subjects.texts.network import NetworkModel
from assay.tasks.subjects.token_networks.class_names import columns_for
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
