"""A text classifier in the making, on a worker: from training texts to weights, a tokenizer, a card and the curve."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.data.image_schemas import TrainingCurve
from assay.infra.devices import deterministically, torch_device_here
from assay.infra.seeds import Seeds
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.texts.rows import labelled_codes, origins_of, texts_of

if TYPE_CHECKING:
    from assay.infra.trainings import Checkpoints
    from assay.tasks.subjects.texts.training import Epoch

CARD = "card.json"
CUT = "texts beyond `limit` tokens are cut after it"


def learn_texts(
    training: pa.Table, *, checkpoints: Checkpoints, subject: ResolvedSubject, classes: Sequence[str], seeds: Seeds
) -> tuple[dict[str, bytes], pa.Table]:
    """The subject's files and its curve: a small BERT from scratch, or a Hugging Face model trained further."""
    from tokenizers import Tokenizer

    from assay.tasks.subjects.learning_state import weights_of
    from assay.tasks.subjects.texts.training import Lesson, train, validating

    options = subject.settings.train or Training()
    samples, codes = labelled_codes(training, classes)
    texts = texts_of(samples, subject.settings.text)
    aside = validating(origins_of(samples, texts), options.validation)
    network, files, limit = _start(subject, texts, len(classes), seeds)
    tokenizer = Tokenizer.from_str(files["tokenizer.json"].decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    pad = int(network.config.pad_token_id or 0)
    ids = [np.array(tokenizer.encode(text).ids or [pad], dtype=np.int64) for text in texts]
    lesson, device, start = Lesson(ids, codes, aside, pad), torch_device_here(), deepcopy(network.state_dict())

    def learn() -> list[Epoch]:
        network.load_state_dict(start)
        return train(network, lesson, options, seeds=seeds, device=device, checkpoints=checkpoints)

    curve = deterministically(learn, device)
    about = {
        "how": "trained by Assay", "limit": limit, "training_samples": len(texts),
        "train": options.model_dump(mode="json"), "parameters": sum(w.numel() for w in network.parameters()),
        "vocabulary": tokenizer.get_vocab_size(), "columns": list(range(len(classes))),
    }  # fmt: skip
    files = files | {"model.safetensors": weights_of(network)}
    return files | card_file(subject, classes, files, about), curve_table(curve)


def card_file(
    subject: ResolvedSubject, classes: Sequence[str], files: Mapping[str, bytes], about: Mapping[str, Any]
) -> dict[str, bytes]:
    """The card of a text classifier; its fingerprint covers the files beside it."""
    state = hashlib.sha256(subject.fingerprint.encode())
    for name in sorted(files):
        state.update(f"\0{name}\0{hashlib.sha256(files[name]).hexdigest()}".encode())
    card = {
        "kind": subject.way, "who": f'The classifier "{subject.settings.classifier}"', "text": subject.settings.text,
        "classes": len(classes), "class_names": list(classes), "truncation": CUT if "limit" in about else "its own",
    } | dict(about)  # fmt: skip
    card["fingerprint"] = state.hexdigest()
    return {CARD: json.dumps(card, indent=2, sort_keys=True, ensure_ascii=False).encode()}


def curve_table(curve: Sequence[Epoch]) -> pa.Table:
    """The curve as a table; no rows for what came trained."""
    rows = [
        {"epoch": one.epoch, "loss": one.loss, "train_accuracy": one.train_accuracy,
         "validation_accuracy": one.validation_accuracy}
        for one in curve
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=TrainingCurve.schema)


def _start(
    subject: ResolvedSubject, texts: Sequence[str], classes: int, seeds: Seeds
) -> tuple[Any, dict[str, bytes], int]:
    """The network before its first step, the files beside its weights, and how many tokens it reads."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seeds.integer("initialisation", bits=62))
        if subject.source is None:
            from assay.tasks.subjects.token_networks.small_bert import (
                LIMIT,
                configuration_files,
                learn_vocabulary,
                new_bert,
            )

            tokenizer = learn_vocabulary(texts)
            network = new_bert(tokenizer, classes)
            return network, configuration_files(tokenizer, network), LIMIT
        from assay.tasks.subjects.texts.hugging_face import complete, limit_of, read_classifier

        files = complete(subject.source.read(), subject.source.written)
        network = read_classifier(files, f'The classifier "{subject.source.written}"', outputs=classes)
    kept = {name: content for name, content in files.items() if "safetensors" not in name}
    kept["config.json"] = network.config.to_json_string().encode()
    return network, kept, limit_of(network.config, files)
