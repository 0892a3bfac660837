"""Transformers with a head over tokens or over whole inputs, out of their files; and small ones with fresh weights."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.subjects.text_sources import ModelSource
from assay.tasks.subjects.texts.hugging_face import LOADING, complete, limit_of

Head = Literal["tokens", "whole", "none"]
_WHAT = {"tokens": "token classifier", "whole": "scorer of sentence pairs", "none": "encoder"}


@dataclass(frozen=True)
class Start:
    """A network before its first step, the files that belong beside its weights, and how many pieces it reads."""

    network: Any
    files: dict[str, bytes]
    limit: int


def read_headed(files: Mapping[str, bytes], who: str, head: Head, outputs: int | None = None) -> Any:
    """The transformers module that configuration and safetensors files make; refused where weights are missing.

    With `outputs` it is to be trained: it gets a last layer of so many outputs, fresh where its own does not fit.
    """
    import transformers

    kinds = {
        "tokens": transformers.AutoModelForTokenClassification,
        "whole": transformers.AutoModelForSequenceClassification, "none": transformers.AutoModel,
    }  # fmt: skip
    fresh = {} if outputs is None else {"num_labels": outputs, "ignore_mismatched_sizes": True}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        try:
            with _without_advice():
                module, loading = kinds[head].from_pretrained(folder, output_loading_info=True, **LOADING, **fresh)
        except (OSError, ValueError, RuntimeError, KeyError) as fault:
            said = " ".join(str(fault).replace(folder, who).split())
            raise InputError(f"{who} cannot be read as a {_WHAT[head]}: {said}") from fault
    missing = sorted(loading["missing_keys"])
    if missing and outputs is None and head != "none":
        raise InputError(
            f"{who} is no trained {_WHAT[head]}: it has no weights for {', '.join(missing[:3])}; name a fine-tuned "
            "one, or say how Assay is to train it (`train: {epochs: 5}`)."
        )
    return module


@contextmanager
def _without_advice() -> Iterator[None]:
    """Transformers says that a fresh head is untrained, in the middle of our lines; what matters, we say ourselves."""
    logger = logging.getLogger("transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def start_from(source: ModelSource, who: str, head: Head, outputs: int, seeds: Seeds) -> Start:
    """A model that came trained on something else, with a fresh head drawn from the seed."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.integer("initialisation", bits=62))
        files = complete(source.read(), source.written)
        network = read_headed(files, who, head, outputs if head != "none" else None)
    kept = {name: content for name, content in files.items() if "safetensors" not in name}
    kept["config.json"] = network.config.to_json_string().encode()
    return Start(network, kept, limit_of(network.config, files))


def start_small(texts: list[str], head: Head, outputs: int, seeds: Seeds) -> Start:
    """A small BERT with weights drawn from the seed, over the pieces that these texts are made of."""
    import torch
    import transformers

    from assay.tasks.subjects.token_networks.small_bert import (
        LIMIT,
        configuration_files,
        learn_vocabulary,
        small_config,
    )

    tokenizer = learn_vocabulary(texts)
    kinds = {"tokens": transformers.BertForTokenClassification, "whole": transformers.BertForSequenceClassification}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.integer("initialisation", bits=62))
        network = kinds.get(head, transformers.BertModel)(small_config(tokenizer, outputs))
    return Start(network, configuration_files(tokenizer, network), LIMIT)
