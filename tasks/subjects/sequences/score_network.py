"""Networks that score pairs of sentences: two towers that are compared, or one network that reads both together.

`Towers` puts each sentence through the same encoder, takes the mean over its pieces and compares the two by their
cosine; a line through the training pairs makes a score of it. That learns from a hundred pairs. `CrossReader` is the
classical fine-tuning of the paper: one transformer reads both sentences and gives one number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer

from assay.infra.devices import torch_device_here
from assay.tasks.subjects.sequences.scoring import Pair, Scorer
from assay.tasks.subjects.token_networks.computing import blocks_on, ids_of, make_ready, tokenizer_in
from assay.tasks.subjects.token_networks.hugging_face import pad_of, read_network

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """What makes a score of a network's number: a slope, an intercept, and the range that scores are kept in."""

    slope: float = 1.0
    intercept: float = 0.0
    low: float | None = None
    high: float | None = None

    def __call__(self, numbers: Scores) -> Scores:
        """The scores.

        >>> Line(4.0, 0.5, 0.0, 4.0)(np.array([-0.5, 0.25, 1.0])).tolist()
        [0.0, 1.5, 4.0]
        """
        scores: Scores = numbers * self.slope + self.intercept
        return scores if self.low is None and self.high is None else np.clip(scores, self.low, self.high)


@dataclass(frozen=True, eq=False)
class Towers:
    """A `Scorer` that compares what one encoder makes of either sentence."""

    encoder: Any
    tokenizer: Tokenizer
    line: Line
    pad: int
    limit: int
    device: str = "cpu"

    def __post_init__(self) -> None:
        make_ready(self.encoder, self.tokenizer, self.limit)

    def score(self, pairs: Sequence[Pair]) -> Scores:
        """How similar the sentences of each pair are, [n]."""
        return self.line(self.cosines(pairs))

    def cosines(self, pairs: Sequence[Pair]) -> Scores:
        """The cosine of what becomes of the two sentences, [n]."""
        first, second = (self._vectors([pair[side] for pair in pairs]) for side in (0, 1))
        lengths = np.sqrt((first * first).sum(axis=1) * (second * second).sum(axis=1))
        cosines: Scores = (first * second).sum(axis=1) / np.maximum(lengths, 1e-12)
        return cosines

    def count_cut(self, pairs: Sequence[Pair]) -> int:
        """How many pairs have a sentence longer than the encoder reads."""
        return sum(any(self.tokenizer.encode(text).overflowing for text in pair) for pair in pairs)

    def _vectors(self, texts: Sequence[str]) -> Scores:
        batch = [ids_of(self.tokenizer, text, self.pad) for text in texts]
        result = np.zeros((len(texts), int(self.encoder.config.hidden_size)))
        with torch.inference_mode():
            for rows, ids, mask in blocks_on(self.device, batch, pad=self.pad, limit=self.limit):
                hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state.double()
                means = (hidden * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)
                result[rows] = means.cpu().numpy()[: len(rows)]
        return result


@dataclass(frozen=True, eq=False)
class CrossReader:
    """A `Scorer` that reads both sentences at once and gives one number."""

    network: Any
    tokenizer: Tokenizer
    line: Line
    sigmoid: bool
    pad: int
    limit: int
    device: str = "cpu"

    def __post_init__(self) -> None:
        make_ready(self.network, self.tokenizer, self.limit)

    def score(self, pairs: Sequence[Pair]) -> Scores:
        """How similar the sentences of each pair are, [n]."""
        encoded = [self.tokenizer.encode(*pair) for pair in pairs]
        batch = [np.array(one.ids or [self.pad], dtype=np.int64) for one in encoded]
        kinds = [np.array(one.type_ids or [0], dtype=np.int64) for one in encoded]
        result = np.zeros(len(pairs))
        blocks, segments = (
            blocks_on(self.device, some, pad=pad, limit=self.limit) for some, pad in ((batch, self.pad), (kinds, 0))
        )
        with torch.inference_mode():
            for (rows, ids, mask), (_, types, _) in zip(blocks, segments, strict=True):
                logits = read_pairs(self.network, ids, mask, types).double()
                numbers = torch.sigmoid(logits) if self.sigmoid else logits
                result[rows] = numbers.cpu().numpy()[: len(rows)]
        return self.line(result)

    def count_cut(self, pairs: Sequence[Pair]) -> int:
        """How many pairs are longer than the network reads."""
        return sum(bool(self.tokenizer.encode(*pair).overflowing) for pair in pairs)


def read_pairs(network: Any, ids: Any, mask: Any, types: Any) -> Any:
    """The number that a network gives each pair, [n]; segments are told only to networks that tell more than one."""
    segments = {"token_type_ids": types} if getattr(network.config, "type_vocab_size", 0) > 1 else {}
    return network(input_ids=ids, attention_mask=mask, **segments).logits[:, 0]


def scorer_from_files(files: Mapping[str, bytes], device: str | None) -> Scorer:
    """The scorer in a subject's files; its card says which of the two it is."""
    card = json.loads(files["card.json"])
    device = device or torch_device_here()
    towers = card["reads"] == "apart"
    module = read_network(files, card["who"], "none" if towers else "score").to(device)
    tokenizer, line, pad = tokenizer_in(files), Line(**card["line"]), pad_of(module.config)
    if towers:
        return Towers(module, tokenizer, line, pad, card["limit"], device)
    return CrossReader(module, tokenizer, line, card["sigmoid"], pad, card["limit"], device)
