"""Small image classifiers of Hugging Face with their processors, as folders that `save_pretrained` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

NAMES = ("right", "left", "middle")
"""The classes, in an order of their own."""


def makes(kind: str, names: tuple[str, ...] = NAMES) -> tuple[Any, Any]:
    """The network and the processor of that kind, with seeded weights."""
    import transformers as hf

    classes = {"id2label": dict(enumerate(names)), "label2id": {name: code for code, name in enumerate(names)}}
    patches = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64} | classes
    square = {"height": 32, "width": 32}
    torch.manual_seed(0)
    if kind == "vit":
        config = hf.ViTConfig(image_size=32, patch_size=8, **patches)
        return hf.ViTForImageClassification(config), hf.ViTImageProcessor(size=square)
    if kind == "deit":
        config = hf.DeiTConfig(image_size=32, patch_size=8, **patches)
        processor = hf.DeiTImageProcessor(size={"height": 36, "width": 36}, crop_size=square)
        return hf.DeiTForImageClassification(config), processor
    if kind == "dinov2":
        config = hf.Dinov2Config(image_size=28, patch_size=14, **patches)
        processor = hf.BitImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 28, "width": 28})
        return hf.Dinov2ForImageClassification(config), processor
    if kind == "resnet":
        config = hf.ResNetConfig(embedding_size=8, hidden_sizes=[16, 32], depths=[1, 1], layer_type="basic", **classes)
        return hf.ResNetForImageClassification(config), hf.ConvNextImageProcessor(size={"shortest_edge": 32})
    config = hf.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, **classes)
    return hf.ConvNextForImageClassification(config), hf.ConvNextImageProcessor(size={"shortest_edge": 384})


def saved(folder: Path, kind: str, names: tuple[str, ...] = NAMES) -> Path:
    """The folder with such a network in it."""
    network, processor = makes(kind, names)
    network.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
