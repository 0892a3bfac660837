"""Counts of maximal cliques are those of networkx, and they never take for ever."""

import time

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.pruning.panel import clique_counts


@st.composite
def graphs(draw):
    nodes = draw(st.integers(1, 14))
    edges = draw(st.sets(st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))))
    graph = np.zeros((nodes, nodes), dtype=bool)
    for a, b in edges:
        if a != b:
            graph[a, b] = graph[b, a] = True
    return graph


def counted_by_networkx(graph):
    counts = [0] * len(graph)
    for clique in nx.find_cliques(nx.from_numpy_array(graph)):
        for node in clique:
            counts[node] += 1
    return counts


def moon_moser(groups: int) -> np.ndarray:
    """Triples joined to everything but themselves: 3 ** groups maximal cliques."""
    return ~np.kron(np.eye(groups, dtype=bool), np.ones((3, 3), dtype=bool))


@settings(max_examples=200, deadline=None)
@given(graphs())
def test_counts_equal_those_of_networkx(graph):
    assert clique_counts(graph, budget=10_000).tolist() == counted_by_networkx(graph)


@pytest.mark.parametrize("density", [0.1, 0.5, 0.9])
def test_counts_equal_those_of_networkx_on_larger_graphs(density):
    graph = nx.to_numpy_array(nx.gnp_random_graph(40, density, seed=1)).astype(bool)
    assert clique_counts(graph, budget=1_000_000).tolist() == counted_by_networkx(graph)


def test_nodes_without_edges_are_cliques_of_their_own():
    assert clique_counts(np.zeros((3, 3), dtype=bool), budget=3).tolist() == [1, 1, 1]


def test_a_thousand_twins_cost_one_clique():
    complete = ~np.eye(1000, dtype=bool)
    assert clique_counts(complete, budget=1).tolist() == [1] * 1000


def test_the_budget_is_reached_exactly_before_it_is_exceeded():
    graph = moon_moser(5)
    assert clique_counts(graph, budget=243).tolist() == [81] * 15
    with pytest.raises(InputError, match="more than 242 maximal cliques"):
        clique_counts(graph, budget=242)


def test_an_explosion_of_cliques_is_an_error_in_seconds_that_says_what_to_do():
    started = time.process_time()
    with pytest.raises(InputError, match=r"raise pruning\.correlation .* or set pruning\.rank: degree"):
        clique_counts(moon_moser(20), budget=100_000)  # 3.5 billion cliques
    assert time.process_time() - started < 20
