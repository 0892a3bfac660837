"""How networks over tokens are asked: made ready, given the pieces of texts, and computed in blocks on their device."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

from assay.tasks.subjects.token_networks.blocks import CPU_TOKENS, GPU_TOKENS, IntArray, blocks

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # one thread per process, as everywhere

CHUNK = 1024  # texts whose pieces are in memory at a time


def make_ready(network: Any, tokenizer: Tokenizer, limit: int) -> None:
    """Leaves the training mode, where dropout would make answers random; the tokenizer cuts and does not pad."""
    torch.set_num_threads(1)
    network.eval()
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)


def ids_of(tokenizer: Tokenizer, text: str, pad: int) -> IntArray:
    """The pieces of a text; one at least."""
    return np.array(tokenizer.encode(text).ids or [pad], dtype=np.int64)


def tokenizer_in(files: Mapping[str, bytes]) -> Tokenizer:
    """The tokenizer among a subject's files."""
    return Tokenizer.from_str(files["tokenizer.json"].decode())


def blocks_on(
    device: str, batch: Sequence[IntArray], *, pad: int, limit: int
) -> Iterator[tuple[IntArray, torch.Tensor, torch.Tensor]]:
    """The batch in blocks of fixed shapes: which texts the first rows are, and ids and mask, [rows, length] each."""
    tokens = GPU_TOKENS if device.startswith("cuda") else CPU_TOKENS
    for block in blocks(batch, pad=pad, limit=limit, tokens=tokens):
        yield block.texts, torch.from_numpy(block.ids).to(device), torch.from_numpy(block.mask).to(device)
