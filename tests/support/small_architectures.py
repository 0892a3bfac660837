"""Small networks of many architectures, made from configurations alone, as folders that `save_pretrained` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from assay.infra.engines.devices import declare_image_operators

TEXT_CLASSES, IMAGE_CLASSES = ("negative", "positive"), ("dark", "light")
WORDS = "the film was good bad fine awful great terrible nice a movie joy bore and so very"
_HIDDEN = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
_FLAT = {"d_model": 32, "n_layer": 1, "n_head": 2, "d_inner": 64}

_ALIKE = (
    *("bert", "roberta", "electra", "deberta", "deberta-v2", "camembert", "xlm-roberta", "convbert", "ernie"),
    *("nystromformer", "roformer", "megatron-bert", "data2vec-text", "layoutlm", "mpnet"),
)
TEXTS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(_ALIKE, _HIDDEN),
    "squeezebert": {**_HIDDEN, "embedding_size": 32},
    "albert": {**_HIDDEN, "embedding_size": 16},
    "rembert": {**_HIDDEN, "input_embedding_size": 16},
    "fnet": {**_HIDDEN, "tpu_short_seq_length": 64},
    "longformer": {**_HIDDEN, "attention_window": 8},
    "big_bird": {**_HIDDEN, "attention_type": "original_full"},
    "mobilebert": {**_HIDDEN, "intra_bottleneck_size": 32, "embedding_size": 32, "true_hidden_size": 32},
    "distilbert": {"dim": 32, "n_layers": 1, "n_heads": 2, "hidden_dim": 64},
    "xlnet": _FLAT,
    "gpt2": {"n_embd": 32, "n_layer": 1, "n_head": 2, "pad_token_id": 0},
    "modernbert": {**_HIDDEN, "global_attn_every_n_layers": 1},
}
_PATCHES = {**_HIDDEN, "image_size": 32, "patch_size": 8}
_STAGES = {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "image_size": 32, "patch_size": 4, "window_size": 4}
IMAGES: dict[str, tuple[dict[str, Any], str]] = {
    "vit": (_PATCHES, "ViT"),
    "deit": ({**_PATCHES, "architectures": ["DeiTForImageClassification"]}, "DeiT"),
    "beit": (_PATCHES, "Beit"),
    "dinov2": (_PATCHES, "Bit"),
    "swin": (_STAGES, "ViT"),
    "swinv2": (_STAGES, "ViT"),
    "convnext": ({"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2}, "ConvNext"),
    "convnextv2": ({"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2}, "ConvNext"),
    "resnet": ({"embedding_size": 8, "hidden_sizes": [16, 32], "depths": [1, 1], "layer_type": "basic"}, "ConvNext"),
    "regnet": ({"embedding_size": 8, "hidden_sizes": [16, 32], "depths": [1, 1], "groups_width": 8}, "ConvNext"),
    "bit": ({"embedding_size": 32, "hidden_sizes": [32, 64], "depths": [1, 1], "num_groups": 4}, "Bit"),
    "mobilenet_v1": ({"image_size": 32, "depth_multiplier": 0.25}, "MobileNetV1"),
    "mobilenet_v2": ({"image_size": 32, "depth_multiplier": 0.35}, "MobileNetV2"),
    "focalnet": ({"image_size": 32, "embed_dim": 8, "depths": [1, 1], "focal_levels": [1, 1]}, "Bit"),
}


def save_of_texts(kind: str, folder: Path, words: str = WORDS) -> Path:
    """A classifier of texts with seeded weights, and its tokenizer."""
    declare_image_operators()
    import transformers as hf
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    trainer = trainers.WordPieceTrainer(vocab_size=200, special_tokens=marks, show_progress=False)
    tokenizer.train_from_iterator([words] * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer, mask_token="[MASK]", **named).save_pretrained(folder)
    settings = {"vocab_size": 200, "pad_token_id": 0, **TEXTS[kind]}
    _seeded(hf.AutoModelForSequenceClassification, kind, settings, TEXT_CLASSES).save_pretrained(folder)
    return folder


def save_of_images(kind: str, folder: Path) -> Path:
    """A classifier of images with seeded weights, and its processor."""
    declare_image_operators()
    import transformers as hf

    settings, processor = IMAGES[kind]
    square, edge = {"height": 32, "width": 32}, {"shortest_edge": 32}
    by_edge = processor in ("ConvNext", "Bit", "MobileNetV1", "MobileNetV2")
    size = {"size": edge if by_edge else square} | ({} if processor in ("ConvNext", "ViT") else {"crop_size": square})
    getattr(hf, f"{processor}ImageProcessor")(**size).save_pretrained(folder)
    _seeded(hf.AutoModelForImageClassification, kind, settings, IMAGE_CLASSES).save_pretrained(folder)
    return folder


def _seeded(of: Any, kind: str, settings: dict[str, Any], classes: tuple[str, ...]) -> Any:
    import transformers as hf

    named = {"id2label": dict(enumerate(classes)), "label2id": {name: code for code, name in enumerate(classes)}}
    torch.manual_seed(0)
    return of.from_config(hf.AutoConfig.for_model(kind, **settings, **named))
