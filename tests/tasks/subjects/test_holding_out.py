"""No sample is ever both audited and trained on, whoever cuts the samples; a limit draws evenly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subject_workload import Rows, rows_with_split, rows_without_split

from assay.data.schemas import Samples
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect, map_pieces
from assay.infra.stage import stage
from assay.tasks.subjects.holding_out import draw_evenly
from assay.tasks.subjects.image_task import ROWS, hold_out
from assay.tasks.subjects.settings import Evaluation


@stage(version=1)
def given_samples(ends: list[int], split: bool) -> Artifact[Samples]:
    pieces = [Rows(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return map_pieces(rows_with_split if split else rows_without_split, pieces, into=Samples)


def ids(artifact: Artifact[Samples]) -> list[str]:
    return collect(artifact, ["id"])["id"].to_pylist()


@pytest.mark.parametrize("split", [True, False])
def test_training_and_audited_samples_are_apart_and_the_same_for_any_cut(run, split):
    one = hold_out(given_samples([1000], split), Evaluation())
    many = hold_out(given_samples([1, 400, 990, 1000], split), Evaluation())
    assert (one.training.digest, one.evaluation.digest) == (many.training.digest, many.evaluation.digest)
    assert not set(ids(one.training)) & set(ids(one.evaluation))
    assert one.evaluation.partitions == -(-one.evaluation.rows // ROWS)


def test_the_split_column_decides_where_there_is_one(run):
    held = hold_out(given_samples([1000], True), Evaluation(split="val"))
    assert set(collect(held.evaluation, ["split"])["split"].to_pylist()) == {"val"}
    assert set(collect(held.training, ["split"])["split"].to_pylist()) == {"train"}
    assert held.training.rows + held.evaluation.rows < 1000  # the test split and rows without a split do neither


def test_a_hash_holds_out_about_the_share_that_is_asked_for(run):
    held = hold_out(given_samples([1000], False), Evaluation(holdout=0.25))
    assert held.training.rows + held.evaluation.rows == 1000
    assert 200 <= held.evaluation.rows <= 300


def test_a_limit_is_drawn_evenly_over_the_classes_and_leaves_training_alone(run):
    samples = given_samples([500, 1000], True)
    held, limited = hold_out(samples, Evaluation()), hold_out(samples, Evaluation(limit=30))
    assert sorted(collect(limited.evaluation, ["gold"])["gold"].to_pylist()) == [0] * 10 + [1] * 10 + [2] * 10
    assert set(ids(limited.evaluation)) < set(ids(held.evaluation))
    assert limited.training.digest == held.training.digest
    assert hold_out(samples, Evaluation(limit=100_000)).evaluation.digest == held.evaluation.digest


def test_a_split_that_is_not_there_is_answered_with_those_that_are(run):
    with pytest.raises(InputError, match=r"no value 'holdout', which `evaluation.split` asks for: .* test, train, val"):
        hold_out(given_samples([1000], True), Evaluation(split="holdout"))
    with pytest.raises(InputError, match="what is audited must not train"):
        hold_out(given_samples([1000], True), Evaluation(split="train"))


def test_samples_too_few_to_hold_any_out_are_refused(run):
    with pytest.raises(InputError, match="No sample is left for"):
        hold_out(given_samples([1], False), Evaluation())


@settings(max_examples=50)
@given(st.lists(st.sampled_from([None, 0, 1, 2]), min_size=1, max_size=40), st.integers(1, 50))
def test_a_draw_is_as_even_as_the_classes_allow(classes, limit):
    names = [f"s{number}" for number in range(len(classes))]
    drawn = draw_evenly(names, classes, limit)
    assert len(drawn) == min(limit, len(names))
    taken = {
        code: sum(name in drawn for name, one in zip(names, classes, strict=True) if one == code)
        for code in set(classes)
    }
    for code, count in taken.items():
        if count < classes.count(code):  # a class that still had samples is at most one behind any other
            assert max(taken.values()) - count <= 1
    backwards = draw_evenly(names[::-1], classes[::-1], limit)
    assert backwards == drawn
