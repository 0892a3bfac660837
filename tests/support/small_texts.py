"""Small text classifiers for tests: a BERT with drawn weights over a vocabulary learnt on a few sentences."""

from __future__ import annotations

from pathlib import Path

TEXTS = [
    "the plot is dull and the cast is bad",
    "a brilliant film with a lovely cast",
    "it was made near Lisbon in June",
    "the sound is poor, the picture too",
    "we saw it on Friday and we loved it",
    "a film about a horse and a boat",
    "the plot is brilliant",
    "the cast is dull",
    "it was made in June",
    "we saw the picture",
]


def tiny_bert(classes: int = 2, seed: int = 0, spread: float = 1.0):
    """A network and its tokenizer, with weights wide enough that its answers differ from text to text."""
    import torch

    from assay.tasks.subjects.token_networks.hugging_face import learn_vocabulary, new_bert

    tokenizer = learn_vocabulary(TEXTS)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = new_bert(tokenizer, classes)
        for weights in network.parameters():
            if weights.dim() > 1:
                weights.data.normal_(0, 0.15 * spread)
    return network, tokenizer


def tiny_model(classes: int = 2, seed: int = 0):
    """The same as a `TokenModel`."""
    from tokenizers import Tokenizer

    from assay.tasks.subjects.texts.network import HuggingFaceClassifier, NetworkModel

    network, tokenizer = tiny_bert(classes, seed)
    columns = tuple(range(classes))
    return NetworkModel(HuggingFaceClassifier(network), Tokenizer.from_str(tokenizer), 0, 512, columns=columns)


def save_tiny_bert(folder: Path, *, safe: bool = True, names: list[str] | None = None) -> Path:
    """A folder as Hugging Face's tools leave it."""
    import torch

    from assay.tasks.subjects.token_networks.hugging_face import configuration_files
    from assay.tasks.subjects.trained import weights_of

    network, tokenizer = tiny_bert(len(names or "ab"))
    if names:
        network.config.id2label = dict(enumerate(names))
        network.config.label2id = {name: code for code, name in enumerate(names)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in configuration_files(tokenizer, network).items():
        (folder / name).write_bytes(content)
    if safe:
        (folder / "model.safetensors").write_bytes(weights_of(network))
    else:
        torch.save(network.state_dict(), folder / "pytorch_model.bin")
    return folder
