"""No sample is ever both audited and trained on, nor a copy of it; a limit keeps the proportions of the classes."""

from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subject_workload import Rows, copied_images, copied_texts, rows_with_split, rows_without_split

from assay.data.schemas import Samples
from assay.infra.errors import InputError
from assay.infra.stages.exact import merge
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.groups import GROUP, named_groups
from assay.tasks.subjects.holding_out import (
    Rule,
    contents_of,
    draw_evenly,
    draw_in_proportion,
    first_audited,
    fold_of,
    on_side,
    seated,
)
from assay.tasks.subjects.settings import Evaluation
from assay.tasks.subjects.task import ROWS, hold_out


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


def test_a_limit_is_drawn_in_proportion_to_the_classes_and_leaves_training_alone(run):
    samples = given_samples([500, 1000], True)
    held, limited = hold_out(samples, Evaluation()), hold_out(samples, Evaluation(limit=30))
    assert sorted(collect(limited.evaluation, ["gold"])["gold"].to_pylist()) == [0] * 10 + [1] * 10 + [2] * 10
    assert set(ids(limited.evaluation)) < set(ids(held.evaluation))
    assert limited.training.digest == held.training.digest
    assert hold_out(samples, Evaluation(limit=100_000)).evaluation.digest == held.evaluation.digest


def test_a_split_that_is_not_there_is_answered_with_those_that_are(run):
    with pytest.raises(InputError, match=r"no value 'holdout', which `evaluation.split` asks for: .* test, train, val"):
        hold_out(given_samples([1000], True), Evaluation(split="holdout"))


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


@settings(max_examples=50)
@given(st.lists(st.sampled_from([None, 0, 0, 0, 1, 2]), min_size=1, max_size=60), st.integers(1, 70))
def test_a_draw_has_the_proportions_of_the_classes_and_one_of_each(classes, limit):
    names = [f"s{number}" for number in range(len(classes))]
    drawn = draw_in_proportion(names, classes, limit)
    assert len(drawn) == min(limit, len(names))
    kinds = set(classes)
    for code in kinds:
        there = [name for name, one in zip(names, classes, strict=True) if one == code]
        taken, share = len(drawn & set(there)), limit * len(there) / len(names)
        if limit >= len(kinds):
            assert taken >= 1
            # The seats that small classes get for having one at least are missing elsewhere.
            assert abs(taken - min(share, len(there))) <= len(kinds)
    assert draw_in_proportion(names[::-1], classes[::-1], limit) == drawn
    assert draw_in_proportion(names, classes, max(1, limit // 2)) <= drawn


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([None, 0, 0, 0, 1, 2]), max_size=20), min_size=1, max_size=4), st.integers(1, 30)
)
def test_a_draw_from_what_partitions_keep_is_the_draw_from_all(parts, limit):
    names = [[f"{part}-{number}" for number in range(len(classes))] for part, classes in enumerate(parts)]
    found = {"sizes": {}, "first": {}}
    for ids, classes in zip(names, parts, strict=True):
        columns = {"id": pa.array(ids, pa.string()), "gold": pa.array(classes, pa.int16())}
        rows = pa.table(columns | {"split": pa.array(["test"] * len(ids), pa.string())})
        found = merge(found, first_audited(rows, rule=Rule(Evaluation(), by_column=True), limit=limit))
    assert all(len(one.values) <= limit for one in found["first"].values())
    sizes = {int(code): size for code, size in found["sizes"].items()}
    drawn = seated(sizes, {int(code): one.values for code, one in found["first"].items()}, limit)
    assert drawn == draw_in_proportion(chain.from_iterable(names), chain.from_iterable(parts), limit)


def test_a_hundred_of_lesions_that_are_benign_in_four_of_five_cases_hold_eighty_benign_ones():
    classes = [0] * 304 + [1] * 75
    drawn = draw_in_proportion([f"lesion-{number}" for number in range(379)], classes, 100)
    assert sum(int(name.removeprefix("lesion-")) < 304 for name in drawn) == 80


@stage(version=1)
def given_copies(images: bool, split: bool) -> Artifact[Samples]:
    return map_pieces(
        copied_images if images else copied_texts, [Rows(0, 150), Rows(150, 400)], into=Samples, split=split
    )


@pytest.mark.parametrize("images", [True, False])
def test_copies_under_another_id_are_on_the_same_side(run, images):
    held = hold_out(given_copies(images, split=False), Evaluation(holdout=0.4))
    sides = [{name.split(" ")[0] for name in ids(side)} for side in held]
    assert not sides[0] & sides[1]
    assert len(ids(held.training)) + len(ids(held.evaluation)) == 400
    assert "under another id" not in run.record.stages[-1].summary


@pytest.mark.parametrize("images", [True, False])
def test_a_split_column_that_parts_copies_is_obeyed_and_told_of(run, images):
    notices: list[str] = []
    run.progress.notice = notices.append
    held = hold_out(given_copies(images, split=True), Evaluation())
    both = {name.split(" ")[0] for name in ids(held.training)} & {name.split(" ")[0] for name in ids(held.evaluation)}
    assert len(both) == 20
    said = "20 of the audited samples are also among those that train, under another id"
    assert run.record.stages[-1].summary.endswith(f" · {said}")
    assert [one for one in notices if one.startswith(said)]


def test_a_text_goes_by_the_column_that_subjects_read():
    rows = pa.table({"id": ["a", "b", "c"], "note": ["same", "same", None], "text": ["1", "2", "3"]})
    by_note = contents_of(rows, ["note"])
    assert by_note[0] == by_note[1]
    assert by_note[2] == "c"  # nothing to go by but its id
    by_both = contents_of(rows, ["note", "text"])
    assert len(set(by_both)) == 3
    assert contents_of(pa.table({"id": ["a"], "n": ["ab"], "m": ["c"]}), ["n", "m"]) != contents_of(
        pa.table({"id": ["a"], "n": ["a"], "m": ["bc"]}), ["n", "m"]
    )


def test_samples_with_neither_image_nor_text_go_by_their_id():
    rows = pa.table({"id": [f"s{number}" for number in range(2000)]})
    audited = on_side(rows, "evaluation", Rule(Evaluation(holdout=0.25), by_column=False))
    assert 400 < np.count_nonzero(audited) < 600


def rows_in_groups(rows: Rows) -> pa.Table:
    found = rows_without_split(rows)
    groups = pa.array([None if i % 50 == 0 else f"patient {i // 4}" for i in range(rows.start, rows.stop)], pa.string())
    return found.append_column(GROUP, groups)


@stage(version=1)
def given_groups(ends: list[int], split: bool) -> Artifact[Samples]:
    pieces = [Rows(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return map_pieces(split_and_grouped if split else rows_in_groups, pieces, into=Samples)


def split_and_grouped(rows: Rows) -> pa.Table:
    found = rows_with_split(rows)
    return found.append_column(GROUP, pa.array([f"patient {i // 4}" for i in range(rows.start, rows.stop)]))


def groups_of(artifact: Artifact[Samples]) -> set[str | None]:
    return set(collect(artifact, [GROUP])[GROUP].to_pylist())


def test_a_group_is_never_parted_for_any_cut(run):
    one, many = (
        hold_out(given_groups([1000], False), Evaluation()),
        hold_out(given_groups([1, 400, 990, 1000], False), Evaluation()),
    )
    assert one.evaluation.digest == many.evaluation.digest
    assert groups_of(one.training) & groups_of(one.evaluation) <= {None}
    assert 0.1 <= one.evaluation.rows / 1000 <= 0.4
    assert "250 groups held together" in run.record.stages[-1].summary


def test_a_split_that_parts_groups_is_obeyed_and_said(run):
    hold_out(given_groups([1000], True), Evaluation())
    assert "stand on both sides of the split" in run.record.stages[-1].summary


@given(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=30))
def test_folds_never_part_a_group(groups):
    rows = pa.table({"id": [f"s{i}" for i in range(len(groups))], GROUP: pa.array(groups, pa.string())})
    folds = fold_of(named_groups(rows), 5)
    for name in {"a", "b", "c"} & set(groups):
        assert len({fold for fold, group in zip(folds.tolist(), groups, strict=True) if group == name}) == 1
