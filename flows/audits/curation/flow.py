"""Ingest → label → prune → weak labels → order: naturally adversarial data sets D1 … DN, and whether they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assay.data.schemas import (
    ContractResults,
    CuratedSets,
    Findings,
    Intervals,
    LabelingTable,
    LabelModel,
    OrderingCurve,
    Panel,
    Predictions,
    Samples,
    Votes,
    WeakLabels,
)
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branches
from assay.infra.subflows import subflow
from assay.tasks.ingest.sources import resolve
from assay.tasks.ingest.task import Ingested, ingest
from assay.tasks.labeling.rulebook_source import refer_to_rulebook
from assay.tasks.labeling.task import apply_labeling_functions, summarize_labeling, take_votes
from assay.tasks.ordering.approaches import APPROACHES, OURS, Approach
from assay.tasks.ordering.task import bound_confidence, check_order, measure_ordering, order_adversarially, sketch_order
from assay.tasks.pruning.task import prune_labeling_functions
from assay.tasks.weak_labels.task import label_probabilistically, train_labeler


@dataclass
class Curation:
    """Everything that curation made, as handles; what the pipeline did not ask for is not there."""

    ingested: Ingested
    votes: Artifact[Votes] | None = None
    table: Artifact[LabelingTable] | None = None
    panel: Artifact[Panel] | None = None
    models: dict[str, Artifact[LabelModel]] = field(default_factory=dict)
    labels: dict[str, Artifact[WeakLabels]] = field(default_factory=dict)
    curated: dict[str, Artifact[CuratedSets]] = field(default_factory=dict)
    sketches: dict[str, Artifact[CuratedSets]] = field(default_factory=dict)
    curves: list[Artifact[OrderingCurve]] = field(default_factory=list)
    findings: list[Artifact[Findings]] = field(default_factory=list)
    contracts: list[Artifact[ContractResults]] = field(default_factory=list)
    predictions: dict[str, Artifact[Predictions]] = field(default_factory=dict)
    branches: Branches = field(default_factory=Branches)

    @property
    def samples(self) -> Artifact[Samples]:
        """The samples that entered."""
        return self.ingested.samples


@subflow("curation")
def curate(pipeline: Pipeline, folder: Path) -> Curation:
    """The curated sets of a pipeline, and everything on the way to them."""
    source = resolve(pipeline.source, folder)
    curation = Curation(ingest(source, source.settings))
    vote(curation, pipeline, folder)
    if curation.votes is not None and pipeline.pruning is not None:
        pruned = prune_labeling_functions(curation.votes, curation.ingested.classes, pipeline.pruning)
        curation.panel = pruned.panel
        curation.findings.append(pruned.findings)
    if curation.votes is not None and pipeline.weak_labels is not None:
        for labeler in pipeline.weak_labels.labelers:
            curation.branches.attempt(f"labeler {labeler}", order, curation, pipeline, labeler)
    return curation


def vote(curation: Curation, pipeline: Pipeline, folder: Path) -> None:
    """Let the rulebook vote on the samples, or take the votes that came with them, and sum them up."""
    if pipeline.labeling is not None:
        rulebook = refer_to_rulebook(pipeline.labeling.functions, folder)
        classes = curation.ingested.classes
        curation.votes = apply_labeling_functions(curation.samples, rulebook, classes, pipeline.labeling)
    elif pipeline.source.votes is not None or carries_votes(pipeline):
        curation.votes = take_votes(curation.samples)
    if curation.votes is not None:
        summary = summarize_labeling(curation.votes, curation.samples, curation.ingested.classes)
        curation.table = summary.table
        curation.findings.append(summary.findings)


def order(curation: Curation, pipeline: Pipeline, labeler: str) -> None:
    """Label with one labeler, order by each approach that is asked for, and measure whether the order is adverse."""
    choices: tuple[Literal["panel", "all"], ...] = ("panel", "all")
    for functions in choices:
        approaches = [one for one in wanted_approaches(pipeline) if one.functions == functions]
        if not approaches:
            continue
        labels = weak_labels(curation, pipeline, labeler, functions)
        if pipeline.ordering is None:
            continue
        intervals = bound_confidence(labels, pipeline.ordering)
        if functions == OURS.functions:
            curation.curated[labeler] = order_adversarially(intervals, curation.samples, pipeline.ordering, labeler)
            classes = curation.ingested.classes
            curation.contracts.append(check_order(curation.curated[labeler], classes, pipeline.ordering))
            curation.sketches[labeler] = sketch_order(curation.curated[labeler])
        for approach in approaches:
            measure(curation, pipeline, intervals, approach, labeler)


def weak_labels(
    curation: Curation, pipeline: Pipeline, labeler: str, functions: Literal["all", "panel"]
) -> Artifact[WeakLabels]:
    """The labels that one labeler gives with the panel, or with all functions."""
    assert curation.votes is not None
    assert pipeline.weak_labels is not None
    classes = curation.ingested.classes
    chosen: Literal["all", "panel"] = functions if curation.panel is not None else "all"
    model = train_labeler(curation.votes, curation.panel, classes, pipeline.weak_labels, labeler, chosen)
    labels = label_probabilistically(curation.votes, model, classes, pipeline.weak_labels)
    if functions == OURS.functions:
        curation.models[labeler], curation.labels[labeler] = model, labels
    return labels


def measure(
    curation: Curation, pipeline: Pipeline, intervals: Artifact[Intervals], approach: Approach, labeler: str
) -> None:
    """Test one order for validity."""
    assert pipeline.ordering is not None
    measured = measure_ordering(intervals, curation.samples, pipeline.ordering, approach.name, labeler)
    curation.curves.append(measured.curve)
    curation.findings.append(measured.findings)


def wanted_approaches(pipeline: Pipeline) -> list[Approach]:
    """Ours, and with `compare` the paper's three others; without pruning, the panel is all functions."""
    return list(APPROACHES) if pipeline.ordering is not None and pipeline.ordering.compare else [OURS]


def carries_votes(pipeline: Pipeline) -> bool:
    """Whether the pipeline's data set is itself a table of votes, such as crowd workers' answers."""
    from assay.data.catalog import is_votes

    name = pipeline.source.dataset
    return name is not None and not name.startswith("sample/") and is_votes(name)
