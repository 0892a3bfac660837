"""Taggers that came trained: a Hugging Face token classifier, its labels read in the words of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assay.infra.errors import InputError
from assay.tasks.subjects.sequences.rows import tag_names
from assay.tasks.subjects.token_networks.hugging_face import about_as_it_came, complete, read_network
from assay.tasks.subjects.token_networks.model_bounds import made_of_files
from assay.tasks.subjects.token_networks.sources import ModelSource

_BEGINS = ("B-", "S-", "U-")


def given_tagger(source: ModelSource, known: Sequence[str]) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The files of a token classifier, and what its card says; refused where it shares no entity with the samples."""
    who = f'The tagger "{source.written}"'
    files = complete(source.read(), source.written)
    module = read_network(files, who, "tokens")
    with made_of_files(who, "token classifier"):
        outputs = outputs_of(module.config, known, who)
        about = about_as_it_came(module, files, source)
    labels = [str(module.config.id2label[code]) for code in range(module.config.num_labels)]
    strangers = [label for label, tag in zip(labels, outputs, strict=True) if tag == "O" and label != "O"]
    return files, about | {"outputs": list(outputs), "strangers": strangers}


def outputs_of(config: Any, known: Sequence[str], who: str) -> tuple[str, ...]:
    """The tag that each output of a model stands for, in the words of the data; `O` for types the data does not have.

    B- and I- are read as they are, BIOES and BILOU as the B- and I- that they stand for, and a bare type as I-.
    """
    types = {name[2:].casefold(): name[2:] for name in tag_names(known) if name != "O"}
    tags = []
    for code in range(config.num_labels):
        name = str(config.id2label[code])
        start, kind = ("I-", name) if name[1:2] not in ("-", "_") else (name[0].upper() + "-", name[2:])
        ours = types.get(kind.casefold())
        tags.append("O" if ours is None else ("B-" if start in _BEGINS else "I-") + ours)
    if set(tags) == {"O"}:
        names = ", ".join(str(config.id2label[code]) for code in range(config.num_labels))
        raise InputError(
            f"{who} tags {names}, and the samples {', '.join(sorted(types.values())) or 'nothing'}: they have no type "
            "of entity in common; rename the model's labels (id2label in config.json), or train it further (`train`)."
        )
    return tuple(tags)
