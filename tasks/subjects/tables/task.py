"""The stages of a subject: it learns (or is taken as it is), predicts every sample, and is measured on D1…DN."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import (
    Classes,
    Clusters,
    CuratedSets,
    Findings,
    Intervals,
    Predictions,
    Samples,
    SubjectFiles,
    WeakLabels,
    class_names,
)
from assay.infra.errors import RunError
from assay.infra.stages.partitions import (
    Columns,
    Reuse,
    collect,
    map_partitions,
    may_lack_partitions,
    read_files,
    reduce_partitions,
    side_by_side,
)
from assay.infra.stages.stage import say, stage, stage_seeds, write_files, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering.ranges import Pools, pools_of
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.class_scores import ClassCounts, above_constant
from assay.tasks.statistics.classification_findings import About, class_findings, constant_findings, recall_findings
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import named_groups
from assay.tasks.statistics.multiplicity import verdict_in_words
from assay.tasks.subjects.holding_out import fold_of
from assay.tasks.subjects.own_models import predict_with_own
from assay.tasks.subjects.predictions import feature_matrix, given_predictions, predictions_table
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.tables.along_order import (
    agreement_findings,
    count_agreement,
    count_predictions,
    degenerate_finding,
    order_findings,
)
from assay.tasks.subjects.tables.logistic import (
    MOST_ROWS,
    CrossFitted,
    TrainingRows,
    feature_column,
    learn,
    require_teachable,
    survey,
    training_rows,
)
from assay.tasks.subjects.trained import written_card


@stage(version=1, title="subject", draws=True)
def train_subject(
    samples: Artifact[Samples],
    labels: Artifact[WeakLabels] | None,
    classes: Artifact[Classes],
    subject: ResolvedSubject,
) -> Artifact[SubjectFiles]:
    """The subject as files: a trained model's parameters and its card, or the card of a model that came trained.

    `labels` are what a subject with `train_on: weak` learns from; None for others.
    """
    if subject.kind != "logistic":
        return write_files(written_card(_card_of_given(subject)), into=SubjectFiles)
    names = class_names(collect(classes, None))
    inputs: list[Artifact[Any]] = [samples] if labels is None else [samples, labels]
    surveyed = reduce_partitions(survey, *inputs, classes=len(names), features=subject.settings.features)
    targets, (features,) = surveyed["targets"], surveyed["features"]
    require_teachable(targets, subject.settings.train_on, names)
    labelled = int(targets.sum())
    share, seed = min(1.0, MOST_ROWS / labelled), str(stage_seeds().generator().integers(2**62))
    folds = subject.settings.folds
    rows = map_partitions(
        training_rows, *inputs, into=TrainingRows, features=features, folds=folds, share=share, seed=seed
    )
    columns = ["id", "target", "fold", *map(feature_column, features)]
    models = learn(collect(rows, columns), features=features, folds=folds, classes=len(names))
    card = _card_of_trained(subject, models, names, labelled)
    line = f"logistic · {plural(len(features), 'feature')}, {rows.rows} {subject.settings.train_on} labels"
    sampled = "" if rows.rows == labelled else f" drawn from {labelled}"
    say(f"{line}{sampled}, {subject.settings.folds} folds" + ("" if card["converged"] else " · not converged"))
    return write_files(written_card(card) | models.to_files(), into=SubjectFiles)


@stage(version=3, title="predictions")
def predict_samples(
    samples: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[Predictions]:
    """What the subject says of every sample; a trained one always through the model that has not seen the sample."""
    names = class_names(collect(classes, None))
    say(f"{subject.kind} · {samples.rows} samples")
    if subject.kind == "predictions":
        column = subject.settings.predictions
        return _predicted(given_predictions, samples, subject, column=column, classes=names)
    if subject.kind == "own":
        return _predicted(predict_with_own, samples, subject, classes=names, **_own(subject))
    return _predicted(predict_out_of_fold, samples, subject, models=CrossFitted.from_files(read_files(files)))


@stage(version=7, title="agreement", draws=True)
def measure_subject(
    predictions: Artifact[Predictions],
    curated: Artifact[CuratedSets],
    clusters: Artifact[Clusters],
    classes: Artifact[Classes],
    name: str,
    datasets: int,
    permutations: int,
) -> Artifact[Findings]:
    """The findings on one subject: accuracy on D1…DN and on every stratum, the trend, and a flag if it is constant."""
    names, pools = class_names(collect(classes, None)), pools_of(clusters)
    beside = [Columns(predictions, ("id", "predicted")), Columns(curated, ("id", "dataset", "label", "gold"))]
    beside += [Columns(clusters, ("id", "cluster"))] if pools.grouped else []
    counts = _agreement_counted(beside, datasets, len(names), pools)
    per_class = reduce_partitions(count_predictions, predictions, classes=len(names))["said"]
    drawn, grouped = stage_seeds().generator(), pools.grouped
    findings = agreement_findings(counts, subject=name, permutations=permutations, generator=drawn, grouped=grouped)
    of_classes = ClassCounts(counts["class_hits"], counts["class_n"], grouped)
    about = About("subject", "gold", f"D{datasets}", name)
    findings += [*class_findings(about, of_classes, names), *recall_findings(about, of_classes, names)]
    findings += constant_findings(about, above_constant(of_classes))
    flag = degenerate_finding(per_class, names, subject=name)
    unanswered = curated.rows - counts["found"]
    left_out = f" · {unanswered} without an answer left out" if unanswered else ""
    say(_summary(findings, flag, name, datasets) + left_out)
    return write_table(findings_table([*findings, flag]), into=Findings)


@stage(version=12, title="along", draws=True)
def judge_subject(
    predictions: Artifact[Predictions],
    intervals: Artifact[Intervals],
    samples: Artifact[Samples],
    clusters: Artifact[Clusters],
    name: str,
    undecided: str,
    significance: float,
) -> Artifact[Findings]:
    """Whether the subject is less often right at the hard end of the order, and what its own scores know of that."""
    tables, drawn = _same_samples(predictions, intervals, samples, clusters), stage_seeds().generator()
    rows = order_findings(*tables, apart=undecided == "apart", significance=significance, generator=drawn)
    findings = [replace(finding, subject=name) for finding in rows]
    trends = (finding for finding in findings if finding.metric == "subject.trend_p")
    verdicts = [f"by {trend.of} labels {verdict_in_words(trend)}" for trend in trends]
    say(f"{name} · {', '.join(verdicts)}")
    return write_table(findings_table(findings), into=Findings)


def _own(subject: ResolvedSubject) -> dict[str, Any]:
    return {"code": subject.code, "weights": subject.weights, "features": subject.settings.features}


def predict_own(samples: pa.Table, subject: ResolvedSubject, _: object, classes: Sequence[str]) -> pa.Table:
    """What a user's own model says of these samples."""
    return predict_with_own(samples, classes=classes, **_own(subject))


def _agreement_counted(beside: Sequence[Columns], datasets: int, classes: int, pools: Pools) -> Mapping[str, Any]:
    """What `count_agreement` counts in all curated samples, on the workers wherever that can be."""
    how: dict[str, Any] = {"datasets": datasets, "classes": classes, "pools": pools}
    rows = [table.artifact.rows for table in beside]
    # As many rows are the same samples in the same order, whatever the cut, where none of them may be missing. Else
    # some samples of each partition were curated, those with gold say: their predictions stand in the same partition …
    paired = len(set(rows)) > 1 or may_lack_partitions()
    counted: Mapping[str, Any] | None = reduce_partitions(count_agreement, *beside, paired=paired, **how)
    # … except where one of the two came from the store and was cut otherwise then. No number of rows says where the
    # samples of one partition lie among those of the others; the ids do, of all samples.
    if counted is None or counted["found"] < rows[1]:
        counted = count_agreement(*(collect(table.artifact, table.names) for table in beside), **how)
    if counted["found"] < rows[1] and not may_lack_partitions():
        raise RunError(f"The subject has not predicted {rows[1] - counted['found']} of the {rows[1]} curated samples.")
    return counted


def _same_samples(*tables: Artifact[Any]) -> tuple[Artifact[Any], ...]:
    """The predictions, intervals, samples and clusters of the same samples, in the same order. Where partitions were
    quarantined and others came from the store, cut otherwise, they are put beside each other here, and a sample that
    one of them lacks is left out."""
    if side_by_side(*tables):
        return tables
    kinds = (Predictions, Intervals, Samples, Clusters)
    rows = [collect(table, kind.schema.names) for table, kind in zip(tables, kinds, strict=True)]
    ids = rows[0]["id"]
    for each in rows[1:]:
        ids = ids.filter(pc.is_in(ids, each["id"].combine_chunks()))
    aligned = [each.take(pc.index_in(ids, each["id"].combine_chunks())) for each in rows]
    return tuple(write_table(each, into=kind) for each, kind in zip(aligned, kinds, strict=True))


def predict_out_of_fold(table: pa.Table, *, models: CrossFitted) -> pa.Table:
    """Predictions for a partition of the samples, each by the model fitted without the sample's fold."""
    folds = fold_of(named_groups(table), len(models.without))
    return predictions_table(table["id"], models.probabilities(feature_matrix(table, models.whole.features), folds))


def _predicted(
    function: Callable[..., pa.Table], samples: Artifact[Samples], subject: ResolvedSubject, **constants: Any
) -> Artifact[Predictions]:
    return map_partitions(
        function, samples, into=Predictions, reuse=Reuse() if subject.is_known_whole else None, **constants
    )


def _card_of_trained(
    subject: ResolvedSubject, models: CrossFitted, classes: list[str], labelled: int
) -> dict[str, Any]:
    every = (models.whole, *models.without)
    return {
        "kind": "logistic",
        "how": "logistic regression, L2 penalty with C = 1, on standardised features",
        "features": list(models.whole.features),
        "missing_values": "replaced by the feature's mean over the rows a model was fitted on",
        "classes": classes,
        "train_on": subject.settings.train_on,
        "folds": subject.settings.folds,
        "rows": models.whole.rows,
        "labelled_rows": labelled,
        "classes_seen_per_fold": [len(model.seen) for model in models.without],
        "converged": all(model.converged for model in every),
        "scikit_learn": version("scikit-learn"),
    }


def _card_of_given(subject: ResolvedSubject) -> dict[str, Any]:
    if subject.kind == "predictions":
        say(f"predictions in the column {subject.settings.predictions}")
        return {"kind": "predictions", "column": subject.settings.predictions}
    say(f"own model {subject.settings.model}")
    features = subject.settings.features
    return {
        "kind": "own",
        "features": None if features is None else list(features),
        "weights": subject.weights is not None,
        "fingerprint": subject.fingerprint,
    }


def _summary(findings: list[Finding], flag: Finding, name: str, datasets: int) -> str:
    by_group = {(f.of, f.group): f.value for f in findings if f.metric == "subject.accuracy"}
    yardstick = "weak" if by_group.get(("gold", f"D{datasets}")) is None else "gold"
    first, last = by_group.get((yardstick, "D1")), by_group.get((yardstick, f"D{datasets}"))
    shown = ["–" if value is None else f"{value:.0%}" for value in (first, last)]
    degenerate = f" · {flag.verdict}" if flag.verdict.startswith("degenerate") else ""
    return f"{name} · {shown[0]} right on D1, {shown[1]} on D{datasets} (by {yardstick} labels){degenerate}"
