"""The panel of Algorithm 1: independent, dominating, and the one the paper's walk gives."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.data.schemas import Panel
from assay.infra.errors import InputError
from assay.tasks.pruning.panel import correlations, dependency_graph, independent_set, panel, ranking
from assay.tasks.pruning.settings import Pruning
from assay.tasks.statistics.vote_counts import VoteCounts, count_partition, vote_counts


def counted(votes: np.ndarray, classes: int = 2, names: list[str] | None = None) -> VoteCounts:
    names = names or [f"f{i}" for i in range(votes.shape[1])]
    columns = {name: pa.array(votes[:, i], pa.int8()) for i, name in enumerate(names)}
    table = pa.table({"id": [str(i) for i in range(len(votes))], **columns})
    return vote_counts(count_partition(table, classes), classes)


def kept_by(table: pa.Table) -> list[str]:
    return [row["function"] for row in table.to_pylist() if row["kept"]]


vote_matrices = arrays(np.int8, st.tuples(st.integers(1, 20), st.integers(1, 7)), elements=st.integers(-1, 1))


@settings(max_examples=80, deadline=None)
@given(vote_matrices, st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]), st.sampled_from(["cliques", "degree"]))
def test_no_two_kept_functions_depend_on_each_other_and_every_other_one_depends_on_a_kept_one(votes, delta, rank):
    counts = counted(votes)
    table = panel(counts, Pruning(correlation=delta, rank=rank))
    graph = dependency_graph(correlations(counts), delta)
    kept = np.array(table["kept"].to_pylist())
    assert not graph[np.ix_(kept, kept)].any()
    assert (kept | graph[:, kept].any(axis=1)).all()
    for row in table.to_pylist():
        assert row["kept"] == (row["pruned_by"] is None)
        if not row["kept"]:
            assert row["pruned_by"] in kept_by(table)
            assert abs(row["correlation"]) > delta


@settings(max_examples=40, deadline=None)
@given(vote_matrices, st.randoms(use_true_random=False))
def test_the_panel_ignores_the_order_of_samples_and_functions(votes, random):
    names = [f"f{i}" for i in range(votes.shape[1])]
    shuffle = random.sample(range(len(names)), len(names))
    rows = random.sample(range(len(votes)), len(votes))
    shuffled = counted(votes[rows][:, shuffle], names=[names[i] for i in shuffle])
    assert sorted(kept_by(panel(shuffled, Pruning()))) == sorted(kept_by(panel(counted(votes), Pruning())))


def test_the_hub_of_most_cliques_goes_first_and_prunes_its_neighbours():
    star = np.zeros((4, 4), dtype=bool)
    star[0, 1:] = star[1:, 0] = True
    order = ranking(np.array([3, 1, 1, 1]), np.array([1, 9, 9, 9]), ("hub", "a", "b", "c"))
    assert order.tolist() == [0, 1, 2, 3]
    assert independent_set(star, order).tolist() == [-1, 0, 0, 0]


def test_equal_cliques_are_ranked_by_coverage_and_then_by_name():
    order = ranking(np.array([1, 1, 1]), np.array([5, 9, 5]), ("b", "c", "a"))
    assert order.tolist() == [1, 2, 0]


def test_an_edge_needs_more_than_delta():
    r = np.array([[0.0, 0.5, -0.6], [0.5, 0.0, 0.0], [-0.6, 0.0, 0.0]])
    graph = dependency_graph(r, 0.5)
    assert not graph[0, 1]
    assert graph[0, 2]


def test_a_constant_function_is_kept_and_flagged():
    votes = np.array([[0, -1, 0], [0, -1, 1], [0, -1, 0]], dtype=np.int8)
    table = panel(counted(votes), Pruning())
    assert table["constant"].to_pylist() == [True, True, False]
    assert table["kept"].to_pylist() == [True, True, True]


def test_copies_of_one_function_are_pruned_to_one():
    votes = np.repeat(np.array([[0], [1], [-1], [1]], dtype=np.int8), 5, axis=1)
    table = panel(counted(votes), Pruning())
    assert kept_by(table) == ["f0"]
    assert set(table["pruned_by"].to_pylist()) == {None, "f0"}
    assert table["correlation"].to_pylist()[1:] == [1.0] * 4


def test_a_class_nobody_votes_for_does_not_matter():
    votes = np.array([[0, 1, -1], [1, 0, 1], [0, 0, 1]], dtype=np.int8)
    assert np.isfinite(correlations(counted(votes, classes=4))).all()
    assert panel(counted(votes, classes=4), Pruning()).schema.equals(Panel.schema)


def test_without_samples_there_is_nothing_to_prune():
    with pytest.raises(InputError, match="nothing to prune"):
        panel(counted(np.zeros((0, 3), dtype=np.int8)), Pruning())


def test_the_rank_by_degree_counts_no_cliques():
    votes = np.random.default_rng(0).integers(-1, 2, size=(30, 6)).astype(np.int8)
    table = panel(counted(votes), Pruning(rank="degree", clique_budget=1, correlation=0.0))
    assert table["cliques"].null_count == 6
    assert sorted(table["rank"].to_pylist()) == list(range(6))
