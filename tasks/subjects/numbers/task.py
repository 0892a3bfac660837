"""The stages of a subject that predicts numbers: it is asked, and held against the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import Clusters, CuratedSets, Findings, Intervals, PredictedNumbers, Samples, SubjectFiles
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import Reuse, collect, map_partitions
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering.settings import Ordering
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import groups_of
from assay.tasks.statistics.multiplicity import verdict_in_words
from assay.tasks.subjects.along.task import audited_in_order
from assay.tasks.subjects.numbers.errors import (
    ALONG,
    CLEAN,
    NOISE,
    Predicted,
    error_findings,
    error_trend,
    noise_findings,
    stratum_findings,
)
from assay.tasks.subjects.own_models import answers_by_row, predictor
from assay.tasks.subjects.predictions import Matrix, as_numbers, feature_matrix, numbers_of, require_number
from assay.tasks.subjects.resolved import ResolvedSubject


@stage(version=1, title="predicted numbers")
def predict_numbers(
    samples: Artifact[Samples], _card: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[PredictedNumbers]:
    """The number that the subject predicts for every sample, with its interval where it promises one."""
    say(f"{subject.settings.name} · {samples.rows} samples")
    reuse = Reuse() if subject.is_known_whole else None
    return map_partitions(predicted_numbers, samples, into=PredictedNumbers, reuse=reuse, subject=subject)


@stage(version=1, title="numbers under noise", draws=True)
def predict_under_noise(
    samples: Artifact[Samples], _card: Artifact[SubjectFiles], subject: ResolvedSubject, amount: float
) -> Artifact[PredictedNumbers]:
    """What the subject predicts where normal noise of so many standard deviations is on each of its features: the same
    draws of a sample for every amount."""
    names = list(subject.settings.features or ())
    known = numbers_of(collect(samples, ["id", *names]), names, subject.settings.name)
    spreads = {name: amount * float(np.nanstd(known[:, at])) for at, name in enumerate(names)}
    say(f"{subject.settings.name} · {100 * amount:g} % of the standard deviation on {plural(len(names), 'column')}")
    return map_partitions(
        numbers_under_noise, samples, into=PredictedNumbers, subject=subject, spreads=spreads, seeds=stage_seeds()
    )


def numbers_under_noise(
    samples: pa.Table, subject: ResolvedSubject, spreads: Mapping[str, float], seeds: Seeds
) -> pa.Table:
    """The `PredictedNumbers` of a partition whose columns have noise of such standard deviations."""
    drawn = [draw.standard_normal(len(spreads)) for draw in seeds.generators(samples["id"].to_pylist())]
    noise = np.reshape(drawn, (samples.num_rows, len(spreads))) * np.array([*spreads.values()])
    noisy = numbers_of(samples, [*spreads], subject.settings.name) + noise
    for at, name in enumerate(spreads):
        place = samples.schema.get_field_index(name)
        samples = samples.set_column(place, name, pa.array(noisy[:, at], from_pandas=True))
    return predicted_numbers(samples, subject)


def predicted_numbers(samples: pa.Table, subject: ResolvedSubject, *_: object) -> pa.Table:
    """The `PredictedNumbers` of a partition."""
    asked, code, ids = subject.settings, subject.code, samples["id"]
    if code is None:
        column = str(asked.predictions)
        answers = checked_numbers(numbers_in(samples, column), ids.to_pylist(), who=f"The column {column!r}")
    else:
        predict = predictor(code, subject.weights, asked.features, "predict")
        features = asked.features if subject.weights is None else None
        hidden = {"gold", str(asked.predicts)}.intersection(samples.column_names)
        checked = partial(checked_numbers, promised=asked.interval)
        answers = answers_by_row(samples, predict, code, features, sorted(hidden), checked)
    columns = (pa.array(each, from_pandas=True) for each in answers.reshape(-1, 3).T)
    return pa.table([ids, *columns], schema=PredictedNumbers.schema)


def checked_numbers(output: object, ids: Sequence[str], *, who: str, promised: float | None = None) -> Matrix:
    """What a model returned as prediction, lower and upper end, [n, 3], NaN for ends that it was not asked for; or an
    error that says what it should have returned."""
    expected, width = "one number per sample", 1
    if promised is not None:
        expected, width = f"a prediction and the ends of its {100 * promised:g} % interval, lower first, per sample", 3
    given = as_numbers(output, who, expected)
    values = given[:, None] if given.ndim == 1 else given
    if values.shape != (len(ids), width):
        hint = "; say with `interval: 0.9` what its intervals promise" if values.shape == (len(ids), 3) else ""
        shape = f"the shape {list(given.shape)} for {len(ids)} samples"
        raise InputError(f"{who} returned {shape}, expected {expected}{hint}.")
    wrong = ~np.isfinite(values).all(axis=1) | (values[:, -1] < values[:, width // 2])
    for row in np.flatnonzero(wrong)[:1]:
        raise InputError(f"{who} returned {values[row].tolist()} for sample {ids[row]!r}, expected {expected}.")
    return np.pad(values, ((0, 0), (0, 3 - width)), constant_values=np.nan)


def numbers_in(table: pa.Table, column: str) -> npt.NDArray[np.float64]:
    """A column of numbers, NaN where one is missing; raises where it holds something else."""
    require_number(table.schema.field(column).type, column)
    return np.asarray(feature_matrix(table, [column])[:, 0])


@stage(version=4, title="regression", draws=True)
def measure_numbers(
    samples: Artifact[Samples],
    predictions: Artifact[PredictedNumbers],
    curated: Artifact[CuratedSets] | None,
    intervals: Artifact[Intervals] | None,
    clusters: Artifact[Clusters] | None,
    column: str,
    promised: float | None,
    name: str,
    ordering: Ordering,
    significance: float,
    noisy: Mapping[str, Artifact[PredictedNumbers]],
) -> Artifact[Findings]:
    """The findings on one subject: on all samples, under noise of so many standard deviations, on D1…DN and on every
    stratum, and whether its errors grow along the order."""
    truth, groups, about = collect(samples, ["id", column]), groups_of(samples), Finding("", CLEAN, subject=name)
    clean = predicted_of(truth, collect(predictions, None), column, groups)
    if not len(clean.ids):
        raise InputError(f"No sample has a number in the column {column!r}, which {name} predicts.")
    findings = [*error_findings(about, clean, promised)]
    said = f"{name} · mean absolute error {findings[0].value:.3g}"
    for amount, answers in noisy.items():
        under = replace(about, of=NOISE, group=f"{amount} sd")
        findings += noise_findings(under, clean, predicted_of(truth, collect(answers, None), column, groups), promised)
    if curated is not None and intervals is not None and clusters is not None:
        ordered = audited_in_order(curated, intervals, clusters, truth["id"])
        along, places = replace(about, of=ALONG), ordered.places(pa.chunked_array([clean.ids]))
        there, at = clean.at(places >= 0), places[places >= 0]
        findings += stratum_findings(along, there, ordered.stratum[at], ordering.datasets, promised)
        kept = ordered.decided[at] | (ordering.undecided != "apart")
        patterns = None if ordered.patterns is None else ordered.patterns[at][kept]
        columns = (there.error[kept], ordered.scores[at][kept], patterns, ordered.clusters[at][kept])
        findings.append(error_trend(along, *columns, significance, stage_seeds().generator()))
        said += f" · errors along the order: {verdict_in_words(findings[-1])}"
    say(said)
    return write_table(findings_table(findings), into=Findings)


def predicted_of(
    truth: pa.Table, predictions: pa.Table, column: str, groups: npt.NDArray[np.int64] | None = None
) -> Predicted:
    """The predictions beside the truth, of the samples that have both."""
    numbers = numbers_in(truth, column)
    at = pc.fill_null(pc.index_in(truth["id"], value_set=predictions["id"].combine_chunks()), -1).to_numpy()
    rows = np.flatnonzero((at >= 0) & ~np.isnan(numbers))
    answers = predictions.take(pa.array(at[rows]))
    value, low, high = (answers[name].to_numpy() for name in ("value", "low", "high"))
    ids = np.array(truth["id"].to_pylist(), dtype=np.str_)[rows]
    return Predicted(ids, numbers[rows], value, low, high, None if groups is None else codes_of(groups[rows]))
