"""Hugging Face sequence classifiers out of their files: safetensors only, nothing fetched, no code of the model's run.

The attention is the plain one ("eager"): the fused kernels take another path when no text of a block is padded, and
then a text's probabilities would depend on its neighbours.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from assay.infra.devices import torch_device_here
from assay.infra.errors import InputError
from assay.tasks.subjects.text_sources import ModelSource
from assay.tasks.subjects.texts.network import NetworkModel

LOADING = {
    "local_files_only": True,
    "trust_remote_code": False,
    "use_safetensors": True,
    "attn_implementation": "eager",
}
"""How any model of transformers is read."""
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


def network_from_files(files: Mapping[str, bytes], device: str | None) -> NetworkModel:
    """The model in a subject's files; `card.json` says which of its outputs is which class."""
    card = json.loads(files["card.json"])
    device = device or torch_device_here()
    module = read_classifier(files, card["who"]).to(device)
    return NetworkModel(
        HuggingFaceClassifier(module), Tokenizer.from_str(files["tokenizer.json"].decode()),
        tuple(card["columns"]), pad_of(module.config), card["limit"], device,
    )  # fmt: skip


def read_classifier(files: Mapping[str, bytes], who: str, outputs: int | None = None) -> Any:
    """The transformers module that configuration and safetensors files make; refused where weights are missing.

    With `outputs` it is to be trained: it gets a last layer of so many classes, fresh where its own does not fit.
    """
    from transformers import AutoModelForSequenceClassification

    fresh = {} if outputs is None else {"num_labels": outputs, "ignore_mismatched_sizes": True}

    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        try:
            module, loading = AutoModelForSequenceClassification.from_pretrained(
                folder, output_loading_info=True, **LOADING, **fresh
            )
        except (OSError, ValueError, RuntimeError, KeyError) as fault:
            said = " ".join(str(fault).replace(folder, who).split())
            raise InputError(f"{who} cannot be read as a sequence classifier: {said}") from fault
    missing = sorted(loading["missing_keys"])
    if missing and outputs is None:
        raise InputError(
            f"{who} is no trained sequence classifier: it has no weights for {', '.join(missing[:3])}; name a "
            "fine-tuned one, or let Assay train (`classifier: small-bert` or `minilm-linear`)."
        )
    return module


def read_encoder(files: Mapping[str, bytes]) -> Any:
    """The transformers module of an encoder without a head."""
    from transformers import AutoModel

    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        return AutoModel.from_pretrained(folder, **LOADING).eval()


def given_model(source: ModelSource, classes: Sequence[str]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a model that came trained, and what its card says; refused here where it does not fit."""
    who = f'The classifier "{source.written}"'
    files = complete(source.read(), source.written)
    module = read_classifier(files, who)
    about = {
        "how": "as it came", "commit": source.commit, "columns": columns_for(module.config, classes, who),
        "limit": limit_of(module.config, files), "parameters": sum(w.numel() for w in module.parameters()),
    }  # fmt: skip
    return files, about


def complete(files: Mapping[str, bytes], written: str) -> dict[str, bytes]:
    """A model's files with `tokenizer.json` among them, made of older vocabulary files where it is missing."""
    if "tokenizer.json" in files:
        return dict(files)
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            made = tokenizer.backend_tokenizer.to_str()
        except (OSError, ValueError, AttributeError, ImportError) as fault:
            raise InputError(
                f'"{written}" has no tokenizer.json, and none can be made of its files: save it again with a fast '
                "tokenizer (tokenizer.save_pretrained)."
            ) from fault
    return dict(files) | {"tokenizer.json": made.encode()}


def limit_of(config: Any, files: Mapping[str, bytes]) -> int:
    """The most tokens a model reads: what its tokenizer says, but no more than it has positions."""
    positions = getattr(config, "max_position_embeddings", None) or _USUAL_LIMIT
    if config.model_type in _OFFSET_POSITIONS:
        positions -= (config.pad_token_id or 0) + 1
    tokenizer = json.loads(files.get("tokenizer_config.json", b"{}"))
    return max(1, int(min(tokenizer.get("model_max_length") or positions, positions)))


def columns_for(config: Any, classes: Sequence[str], who: str) -> list[int]:
    """Which of a model's outputs is which class: by name where it names the same classes, else in its own order."""
    names = [str(config.id2label[code]).casefold() for code in range(config.num_labels)]
    wanted = [name.casefold() for name in classes]
    if sorted(names) == sorted(wanted):
        return [names.index(name) for name in wanted]
    if len(names) != len(wanted):
        raise InputError(
            f"{who} tells {len(names)} classes apart ({', '.join(names[:8])}), and the pipeline has {len(wanted)} "
            f"({', '.join(wanted[:8])})."
        )
    return list(range(len(names)))


def pad_of(config: Any) -> int:
    """The token that fills blocks up; a model without one is given its end token, so that it finds its last word."""
    if config.pad_token_id is None:
        end = config.eos_token_id
        config.pad_token_id = end if isinstance(end, int) else 0
    return int(config.pad_token_id)
