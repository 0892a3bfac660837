"""Confident learning: a gold label is doubtful where another class is confidently more likely than it.

Northcutt, Jiang and Chuang, *Confident Learning: Estimating Uncertainty in Dataset Labels* (JAIR 70, 2021): the class
thresholds of Eq. 2, the count matrix of Eq. 1 and its calibration of Eq. 3, with the ties as their library cleanlab
settles them (`filter_by="confident_learning"`). Labels that were flipped on purpose say how well it works on this data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from assay.data.arrays import Bools, Codes, Floats
from assay.data.schemas import Classes, Findings, LabelDoubts, Predictions, Samples, class_names
from assay.infra.errors import InputError
from assay.infra.settings import Settings
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.classification import Groups, proportion
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import groups_of_ids
from assay.tasks.subjects.predictions import probabilities_of


class LabelErrors(Settings):
    """Which gold labels the subjects' out-of-sample answers confidently contradict; `{}`: every default."""

    planted: float = Field(default=0.1, gt=0, lt=0.5)
    """The share of labels flipped on purpose, to say how many such errors are found."""

    shown: int = Field(default=12, ge=0, le=100)
    """How many doubtful samples the report shows of each."""


_ROUNDING = 1e-6  # cleanlab's, so that a probability at the threshold counts as above it


class Doubted(NamedTuple):
    """Which labels are doubtful [n], the likely class of each [n], and the calibrated count matrix [k, k]."""

    doubtful: Bools
    likely: Codes
    joint: Floats


def confident_learning(labels: Codes, probabilities: Floats) -> Doubted:
    """The labels [n] that out-of-sample probabilities [n, k] confidently contradict.

    >>> sure = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.3, 0.7], [0.05, 0.95]])
    >>> doubted = confident_learning(np.array([0, 0, 1, 1, 0]), sure)
    >>> doubted.doubtful.tolist(), doubted.joint.tolist()
    ([False, False, False, False, True], [[2.0, 1.0], [0.0, 2.0]])
    """
    k = probabilities.shape[1]
    given = labels[:, None] == np.arange(k)
    counts = given.sum(axis=0)
    own = (probabilities * given).sum(axis=0)
    thresholds = np.where(counts > 0, own / np.maximum(counts, 1), np.inf)  # Eq. 2
    confident, most = probabilities >= thresholds - _ROUNDING, probabilities.argmax(axis=1)
    likely = np.where(confident.sum(axis=1) > 1, most, confident.argmax(axis=1))
    counted = confident.any(axis=1)
    joint = np.zeros((k, k))
    np.add.at(joint, (labels[counted], likely[counted]), 1)  # Eq. 1
    np.fill_diagonal(joint, np.maximum(joint.diagonal(), 1))
    joint *= (counts / joint.sum(axis=1))[:, None]  # Eq. 3, in samples
    doubtful = counted & (likely != labels) & (most != labels)
    return Doubted(doubtful, np.where(counted, likely, most), joint * len(labels) / max(joint.sum(), 1))


def flipped(labels: Codes, share: float, classes: int, generator: np.random.Generator) -> Codes:
    """The labels, about that share of them another class, each of the others as likely.

    >>> int((flipped(np.zeros(1000, np.int64), 0.1, 3, np.random.default_rng(0)) > 0).sum())
    105
    """
    away = generator.integers(1, classes, len(labels)) * (generator.random(len(labels)) < share)
    return np.asarray((labels + away) % classes)


def label_error_findings(
    labels: Codes, probabilities: Floats, names: list[str], planted: Codes, groups: Groups, subject: str
) -> tuple[Doubted, list[Finding]]:
    """`label_errors.doubtful`, and the count matrix off its diagonal (`of` the gold class, the `group` is the likely
    one); of the `planted` labels `label_errors.recall`, how many are doubted, and `.precision`, of what is doubted."""
    about, wrong = About("label_errors", "", "", subject), planted != labels
    doubted, again = (confident_learning(each, probabilities) for each in (labels, planted))
    findings = [
        about.finding("doubtful", proportion(doubted.doubtful, groups=groups)),
        about.finding("recall", proportion(again.doubtful, wrong, groups=groups)),
        about.finding("precision", proportion(wrong, again.doubtful, groups=groups)),
    ]
    pairs = [(a, b) for a, b in np.argwhere(doubted.joint >= 0.5).tolist() if a != b]
    taken = Finding("label_errors.taken_for", subject=subject, n=len(labels), unit="samples")
    for a, b in sorted(pairs, key=lambda pair: -doubted.joint[pair]):
        findings.append(replace(taken, of=names[a], group=names[b], value=float(doubted.joint[a, b])))
    return doubted, findings


class LabelAudit(NamedTuple):
    """The findings, and what is known of every sample with a gold label."""

    findings: Artifact[Findings]
    doubts: Artifact[LabelDoubts]


@stage(version=3, title="label errors", draws=True)
def doubt_labels(
    samples: Artifact[Samples],
    predictions: Mapping[str, Artifact[Predictions]],
    classes: Artifact[Classes],
    settings: LabelErrors,
) -> LabelAudit:
    """Which gold labels each subject's probabilities contradict; subjects without probabilities are left out."""
    names, known = class_names(collect(classes, None)), collect(samples, ["id", "gold"])
    if len(names) < 2:
        raise InputError(
            f"All gold labels are {names[0]!r}, and none can be wrong where there is one class: leave "
            "`label_errors` out, or name all classes in source.classes."
        )
    findings, rows, silent = list[Finding](), [LabelDoubts.schema.empty_table()], list[str]()
    counted = list[str]()
    for subject, answers in predictions.items():
        table = collect(answers, None)
        gold = pc.fill_null(known["gold"].take(pc.index_in(table["id"], known["id"].combine_chunks())), -1)
        table = table.append_column("gold", gold).filter(pc.greater_equal(gold, 0))
        if table["probabilities"].null_count or not table.num_rows:
            silent.append(subject)
            continue
        labels, chances = table["gold"].to_numpy().astype(np.int64), probabilities_of(table, len(names))
        ids, generator = table["id"], stage_seeds().generator(subject)
        planted = flipped(labels, settings.planted, len(names), generator)
        groups = groups_of_ids(samples, ids.to_pylist())
        doubted, measured = label_error_findings(labels, chances, names, planted, groups, subject)
        own = chances[np.arange(len(labels)), labels]
        whose, likely = pa.repeat(subject, len(ids)), doubted.likely.astype(np.int16)
        columns = [whose, ids, table["gold"], likely, own, doubted.doubtful]
        findings, rows = findings + measured, [*rows, pa.table(columns, schema=LabelDoubts.schema)]
        by = f" by {subject}" if len(predictions) > 1 else ""
        counted.append(f"{doubted.doubtful.sum()} of {plural(len(labels), 'gold label')} are doubtful{by}")
    doubts = pa.concat_tables(rows)
    without = [f"{', '.join(silent)} {'gives' if len(silent) == 1 else 'give'} no probabilities"] if silent else []
    say(" · ".join([*counted, *without]))
    return LabelAudit(write_table(findings_table(findings), into=Findings), write_table(doubts, into=LabelDoubts))
