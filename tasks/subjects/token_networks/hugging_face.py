"""Networks of transformers out of their files, which output is which class, and where a training starts.

Safetensors only, nothing fetched, no code of the model's run. The attention is the plain one ("eager"): the fused
kernels take another path when no text of a block is padded, and then what a network says of a text would depend on its
neighbours. A small BERT of two layers of 64 needs no download: it starts with fresh weights over a WordPiece vocabulary
learnt on its training texts.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from assay.infra.engines.devices import seeded_torch, torch_device_here, transformers_library
from assay.infra.errors import InputError, faults_in_words
from assay.infra.stages.exact import Seeds
from assay.infra.stages.runs import current_run
from assay.infra.terminal import quietened
from assay.tasks.language.embeddings.encoder import LOADING
from assay.tasks.reporting.numerals import plural
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.token_networks.sources import ModelSource, made_of_files


def in_its_own_order(config: Mapping[str, Any]) -> bool:
    """Whether a model was saved without the names of its classes, so that only their order says which is which.

    >>> in_its_own_order({"id2label": {"0": "LABEL_0"}}), in_its_own_order({"id2label": {"0": "ham"}})
    (True, False)
    """
    named = config.get("id2label") or {}
    return all(str(name).casefold() in (f"label_{code}", str(code)) for code, name in named.items())


def columns_for(config: Any, classes: Sequence[str], who: str) -> list[int]:
    """Which of a model's outputs is which class: by name; in its own order where it was saved without names."""
    names = [str(config.id2label[code]).casefold() for code in range(config.num_labels)]
    wanted = [name.casefold() for name in classes]
    if sorted(names) == sorted(wanted):
        return [names.index(name) for name in wanted]
    if len(names) != len(wanted):
        one = "; a model with one output is given as a function that answers [1 − p, p] (docs/bring-your-own.md)"
        raise InputError(
            f"{who} tells {plural(len(names), 'class', 'classes')} apart ({', '.join(names[:8])}), and the pipeline "
            f"has {len(wanted)} ({', '.join(wanted[:8])}){one if len(names) == 1 else ''}."
        )
    if not all(name in (f"label_{code}", str(code)) for code, name in enumerate(names)):
        raise InputError(
            f"{who} answers with {', '.join(names[:8])}, and the pipeline's classes are {', '.join(wanted[:8])}: which "
            "is which? Write the pipeline's names under id2label in the model's config.json."
        )
    return list(range(len(names)))


Head = Literal["tokens", "classes", "score", "images", "none"]
_HEADS = {
    "tokens": ("token classifier", "ForTokenClassification"),
    "classes": ("sequence classifier", "ForSequenceClassification"),
    "score": ("scorer of sentence pairs", "ForSequenceClassification"),
    "images": ("classifier of images", "ForImageClassification"),
    "none": ("encoder", ""),
}
"""What a network with such a head is, and how transformers calls its class, behind the name of the model."""

_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "mpnet", "longformer"}
_USUAL_LIMIT = 512
_ABOUT_TOKENIZER = "tokenizer_config.json"
_TOKENIZER_ARGUMENTS = (_ABOUT_TOKENIZER, "special_tokens_map.json")
"""Files whose entries become arguments of a tokenizer's class, whatever they are called."""
_NAMES_FILES = re.compile("file|vocab|spm|ckpt|init_inputs|_kwargs")


def read_network(files: Mapping[str, bytes], who: str, head: Head, outputs: int | None = None) -> Any:
    """The transformers module that configuration and safetensors files make; refused where weights are missing.

    With `outputs` it is to be trained: it gets a last layer of so many outputs, fresh where its own does not fit.
    """
    what, name = _HEADS[head]
    kind = getattr(transformers_library(), f"AutoModel{name}")
    fresh = {} if outputs is None else {"num_labels": outputs, "ignore_mismatched_sizes": True}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        # that a fresh head is untrained, what matters of which we say ourselves, would stand in the middle of our lines
        with made_of_files(who, what, hide=folder), quietened("transformers"):
            module, loading = kind.from_pretrained(folder, output_loading_info=True, **LOADING, **fresh)
    missing = sorted(loading["missing_keys"])
    if missing and outputs is None and head != "none":
        raise InputError(
            f"{who} is no trained {what}: it has no weights for {', '.join(missing[:3])}; name a fine-tuned "
            "one, or say how Assay is to train it (`train: {epochs: 5}`)."
        )
    return module


def complete(files: Mapping[str, bytes], written: str) -> dict[str, bytes]:
    """A model's files with `tokenizer.json` among them, made of older vocabulary files where it is missing."""
    if "tokenizer.json" in files:
        return dict(files)
    tokenizers = transformers_library().AutoTokenizer
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(_without_files(content) if name in _TOKENIZER_ARGUMENTS else content)
        lacking = f'"{written}" has no tokenizer.json, and none can be made of its files: save it again with a fast '
        # whatever a library raises on somebody's files is about those files
        with faults_in_words(lambda _: f"{lacking}tokenizer (tokenizer.save_pretrained)."):
            tokenizer = tokenizers.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
            tokenizer_json = tokenizer.backend_tokenizer.to_str()
    return dict(files) | {"tokenizer.json": tokenizer_json.encode()}


def _without_files(content: bytes) -> bytes:
    """A tokenizer's configuration, or its map of special tokens, without the files that it names: they are read under
    their usual names, out of the model's own folder, and another name may lead anywhere.

    >>> _without_files(b'{"vocab_file": "/etc/hostname", "vocab_size": 9, "do_lower_case": true}')
    b'{"vocab_size": 9, "do_lower_case": true}'
    """
    about = json.loads(content)
    kept = {key: value for key, value in about.items() if isinstance(value, int) or not _NAMES_FILES.search(key)}
    return json.dumps(kept).encode()


def limit_of(config: Any, files: Mapping[str, bytes]) -> int:
    """The most tokens a model reads: what its tokenizer says, but no more than it has positions."""
    positions = getattr(config, "max_position_embeddings", None) or _USUAL_LIMIT
    if config.model_type in _OFFSET_POSITIONS:
        positions -= (config.pad_token_id or 0) + 1
    tokenizer = json.loads(files.get(_ABOUT_TOKENIZER, b"{}"))
    return max(1, int(min(tokenizer.get("model_max_length") or positions, positions)))


def pad_of(config: Any) -> int:
    """The token that fills blocks up; a model without one is given its end token, so that it finds its last word."""
    if config.pad_token_id is None:
        end = config.eos_token_id
        config.pad_token_id = end if isinstance(end, int) else 0
    return int(config.pad_token_id)


def about_as_it_came(module: Any, files: Mapping[str, bytes], source: ModelSource) -> dict[str, Any]:
    """What every card says of a model that came trained."""
    return {
        "how": "as it came",
        "commit": source.commit,
        "limit": limit_of(module.config, files),
        "parameters": sum(weights.numel() for weights in module.parameters()),
    }


os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

LIMIT = 512  # tokens; longer texts are cut
_MOST_WORDS, _MOST_PARTS = 6000, 2000  # of a vocabulary: whole words, and parts of words
_LONGEST_PART, _SHARED_BY = 6, 3  # characters of a part, and words that share it
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def learn_vocabulary(texts: Iterable[str]) -> str:
    """A BERT tokenizer for these texts as the content of `tokenizer.json`: lower case, BERT's words, WordPiece.

    Pieces are every character, the words that occur twice or more, and the beginnings and endings that several words
    share, the most frequent first. (The trainer that comes with tokenizers breaks ties differently in every run.)
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    normalizer, splitter = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    words = Counter(word for text in texts for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text)))
    vocabulary = {piece: code for code, piece in enumerate(dict.fromkeys((*_SPECIAL, *_pieces(words))))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    tokenizer.add_special_tokens(list(_SPECIAL))
    return str(tokenizer.to_str())


def _pieces(words: Counter[str]) -> list[str]:
    """The pieces of a vocabulary from how often each word occurs, in an order that only the counts decide."""
    characters = sorted({character for word in words for character in word})
    parts: Counter[str] = Counter()
    for word in words:
        for size in range(2, min(len(word), _LONGEST_PART + 1)):
            parts.update((word[:size], f"##{word[-size:]}"))
    repeated = [word for word, count in _ranked(words) if count > 1][:_MOST_WORDS]
    shared = [part for part, count in _ranked(parts) if count >= _SHARED_BY][:_MOST_PARTS]
    return [*characters, *(f"##{character}" for character in characters), *repeated, *shared]


def _ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))


def new_bert(tokenizer: str, outputs: int, head: Head = "classes") -> Any:
    """The network for a tokenizer, with fresh weights, drawn from Torch's generator as it stands."""
    from tokenizers import Tokenizer

    transformers = transformers_library()
    config = transformers.BertConfig(
        vocab_size=Tokenizer.from_str(tokenizer).get_vocab_size(),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=LIMIT,
        num_labels=outputs,
        pad_token_id=0,
        attn_implementation="eager",
    )
    return getattr(transformers, f"Bert{_HEADS[head][1] or 'Model'}")(config)


def configuration_files(tokenizer: str, network: Any) -> dict[str, bytes]:
    """What Hugging Face's tools need beside the weights to open the model again."""
    settings = {"tokenizer_class": "BertTokenizerFast", "model_max_length": LIMIT, "do_lower_case": True}
    return {
        "config.json": network.config.to_json_string(use_diff=True).encode(),
        "tokenizer.json": tokenizer.encode(),
        "tokenizer_config.json": json.dumps(settings, indent=2).encode(),
    }


def network_in(files: Mapping[str, bytes], head: Head) -> tuple[Any, Any, int, int, str]:
    """What a subject's files make of a network that is asked: the module on its device, its tokenizer, the token that
    fills blocks up, the most tokens it reads, and the device."""
    from assay.tasks.subjects.token_networks.epochs import tokenizer_in

    card, device = json.loads(files["card.json"]), torch_device_here()
    module = read_network(files, card["who"], head).to(device)
    return module, tokenizer_in(files), pad_of(module.config), card["limit"], device


@dataclass(frozen=True)
class Start:
    """A network before its first step, its tokenizer, the files that belong beside its weights, and how many pieces it
    reads."""

    network: Any
    tokenizer: Any
    files: dict[str, bytes]
    limit: int

    def trained_files(self) -> dict[str, bytes]:
        """The files once it has learned: those that were beside its weights, and the weights as they are now."""
        from assay.tasks.subjects.trained import weights_of

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


def start_of(
    source: ModelSource | None, who: str, texts: Sequence[str], head: Head, outputs: int, seeds: Seeds
) -> Start:
    """Where a training starts: from a model that came trained on something else, its head fresh, or from a small BERT
    over the pieces that these texts are made of; what is fresh is drawn from the seed."""
    from assay.tasks.subjects.token_networks.epochs import make_ready, tokenizer_in

    with seeded_torch(seeds.integer("initialisation", bits=62)):
        if source is None:
            vocabulary = learn_vocabulary(texts)
            network, limit = new_bert(vocabulary, outputs, head), LIMIT
            files = configuration_files(vocabulary, network)
        else:
            given = complete(source.read(), source.written)
            network = read_network(given, who, head, outputs if head != "none" else None)
            files = {name: content for name, content in given.items() if "safetensors" not in name}
            files["config.json"], limit = network.config.to_json_string().encode(), limit_of(network.config, given)
    tokenizer = tokenizer_in(files)
    make_ready(network, tokenizer, limit)
    return Start(network, tokenizer, files, limit)


def notice_order(config: Mapping[str, Any], who: str, classes: Sequence[str]) -> None:
    """A notice of the run where a model was saved without the names of its classes."""
    if in_its_own_order(config):
        current_run().notice(
            f"{who} names no classes (LABEL_0, …): its outputs are taken for {', '.join(classes[:8])}, in this order."
        )
