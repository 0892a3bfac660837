"""Algorithm 1: which labelling functions are kept, so that no two of them depend on each other.

Every pair is correlated from counts of their votes, pairs beyond δ are the edges of a graph, functions are ranked by
the number of maximal cliques they are in, and the first in line prune their neighbours. The stage counts votes where
they lie, and chooses the panel from the counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.arrays import Integers
from assay.data.schemas import Classes, Findings, Panel, Votes
from assay.infra.errors import InputError
from assay.infra.stages.partitions import Reuse, reduce_partitions
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.pruning.settings import Pruning
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.vote_counts import VoteCounts, count_partition, vote_counts

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

    # For each node the first node with the same closed neighbourhood, often itself.
    first: dict[bytes, int] = {}
    closed = graph | np.eye(len(graph), dtype=np.bool_)
    twin_of = np.array([first.setdefault(row.tobytes(), node) for node, row in enumerate(closed)], dtype=np.int64)
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
    return np.asarray(np.array(counts, dtype=np.int64)[np.searchsorted(firsts, twin_of)])


Correlations = npt.NDArray[np.float64]  # [m, m]


def correlations(counts: VoteCounts) -> Correlations:
    """Pearson's r of every pair of labelling functions (Algorithm 1, line 2), with 0 on the diagonal.

    Two classes are encoded -1 and +1 with 0 for abstain, and r has a sign. With more classes there is no natural
    encoding: r is the largest |r| over pairs of class indicators ("i says y", "j says z"). A function that says the
    same of every sample correlates with nothing: r = 0.
    """
    r = _of_signed_votes(counts) if counts.classes == 2 else _of_class_indicators(counts)
    np.fill_diagonal(r, 0.0)
    return r


def _of_signed_votes(counts: VoteCounts) -> Correlations:
    from scipy.sparse import eye_array, kron

    signs = kron(eye_array(len(counts.functions), dtype=np.int64), np.array([[-1], [1]]), format="csr")  # [2m, m]
    products = (signs.T @ counts.matrix @ signs).toarray()  # Σ x_i·x_j
    moments = _Moments(counts.votes @ np.array([-1, 1], dtype=np.int64), products.diagonal())
    return _pearson(counts.n, moments, moments, products)


def _of_class_indicators(counts: VoteCounts) -> Correlations:
    m, k = len(counts.functions), counts.classes
    matrix, votes, strongest = counts.matrix, counts.votes.ravel(), np.zeros((m, m))
    for i in range(m):  # a function at a time: all cells by all cells are too many to be looked at together
        own = slice(i * k, (i + 1) * k)
        indicators, others = _Moments(votes[own], votes[own]), _Moments(votes, votes)
        r = np.abs(_pearson(counts.n, indicators, others, matrix[own].toarray()))
        strongest[i] = r.reshape(k, m, k).max(axis=(0, 2))
    return strongest


class _Moments(NamedTuple):
    """Σx and Σx² of some variables."""

    sums: Integers
    squares: Integers


def _pearson(n: int, first: _Moments, second: _Moments, products: Integers) -> Correlations:
    """r of every variable with every other, [a, b], given Σx_i·x_j: integers up to the one division, so that an r of
    exactly δ is exactly δ."""
    covariance = n * products - np.multiply.outer(first.sums, second.sums)  # n² times the covariance
    variances = [(n * each.squares - each.sums**2).astype(np.float64) for each in (first, second)]
    scale = np.sqrt(np.multiply.outer(*variances))
    r = np.divide(covariance, scale, out=np.zeros(covariance.shape), where=scale > 0)
    return np.clip(r, -1.0, 1.0)


def dependency_graph(r: npt.NDArray[np.float64], delta: float) -> Graph:
    """The graph G of Algorithm 1, line 3: an edge wherever |r| > δ, strictly."""
    graph: Graph = np.abs(r) > delta
    np.fill_diagonal(graph, False)
    return graph


def ranking(
    cliques: npt.NDArray[np.int64], votes: npt.NDArray[np.int64], functions: tuple[str, ...]
) -> npt.NDArray[np.int64]:
    """The positions of the functions, first in line first (line 4): most cliques, then most votes, then by name."""
    order = sorted(range(len(functions)), key=lambda i: (-int(cliques[i]), -int(votes[i]), functions[i]))
    return np.array(order, dtype=np.int64)


def independent_set(graph: Graph, order: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each function the one that pruned it, or -1 where it is kept (Algorithm 1, line 5).

    Sharing a maximal clique is being adjacent, so whoever is still in when its turn comes stays, and its neighbours go.
    """
    pruned_by = np.full(len(graph), -1, dtype=np.int64)
    for node in order:
        if pruned_by[node] < 0:
            pruned_by[graph[node] & (pruned_by < 0)] = node
    return pruned_by


def panel(counts: VoteCounts, settings: Pruning) -> pa.Table:
    """The Panel table of Algorithm 1: every function with its rank, and whether it is kept or who pruned it."""
    if counts.n == 0 or not counts.functions:
        raise InputError("There is nothing to prune: no sample, or no labelling function, has arrived with the votes.")
    names, votes = counts.functions, counts.votes.sum(axis=1)
    r = correlations(counts)
    graph = dependency_graph(r, settings.correlation)
    degrees = graph.sum(axis=1, dtype=np.int64)
    cliques = clique_counts(graph, settings.clique_budget) if settings.rank == "cliques" else None
    order = ranking(degrees if cliques is None else cliques, votes, names)
    pruned_by = independent_set(graph, order)
    pruners = [None if by < 0 else by for by in pruned_by.tolist()]
    return pa.table(
        {
            "function": list(names),
            "position": np.arange(len(names), dtype=np.int32),
            "kept": pruned_by < 0,
            "rank": np.argsort(order).astype(np.int32),
            "cliques": [None] * len(names) if cliques is None else cliques,
            "degree": degrees,
            "coverage": counts.coverage,
            "constant": counts.constant,
            "pruned_by": [None if by is None else names[by] for by in pruners],
            "correlation": [None if by is None else float(r[node, by]) for node, by in enumerate(pruners)],
        },
        schema=Panel.schema,
    )


def panel_findings(table: pa.Table) -> list[Finding]:
    """How many functions are kept, and how many of all say the same of every sample and so prove nothing."""
    kept, constant = sum(table.column("kept").to_pylist()), sum(table.column("constant").to_pylist())
    return [
        Finding("pruning.kept", value=kept, n=table.num_rows, unit="functions"),
        Finding("pruning.constant", value=constant, n=table.num_rows, unit="functions"),
    ]


class Pruned(NamedTuple):
    """The panel, and what there is to say about it."""

    panel: Artifact[Panel]
    findings: Artifact[Findings]


@stage(version=1, title="prune")
def prune_labeling_functions(votes: Artifact[Votes], classes: Artifact[Classes], settings: Pruning) -> Pruned:
    """The panel of labelling functions of which no two depend on each other (Algorithm 1)."""
    counted: dict[str, object] = reduce_partitions(count_partition, votes, reuse=Reuse(), classes=classes.rows)
    table = panel(vote_counts(counted, classes.rows), settings)
    say(_in_words(table, settings))
    findings = findings_table(panel_findings(table))
    return Pruned(write_table(table, into=Panel), write_table(findings, into=Findings))


def _in_words(table: pa.Table, settings: Pruning) -> str:
    kept, constant = (sum(table[name].to_pylist()) for name in ("kept", "constant"))
    always = f" · {constant} always {'says' if constant == 1 else 'say'} the same" if constant else ""
    return f"{kept} of {table.num_rows} rules kept (δ = {settings.correlation:g}){always}"
