"""Taggers that came trained: a Hugging Face token classifier, its labels read in the words of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.tasks.subjects.sequences.tag_network import outputs_of
from assay.tasks.subjects.text_sources import ModelSource
from assay.tasks.subjects.texts.hugging_face import complete, limit_of
from assay.tasks.subjects.token_networks.hugging_face import read_headed


def given_tagger(source: ModelSource, known: Sequence[str]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a token classifier, and what its card says; refused where it shares no entity with the samples."""
    who = f'The tagger "{source.written}"'
    files = complete(source.read(), source.written)
    module = read_headed(files, who, "tokens")
    outputs = outputs_of(module.config, known, who)
    labels = [str(module.config.id2label[code]) for code in range(module.config.num_labels)]
    about = {
        "how": "as it came", "commit": source.commit, "outputs": list(outputs),
        "strangers": [label for label, tag in zip(labels, outputs, strict=True) if tag == "O" and label != "O"],
        "limit": limit_of(module.config, files), "parameters": sum(w.numel() for w in module.parameters()),
    }  # fmt: skip
    return files, about
