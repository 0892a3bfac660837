"""Networks over tokens before their first step: one that came trained on something else, or a small BERT, new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.infra.seeds import Seeds
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.token_networks.hugging_face import Head, complete, limit_of, read_network
from assay.tasks.subjects.token_networks.sources import ModelSource


@dataclass(frozen=True)
class Start:
    """A network before its first step, the files that belong beside its weights, and how many pieces it reads."""

    network: Any
    files: dict[str, bytes]
    limit: int

    def trained_files(self) -> dict[str, bytes]:
        """The files once it has learned: those that were beside its weights, and the weights as they are now."""
        from assay.tasks.subjects.learning_state import weights_of

        return self.files | {"model.safetensors": weights_of(self.network)}

    def about(self, options: Training, samples: int) -> dict[str, Any]:
        """What every card says of a training."""
        return {
            "how": "trained by Assay",
            "limit": self.limit,
            "training_samples": samples,
            "train": options.model_dump(mode="json"),
            "parameters": sum(weights.numel() for weights in self.network.parameters()),
        }


def start_from(source: ModelSource, who: str, head: Head, outputs: int, seeds: Seeds) -> Start:
    """A model that came trained on something else, with a fresh head drawn from the seed."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.integer("initialisation", bits=62))
        files = complete(source.read(), source.written)
        network = read_network(files, who, head, outputs if head != "none" else None)
    kept = {name: content for name, content in files.items() if "safetensors" not in name}
    kept["config.json"] = network.config.to_json_string().encode()
    return Start(network, kept, limit_of(network.config, files))


def start_small(texts: Sequence[str], head: Head, outputs: int, seeds: Seeds) -> Start:
    """A small BERT with weights drawn from the seed, over the pieces that these texts are made of."""
    import torch

    from assay.tasks.subjects.token_networks.small_bert import LIMIT, configuration_files, learn_vocabulary, new_bert

    tokenizer = learn_vocabulary(texts)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.integer("initialisation", bits=62))
        network = new_bert(tokenizer, outputs, head)
    return Start(network, configuration_files(tokenizer, network), LIMIT)
