"""A small BERT from scratch: two layers of 64, over a WordPiece vocabulary learnt on the texts it trains on.

It needs no download, trains in seconds, and is a real transformer: tokens can be masked, gradients taken.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

from assay.infra.image_operators import declare_image_operators
from assay.tasks.subjects.token_networks.hugging_face import Head

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
    pieces = [*_SPECIAL, *_pieces(words)]
    vocabulary = {piece: code for code, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    tokenizer.add_special_tokens(list(_SPECIAL))
    written: str = tokenizer.to_str()
    return written


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
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))


def new_bert(tokenizer: str, outputs: int, head: Head = "classes") -> Any:
    """The network for a tokenizer, with fresh weights, drawn from Torch's generator as it stands."""
    declare_image_operators()
    import transformers

    kinds = {
        "tokens": transformers.BertForTokenClassification,
        "classes": transformers.BertForSequenceClassification,
        "score": transformers.BertForSequenceClassification,
        "none": transformers.BertModel,
    }
    return kinds[head](small_config(tokenizer, outputs))


def small_config(tokenizer: str, outputs: int) -> Any:
    """The configuration of a small BERT over a tokenizer's vocabulary."""
    from tokenizers import Tokenizer

    declare_image_operators()
    from transformers import BertConfig

    return BertConfig(
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


def configuration_files(tokenizer: str, network: Any) -> dict[str, bytes]:
    """What Hugging Face's tools need beside the weights to open the model again."""
    settings = {"tokenizer_class": "BertTokenizerFast", "model_max_length": LIMIT, "do_lower_case": True}
    configuration = network.config.to_json_string(use_diff=True)
    return {
        "config.json": configuration.encode(),
        "tokenizer.json": tokenizer.encode(),
        "tokenizer_config.json": json.dumps(settings, indent=2).encode(),
    }
