"""Hugging Face sequence classifiers out of their files: safetensors only, nothing fetched, no code of the model's run.

The attention is the plain one ("eager"): the fused kernels take another path when no text of a block is padded, and
then a text's probabilities would depend on its neighbours.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from assay.infra.devices import torch_device_here
from assay.infra.errors import InputError
from assay.tasks.subjects.text_network import NetworkModel

_LOADING = {
    "local_files_only": True,
    "trust_remote_code": False,
    "use_safetensors": True,
    "attn_implementation": "eager",
}
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "mpnet", "longformer"}
_USUAL_LIMIT = 512


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


def network_from_files(files: Mapping[str, bytes], classes: int, device: str | None) -> NetworkModel:
    """The model in a subject's files; `card.json` says which of its outputs is which class."""
    card = json.loads(files["card.json"])
    device = device or torch_device_here()
    module = read_classifier(files, card["who"]).to(device)
    return NetworkModel(
        HuggingFaceClassifier(module), Tokenizer.from_str(files["tokenizer.json"].decode()),
        tuple(card["columns"]) or tuple(range(classes)), pad_of(module.config), card["limit"], device,
    )  # fmt: skip


def read_classifier(files: Mapping[str, bytes], who: str) -> Any:
    """The transformers module that configuration and safetensors files make; refused where weights are missing."""
    from transformers import AutoModelForSequenceClassification

    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        try:
            module, loading = AutoModelForSequenceClassification.from_pretrained(
                folder, output_loading_info=True, **_LOADING
            )
        except (OSError, ValueError, RuntimeError, KeyError) as fault:
            said = " ".join(str(fault).replace(folder, who).split())
            raise InputError(f"{who} cannot be read as a sequence classifier: {said}") from fault
    missing = sorted(loading["missing_keys"])
    if missing:
        raise InputError(
            f"{who} is no trained sequence classifier: it has no weights for {', '.join(missing[:3])}; name a "
            "fine-tuned one, or let Assay train (`classifier: small-bert` or `minilm-linear`)."
        )
    return module


def limit_of(config: Any, tokenizer_config: Mapping[str, Any]) -> int:
    """The most tokens a model reads: what its tokenizer says, but no more than it has positions."""
    positions = getattr(config, "max_position_embeddings", None) or _USUAL_LIMIT
    if config.model_type in _OFFSET_POSITIONS:
        positions -= (config.pad_token_id or 0) + 1
    said = int(min(tokenizer_config.get("model_max_length", positions), positions))
    return max(said, 1)


def pad_of(config: Any) -> int:
    """The token that fills blocks up; a model without one is given its end token, so that it finds its last word."""
    if config.pad_token_id is None:
        end = config.eos_token_id
        config.pad_token_id = end if isinstance(end, int) else 0
    return int(config.pad_token_id)
