"""Weak labelling as stages: a labeler is trained from counts of votes, then labels every sample where it lies."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa

from assay.data.schemas import Classes, LabelModel, Panel, Votes, WeakLabels
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import Tallied, collect, map_partitions, reduce_partitions, tally_of
from assay.infra.stage import say, stage, write_table
from assay.tasks.statistics.vote_counts import VoteCounts, count_partition, vote_counts
from assay.tasks.weak_labels.labels import default_class, weak_labels
from assay.tasks.weak_labels.majority import majority
from assay.tasks.weak_labels.models import Labeler, labeler_from
from assay.tasks.weak_labels.settings import WeakLabelling
from assay.tasks.weak_labels.snorkel_counts import FEWEST_FUNCTIONS, snorkel


@stage(version=1, title="train labeler")
def train_labeler(
    votes: Artifact[Votes],
    panel: Artifact[Panel] | None,
    classes: Artifact[Classes],
    settings: WeakLabelling,
    labeler: str,
    functions: Literal["all", "panel"],
) -> Artifact[LabelModel]:
    """The labeler `majority` or `snorkel`, listening to all functions or to the panel; fitted on all samples."""
    counts: VoteCounts = vote_counts(reduce_partitions(count_partition, votes, classes=classes.rows), classes.rows)
    if counts.n == 0 or not counts.functions:
        raise InputError("There is nothing to label: no sample, or no labelling function, has arrived with the votes.")
    chosen = counts.functions if functions == "all" else _kept(panel, counts)
    trained = _train(counts.of(chosen), settings, labeler)
    say(_trained_in_words(trained, labeler))
    return write_table(trained.to_table(), into=LabelModel)


@stage(version=1, title="weak labels")
def label_probabilistically(
    votes: Artifact[Votes], model: Artifact[LabelModel], classes: Artifact[Classes], settings: WeakLabelling
) -> Artifact[WeakLabels]:
    """Per sample the class that the labeler finds most probable, and how sure it is."""
    rows = sorted(collect(classes, columns=["code", "name"]).to_pylist(), key=lambda row: int(row["code"]))
    default = default_class(settings.default_label, [str(row["name"]) for row in rows])
    labeler = labeler_from(collect(model, columns=None))
    labels: Artifact[WeakLabels] = map_partitions(
        label_partition, votes, into=WeakLabels, labeler=labeler, classes=len(rows), default=default
    )
    undecided = tally_of(labels)["undecided"]
    say(f"{labels.rows} samples labelled by {len(labeler.functions)} rules · {undecided} undecided")
    return labels


def label_partition(votes: pa.Table, labeler: Labeler, classes: int, default: int) -> Tallied:
    """One partition's weak labels, with the number of undecided samples as a tally."""
    labels = weak_labels(votes, labeler, classes, default)
    return Tallied(labels, {"undecided": sum(labels.column("undecided").to_pylist())})


def _train(counts: VoteCounts, settings: WeakLabelling, labeler: str) -> Labeler:
    if labeler == "majority":
        return majority(counts.functions)
    if labeler == "snorkel":
        return snorkel(counts, settings)
    raise InputError(f"There is no labeler {labeler!r}; there are majority and snorkel.")


def _kept(panel: Artifact[Panel] | None, counts: VoteCounts) -> tuple[str, ...]:
    """The functions that the panel keeps, in the order of the votes."""
    if panel is None:
        raise InputError("There is no panel to label with; add a pruning stage to the pipeline, or use all functions.")
    rows = collect(panel, columns=["function", "kept"]).to_pylist()
    kept = {row["function"] for row in rows if row["kept"]}
    return tuple(name for name in counts.functions if name in kept)


def _trained_in_words(trained: Labeler, labeler: str) -> str:
    rules = f"{labeler} · {len(trained.functions)} rules"
    if labeler == "majority":
        return rules
    if trained.training is None:
        reason = "no votes" if len(trained.functions) >= FEWEST_FUNCTIONS else f"fewer than {FEWEST_FUNCTIONS} rules"
        return f"{rules} · equal weights: {reason}, so there is nothing to learn from"
    settled = trained.training.settled_after
    if settled is None:
        return f"{rules} · has not converged in {trained.training.epochs} epochs (weak_labels.epochs)"
    return f"{rules} · converged after {settled} epochs"
