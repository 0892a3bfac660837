"""Algorithm 1: which labelling functions are kept, so that no two of them depend on each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Panel
from assay.infra.errors import InputError
from assay.tasks.pruning.cliques import Graph, clique_counts
from assay.tasks.pruning.correlations import correlations
from assay.tasks.pruning.settings import Pruning
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.vote_counts import VoteCounts


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
    kept = pruned_by < 0
    return pa.table(
        {
            "function": list(names),
            "position": np.arange(len(names), dtype=np.int32),
            "kept": kept,
            "rank": np.argsort(order).astype(np.int32),
            "cliques": [None] * len(names) if cliques is None else cliques,
            "degree": degrees,
            "coverage": counts.coverage,
            "constant": counts.constant,
            "pruned_by": [None if stays else names[by] for stays, by in zip(kept, pruned_by, strict=True)],
            "correlation": [
                None if stays else float(r[i, by]) for i, (stays, by) in enumerate(zip(kept, pruned_by, strict=True))
            ],
        },
        schema=Panel.schema,
    )


def kept_functions(table: pa.Table) -> tuple[str, ...]:
    """The functions that a Panel keeps, in the order of the votes."""
    rows = sorted(table.select(["function", "position", "kept"]).to_pylist(), key=lambda row: int(row["position"]))
    return tuple(row["function"] for row in rows if row["kept"])


def panel_findings(table: pa.Table) -> list[Finding]:
    """How many functions are kept, and how many of all say the same of every sample and so prove nothing."""
    kept, constant = sum(table.column("kept").to_pylist()), sum(table.column("constant").to_pylist())
    return [
        Finding("pruning.kept", value=kept, n=table.num_rows, unit="functions"),
        Finding("pruning.constant", value=constant, n=table.num_rows, unit="functions"),
    ]
