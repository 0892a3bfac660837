"""A token classifier over words: tags and how sure it is of them, in blocks of fixed shapes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from assay.infra.devices import torch_device_here
from assay.infra.errors import InputError
from assay.tasks.subjects.sequences.alignment import Aligned, align, read_word_by_word
from assay.tasks.subjects.sequences.tagging import Tagging
from assay.tasks.subjects.token_networks.computing import CHUNK, blocks_on, make_ready, tokenizer_in
from assay.tasks.subjects.token_networks.hugging_face import pad_of, read_network


@dataclass(frozen=True, eq=False)
class TokenTagger:
    """A network that gives each piece one of `outputs`, the tags by name; several outputs may be of one tag."""

    network: Any
    tokenizer: Tokenizer
    outputs: tuple[str, ...]
    pad: int
    limit: int
    device: str = "cpu"

    def __post_init__(self) -> None:
        make_ready(self.network, self.tokenizer, self.limit)
        read_word_by_word(self.tokenizer)

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Tagging]:
        """The tags of every sentence; what it did not read is `O` at confidence 0."""
        taggings: list[Tagging] = []
        for start in range(0, len(sentences), CHUNK):
            chunk = [align(self.tokenizer, words, self.pad) for words in sentences[start : start + CHUNK]]
            taggings += self._blockwise(chunk, start)
        return taggings

    def _blockwise(self, chunk: list[Aligned], first: int) -> list[Tagging]:
        names = tuple(dict.fromkeys(("O", *self.outputs)))
        columns = [[place for place, name in enumerate(self.outputs) if name == wanted] for wanted in names]
        taggings: dict[int, Tagging] = {}
        with torch.inference_mode():
            batch = [aligned.ids for aligned in chunk]
            for texts, ids, mask in blocks_on(self.device, batch, pad=self.pad, limit=self.limit):
                logits = self.network(input_ids=ids, attention_mask=mask).logits
                shares = torch.softmax(logits.double(), dim=-1).cpu().numpy()
                for row, sentence in enumerate(texts.tolist()):
                    aligned = chunk[sentence]
                    mine = shares[row][aligned.places[aligned.read]]  # [words read, outputs]
                    if not np.isfinite(mine).all():
                        raise InputError(f"The tagger gives no finite number for sentence {first + sentence + 1}.")
                    by_tag = np.stack([mine[:, some].sum(axis=1) for some in columns], axis=1)
                    taggings[sentence] = _tagging(aligned, by_tag, names)
        return [taggings[place] for place in range(len(chunk))]


def _tagging(aligned: Aligned, shares: np.ndarray[Any, Any], names: Sequence[str]) -> Tagging:
    tags, confidence = ["O"] * len(aligned.places), [0.0] * len(aligned.places)
    for word, row in zip(aligned.read.tolist(), shares, strict=True):
        best = int(row.argmax())
        tags[word], confidence[word] = names[best], float(row[best])
    return Tagging(tags, confidence, aligned.cut)


def tagger_from_files(files: Mapping[str, bytes], device: str | None) -> TokenTagger:
    """The tagger in a subject's files."""
    card = json.loads(files["card.json"])
    device = device or torch_device_here()
    module = read_network(files, card["who"], "tokens").to(device)
    return TokenTagger(
        module, tokenizer_in(files), tuple(card["outputs"]), pad_of(module.config), card["limit"], device
    )
