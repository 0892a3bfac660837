"""A network over tokens behind a fast tokenizer: probabilities in fixed blocks, gradients and input embeddings.

Torch and the tokenizer stay in here. Nothing is ever in training mode: dropout would make a gradient random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer

from assay.infra.errors import InputError
from assay.tasks.subjects.texts.model import BoolArray, Encoded, IntArray, UnusableTextError
from assay.tasks.subjects.token_networks.computing import CHUNK, blocks_on, ids_of, make_ready


class Classifier(Protocol):
    """What makes logits [n, k] of token ids or their embeddings, both with a mask of what is no padding."""

    def eval(self) -> object:
        """Leaves the training mode."""
        ...

    def logits(self, ids: torch.Tensor | None, mask: torch.Tensor, embedded: torch.Tensor | None) -> torch.Tensor:
        """The logits of ids [n, length], or of their embeddings [n, length, d]."""
        ...

    def table(self) -> torch.Tensor:
        """The input embeddings of the vocabulary, [v, d]."""
        ...


@dataclass(frozen=True, eq=False)
class NetworkModel:
    """A `TokenModel`: `columns[j]` is the network's output for the audit's class j."""

    network: Classifier
    tokenizer: Tokenizer
    columns: tuple[int, ...]
    pad: int
    limit: int
    device: str = "cpu"

    def __post_init__(self) -> None:
        make_ready(self.network, self.tokenizer, self.limit)

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
        special: BoolArray = np.array(encoding.special_tokens_mask, dtype=np.bool_)
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

    def token_probabilities(self, batch: Sequence[IntArray]) -> npt.NDArray[np.float64]:
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

    def embeddings(self, ids: IntArray) -> npt.NDArray[np.float32]:
        """The input embeddings of tokens, [n, d]."""
        with torch.inference_mode():
            vectors: npt.NDArray[np.float32] = self.network.table()[torch.from_numpy(ids).to(self.device)].cpu().numpy()
        return vectors

    def _blockwise(self, batch: Sequence[IntArray], first: int) -> npt.NDArray[np.float64]:
        result = np.empty((len(batch), self.classes))
        with torch.inference_mode():
            for texts, ids, mask in blocks_on(self.device, batch, pad=self.pad, limit=self.limit):
                logits = self.network.logits(ids, mask, None)[:, list(self.columns)]
                shares = torch.softmax(logits.double(), dim=-1).cpu().numpy()
                result[texts] = shares[: len(texts)]
        wrong = np.flatnonzero(~np.isfinite(result).all(axis=1))
        if len(wrong):
            raise UnusableTextError(first + int(wrong[0]))
        return result
