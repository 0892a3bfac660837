"""Weak labelling as stages: the pure modules' numbers, for any partitioning, for all functions or the panel."""

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import Classes, Panel, Votes
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, map_pieces
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.statistics.vote_counts import count_partition, vote_counts
from assay.tasks.weak_labels.labelers import labeler_from, weak_labels
from assay.tasks.weak_labels.snorkel import snorkel
from assay.tasks.weak_labels.table import WeakLabelling
from assay.tasks.weak_labels.task import label_probabilistically, train_labeler

OPTIONS = WeakLabelling(epochs=30, default_label="yes")
VOTES = np.random.default_rng(0).integers(-1, 2, size=(90, 6)).astype(np.int8)
VOTES[7] = -1
NAMES = [f"rule {i}" for i in range(6)]


@dataclass(frozen=True)
class Rows:
    start: int
    stop: int


def votes_table(rows: Rows) -> pa.Table:
    columns = {name: pa.array(VOTES[rows.start : rows.stop, i].copy()) for i, name in enumerate(NAMES)}
    return pa.table({"id": [f"s{i}" for i in range(rows.start, rows.stop)], **columns})


@stage(version=1)
def given_votes(cuts: list[int]) -> Artifact[Votes]:
    return map_pieces(votes_table, [Rows(*cut) for cut in itertools.pairwise(cuts)], into=Votes)


@stage(version=1)
def given_classes() -> Artifact[Classes]:
    return write_table(pa.table({"code": [1, 0], "name": ["yes", "no"]}, schema=Classes.schema), into=Classes)


@stage(version=1)
def given_panel(kept: list[str]) -> Artifact[Panel]:
    rows = [
        {
            "function": name,
            "position": i,
            "kept": name in kept,
            "rank": i,
            "cliques": 1,
            "degree": 0,
            "coverage": 1.0,
            "constant": False,
            "pruned_by": None,
            "correlation": None,
        }
        for i, name in enumerate(NAMES)
    ]
    return write_table(pa.Table.from_pylist(rows, schema=Panel.schema), into=Panel)


@pytest.mark.parametrize("cuts", [[0, 90], [0, 1, 40, 90]])
def test_snorkel_learns_and_labels_the_same_however_the_votes_are_cut(run, cuts):
    votes, classes = given_votes(cuts), given_classes()
    model = train_labeler(votes, None, classes, OPTIONS, "snorkel", "all")
    labels = label_probabilistically(votes, model, classes, OPTIONS)
    whole = votes_table(Rows(0, 90))
    expected = snorkel(vote_counts(count_partition(whole, 2), 2), OPTIONS)
    np.testing.assert_array_equal(labeler_from(collect(model, None)).mu, expected.mu)
    table = collect(labels, None)
    assert table.equals(weak_labels(whole, expected, 2, default=1))
    assert table["undecided"].to_pylist()[7]
    assert table["label"].to_pylist()[7] == 1


def test_the_panel_alone_is_heard_when_it_is_asked_for(run):
    votes, classes = given_votes([0, 90]), given_classes()
    model = train_labeler(votes, given_panel(["rule 4", "rule 1"]), classes, OPTIONS, "majority", "panel")
    table = collect(model, None)
    assert table["function"].to_pylist() == ["rule 1", "rule 4"]
    assert table["weight"].to_pylist() == [1.0, 1.0]
    labels = collect(label_probabilistically(votes, model, classes, OPTIONS), None)
    np.testing.assert_array_equal(labels["votes_cast"].to_numpy(), (VOTES[:, [1, 4]] >= 0).sum(axis=1))


def test_a_panel_of_one_function_is_no_obstacle_to_snorkel(run):
    votes, classes = given_votes([0, 90]), given_classes()
    model = train_labeler(votes, given_panel(["rule 3"]), classes, OPTIONS, "snorkel", "panel")
    assert "nothing to learn" in run.record.stages[-1].summary
    labels = collect(label_probabilistically(votes, model, classes, OPTIONS), None)
    voted = VOTES[:, 3] >= 0
    np.testing.assert_array_equal(labels["label"].to_numpy()[voted], VOTES[voted, 3])
    np.testing.assert_array_equal(labels["undecided"].to_numpy(), ~voted)


def test_a_missing_panel_an_unknown_labeler_and_an_unknown_class_are_sentences(run):
    votes, classes = given_votes([0, 90]), given_classes()
    with pytest.raises(InputError, match="There is no panel to label with"):
        train_labeler(votes, None, classes, OPTIONS, "majority", "panel")
    with pytest.raises(InputError, match='There is no such labeler: "oracle"; known here: majority, snorkel'):
        train_labeler(votes, None, classes, OPTIONS, "oracle", "all")
    model = train_labeler(votes, None, classes, OPTIONS, "majority", "all")
    with pytest.raises(InputError, match=r"default_label is 'maybe', which is no class; the classes are 0 \(no\)"):
        label_probabilistically(votes, model, classes, WeakLabelling(default_label="maybe"))


def test_for_any_partitioning_the_votes_tell_the_same_balance(make_run):
    tables = []
    for cuts in ([0, 90], [0, 13, 14, 60, 90]):
        with make_run():
            model = train_labeler(given_votes(cuts), None, given_classes(), OPTIONS, "dawid-skene", "all")
            tables.append(collect(model, None))
    np.testing.assert_equal(*(table.to_pydict() for table in tables))
    assert "equal_p" in tables[0].column_names  # drawn by chance, they do not: it is asked, and answered by its p
    assert "balance_0" not in tables[0].column_names


def test_triplets_are_refused_where_there_are_three_classes(run):
    with pytest.raises(InputError, match="tells 2 classes apart, and there are 3: take it out"):
        train_labeler(given_votes([0, 90]), None, three_classes(), OPTIONS, "triplets", "all")


@stage(version=1)
def three_classes() -> Artifact[Classes]:
    return write_table(pa.table({"code": [0, 1, 2], "name": ["a", "b", "c"]}, schema=Classes.schema), into=Classes)
