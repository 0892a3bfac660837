"""Corruptions as stages: every frame is made once, shown to all subjects where the samples lie, and forgotten; the
flips are added up exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.images import Pixels, image_columns, pixels_of
from assay.data.schemas import (
    Classes,
    CorruptedImages,
    Findings,
    FrameFlips,
    Predictions,
    Samples,
    SubjectFiles,
    class_names,
)
from assay.infra.errors import InputError
from assay.infra.stages.exact import Least, Seeds
from assay.infra.stages.partitions import collect, map_partitions, read_files, reduce_partitions
from assay.infra.stages.stage import go_last, say, stage, stage_seeds, write_table
from assay.infra.stages.steps import on_workers
from assay.infra.storage.artifacts import Artifact
from assay.infra.user_code.choices import plugin_faults
from assay.tasks.corruptions.choice import Corruption, require_bounds, sequence, strongest_frames
from assay.tasks.corruptions.findings import Errors, clean_errors, corruption_findings
from assay.tasks.corruptions.table import CORRUPTIONS, Corruptions
from assay.tasks.corruptions.tallies import (
    ALL,
    CLEAN,
    MEAN,
    Blocks,
    FrameAnswers,
    comparisons,
    count_correct,
    count_flips,
    sum_flips,
    tally_from,
)
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import FindingIndex, findings_table, measured
from assay.tasks.statistics.groups import groups_of
from assay.tasks.subjects.holding_out import rows_by_sample
from assay.tasks.subjects.images.dataset import Targets, require_one_shape, targets_of, truth_columns
from assay.tasks.subjects.images.model import ImageModel, require_pixels, said
from assay.tasks.subjects.predictions import answers_in, require_same_samples
from assay.tasks.subjects.resolved import ResolvedSubject

if TYPE_CHECKING:
    from torch import Tensor

_BYTES = {"cpu": 64 << 20, "cuda": 2 << 30}  # of the frames that are there at a time
_SMALLEST = 8  # pixels: below, there is nothing to blur or to shift


@dataclass(frozen=True)
class SeenFrames:
    """One perturbation at one severity of a few samples, as every subject saw it."""

    corruption: Corruption
    severity: int
    rows: slice
    answers: Mapping[str, FrameAnswers]
    shown: Pixels  # the strongest frame of the samples that are kept for the report, [m, c, h, w]


def answers_to_frames(
    models: Mapping[str, ImageModel],
    pixels: Pixels,
    ids: Sequence[str],
    shown: np.ndarray,
    settings: Corruptions,
    seeds: Seeds,
) -> Iterator[SeenFrames]:
    """Every perturbation and severity of the images [n, c, h, w], a few samples at a time.

    `shown` says which samples are kept for the report, [n]. What is said of a sample does not depend on the others.
    """
    import torch

    from assay.tasks.corruptions.camera import Draws

    require_pixels(pixels, ids)
    if len(pixels) and min(pixels.shape[-2:]) < _SMALLEST:
        raise InputError(
            f"The image of sample {ids[0]!r} has {pixels.shape[-2]}×{pixels.shape[-1]} pixels, and corruptions need at "
            f"least {_SMALLEST} in both directions; leave `corruptions` out, or bring larger images."
        )
    device, block = next(iter(models.values())).device, max(model.block for model in models.values())
    for rows in _chunks(pixels, settings.frames, device, block):
        images = torch.from_numpy(pixels[rows]).to(device)
        draws = Draws(seeds, ids[rows], device)
        kept = torch.from_numpy(np.flatnonzero(shown[rows])).to(device)
        for corruption in (CORRUPTIONS.named(word, settings) for word in settings.perturbations):
            for severity in settings.severities:
                with plugin_faults(settings, corruption.word):
                    frames = sequence(corruption, severity, images, draws, settings.frames)
                    if corruption.word not in CORRUPTIONS.words:
                        require_bounds(frames, corruption.word)
                answers = {
                    name: answer(model, frames, ids[rows], corruption.word, severity) for name, model in models.items()
                }
                last = strongest_frames(corruption.kind, settings.frames)[-1]
                yield SeenFrames(corruption, severity, rows, answers, frames[last, kept].cpu().numpy())


def answer(model: ImageModel, frames: Tensor, ids: Sequence[str], perturbation: str, severity: int) -> FrameAnswers:
    """What one model says of frames [frames, n, c, h, w]: classes [frames, n], or labels [frames, n, k].

    The frames stay on the model's device, and go through it in blocks of its one fixed size.
    """
    import torch

    flat = frames.flatten(0, 1)
    outputs = []
    with torch.inference_mode():
        for start in range(0, len(flat), model.block):
            block = flat[start : start + model.block]
            if len(block) < model.block:
                block = torch.cat([block, block[-1:].expand(model.block - len(block), *block.shape[1:])])
            outputs.append(model.normalized(model.logits(block)[: len(flat) - start].to(torch.float64)))
    probabilities = torch.cat(outputs)
    wrong = (~torch.isfinite(probabilities)).any(dim=1).nonzero()
    if len(wrong):
        frame, row = divmod(int(wrong[0]), frames.shape[1])
        raise InputError(
            f"The subject {model.name} returned {probabilities[wrong[0, 0]].tolist()} for frame {frame} of "
            f"{perturbation} at severity {severity} of sample {ids[row]!r}, expected finite numbers."
        )
    spoken = said(probabilities.cpu().numpy(), model.multilabel)
    return spoken.reshape(*frames.shape[:2], *spoken.shape[1:])


def _chunks(pixels: Pixels, frames: int, device: str, block: int) -> list[slice]:
    """Runs of samples whose frames fit the memory meant for them, and blocks but for a few; one sample at least."""
    fit = _BYTES[device] // max(1, pixels[:1].nbytes)
    step = max(1, (fit // block * block or fit) // frames)
    return [slice(start, min(start + step, len(pixels))) for start in range(0, len(pixels), step)]


def corrupt_partition(
    samples: pa.Table,
    shown: npt.NDArray[np.bool_],
    *,
    subjects: Mapping[str, ResolvedSubject],
    files: Mapping[str, Mapping[str, bytes]],
    classes: tuple[str, ...],
    settings: Corruptions,
    seeds: Seeds,
) -> tuple[pa.Table, pa.Table]:
    """The `FrameFlips` and the `CorruptedImages` of a partition; `shown` says which of its samples are kept, [n]."""
    flips, images = [FrameFlips.schema.empty_table()], [CorruptedImages.schema.empty_table()]
    if samples.num_rows == 0:
        return flips[0], images[0]
    from assay.tasks.subjects.images.inference import for_inference
    from assay.tasks.subjects.images.model import load_image_model

    require_one_shape(samples)
    models = {name: for_inference(load_image_model(subjects[name], content)) for name, content in files.items()}
    pixels, ids, truth = pixels_of(samples), samples["id"].to_pylist(), targets_of(samples, classes)
    images.append(_images(pixels[shown], list(compress(ids, shown)), CLEAN, 0))
    for seen in answers_to_frames(models, pixels, ids, shown, settings, seeds):
        for name, answers in seen.answers.items():
            flips.append(_flips(ids[seen.rows], name, seen.corruption, seen.severity, answers, truth[seen.rows]))
        kept = list(compress(ids[seen.rows], shown[seen.rows]))
        images.append(_images(seen.shown, kept, seen.corruption.word, seen.severity))
    return rows_by_sample(flips, ids), rows_by_sample(images, ids)


def _flips(
    ids: list[str], subject: str, corruption: Corruption, severity: int, answers: FrameAnswers, truth: Targets
) -> pa.Table:
    n, flips = len(ids), count_flips(answers, corruption.kind)
    about = [ids, [subject] * n, [corruption.word] * n, np.full(n, severity)]
    counted = [flips, np.full(n, comparisons(answers)), *count_correct(answers, truth, corruption.kind)]
    arrays = [pa.array(column, field.type) for column, field in zip([*about, *counted], FrameFlips.schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=FrameFlips.schema)


def _images(pixels: Pixels, ids: list[str], perturbation: str, severity: int) -> pa.Table:
    """The rows of the kept images, in 8 bits."""
    if not ids:
        return CorruptedImages.schema.empty_table()
    n = len(ids)
    named = {
        "id": pa.array(ids, pa.string()),
        "perturbation": pa.array([perturbation] * n, pa.string()),
        "severity": pa.array(np.full(n, severity, np.int16)),
    }
    columns = named | image_columns(np.rint(pixels * 255).astype(np.uint8))
    return pa.table([columns[name] for name in CorruptedImages.schema.names], schema=CorruptedImages.schema)


_PIXELS = 1 << 18  # of the images of one partition: each is seen in up to 2170 frames, by every subject
_MOST_ROWS = 128
_FEWEST = 4  # partitions, so that there is something for every worker of a small night


class Corrupted(NamedTuple):
    """How often predictions flipped, sample by sample, and a few images for the report."""

    flips: Artifact[FrameFlips]
    images: Artifact[CorruptedImages]


@stage(version=3, title="corruptions", draws=True, gpu=True)
def corrupt_subjects(
    evaluation: Artifact[Samples],
    classes: Artifact[Classes],
    files: dict[str, Artifact[SubjectFiles]],
    subjects: dict[str, ResolvedSubject],
    settings: Corruptions,
) -> Corrupted:
    """What every subject (by name) says of every frame; a frame is made once for all of them, and never stored."""
    go_last()
    spread = [at * evaluation.rows // settings.show for at in range(settings.show)]
    flips, images = map_partitions(
        corrupt_partition,
        evaluation,
        into=(FrameFlips, CorruptedImages),
        aligned={"shown": np.isin(np.arange(evaluation.rows), spread)},
        rows=min(reduce_partitions(rows_at_a_time, evaluation).value, max(1, -(-evaluation.rows // _FEWEST))),
        subjects=subjects,
        files={name: read_files(artifact) for name, artifact in files.items()},
        classes=tuple(class_names(collect(classes, None))),
        settings=settings,
        seeds=stage_seeds(),
    )
    tried = len(settings.perturbations) * len(settings.severities)
    seen_by = f"{len(subjects)} subject{'s' if len(subjects) > 1 else ''}"
    say(f"{evaluation.rows} images × {plural(tried, 'sequence')} of {settings.frames} frames · {seen_by}")
    return Corrupted(flips, images)


@stage(version=7, title="flips", draws=True)
def measure_corruptions(
    flips: Artifact[FrameFlips],
    settings: Corruptions,
    reference: str,
    evaluation: Artifact[Samples],
    classes: Artifact[Classes],
    clean: dict[str, Artifact[Predictions]],
) -> Artifact[Findings]:
    """Flip probability and accuracy per perturbation, severity and mean; beside the subject `reference`, relative
    flips and corruption errors too.

    `clean` is what the subjects say of the samples as they are. Where samples stand in groups, intervals count groups.
    """
    names, rows = class_names(collect(classes, None)), truth_columns(evaluation)
    ids, truth = rows["id"].to_pylist(), targets_of(rows, names)
    several = truth.ndim == 2
    blocks = Blocks.of(ids, groups_of(evaluation))
    class_of = {} if several else dict(zip(ids, truth.tolist(), strict=True))
    sums = reduce_partitions(
        sum_flips, flips, of_id=blocks.of_id, settings=settings, class_of=class_of, classes=len(names)
    )
    if not sums:
        return write_table(findings_table([]), into=Findings)
    tally = tally_from(sums, blocks, settings)
    # Of partitions that were left out nobody knows what corruption adds there.
    known = tally.judged and tally.samples == evaluation.rows
    errors, block_of = dict[str, Errors](), np.array([blocks.of_id[sample] for sample in ids])
    for name, predictions in clean.items() if known else ():
        answers = collect(predictions, None)
        require_same_samples(answers, rows, name)
        errors[name] = clean_errors(answers_in(answers, names, several), truth, block_of, len(names))
    about = {"tally": tally, "reference": reference, "clean": errors, "seeds": stage_seeds(), "classes": names}
    findings = list(chain.from_iterable(on_workers(corruption_findings, tally.subjects, **about)))
    overall = FindingIndex(findings).select("corruption.flip_probability", of=MEAN, group=ALL)
    flips_of = {finding.subject: finding.value for finding in measured(overall)}
    say(" · ".join(f"{subject} flips {value:.1%}" for subject, value in sorted(flips_of.items())))
    return write_table(findings_table(findings), into=Findings)


def rows_at_a_time(samples: pa.Table) -> Least:
    """How many images make a partition of even work: the fewer, the larger they are."""
    if samples.num_rows == 0:
        return Least(_MOST_ROWS)
    pixels = int(samples["height"][0].as_py()) * int(samples["width"][0].as_py())
    return Least(max(1, min(_MOST_ROWS, _PIXELS // pixels)))
