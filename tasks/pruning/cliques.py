"""How many maximal cliques of a graph each node belongs to, within a budget."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.infra.errors import InputError

Graph = npt.NDArray[np.bool_]  # [m, m], symmetric, no loops


def clique_counts(graph: Graph, budget: int) -> npt.NDArray[np.int64]:
    """The number of maximal cliques that each node belongs to (Algorithm 1, line 4); a lone node is one clique.

    Counting them is #P-hard, so: nodes with equal closed neighbourhoods (twins) belong to the same cliques and are
    counted once, every connected component by itself, and after `budget` cliques an InputError says what to do.

    >>> triangle_with_tail = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]], dtype=bool)
    >>> clique_counts(triangle_with_tail, budget=10).tolist()
    [1, 1, 2, 1]
    """
    import networkx as nx

    twin_of = _twins(graph)
    firsts = np.unique(twin_of)
    without_twins = nx.from_numpy_array(graph[np.ix_(firsts, firsts)])
    counts = [0] * len(firsts)
    cliques = 0
    for component in nx.connected_components(without_twins):
        for clique in nx.find_cliques(without_twins.subgraph(component).copy()):
            cliques += 1
            if cliques > budget:
                raise InputError(
                    f"The {len(graph)} labelling functions depend on each other in more than {budget:,} maximal "
                    "cliques; raise pruning.correlation so that fewer pairs count as dependent, or set "
                    "pruning.rank: degree."
                )
            for node in clique:
                counts[node] += 1
    per_node: npt.NDArray[np.int64] = np.array(counts, dtype=np.int64)[np.searchsorted(firsts, twin_of)]
    return per_node


def _twins(graph: Graph) -> npt.NDArray[np.int64]:
    """For each node the first node with the same closed neighbourhood, often itself."""
    first: dict[bytes, int] = {}
    closed = graph | np.eye(len(graph), dtype=np.bool_)
    return np.array([first.setdefault(row.tobytes(), node) for node, row in enumerate(closed)], dtype=np.int64)
