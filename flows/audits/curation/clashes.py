"""What cannot be together on the way from votes to D1 … DN."""

from __future__ import annotations

from collections.abc import Iterator

from assay.flows.configuration.mistakes import Where, suggestion
from assay.flows.configuration.written import Clash, as_dict, as_list
from assay.flows.configuration.yaml_source import Value

APPROACHES = ("pl_all", "pl_indep", "ci_all", "ours")
LABELERS = ("majority", "snorkel")


def clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """Each step needs the one before it."""
    votes = as_dict(pipeline.get("source")).get("votes") is not None
    has = {name for name, value in pipeline.items() if value is not None}
    if votes and "labeling" in has:
        yield Clash(
            ("labeling",), "source.votes already holds the votes; remove labeling or give the source as samples"
        )
    voted = "labeling" in has or comes_with_votes(pipeline)
    for stage in ("pruning", "weak_labels"):
        if stage in has and not voted:
            yield Clash((stage,), "needs votes: add labeling (rules that vote) or source.votes (votes as a table)")
    if "ordering" in has and "weak_labels" not in has:
        yield Clash(("ordering",), "needs confidences: add weak_labels, as in weak_labels: {labelers: [majority]}")
    if as_dict(pipeline.get("ordering")).get("compare") is True and "pruning" not in has:
        yield Clash(("ordering", "compare"), "compares with and without pruning: add pruning, or leave compare out")


def comes_with_votes(pipeline: dict[str, Value]) -> bool:
    """Whether the samples come with votes: as a table beside them, or as a data set of crowd workers' answers."""
    source = as_dict(pipeline.get("source"))
    if source.get("votes") is not None:
        return True
    dataset = source.get("dataset")
    if not isinstance(dataset, str) or dataset.startswith("sample/"):
        return False
    from assay.data.catalog import catalog, is_votes

    return dataset in catalog() and is_votes(dataset)


def ordering_gate(pipeline: dict[str, Value], gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    """A gate on the order names an approach and a labeler that are measured."""
    of, group = gate.get("of"), gate.get("group")
    compared = as_dict(pipeline.get("ordering")).get("compare") is True
    if isinstance(of, str) and of not in APPROACHES:
        yield Clash((*where, "of"), f"is no approach; {suggestion(of, APPROACHES)}")
    elif isinstance(of, str) and of != "ours" and not compared and pipeline.get("ordering") is not None:
        yield Clash((*where, "of"), "is measured only with ordering.compare: true; add it, or write ours")
    labelers = as_dict(pipeline.get("weak_labels")).get("labelers") or list(LABELERS)
    known = [name for name in as_list(labelers) if isinstance(name, str)]
    if isinstance(group, str) and known and group not in known and group in LABELERS:
        yield Clash((*where, "group"), f"is not among weak_labels.labelers ({', '.join(known)}); add it there")
