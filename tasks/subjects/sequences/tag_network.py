"""A token classifier over words: tags and how sure it is of them, in blocks of fixed shapes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from assay.infra.devices import torch_device_here
from assay.infra.errors import InputError
from assay.tasks.subjects.sequences.alignment import Aligned, align, settle
from assay.tasks.subjects.sequences.rows import tag_names
from assay.tasks.subjects.sequences.tagging import Tagging
from assay.tasks.subjects.texts.hugging_face import pad_of
from assay.tasks.subjects.token_networks.blocks import CPU_TOKENS, GPU_TOKENS, blocks
from assay.tasks.subjects.token_networks.hugging_face import read_headed

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # one thread per process, as everywhere

_BEGINS, _GOES_ON = ("B-", "S-", "U-"), ("I-", "E-", "L-", "M-")
_CHUNK = 1024  # sentences whose pieces are in memory at a time


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
        torch.set_num_threads(1)
        self.network.eval()
        settle(self.tokenizer, self.limit)

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Tagging]:
        """The tags of every sentence; what it did not read is `O` at confidence 0."""
        found: list[Tagging] = []
        for start in range(0, len(sentences), _CHUNK):
            chunk = [align(self.tokenizer, words, self.pad) for words in sentences[start : start + _CHUNK]]
            found += self._blockwise(chunk, start)
        return found

    def _blockwise(self, chunk: list[Aligned], first: int) -> list[Tagging]:
        names = tuple(dict.fromkeys(("O", *self.outputs)))
        columns = [[place for place, name in enumerate(self.outputs) if name == wanted] for wanted in names]
        found: dict[int, Tagging] = {}
        tokens = GPU_TOKENS if self.device.startswith("cuda") else CPU_TOKENS
        with torch.inference_mode():
            batch = [one.ids for one in chunk]
            for block in blocks(batch, pad=self.pad, limit=self.limit, tokens=tokens):
                ids, mask = (torch.from_numpy(part).to(self.device) for part in (block.ids, block.mask))
                logits = self.network(input_ids=ids, attention_mask=mask).logits
                shares = torch.softmax(logits.double(), dim=-1).cpu().numpy()
                for row, sentence in enumerate(block.texts.tolist()):
                    one = chunk[sentence]
                    mine = shares[row][one.places[one.read]]  # [words read, outputs]
                    if not np.isfinite(mine).all():
                        raise InputError(f"The tagger gives no finite number for sentence {first + sentence + 1}.")
                    by_tag = np.stack([mine[:, some].sum(axis=1) for some in columns], axis=1)
                    found[sentence] = _tagging(one, by_tag, names)
        return [found[place] for place in range(len(chunk))]


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
    module = read_headed(files, card["who"], "tokens").to(device)
    tokenizer = Tokenizer.from_str(files["tokenizer.json"].decode())
    return TokenTagger(module, tokenizer, tuple(card["outputs"]), pad_of(module.config), card["limit"], device)


def outputs_of(config: Any, known: Sequence[str], who: str) -> tuple[str, ...]:
    """The tag that each output of a model stands for, in the words of the data; `O` for types the data does not have.

    B- and I- are read as they are, BIOES and BILOU as the B- and I- that they stand for, and a bare type as I-.
    """
    types = {name[2:].casefold(): name[2:] for name in tag_names(known) if name != "O"}
    found = []
    for code in range(config.num_labels):
        name = str(config.id2label[code])
        start, kind = ("I-", name) if name[1:2] not in ("-", "_") else (name[0].upper() + "-", name[2:])
        ours = types.get(kind.casefold())
        found.append("O" if ours is None else ("B-" if start in _BEGINS else "I-") + ours)
    if set(found) == {"O"}:
        names = ", ".join(str(config.id2label[code]) for code in range(config.num_labels))
        raise InputError(
            f"{who} tags {names}, and the samples {', '.join(sorted(types.values())) or 'nothing'}: they have no type "
            "of entity in common; rename the model's labels (id2label in config.json), or train it further (`train`)."
        )
    return tuple(found)
