"""A text classifier in the making, on a worker: from training texts to weights, a tokenizer, a card and the curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assay.infra.seeds import Seeds
from assay.tasks.subjects.curves import curve_table
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.texts.rows import labelled_codes, origins_of, texts_of
from assay.tasks.subjects.token_networks.cards import sealed_card

if TYPE_CHECKING:
    from assay.tasks.subjects.learning_state import Checkpoints
    from assay.tasks.subjects.token_networks.starts import Start

CUT = "texts beyond `limit` tokens are cut after it"


def learn_texts(
    training: pa.Table, *, checkpoints: Checkpoints, subject: ResolvedSubject, classes: Sequence[str], seeds: Seeds
) -> tuple[dict[str, bytes], pa.Table]:
    """The subject's files and its curve: a small BERT from scratch, or a Hugging Face model trained further."""
    from assay.tasks.subjects.snapshots import Snapshots, kept_epochs
    from assay.tasks.subjects.texts.exercise import TextExercise
    from assay.tasks.subjects.token_networks.computing import ids_of, make_ready, tokenizer_in
    from assay.tasks.subjects.token_networks.epochs import learn_here, validating

    options = subject.settings.train or Training()
    samples, codes = labelled_codes(training, classes)
    texts = texts_of(samples, subject.settings.text)
    start = _start(subject, texts, len(classes), seeds)
    tokenizer, pad = tokenizer_in(start.files), int(start.network.config.pad_token_id or 0)
    make_ready(start.network, tokenizer, start.limit)
    ids = [ids_of(tokenizer, text, pad) for text in texts]
    snapshots = Snapshots(checkpoints, kept_epochs(options))
    curve = learn_here(
        start.network,
        TextExercise(start.network, ids, codes, pad, focal=options.loss == "focal"),
        validating(origins_of(samples, texts), options.validation),
        options,
        seeds=seeds,
        checkpoints=snapshots,
        judged=options.batch_size,
    )
    about = start.about(options, len(texts)) | {
        "vocabulary": tokenizer.get_vocab_size(),
        "columns": list(range(len(classes))),
    }
    files = start.trained_files() | snapshots.kept
    return files | card_file(subject, classes, files, about), curve_table(curve)


def card_file(
    subject: ResolvedSubject, classes: Sequence[str], files: Mapping[str, bytes], about: Mapping[str, Any]
) -> dict[str, bytes]:
    """The card of a text classifier; its fingerprint covers the files beside it."""
    card = {
        "kind": subject.way,
        "who": f'The classifier "{subject.settings.classifier}"',
        "text": subject.settings.text,
        "classes": len(classes),
        "class_names": list(classes),
        "truncation": CUT if "limit" in about else "its own",
    } | dict(about)
    return sealed_card(card, files, subject.fingerprint)


def _start(subject: ResolvedSubject, texts: Sequence[str], classes: int, seeds: Seeds) -> Start:
    from assay.tasks.subjects.token_networks.starts import start_from, start_small

    if subject.source is None:
        return start_small(texts, "classes", classes, seeds)
    return start_from(subject.source, f'The classifier "{subject.source.written}"', "classes", classes, seeds)
