"""A small BERT from scratch: two layers of 64, over a WordPiece vocabulary learnt on the texts it trains on.

It needs no download, trains in seconds, and is a real transformer: tokens can be masked, gradients taken.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

LIMIT = 512  # tokens; longer texts are cut
_VOCABULARY = 8000  # word pieces at most; a piece occurs at least twice
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def learn_vocabulary(texts: Iterable[str]) -> str:
    """A BERT tokenizer for these texts as the content of `tokenizer.json`: lower case, BERT's words, WordPiece."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=_VOCABULARY, min_frequency=2, special_tokens=list(_SPECIAL), show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    ends = [(name, tokenizer.token_to_id(name)) for name in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    written: str = tokenizer.to_str()
    return written


def new_bert(tokenizer: str, classes: int) -> Any:
    """The network for a tokenizer, with fresh weights, drawn from Torch's generator as it stands."""
    from tokenizers import Tokenizer
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=Tokenizer.from_str(tokenizer).get_vocab_size(), hidden_size=64,
        num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=LIMIT, num_labels=classes, pad_token_id=0, attn_implementation="eager",
    )  # fmt: skip
    return BertForSequenceClassification(config)


def configuration_files(tokenizer: str, network: Any) -> dict[str, bytes]:
    """What Hugging Face's tools need beside the weights to open the model again."""
    settings = {"tokenizer_class": "BertTokenizerFast", "model_max_length": LIMIT, "do_lower_case": True}
    configuration = network.config.to_json_string(use_diff=True)
    return {
        "config.json": configuration.encode(),
        "tokenizer.json": tokenizer.encode(),
        "tokenizer_config.json": json.dumps(settings, indent=2).encode(),
    }
