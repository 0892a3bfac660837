"""What a network says of tagged pieces, and how far that is from what it should say."""

from __future__ import annotations

from typing import Any

import torch

from assay.tasks.subjects.sequences.alignment import NONE
from assay.tasks.subjects.token_networks.blocks import IntArray
from assay.tasks.subjects.token_networks.epochs import Answer, padded


def tag_answer(network: Any, ids: list[IntArray], target: list[IntArray], pad: int, device: str) -> Answer:
    """Cross-entropy over the first pieces of words, and how many of them are tagged rightly."""
    pieces, wanted = padded(ids, pad, device), padded(target, NONE, device)
    lengths = torch.tensor([len(one) for one in ids], device=device)
    mask = (torch.arange(pieces.shape[1], device=device)[None] < lengths[:, None]).long()
    logits = network(input_ids=pieces, attention_mask=mask).logits
    words = wanted != NONE
    loss = torch.nn.functional.cross_entropy(logits[words], wanted[words])
    right = int((logits.argmax(dim=-1)[words] == wanted[words]).sum())
    return Answer(loss, right, int(words.sum()))
