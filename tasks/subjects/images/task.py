"""An image subject: how it learns on a worker, from training samples to weights, a card and the curve; and the stages
in which it learns, predicts other samples, and is measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.data.schemas import Classes, Findings, Predictions, Samples, SubjectFiles, class_names
from assay.infra.engines.devices import deterministically, torch_device_here
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import collect, first_rows, map_partitions, read_files
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import groups_of
from assay.tasks.subjects.images.dataset import (
    LabelledImages,
    channel_statistics,
    images_of,
    labelled_images,
    predict_table,
    targets_of,
    truth_columns,
)
from assay.tasks.subjects.images.model import ImageModel, load_state, network_of, on_device, require_output
from assay.tasks.subjects.predictions import answer_findings
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.token_networks.hugging_face import notice_order
from assay.tasks.subjects.token_networks.sources import PROCESSOR
from assay.tasks.subjects.trained import (
    CARD,
    WEIGHTS,
    BestEpoch,
    Checkpoints,
    Epoch,
    Snapshots,
    TrainedSubject,
    curve_table,
    kept_epochs,
    trained_on_worker,
    weights_of,
    written_card,
)


@stage(version=2, title="train", draws=True, gpu=True)
def train_network(training: Artifact[Samples], classes: Artifact[Classes], subject: ResolvedSubject) -> TrainedSubject:
    """The subject's files: its network trained on these samples, or with the weights that it came with."""
    names = class_names(collect(classes, None))
    if subject.settings.train is None:  # nothing is learned: some images to look at are enough
        training = write_table(first_rows(training, PROBED), into=Samples, name="probed")
    trained = trained_on_worker(learn_images, training, subject=subject, classes=tuple(names), seeds=stage_seeds())
    if subject.source is not None and subject.settings.train is None:
        from assay.tasks.subjects.images.given_networks import ABOUT

        about = json.loads(read_files(trained.files)[CARD])[ABOUT]
        notice_order(about["config"], f'The network "{subject.settings.network}"', names)
    say(_summary(trained, subject, training.rows))
    return trained


@stage(version=1, title="predictions", gpu=True)
def predict_images(
    evaluation: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[Predictions]:
    """What the subject says of every audited image."""
    contents = read_files(files)
    require_classes(contents, classes.rows, subject.settings.name)
    say(f"{subject.settings.network} · {evaluation.rows} images")
    return map_partitions(predict_table, evaluation, into=Predictions, subject=subject, files=contents)


@stage(version=13, title="clean")
def measure_images(
    predictions: Artifact[Predictions], evaluation: Artifact[Samples], classes: Artifact[Classes], name: str
) -> Artifact[Findings]:
    """The findings on one subject and clean images: accuracy, AUC, recall per class, entropy, and if it is constant."""
    names = class_names(collect(classes, None))
    rows = truth_columns(evaluation)
    truth = targets_of(rows, names)
    findings = answer_findings(collect(predictions, None), rows, truth, names, name, groups_of(evaluation))
    say(f"{name} · {_measured(findings)}")
    return write_table(findings_table(findings), into=Findings)


def require_classes(files: dict[str, bytes], classes: int, name: str) -> None:
    """Raises unless the subject's network knows as many classes as the pipeline has."""
    known = json.loads(files[CARD])["classes"]
    if known != classes:
        raise InputError(f"The network of {name} knows {known} classes, and the pipeline has {classes}.")


def _summary(trained: TrainedSubject, subject: ResolvedSubject, samples: int) -> str:
    settings, last = subject.settings, trained.last_epoch()
    if not last:
        how = "" if settings.mean and settings.std else f" · {normalisation_in_words(subject)}"
        return f"{settings.network}, with the weights it came with{how}"
    aside = last["validation_accuracy"]
    shown = "" if aside is None else f", {aside:.1%} of the validation samples right"
    return f"{settings.network} · {plural(last['epoch'], 'epoch')} of {samples} samples{shown}"


def _measured(findings: list[Finding]) -> str:
    by_metric = {finding.metric: finding for finding in findings if not finding.group}
    accuracy, area = by_metric["subject.accuracy"].value, by_metric.get("subject.auc")
    shown = ["–" if value is None else f"{value:.1%}" for value in (accuracy, area and area.value)]
    degenerate = next((f" · {each.verdict}" for each in findings if each.verdict.startswith("degenerate")), "")
    return f"{shown[0]} right, AUC {shown[1]}{degenerate}"


if TYPE_CHECKING:
    from torch import Tensor, nn

    from assay.tasks.subjects.images.training import Batch, BatchHook

PROBED = 32  # images from which one sees whether a network's output is a softmax already


def learn_images(
    training: pa.Table,
    *,
    checkpoints: Checkpoints,
    subject: ResolvedSubject,
    classes: Sequence[str],
    seeds: Seeds,
    hook: BatchHook | None = None,
    about: Mapping[str, Any] | None = None,
) -> tuple[dict[str, bytes], pa.Table]:
    """The subject's files and its curve: trained, or, where it came with weights, as it is and without a curve.

    A subject with weights learns nothing: a few samples will do, and nobody need know what they show.
    """
    options = subject.settings.train
    lessons = images_of(training, classes) if options is None else labelled_images(training, classes)

    def learn() -> tuple[dict[str, bytes], pa.Table]:
        model = new_model(subject, lessons, classes, seeds)
        if options is None and subject.has_gradient and subject.source is None:
            load_state(model.network, subject.weights or b"", model.name)
            model = _softmaxed(model, lessons)
        return trained(
            model, lessons, options, subject, classes, seeds=seeds, checkpoints=checkpoints, hook=hook, about=about
        )

    return deterministically(learn, torch_device_here())


def new_model(subject: ResolvedSubject, lessons: LabelledImages, classes: Sequence[str], seeds: Seeds) -> ImageModel:
    """The subject's network on this call's device, and the normalisation for these images: with seeded weights, or
    those that a Hugging Face model came with."""

    channels, height, width = lessons.images.shape[1:]
    name, crop = subject.settings.name, subject.settings.crop
    if crop is not None and crop > min(height, width):
        raise InputError(
            f"`crop` of the subject {name} is {crop}, and its images have {height}×{width} pixels: make it smaller, or "
            "let the source keep more (`pixels`)."
        )
    seen: tuple[int, int] = (height, width) if crop is None else (crop, crop)
    network = _network(subject, classes, channels, min(seen), seeds.integer("initialisation", bits=62))
    require_output(network, channels, *seen, len(classes), name)
    mean, std = normalisation(subject, lessons)
    device, block = torch_device_here(), subject.settings.block
    network = on_device(network, device, subject.is_ours_by_name)
    model = ImageModel(network, len(classes), lessons.multilabel, mean, std, device, block, name=name, crop=crop)
    return _softmaxed(model, lessons)


def model_again(
    files: Mapping[str, bytes],
    subject: ResolvedSubject,
    lessons: LabelledImages,
    classes: Sequence[str],
    seeds: Seeds,
    *,
    fresh: bool = False,
) -> ImageModel:
    """The subject's network with the weights of its files or `fresh` ones, and what it subtracts and divides by."""
    card: dict[str, Any] = json.loads(files[CARD])
    model = new_model(subject, lessons, classes, seeds)
    if not fresh:
        load_state(model.network, files[WEIGHTS], model.name)
    return replace(model, mean=tuple(card["mean"]), std=tuple(card["std"]), softmaxed=bool(card["softmaxed"]))


def _network(subject: ResolvedSubject, classes: Sequence[str], channels: int, size: int, seed: int) -> nn.Module:
    if subject.source is not None:
        from assay.tasks.subjects.images.given_networks import network_as_it_came

        return network_as_it_came(subject, classes, seed)
    return network_of(subject, classes=len(classes), channels=channels, size=size, seed=seed, names=classes)


def normalisation(subject: ResolvedSubject, lessons: LabelledImages) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What to subtract and divide by per channel: as the settings say, else measured on the training images.

    Where the subject brings its weights there is nothing to measure: what its own network was given is not known, and
    it gets pixels within [0, 1] as they are, unless the settings say otherwise.
    """
    channels = lessons.images.shape[1]
    if subject.settings.train is None or subject.source is not None:
        mean, std = (0.0,) * channels, (1.0,) * channels
    else:
        mean, std = channel_statistics(lessons.images)
    given = subject.settings.mean or mean, subject.settings.std or std
    for option, values in zip(("mean", "std"), given, strict=True):
        if len(values) != channels:
            raise InputError(
                f"`{option}` of the subject {subject.settings.name} has {len(values)} values, and its images have "
                f"{channels} channel{'s' * (channels != 1)}: give one per channel, or leave it out."
            )
    if not all(value > 0 for value in given[1]):
        raise InputError(f"`std` of the subject {subject.settings.name} must be above 0: it divides.")
    return given


def normalisation_in_words(subject: ResolvedSubject) -> str:
    """Where `mean` and `std` come from, for the card and the line of the stage.

    >>> from assay.tasks.subjects.settings import Subject
    >>> own = Subject(network="small-cnn", weights="mine.safetensors")
    >>> normalisation_in_words(ResolvedSubject(own, weights=b""))
    'pixels as they are, from 0 to 1 (no mean or std given)'
    """
    settings = subject.settings
    if subject.source is not None:
        return f"as its {PROCESSOR} says"
    missing = [name for name in ("mean", "std") if getattr(settings, name) is None]
    if not missing:
        return "as given"
    if settings.train is not None:
        return f"{' and '.join(missing)} measured on the training images"
    if len(missing) == 2:
        return "pixels as they are, from 0 to 1 (no mean or std given)"
    return f"no {missing[0]} given, so {'0' if missing == ['mean'] else '1'} per channel"


def trained(
    model: ImageModel,
    lessons: LabelledImages,
    options: Training | None,
    subject: ResolvedSubject,
    classes: Sequence[str],
    *,
    seeds: Seeds,
    checkpoints: Checkpoints,
    hook: BatchHook | None = None,
    about: Mapping[str, Any] | None = None,
    attack: Callable[[Batch], Tensor] | None = None,
) -> tuple[dict[str, bytes], pa.Table]:
    """The files (`card.json`, `model.safetensors`) and the curve of a model, trained further where there are options.

    A defence hands over its hook, and in `about` what the card should say of it; with an `attack`, the weights are
    those of the epoch that withstood it best on the validation images (Rice et al. 2020).
    """
    from assay.tasks.subjects.images.training import plainly, train

    curve: list[Epoch] = []
    kept = frozenset[int]() if options is None or about else kept_epochs(options)
    snapshots = Snapshots(checkpoints, kept) if attack is None else BestEpoch(checkpoints, kept)
    if options is not None:
        curve = train(model, lessons, options, seeds=seeds, checkpoints=snapshots, hook=hook or plainly, attack=attack)
    if attack is not None:
        (best,) = snapshots.kept.values()
        load_state(model.network, best, model.name)
        snapshots.kept.clear()
    channels, height, width = lessons.images.shape[1:]
    card = {
        "kind": "network",
        "network": subject.settings.network,
        "width": subject.settings.width,
        "parameters": sum(weights.numel() for weights in model.network.parameters()),
        "classes": len(classes),
        "class_names": list(classes),
        "multilabel": model.multilabel,
        "channels": channels,
        "height": height,
        "image_width": width,
        "size": model.crop or min(height, width),
        "mean": list(model.mean),
        "std": list(model.std),
        "normalisation": normalisation_in_words(subject),
        "softmaxed": model.softmaxed,
        "train": None if options is None else options.model_dump(mode="json"),
        "training_samples": 0 if options is None else len(lessons.ids),
        "fingerprint": subject.fingerprint,
        **({} if subject.source is None else model.network.about),
        **(about or {}),
    }
    return {**written_card(card), WEIGHTS: weights_of(model.network), **snapshots.kept}, curve_table(curve)


def _softmaxed(model: ImageModel, lessons: LabelledImages) -> ImageModel:
    """The model, told whether its network's last layer is a softmax (or, for labels, a sigmoid)."""
    import torch

    model.network.eval()
    if getattr(model.network, "in_words", False):  # an answer that names no class is 0 for each
        return replace(model, softmaxed=True)
    rows = np.arange(min(PROBED, len(lessons.ids)))
    with torch.inference_mode():
        output = model.logits(torch.from_numpy(lessons.pixels(rows)).to(model.device)).double().cpu().numpy()
    if not np.isfinite(output).all():
        row = int(np.flatnonzero(~np.isfinite(output).all(axis=1))[0])
        raise InputError(
            f"The subject {model.name} returned {output[row].tolist()} for sample {lessons.ids[row]!r}, expected "
            "finite numbers."
        )
    within = bool(((output >= 0) & (output <= 1)).all())
    if model.multilabel:
        return replace(model, softmaxed=within and _stays_within(model, lessons.images.shape[1:]))
    return replace(model, softmaxed=within and bool(np.allclose(output.sum(axis=1), 1, atol=1e-4)))


def _stays_within(model: ImageModel, shape: tuple[int, ...]) -> bool:
    """Whether outputs are in [0, 1] even for inputs that are no images: a sigmoid's are, and not the logits of a
    network that has learned little, which may lie there for every image."""
    import torch

    wild = 1e3 * torch.randn(PROBED, *shape, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        output = model.network(model.window(wild.to(model.device)))
    return bool(((output >= 0) & (output <= 1)).all())
