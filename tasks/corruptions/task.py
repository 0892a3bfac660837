"""Corruptions as stages: subjects look at every frame where the samples lie, and the flips are added up exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from assay.data.classes import class_names
from assay.data.image_schemas import CorruptedImages, FrameFlips
from assay.data.schemas import Classes, Findings, Predictions, Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.exact import Least
from assay.infra.partitions import collect, map_partitions, read_files, reduce_partitions
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.corruptions.beside import Errors, clean_errors
from assay.tasks.corruptions.findings import corruption_findings
from assay.tasks.corruptions.partitions import Onlooker, corrupt_partition
from assay.tasks.corruptions.settings import Corruptions
from assay.tasks.corruptions.tallies import ALL, MEAN, Blocks, sum_flips, tally_from
from assay.tasks.statistics.findings import FindingIndex, findings_table, measured
from assay.tasks.statistics.grouped_samples import groups_of
from assay.tasks.subjects.holding_out import columns_of
from assay.tasks.subjects.images.lessons import LABELS, targets_of
from assay.tasks.subjects.images.measures import probabilities_of
from assay.tasks.subjects.images.model import said
from assay.tasks.subjects.images.task import require_classes
from assay.tasks.subjects.predictions import require_same_samples
from assay.tasks.subjects.resolved import ResolvedSubject

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
    if not subjects or set(files) != set(subjects):
        raise InputError(f"Corruptions need subjects with files; there are {', '.join(sorted(subjects)) or 'none'}.")
    contents = {name: read_files(artifact) for name, artifact in files.items()}
    for name, content in contents.items():
        require_classes(content, classes.rows, name)
    spread = [at * evaluation.rows // settings.show for at in range(settings.show)]
    shown = np.isin(np.arange(evaluation.rows), spread)
    flips, images = map_partitions(
        corrupt_partition,
        evaluation,
        into=(FrameFlips, CorruptedImages),
        aligned={"shown": shown},
        rows=min(reduce_partitions(rows_at_a_time, evaluation).value, max(1, -(-evaluation.rows // _FEWEST))),
        onlookers=tuple(Onlooker(name, subjects[name], content) for name, content in contents.items()),
        classes=tuple(class_names(collect(classes, None))),
        settings=settings,
        seeds=stage_seeds(),
    )
    tried = len(settings.perturbations) * len(settings.severities)
    seen_by = f"{len(subjects)} subject{'s' if len(subjects) > 1 else ''}"
    say(f"{evaluation.rows} images × {tried} sequences of {settings.frames} frames · {seen_by}")
    return Corrupted(flips, images)


@stage(version=4, title="flips", draws=True)
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
    ids = collect(evaluation, ["id"])["id"].to_pylist()
    blocks = Blocks.of(ids, groups_of(evaluation))
    sums = reduce_partitions(sum_flips, flips, of_id=blocks.of_id, settings=settings)
    if not sums:
        return write_table(findings_table([]), into=Findings)
    tally = tally_from(sums, blocks, settings)
    # Of partitions that were left out nobody knows what corruption adds there.
    known = tally.judged and tally.samples == evaluation.rows
    errors = _errors_when_clean(evaluation, classes, clean, blocks) if known else {}
    findings = corruption_findings(tally, reference, errors, stage_seeds())
    overall = FindingIndex(findings).select("corruption.flip_probability", of=MEAN, group=ALL)
    flips_of = {one.subject: one.value for one in measured(overall)}
    say(" · ".join(f"{subject} flips {value:.1%}" for subject, value in sorted(flips_of.items())))
    return write_table(findings_table(findings), into=Findings)


def _errors_when_clean(
    evaluation: Artifact[Samples], classes: Artifact[Classes], clean: dict[str, Artifact[Predictions]], blocks: Blocks
) -> dict[str, Errors]:
    """The wrong answers of every subject to the samples as they are, per block."""
    names = class_names(collect(classes, None))
    several = LABELS in reduce_partitions(columns_of, evaluation)["columns"]
    rows = collect(evaluation, ["id", "gold", *([LABELS] if several else [])])
    truth, at = targets_of(rows, names), np.array([blocks.of_id[one] for one in rows["id"].to_pylist()])
    errors = {}
    for name, predictions in clean.items():
        answers = collect(predictions, None)
        require_same_samples(answers, rows, name)
        errors[name] = clean_errors(said(probabilities_of(answers, len(names)), several), truth, at)
    return errors


def rows_at_a_time(samples: pa.Table) -> Least:
    """How many images make a partition of even work: the fewer, the larger they are."""
    if samples.num_rows == 0:
        return Least(_MOST_ROWS)
    pixels = int(samples["height"][0].as_py()) * int(samples["width"][0].as_py())
    return Least(max(1, min(_MOST_ROWS, _PIXELS // pixels)))
