"""The stages of a text subject: it learns from some texts (or comes trained), predicts others, and is measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from assay.data.schemas import Classes, Findings, Predictions, Samples, SubjectFiles, class_names
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import Reuse, collect, map_partitions, read_files
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.groups import groups_of
from assay.tasks.subjects.predictions import answer_findings, codes_known
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.texts.rows import (
    TextFeatures,
    feature_rows,
    labelled_codes,
    origins_of,
    predict_table,
    texts_of,
)
from assay.tasks.subjects.trained import (
    Checkpoints,
    Snapshots,
    TrainedSubject,
    curve_table,
    cut_in_words,
    kept_epochs,
    sealed_card,
    trained_on_worker,
    without_epochs,
)

CUT = "texts beyond `limit` tokens are cut after it"


def learn_texts(
    training: pa.Table, *, checkpoints: Checkpoints, subject: ResolvedSubject, classes: Sequence[str], seeds: Seeds
) -> tuple[dict[str, bytes], pa.Table]:
    """The subject's files and its curve: a small BERT from scratch, or a Hugging Face model trained further."""
    from assay.tasks.subjects.texts.network import text_exercise
    from assay.tasks.subjects.token_networks.epochs import ids_of, learn
    from assay.tasks.subjects.token_networks.hugging_face import start_of

    options = subject.settings.train or Training()
    samples, codes = labelled_codes(training, classes)
    texts = texts_of(samples, subject.settings.text)
    who = f'The classifier "{subject.settings.classifier}"'
    start = start_of(subject.source, who, texts, "classes", len(classes), seeds)
    pad = int(start.network.config.pad_token_id or 0)
    ids = [ids_of(start.tokenizer, text, pad) for text in texts]
    snapshots = Snapshots(checkpoints, kept_epochs(options))
    exercise = text_exercise(start.network, ids, codes, pad, focal=options.loss == "focal")
    origins, size = origins_of(samples, texts), options.batch_size
    curve = learn(start.network, exercise, origins, options, seeds=seeds, checkpoints=snapshots, judged=size)
    about = start.about(options, len(texts)) | {
        "vocabulary": start.tokenizer.get_vocab_size(),
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


def train_classifier(
    training: Artifact[Samples], classes: Artifact[Classes], subject: ResolvedSubject
) -> TrainedSubject:
    """The subject's files by the stage that makes them: trained on these texts, or as it came."""
    if subject.way == "minilm-linear":
        return fit_classifier(encode_texts(training, subject), classes, subject)
    if subject.way == "small-bert" or (subject.way == "hugging-face" and subject.settings.train is not None):
        return teach_classifier(training, classes, subject)
    return take_classifier(classes, subject)


@stage(version=1, title="train", draws=True, gpu=True, libraries=["transformers"])
def teach_classifier(
    training: Artifact[Samples], classes: Artifact[Classes], subject: ResolvedSubject
) -> TrainedSubject:
    """A small BERT from scratch, or a Hugging Face model trained further, by epochs on one worker."""
    names = class_names(collect(classes, None))
    trained = trained_on_worker(learn_texts, training, subject=subject, classes=tuple(names), seeds=stage_seeds())
    last = trained.last_epoch()
    aside = last["validation_accuracy"]
    shown = "" if aside is None else f", {aside:.1%} of the validation texts right"
    say(f"{subject.settings.classifier} · {plural(last['epoch'], 'epoch')} of {training.rows} texts{shown}")
    return trained


@stage(version=1, title="encode", gpu=True, libraries=["transformers"])
def encode_texts(training: Artifact[Samples], subject: ResolvedSubject) -> Artifact[TextFeatures]:
    """MiniLM's features of every training text, once."""
    column = subject.settings.text
    features = map_partitions(feature_rows, training, into=TextFeatures, text=column)
    say(f"features of {features.rows} texts")
    return features


@stage(version=1, title="train")
def fit_classifier(
    features: Artifact[TextFeatures], classes: Artifact[Classes], subject: ResolvedSubject
) -> TrainedSubject:
    """A linear layer on features."""
    from assay.tasks.subjects.texts.network import about_head, fit_head, head_files

    names = class_names(collect(classes, None))
    known, codes = labelled_codes(collect(features, None), names)
    matrix = np.stack(known["features"].to_numpy(zero_copy_only=False)).astype(np.float64)
    files = head_files(*fit_head(matrix, codes, len(names)))
    say(f"{subject.settings.classifier} · a linear layer on {len(codes)} texts")
    return without_epochs(files | card_file(subject, names, files, about_head(subject, len(codes), names)))


@stage(version=1, title="subject")
def take_classifier(classes: Artifact[Classes], subject: ResolvedSubject) -> TrainedSubject:
    """A classifier as it came: the user's function, or a Hugging Face model with its files."""
    names = class_names(collect(classes, None))
    say(f"{subject.settings.classifier}, as it came")
    files: dict[str, bytes] = {}
    if subject.source is None:
        about: dict[str, Any] = {"how": "the user's own function", "code": subject.fingerprint}
    else:
        from assay.tasks.subjects.texts.network import given_model
        from assay.tasks.subjects.token_networks.hugging_face import notice_order

        files, about = given_model(subject.source, names)
        notice_order(json.loads(files["config.json"]), f'The classifier "{subject.settings.classifier}"', names)
    return without_epochs(files | card_file(subject, names, files, about))


@stage(version=2, title="predictions", gpu=True, libraries=["transformers"])
def predict_texts(
    samples: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[Predictions]:
    """What the subject says of every text."""
    names, reuse = tuple(class_names(collect(classes, None))), Reuse() if subject.is_known_whole else None
    predictions = map_partitions(
        predict_table, samples, into=Predictions, reuse=reuse, subject=subject, files=read_files(files), classes=names
    )
    say(f"{subject.settings.classifier} · {samples.rows} texts{cut_in_words(predictions)}")
    return predictions


@stage(version=13, title="clean")
def measure_texts(
    predictions: Artifact[Predictions], samples: Artifact[Samples], classes: Artifact[Classes], name: str
) -> Artifact[Findings]:
    """The findings on one subject: accuracy, AUC, recall per class, and a flag if it always says the same."""
    names = class_names(collect(classes, None))
    rows = collect(samples, ["id", "gold"])
    truth = codes_known(rows, names)
    findings = answer_findings(collect(predictions, None), rows, truth, names, name, groups_of(samples))
    right = next(finding for finding in findings if finding.metric == "subject.accuracy")
    constant = next((finding.verdict for finding in findings if finding.verdict.startswith("degenerate")), "")
    shown = "no gold labels to measure by" if right.value is None else f"{right.value:.1%} of {right.n} right"
    say(f"{name} · {shown}" + (f" · {constant}" if constant else ""))
    return write_table(findings_table(findings), into=Findings)
