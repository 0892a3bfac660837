"""Hugging Face's image classifiers as networks of images: their own preprocessing inside, their outputs by class."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from assay.infra.bounds import process_state
from assay.infra.image_operators import declare_image_operators
from assay.tasks.subjects.images.preprocessing import Preprocessing, preprocessing_of
from assay.tasks.subjects.token_networks.class_names import columns_for
from assay.tasks.subjects.token_networks.hugging_face import LOADING, read_network
from assay.tasks.subjects.token_networks.model_bounds import made_of_files
from assay.tasks.subjects.token_networks.sources import PROCESSOR, require_processor

if TYPE_CHECKING:
    from assay.tasks.subjects.resolved import ResolvedSubject

ABOUT = "hugging_face"
"""The entry of a subject's card from which such a network is built again."""
_WHAT = "classifier of images"


class HuggingFaceNetwork(nn.Module):  # type: ignore[misc]
    """Shows its network what the processor would, and gives its logits in the order of the audit's classes."""

    def __init__(self, network: nn.Module, shown: Preprocessing, columns: Sequence[int]) -> None:
        super().__init__()
        self.network, self._shown, self._columns = network, shown, list(columns)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [n, k] of images [n, c, h, w] within [0, 1]."""
        return self.network(pixel_values=self._shown(images)).logits[:, self._columns]

    @property
    def about(self) -> dict[str, Any]:
        """What the card of a subject says of it besides, so that it can be built again without its folder."""
        config = json.loads(self.network.config.to_json_string(use_diff=False))
        return {ABOUT: {"config": config, "shown": self._shown.to_card(), "columns": self._columns}}


def network_as_it_came(subject: ResolvedSubject, classes: Sequence[str], seed: int) -> HuggingFaceNetwork:
    """The network in the subject's source with its weights; one that is to be trained gets a last layer for these
    classes, drawn from the seed where its own does not fit."""
    assert subject.source is not None
    who, files = f'The network "{subject.source.written}"', subject.source.read()
    require_processor(files, subject.source.written)
    trains = subject.settings.train is not None
    with process_state, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = read_network(files, who, "images", len(classes) if trains else None)
    with made_of_files(who, _WHAT):
        if trains:
            network.config.id2label = dict(enumerate(classes))
            network.config.label2id = {name: code for code, name in enumerate(classes)}
        columns = columns_for(network.config, classes, who)
        shown = preprocessing_of(_processor(files, who), int(getattr(network.config, "num_channels", 3)), who)
    return HuggingFaceNetwork(network.float(), shown, columns)


def network_of_card(about: Mapping[str, Any]) -> HuggingFaceNetwork:
    """The network that a card describes; its weights are still to be loaded."""
    declare_image_operators()
    import transformers

    config = dict(about["config"])
    built = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
    network = transformers.AutoModelForImageClassification.from_config(
        built, trust_remote_code=False, attn_implementation=LOADING["attn_implementation"]
    )
    return HuggingFaceNetwork(network, Preprocessing.of_card(about["shown"]), about["columns"])


def _processor(files: Mapping[str, bytes], who: str) -> Any:
    """The image processor among the files, as transformers reads it; nothing of it is run."""
    declare_image_operators()
    from transformers import AutoImageProcessor

    with tempfile.TemporaryDirectory() as folder:
        for name in ("config.json", PROCESSOR):
            Path(folder, name).write_bytes(files[name])
        with made_of_files(who, _WHAT, hide=folder):
            return AutoImageProcessor.from_pretrained(
                folder, use_fast=False, local_files_only=True, trust_remote_code=False
            )
