"""The classifier two-sample test of two nights; beside it PSI and the distance of Kolmogorov and Smirnov.

A classifier learns to say of which night a row is (Lopez-Paz and Oquab, *Revisiting Classifier Two-Sample Tests*, ICLR
2017); out of its folds, which part no group, it is right by chance where the nights are alike: an area of 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from assay.data.schemas import Classes, Findings, Predictions, Samples, class_names
from assay.infra.errors import first_named
from assay.infra.settings import Settings
from assay.infra.stages.partitions import collect, columns_in, first_rows
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.auc import AUC, auc_finding, binary_auc
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import GROUP, named_groups
from assay.tasks.subjects.holding_out import drawn, fold_of
from assay.tasks.subjects.predictions import RESERVED, Matrix, feature_matrix, is_numeric, probabilities_of
from assay.tasks.subjects.tables.logistic import cross_fit

FOLDS, BINS = 5, 10


class Drift(Settings):
    """Whether inputs and answers can be told from those of the run that was accepted, or passed last; `{}`: every
    default."""

    rows: int = Field(default=20_000, ge=100, le=1_000_000)
    """About so many samples of each night are compared, drawn by their ids."""


INPUTS, ANSWERS = "inputs", "answers"


def told_apart(before: Matrix, tonight: Matrix, groups: Sequence[str]) -> AUC:
    """How well a row [d] tells its night, by values, squares (for spread) and what is missing; `groups` of both nights.

    >>> rows, ids = np.arange(60.0)[:, None], [str(at) for at in range(60)]
    >>> told_apart(rows, rows, ids * 2).value, told_apart(rows, rows + 100, ids + [f"n{name}" for name in ids]).value
    (0.5, 1.0)
    """
    values = np.concatenate([before, tonight])
    values = values[:, ~np.isnan(values).all(axis=0)]
    night = np.repeat(np.array([0, 1], np.int16), [len(before), len(tonight)])
    wide = np.hstack([values, (values - np.nanmean(values, axis=0)) ** 2, np.isnan(values)])
    folds, names = fold_of(groups, FOLDS), [str(at) for at in range(wide.shape[1])]
    models = cross_fit(wide, night, folds, count=FOLDS, features=names, classes=2)
    return binary_auc(models.probabilities(wide, folds)[:, 1], night, groups=codes_of(np.array(groups)))


def stability_index(before: npt.NDArray[np.float64], tonight: npt.NDArray[np.float64]) -> float:
    """PSI over tenths of the earlier night, or its values where they are fewer; half a sample is added to every bin, so
    that an empty one is not infinite.

    >>> stability_index(np.arange(100.0), np.arange(100.0)), stability_index(np.zeros(99), np.ones(99)) > 5
    (0.0, True)
    """
    values = np.unique(before)
    edges = values if len(values) <= BINS else np.unique(np.quantile(before, np.arange(1, BINS) / BINS))
    counts = [np.bincount(np.searchsorted(edges, night), minlength=len(edges) + 1) + 0.5 for night in (before, tonight)]
    p, q = (count / count.sum() for count in counts)
    return float(((q - p) * np.log(q / p)).sum())


def drift_findings(
    before: Matrix, tonight: Matrix, groups: Sequence[str], of: str, names: Sequence[str], subject: str = ""
) -> list[Finding]:
    """`drift.auc` of all columns, and of each its own area (of all at once 95 times in 100 right), PSI and KS; nothing
    where there is nothing to compare."""
    from scipy.stats import ks_2samp

    values = np.concatenate([before, tonight])
    is_tonight = np.arange(len(values)) >= len(before)
    if not len(before) or not len(tonight) or np.isnan(values).all():
        return []
    findings = [auc_finding("drift.auc", told_apart(before, tonight, groups), (), of=of, subject=subject)]
    codes, level = codes_of(np.array(groups)), 1 - 0.05 / len(names)
    for name, column in zip(names, values.T, strict=True):
        known = ~np.isnan(column)
        old, new = column[known & ~is_tonight], column[known & is_tonight]
        if len(old) and len(new):
            area = binary_auc(column[known], is_tonight[known], level, codes[known])
            distances = {"ks": float(ks_2samp(old, new, method="asymp").statistic), "psi": stability_index(old, new)}
            findings.append(auc_finding("drift.feature_auc", area, (), of=of, group=name, subject=subject))
            about = Finding("", of, name, subject, n=int(known.sum()))
            findings += [replace(about, metric=f"drift.{key}", value=value) for key, value in distances.items()]
    return findings


def column_changes(before: pa.Schema, tonight: pa.Schema) -> list[str]:
    """What became of the columns but for their values: which are gone, new, or of another type (but for numbers of one
    type that are now of another).

    >>> column_changes(pa.schema({"a": pa.int64(), "b": pa.int64()}), pa.schema({"b": pa.string(), "c": pa.bool_()}))
    ['a is gone', 'b was int64 and is string', 'c is new']
    """
    was, now = ({f.name: f.type for f in schema if f.name not in RESERVED} for schema in (before, tonight))
    others = {name: f"{name} was {was[name]} and is {now[name]}" for name in was.keys() & now.keys()}
    kept = [name for name in others if was[name] == now[name] or (is_numeric(was[name]) and is_numeric(now[name]))]
    changes = {name: f"{name} is {'gone' if name in was else 'new'}" for name in was.keys() ^ now.keys()} | others
    return [changes[name] for name in sorted(changes.keys() - kept)]


@stage(version=3, title="drift")
def measure_drift(
    before: Artifact[Samples],
    tonight: Artifact[Samples],
    answers: Mapping[str, Artifact[Predictions]],
    classes: Artifact[Classes],
    subject: str,
    settings: Drift,
) -> Artifact[Findings]:
    """Whether the numbers of the samples tell the two nights apart; or, where there are `answers` of `before` and
    `tonight`, whether these do."""
    samples, columns = {"before": before, "tonight": tonight}, list[Finding]()
    if answers:
        features = class_names(collect(classes, None))
        tables = {night: collect(answers[night], None) for night in samples}
        guessed = any(table["probabilities"].null_count for table in tables.values())
    else:
        schemas = [first_rows(of_night, 1).schema for of_night in samples.values()]
        others = column_changes(*schemas)
        columns.append(Finding("drift.columns", INPUTS, value=len(others), verdict=first_named(others, 12)))
        numeric = [{field.name for field in schema if is_numeric(field.type)} for schema in schemas]
        features = sorted(set.intersection(*numeric) - {*RESERVED, GROUP})
        tables = {night: collect(of_night, ["id", *features]) for night, of_night in samples.items()}
    groups, rows = list[str](), list[Matrix]()
    for night, table in tables.items():
        ids = table["id"].to_pylist()
        chosen = drawn(ids, min(1.0, settings.rows / max(len(ids), 1)), "drift")
        kept = table.filter(pa.array(chosen))
        known = collect(samples[night], ["id", *({GROUP} & {*columns_in(samples[night])})])
        of_id = dict(zip(known["id"].to_pylist(), named_groups(known), strict=True))
        groups += [of_id[name] for name in kept["id"].to_pylist()]
        if not answers:
            rows.append(feature_matrix(kept, features))
        elif guessed:
            rows.append(np.eye(len(features))[kept["predicted"].to_numpy()])
        else:
            rows.append(probabilities_of(kept, len(features)))
    findings = drift_findings(rows[0], rows[1], groups, ANSWERS if answers else INPUTS, features, subject)
    sentences = [
        f"told apart with an area of {area.value:.3f} [{area.low:.3f}, {area.high:.3f}]" for area in findings[:1]
    ]
    sentences += [f"other columns: {each.verdict}" for each in columns if each.value]
    say(" · ".join([subject or INPUTS, *sentences]))
    return write_table(findings_table([*findings, *columns]), into=Findings)
