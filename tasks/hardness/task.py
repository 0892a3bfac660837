"""Hardness as stages: one measure of one audit, training dynamics, the disagreement of subjects, and all measures
together.

Training dynamics: how probable a subject found its final answer while it was still learning. Swayamdipta et al. 2020
(*Dataset Cartography*) take the mean probability of the true class over the epochs. Samples under audit have no true
class to go by, and a measure that knew it would rank errors by knowing them: here it is the class that the subject
ends with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Floats
from assay.data.schemas import (
    Classes,
    Findings,
    HardestSamples,
    HardnessPairs,
    Predictions,
    SampleHardness,
    Samples,
    SubjectFiles,
    class_names,
)
from assay.infra.stages.partitions import Reuse, collect, columns_in, map_partitions, read_files, reduce_partitions
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.hardness.association import Hardness, area_findings, association_findings, pair_rows
from assay.tasks.hardness.measures import (
    CONFIDENCE,
    DYNAMICS,
    GOLD_DOUBT,
    MARGIN,
    Columns,
    disagreement_rows,
    hardest_samples,
    hardness_rows,
    rows_of,
    rows_with_several,
    side_by_side,
)
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import GROUP, group_hashes
from assay.tasks.subjects.predictions import probabilities_of
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.trained import earlier_selves, kept_epochs


def dynamics_rows(
    samples: pa.Table, *, subject: ResolvedSubject, files: dict[str, bytes], classes: tuple[str, ...]
) -> pa.Table:
    """The SampleHardness of one partition: what the subject would have said of it after each kept epoch, and says."""
    answers = [_asked(samples, subject, epoch_files, classes) for epoch_files in [*earlier_selves(files), files]]
    probabilities = np.stack([probabilities_of(table, len(classes)) for table in answers])
    several = bool(samples.num_rows) and answers[-1]["predicted"][0].as_py() < 0
    values = mean_doubt(probabilities, several)
    return rows_of(samples["id"], values, np.isfinite(values), DYNAMICS, subject.settings.name)


def mean_doubt(probabilities: Floats, several: bool) -> Floats:
    """1 − the mean probability of the final answer over the epochs [e, n, k], the last of which is the end.

    Of several labels it is that of the label it was least sure of.

    >>> mean_doubt(np.array([[[0.2, 0.8], [0.1, 0.9]], [[0.1, 0.9], [0.8, 0.2]]]), several=False).round(2).tolist()
    [0.15, 0.55]
    """
    end = probabilities[-1]
    if several:
        return np.asarray(1 - np.where(end >= 0.5, probabilities, 1 - probabilities).mean(axis=0).min(axis=1))
    answers = end.argmax(axis=1)
    return np.asarray(1 - probabilities[:, np.arange(len(answers)), answers].mean(axis=0))


def _asked(samples: pa.Table, subject: ResolvedSubject, files: dict[str, bytes], classes: tuple[str, ...]) -> pa.Table:
    """What a network says of images, or a classifier of texts."""
    if subject.settings.kind == "network":
        from assay.tasks.subjects.images.dataset import predict_table as predict_images

        return predict_images(samples, subject=subject, files=files)
    from assay.tasks.subjects.texts.rows import predict_table as predict_texts

    return predict_texts(samples, subject=subject, files=files, classes=classes).result


class Related(NamedTuple):
    """What the measures say together: the findings, the pairs as the report draws them, and the hardest samples."""

    findings: Artifact[Findings]
    pairs: Artifact[HardnessPairs]
    hardest: Artifact[HardestSamples]


@stage(version=2, title="hardness by one measure")
def find_hardness(table: Artifact[Any], measure: str, subject: str) -> Artifact[SampleHardness]:
    """How hard every sample is by a measure, read off the table of an audit."""
    several = measure in (CONFIDENCE, MARGIN) and bool(reduce_partitions(rows_with_several, table)["rows"])
    if several and measure == MARGIN:  # of two answers to each label: the confidence again
        hardness: Artifact[SampleHardness] = write_table(SampleHardness.schema.empty_table(), into=SampleHardness)
    else:
        hardness = map_partitions(
            hardness_rows, table, into=SampleHardness, reuse=Reuse(), measure=measure, subject=subject, several=several
        )
    counted = "answer" if measure == GOLD_DOUBT else "sample"  # that of each subject about a sample is a row
    say(f"{measure}{f' · {subject}' if subject else ''} · {plural(hardness.rows, counted)}")
    return hardness


@stage(version=1, title="training dynamics", gpu=True)
def find_dynamics(
    evaluation: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[SampleHardness]:
    """How late a subject came to its answer to every sample, by the snapshots of its training."""
    names = tuple(class_names(collect(classes, None)))
    hardness = map_partitions(
        dynamics_rows, evaluation, into=SampleHardness, subject=subject, files=read_files(files), classes=names
    )
    train = subject.settings.train
    asked = 0 if train is None else len(kept_epochs(train))
    say(f"{subject.settings.name} after {plural(asked, 'earlier epoch')} · {plural(hardness.rows, 'sample')}")
    return hardness


@stage(version=1, title="disagreement")
def find_disagreement(predictions: list[Artifact[Predictions]]) -> Artifact[SampleHardness]:
    """On which samples subjects disagree."""
    hardness: Artifact[SampleHardness]
    if any(reduce_partitions(rows_with_several, table)["rows"] for table in predictions):  # there is no one answer
        hardness = write_table(SampleHardness.schema.empty_table(), into=SampleHardness)
    else:
        hardness = map_partitions(disagreement_rows, *predictions, into=SampleHardness, reuse=Reuse())
    say(f"{plural(len(predictions), 'subject')} · {plural(hardness.rows, 'sample')}")
    return hardness


@stage(version=6, title="hardness")
def relate_hardness(
    measures: list[Artifact[SampleHardness]],
    samples: Artifact[Samples],
    predictions: dict[str, Artifact[Predictions]],
    settings: Hardness,
    significance: float,
) -> Related:
    """Which measures agree, which rank the subjects' true errors, and which samples are hard by all of them."""
    grouped = GROUP in columns_in(samples)
    known = collect(samples, ["id", "gold", *([GROUP] if grouped else [])])
    ids = known["id"]
    by_subject = side_by_side([collect(table, None) for table in measures], ids)
    groups = group_hashes(known)
    codes = np.arange(known.num_rows) if groups is None else codes_of(groups)
    gold = known["gold"]
    findings, pairs, hardest = list[Finding](), list[dict[str, object]](), list[dict[str, object]]()
    ordered = (name for name in dict.fromkeys(["", *predictions, *sorted(by_subject)]) if name in by_subject)
    for subject in (name for name in ordered if not name or settings.subjects is None or name in settings.subjects):
        columns = by_subject[subject]
        predicted = _predicted(predictions.get(subject), ids)
        of_subject = [*association_findings(columns, codes, significance)]
        right = pc.fill_null(pc.cast(pc.equal(predicted, gold), pa.int8()), -1)
        of_subject += area_findings(columns, np.asarray(right.to_numpy()), codes)
        pairs += pair_rows(columns, subject, codes)
        rows = list(_hardest(columns, subject, known, predicted, settings.hardest))
        if subject:
            hardest += rows
            listed = len({row["id"] for row in rows})
            of_subject.append(Finding("hardness.hardest", value=listed, n=len(ids), unit="samples"))
        findings += [replace(finding, subject=subject) for finding in of_subject]
    related = [finding.verdict for finding in findings if finding.metric == "hardness.association"]
    shown = sum(verdict in ("together", "opposite") for verdict in related)
    say(f"{plural(len(related), 'pair')} of measures, {shown} related before Holm")
    return Related(
        write_table(findings_table(findings), into=Findings),
        write_table(pa.Table.from_pylist(pairs, schema=HardnessPairs.schema), into=HardnessPairs),
        write_table(pa.Table.from_pylist(hardest, schema=HardestSamples.schema), into=HardestSamples),
    )


def _predicted(predictions: Artifact[Predictions] | None, ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """The class that a subject gives each sample; null where it was not asked."""
    if predictions is None:
        return pa.chunked_array([pa.nulls(len(ids), pa.int16())])
    table = collect(predictions, ["id", "predicted"])
    return table["predicted"].take(pc.index_in(ids, table["id"].combine_chunks()))


def _hardest(
    columns: Columns, subject: str, samples: pa.Table, predicted: pa.ChunkedArray, share: float
) -> Iterator[dict[str, object]]:
    """A row per measure of every sample that is hard by all; what is of no subject counts as far as one was asked."""
    asked = np.any([~np.isnan(values) for values in columns.own.values()], axis=0) if columns.own else None
    known = columns.all.items()
    measures = {name: values if asked is None else np.where(asked, values, np.nan) for name, values in known}
    ids = samples["id"].to_pylist()
    for place, sample in enumerate(hardest_samples(measures, ids, share), start=1):
        for name, harder in sample.harder_than.items():
            yield {
                "subject": subject,
                "place": place,
                "id": ids[sample.at],
                "measure": name,
                "value": float(measures[name][sample.at]),
                "harder_than": harder,
                "n": int((~np.isnan(measures[name])).sum()),
                "gold": samples["gold"][sample.at].as_py(),
                "predicted": predicted[sample.at].as_py(),
            }
