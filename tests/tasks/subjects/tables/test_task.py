"""The stages of a subject over a store: real measurements, several cuts, one answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer

from assay.data.schemas import Classes, Clusters, CuratedSets, Findings, Intervals, Predictions, Samples, WeakLabels
from assay.infra.errors import InputError, RunError
from assay.infra.stages.partitions import collect, map_pieces, read_files
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering import sorting
from assay.tasks.statistics.calibration import brier, risk_area_interval
from assay.tasks.statistics.classification_findings import above_constant_of
from assay.tasks.statistics.clusters import share_by
from assay.tasks.statistics.findings import Finding, findings_from
from assay.tasks.statistics.order_test import order_test
from assay.tasks.statistics.settings import Statistics
from assay.tasks.statistics.task import conclude
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.tables import task
from assay.tasks.subjects.tables.logistic import CrossFitted
from assay.tasks.subjects.tables.task import (
    judge_subject,
    measure_subject,
    predict_out_of_fold,
    predict_samples,
    train_subject,
)

MATRIX, TARGET = load_breast_cancer(return_X_y=True)
N, DATASETS = len(TARGET), 10
IDS = [f"patient-{i:03d}" for i in range(N)]
MARGIN = np.abs(MATRIX[:, 7] - np.median(MATRIX[:, 7]))  # far from the middle: an easy patient
RANK = np.argsort(np.argsort(-MARGIN, kind="stable"))
WEAK = (MATRIX[:, 7] < np.median(MATRIX[:, 7])).astype(np.int16)  # few concave points: benign


@dataclass(frozen=True)
class Rows:
    start: int
    stop: int
    kind: str
    gold: str


class World(NamedTuple):
    samples: Artifact[Samples]
    labels: Artifact[WeakLabels]
    curated: Artifact[CuratedSets]
    classes: Artifact[Classes]


def table(rows: Rows) -> pa.Table:
    at = np.arange(rows.start, rows.stop)
    unknown = {"all": at < 0, "none": at >= 0, "half": at % 2 == 0, "one class": TARGET[at] == 0}[rows.gold]
    gold = pa.array(TARGET[at].astype(np.int16), mask=unknown)
    ids = [IDS[row] for row in at]
    if rows.kind == "samples":
        columns = {f"x{j}": MATRIX[at, j] for j in range(MATRIX.shape[1])}
        said = pa.array(np.array(["malignant", "benign"])[WEAK[at]])
        return pa.table({"id": ids, "gold": gold, "other system": said, **columns})
    size = len(at)
    common: dict[str, Any] = {"id": ids, "label": WEAK[at], "confidence": np.full(size, 0.7)}
    if rows.kind == "labels":
        more = {
            "votes_cast": np.full(size, 3, np.int32),
            "share": np.full(size, 0.7),
            "undecided": np.zeros(size, bool),
        }
        return pa.table(common | more)
    dataset = (RANK[at] * DATASETS // N + 1).astype(np.int32)
    more = {
        "rank": RANK[at],
        "dataset": dataset,
        "lower": 0.1 + 0 * at,
        "upper": 0.9 + 0 * at,
        "votes_cast": np.full(size, 3, np.int32),
        "gold": gold,
    }
    found = pa.table(common | more).select(CuratedSets.schema.names)
    return found.filter(pa.array(~unknown)) if rows.gold == "half" else found


@stage(version=1)
def put_samples(cuts: list[int], gold: str) -> Artifact[Samples]:
    return map_pieces(table, [Rows(a, b, "samples", gold) for a, b in pairwise(cuts)], into=Samples)


@stage(version=1)
def put_labels(cuts: list[int], gold: str) -> Artifact[WeakLabels]:
    return map_pieces(table, [Rows(a, b, "labels", gold) for a, b in pairwise(cuts)], into=WeakLabels)


@stage(version=1)
def put_curated(cuts: list[int], gold: str) -> Artifact[CuratedSets]:
    return map_pieces(table, [Rows(a, b, "curated", gold) for a, b in pairwise(cuts)], into=CuratedSets)


@stage(version=1)
def put_classes(names: list[str]) -> Artifact[Classes]:
    codes = pa.array(range(len(names)), pa.int16())
    return write_table(pa.table({"code": codes, "name": names}), into=Classes)


def world(partitions: int = 3, gold: str = "all") -> World:
    cuts = [round(i * N / partitions) for i in range(partitions + 1)]
    return World(
        put_samples(cuts, gold), put_labels(cuts, gold), put_curated(cuts, gold), put_classes(["malignant", "benign"])
    )


def logistic(**settings: object) -> ResolvedSubject:
    return resolve_subject(Subject.model_validate({"model": "logistic", **settings}), Path())


def predictions_of(found: World, subject: ResolvedSubject) -> Artifact[Predictions]:
    labels = found.labels if subject.settings.train_on == "weak" else None
    files = train_subject(found.samples, labels, found.classes, subject)
    return predict_samples(found.samples, found.classes, files, subject)


def measured(found: World, predictions: Artifact[Predictions]) -> Artifact[Findings]:
    cuts = [round(i * N / found.samples.partitions) for i in range(found.samples.partitions + 1)]
    return measure_subject(predictions, found.curated, put_clusters(cuts), found.classes, "mine", DATASETS, 500)


@stage(version=1)
def put_intervals(cuts: list[int]) -> Artifact[Intervals]:
    return map_pieces(interval_rows, [Rows(a, b, "", "") for a, b in pairwise(cuts)], into=Intervals)


def interval_rows(rows: Rows) -> pa.Table:
    at = np.arange(rows.start, rows.stop)
    columns = {
        "id": [IDS[row] for row in at],
        "label": WEAK[at],
        "confidence": np.full(len(at), 0.7),
        "votes_cast": np.full(len(at), 3, np.int32),
        "votes_won": np.full(len(at), 2.1),
        "lower": -1.0 * RANK[at],
        "upper": np.ones(len(at)),
        "undecided": at % 11 == 0,
        "tie_break": at,
    }
    return pa.table(columns, schema=Intervals.schema)


@stage(version=1)
def put_clusters(cuts: list[int]) -> Artifact[Clusters]:
    return map_pieces(cluster_rows, [Rows(a, b, "", "") for a, b in pairwise(cuts)], into=Clusters)


def cluster_rows(rows: Rows) -> pa.Table:
    at = np.arange(rows.start, rows.stop)
    columns = {"id": [IDS[row] for row in at], "cluster": at // 2, "pattern": pa.nulls(len(at), pa.int64())}
    return pa.table(columns, schema=Clusters.schema)


def judged(found: World, predictions: Artifact[Predictions]) -> Artifact[Findings]:
    cuts = [round(i * N / found.samples.partitions) for i in range(found.samples.partitions + 1)]
    return judge_subject(predictions, put_intervals(cuts), found.samples, put_clusters(cuts), "mine", "apart", 0.01)


def rows_of(findings: Artifact[Findings]) -> dict[tuple[str, str, str], Finding]:
    table = collect(findings, Findings.schema.names)
    return {(f.metric, f.of, f.group): f for f in findings_from(table)}


@pytest.mark.slow
def test_every_digest_is_the_same_for_any_cut(make_run: Callable[..., Run], tmp_path: Path) -> None:
    seen = set()
    for partitions in (1, 7, 40):
        with make_run(store=str(tmp_path / f"store-{partitions}")):
            found = world(partitions)
            files = train_subject(found.samples, None, found.classes, logistic())
            predictions = predict_samples(found.samples, found.classes, files, logistic())
            seen.add(
                (
                    files.digest,
                    predictions.digest,
                    measured(found, predictions).digest,
                    judged(found, predictions).digest,
                )
            )
            assert predictions.partitions == partitions
    assert len(seen) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("undecided", "gold"), [("apart", "all"), ("default", "half"), ("apart", "none")])
def test_judged_by_ranges_it_is_what_one_range_says_and_what_the_plain_statistics_say(
    make_run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gold: str, undecided: str
) -> None:
    """Every digit; and no column of all samples is collected."""
    collected: list[object] = []
    monkeypatch.setattr(task, "collect", lambda *asked: collected.append(asked[0].kind) or collect(*asked))
    digests, found = set(), dict[tuple[str, str, str], Finding]()
    for partitions, rows in ((1, 10**6), (5, 200), (5, 61)):
        monkeypatch.setattr(sorting, "RANGE_ROWS", rows)
        with make_run(store=str(tmp_path / f"{partitions} {rows}")):
            world_ = world(partitions, gold=gold)
            predictions = predictions_of(world_, logistic(train_on="weak"))
            collected.clear()
            cuts = [round(i * N / partitions) for i in range(partitions + 1)]
            tables = (predictions, put_intervals(cuts), world_.samples, put_clusters(cuts))
            findings = judge_subject(*tables, "mine", undecided, 0.01)
            assert collected == []
            digests.add(findings.digest)
            found = rows_of(findings)
            answers = collect(predictions, ["predicted", "probabilities"])
    assert len(digests) == 1
    at = np.arange(N)
    kept = at % 11 != 0 if undecided == "apart" else at >= 0
    for yardstick, truth in (("weak", WEAK), ("gold", TARGET)):
        known = kept if yardstick == "weak" or gold == "all" else kept & (at % 2 == 1) & (gold == "half")
        right = (truth == answers["predicted"].to_numpy())[known]
        test = order_test(-1.0 * RANK[known], right, None, at[known] // 2, np.random.default_rng(0))
        area = found["subject.auc", yardstick, ""]
        assert area.n == known.sum()
        if test.area is None:
            assert area.verdict == test.verdict(0.01)
            continue
        assert (area.value, area.low, area.high) == pytest.approx(tuple(test.area), abs=1e-10)
        assert found["subject.trend_p", yardstick, ""].value == pytest.approx(test.p_value, abs=1e-10)
        risk = risk_area_interval(-1.0 * RANK[known], right, at[known] // 2)
        aurc = found["subject.aurc", yardstick, ""]
        assert (aurc.value, aurc.low, aurc.high) == pytest.approx(tuple(risk), abs=1e-10)
        if yardstick == "gold":
            chances = np.array(answers["probabilities"].to_pylist())[known]
            score = found["subject.brier", "gold", ""].value
            assert score == pytest.approx(brier(chances, truth[known], at[known] // 2, np.random.default_rng(0)).value)


def test_tables_that_a_store_cut_otherwise_are_judged_by_the_samples_that_all_have(
    make_run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers lack a partition, and the intervals came from a store that cut them elsewhere."""
    monkeypatch.setattr(task, "predict_out_of_fold", loses_a_partition)
    cuts = [round(i * N / 5) for i in range(6)]
    found = []
    for interval_cuts in (cuts, [0, 100, N]):
        with make_run(store=str(tmp_path / str(len(interval_cuts))), quarantine=1, retries=0):
            world_ = world(5)
            predictions = predictions_of(world_, logistic())
            tables = (predictions, put_intervals(interval_cuts), world_.samples, put_clusters(cuts))
            found.append(rows_of(judge_subject(*tables, "mine", "apart", 0.01)))
    as_cut, otherwise = found
    assert list(as_cut) == list(otherwise)
    for place, one in as_cut.items():
        assert (otherwise[place].value, otherwise[place].n, otherwise[place].verdict) == (one.value, one.n, one.verdict)


def test_the_logistic_subject_is_right_out_of_fold_and_its_agreement_falls(run: Run) -> None:
    found = world()
    findings = rows_of(measured(found, predictions_of(found, logistic())))
    last = findings["subject.accuracy", "gold", "D10"]
    assert last.value is not None
    assert 0.96 <= last.value <= 0.99
    assert last.n == N
    assert findings["subject.permutation_p", "weak", ""].value <= 0.01
    assert findings["subject.spearman", "weak", ""].value == pytest.approx(-1.0, abs=0.05)
    assert findings["subject.degenerate", "", ""].verdict == "varied"
    assert all(f.subject == "mine" for f in findings.values())


def test_the_model_that_is_handed_out_is_plain_json_with_a_card(run: Run) -> None:
    found = world()
    files = read_files(train_subject(found.samples, None, found.classes, logistic(folds=4)))
    assert set(files) == {"card.json", "folds.json", "model.json"}
    card = json.loads(files["card.json"])
    assert (card["rows"], card["folds"], card["converged"], card["train_on"]) == (N, 4, True, "gold")
    assert card["classes"] == ["malignant", "benign"]
    assert len(CrossFitted.from_files(files).without) == 4


def test_more_rows_than_fit_are_sampled_and_said_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "MOST_ROWS", 200)
    found = world(5)
    card = json.loads(read_files(train_subject(found.samples, None, found.classes, logistic()))["card.json"])
    assert 150 <= card["rows"] <= 250
    assert card["labelled_rows"] == N
    assert f"drawn from {N}" in run.record.stages[-1].summary


def test_a_subject_can_learn_from_weak_labels_without_gold(run: Run) -> None:
    found = world(gold="none")
    findings = rows_of(measured(found, predictions_of(found, logistic(train_on="weak"))))
    weak = findings["subject.accuracy", "weak", "D10"].value
    assert weak is not None
    assert weak > 0.9
    assert findings["subject.accuracy", "gold", "D10"].verdict == "not measured"
    assert findings["subject.permutation_p", "gold", ""].verdict == "not measured"


def test_only_the_curated_samples_are_measured_where_gold_is_partial(run: Run) -> None:
    found = world(gold="half")
    predictions = predictions_of(found, logistic())
    assert found.curated.rows == N // 2
    assert predictions.rows == N
    findings = rows_of(measured(found, predictions))
    assert findings["subject.accuracy", "gold", "D10"].n == N // 2
    assert findings["subject.degenerate", "", ""].n == N


@dataclass(frozen=True)
class Cuts:
    """How predictions and curated sets are cut, and what of them is collected."""

    predictions: list[int]
    curated: list[int]
    collected: set[str]


def kinds_collected(patched: pytest.MonkeyPatch) -> set[str]:
    """The kinds of what the stages collect from now on."""
    seen: set[str] = set()

    def noted(artifact: Artifact[Any], columns: list[str] | None) -> pa.Table:
        seen.add(artifact.kind)
        return collect(artifact, columns)

    patched.setattr(task, "collect", noted)
    return seen


@pytest.mark.parametrize("gold", ["all", "half"])
def test_agreement_is_counted_where_samples_lie_and_the_same_for_any_cut(
    make_run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gold: str
) -> None:
    apart = {"Classes"} if gold == "all" else {"Classes", "Predictions", "CuratedSets", "Clusters"}
    thirds, odd = [0, 190, 380, N], [0, 7, 500, N]
    cuts = [
        Cuts([0, N], [0, N], {"Classes"}),
        Cuts(thirds, thirds, {"Classes"}),
        Cuts([0, 1, *odd[1:]], [0, 1, *odd[1:]], {"Classes"}),  # with gold "half" the first partition has none curated
        Cuts(thirds, odd, apart),
        Cuts(thirds, [0, N], apart),
    ]
    digests = set()
    for number, cut in enumerate(cuts):
        with make_run(store=str(tmp_path / f"store-{number}")), monkeypatch.context() as patched:
            samples, classes = put_samples(cut.predictions, gold), put_classes(["malignant", "benign"])
            subject = resolve_subject(Subject(predictions="other system"), Path())
            predictions = predict_samples(samples, classes, train_subject(samples, None, classes, subject), subject)
            curated, clusters = put_curated(cut.curated, gold), put_clusters(cut.predictions)
            seen = kinds_collected(patched)
            digests.add(measure_subject(predictions, curated, clusters, classes, "mine", DATASETS, 500).digest)
            assert seen == cut.collected
    assert len(digests) == 1


@pytest.mark.parametrize("gold", ["all", "half"])
def test_shares_and_the_test_against_one_answer_are_by_group(run: Run, gold: str) -> None:
    """As `share_by` and `above_constant_of` say of the samples themselves; a row was as good as a group."""
    found = world(gold=gold)
    predictions = predictions_of(found, logistic(train_on="weak"))
    findings = rows_of(measured(found, predictions))
    kept = np.arange(N) if gold == "all" else np.flatnonzero(np.arange(N) % 2 == 1)
    said, truth, groups = np.array(collect(predictions, ["predicted"])["predicted"])[kept], TARGET[kept], kept // 2
    for group, chosen in (("D10", RANK[kept] >= 0), ("stratum 1", RANK[kept] * DATASETS // N == 0)):
        share = share_by("subject.accuracy", (said == truth)[chosen], groups[chosen])
        measured_share = findings["subject.accuracy", "gold", group]
        assert (measured_share.value, measured_share.low, measured_share.high) == (share.value, share.low, share.high)
    gain, p = above_constant_of(said, truth, 2, groups)
    above, test = (findings[f"subject.above_constant{part}", "gold", "D10"] for part in ("", "_p"))
    assert (above.value, above.low, above.high) == pytest.approx((gain.value, gain.low, gain.high), abs=1e-12)
    assert test.p_value == p


def test_another_systems_predictions_are_measured_as_they_are(run: Run) -> None:
    found = world()
    subject = resolve_subject(Subject(predictions="other system"), Path())
    findings = rows_of(measured(found, predictions_of(found, subject)))
    assert findings["subject.accuracy", "weak", "D10"].value == 1.0
    assert findings["subject.permutation_p", "weak", ""].value == 1.0
    assert findings["subject.accuracy", "gold", "D10"].value == pytest.approx((WEAK == TARGET).mean())


def test_an_own_model_is_measured_and_never_sees_gold(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def f(table):\n"
        "    assert 'gold' not in table.column_names\n"
        "    return np.tile([1.0, 0.0], (len(table), 1))\n"
    )
    found = world()
    subject = resolve_subject(Subject(model="mine.py:f"), tmp_path)
    findings = rows_of(measured(found, predictions_of(found, subject)))
    assert findings["subject.degenerate", "", ""].verdict == "degenerate: every sample is called malignant"
    assert findings["subject.accuracy", "gold", "D10"].value == pytest.approx((TARGET == 0).mean())


def test_a_second_run_with_another_name_computes_only_the_measurement(make_run: Callable[..., Run]) -> None:
    with make_run() as first:
        predictions_of(world(), logistic(name="a"))
    with make_run() as second:
        predictions_of(world(), logistic(name="b"))
    assert [stage.cached for stage in second.record.stages] == [True] * len(first.record.stages)


@pytest.mark.parametrize(
    ("gold", "settings", "said"),
    [
        ("none", {}, "no sample has a gold label: set `train_on: weak`"),
        ("one class", {}, "gold labels the subject learns from say 'benign'"),
        ("all", {"features": ["x0", "nosuch"]}, "no feature 'nosuch'"),
        ("all", {"features": ["other system"]}, "feature 'other system' holds string"),
    ],
)
def test_what_cannot_be_learned_is_one_sentence(run: Run, gold: str, settings: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        predictions_of(world(gold=gold), logistic(**settings))


def test_a_model_that_raises_stops_the_run_with_its_sentence(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def f(table):\n    raise ValueError('no such patient')\n")
    with pytest.raises(InputError, match=r"raised ValueError: no such patient \(line 2\) on the samples 'patient-000'"):
        predictions_of(world(1), resolve_subject(Subject(model="mine.py:f"), tmp_path))


def test_curated_samples_that_were_not_predicted_are_an_error(run: Run) -> None:
    found = world()
    other = put_samples([0, 100], "all")
    predictions = predict_samples(
        other, found.classes, train_subject(other, None, found.classes, logistic()), logistic()
    )
    with pytest.raises(RunError, match="has not predicted 469 of the 569 curated samples"):
        measured(found, predictions)


def loses_a_partition(table: pa.Table, **models: CrossFitted) -> pa.Table:
    if "patient-150" in table["id"].to_pylist():
        raise MemoryError("a worker too small")
    return predict_out_of_fold(table, **models)


@pytest.mark.slow
@pytest.mark.parametrize("gold", ["all", "half"])
def test_a_quarantined_partition_of_answers_is_left_out_wherever_it_is_counted(
    make_run: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gold: str
) -> None:
    monkeypatch.setattr(task, "predict_out_of_fold", loses_a_partition)
    cuts = [round(i * N / 5) for i in range(6)]
    lost = cuts[2] - cuts[1]

    def found_now(store: str) -> tuple[dict[tuple[str, str, str], Finding], dict[tuple[str, str, str], Finding], str]:
        with make_run(store=str(tmp_path / store), quarantine=1, retries=0) as run:
            found = world(5, gold=gold)
            predictions = predictions_of(found, logistic())
            assert (predictions.partitions, predictions.rows) == (4, N - lost)
            agreement = rows_of(measured(found, predictions))
            return agreement, rows_of(judged(found, predictions)), run.record.stages[-4].summary

    agreement, along, said = found_now("one place")
    answered = agreement["subject.accuracy", "weak", "D10"].n
    curated, unanswered = (N, lost) if gold == "all" else (N // 2, lost // 2)
    assert answered == curated - unanswered
    assert said.endswith(f" · {unanswered} without an answer left out")
    monkeypatch.setattr(sorting, "RANGE_ROWS", 200)
    _, by_ranges, _ = found_now("ranges")
    for place, one in along.items():
        assert (by_ranges[place].n, by_ranges[place].verdict) == (one.n, one.verdict), place
        assert by_ranges[place].value == pytest.approx(one.value, abs=1e-10), place
    assert along["subject.trend_p", "weak", ""].n < N - lost


def test_findings_of_a_run_are_corrected_together(run: Run) -> None:
    found = world()
    one = judged(found, predictions_of(found, logistic()))
    two = judged(found, predictions_of(found, resolve_subject(Subject(predictions="other system"), Path())))
    concluded = conclude([one, two], Statistics())
    table = findings_from(collect(concluded, Findings.schema.names))
    assert len(table) == one.rows + two.rows
    tested = [f for f in table if f.p_value is not None]
    assert len(tested) == 3  # the other system says what the labels say: there is nothing to test
    assert all(f.p_adjusted is not None and f.p_value is not None and f.p_adjusted >= f.p_value for f in tested)
    assert f"{len(table)} findings, Holm over 3 tests" == run.record.stages[-1].summary
    plain = findings_from(collect(conclude([one, two], Statistics(correction="none")), Findings.schema.names))
    assert [f.p_adjusted for f in plain] == [None] * len(table)  # a plain p is not called corrected
