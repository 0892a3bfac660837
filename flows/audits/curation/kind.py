"""Curation as a kind of audit: data sets that are hard as they are, found without true labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.audits.curation.clashes import clashes, comes_with_votes, ordering_gate
from assay.flows.audits.kind import AuditKind, Ground, Key, Measured
from assay.tasks.labeling import metrics as labeling
from assay.tasks.labeling.settings import Labeling
from assay.tasks.ordering import metrics as ordering
from assay.tasks.ordering.settings import Ordering
from assay.tasks.pruning import metrics as pruning
from assay.tasks.pruning.settings import Pruning
from assay.tasks.weak_labels import metrics as weak_labels
from assay.tasks.weak_labels.settings import WeakLabelling

if TYPE_CHECKING:
    from assay.data.hardness_schemas import SampleHardness
    from assay.flows.audits.curation.flow import Curation
    from assay.flows.configuration.named_columns import NamedColumn
    from assay.flows.configuration.named_things import MissingThing
    from assay.flows.pipeline import Pipeline
    from assay.infra.artifacts import Artifact
    from assay.tasks.reporting.following import Headline
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.statistics.findings import FindingIndex


def run(ground: Ground) -> Curation:
    """Label, prune, label weakly, order."""
    from assay.flows.audits.curation.flow import curate

    return curate(ground)


def asked(pipeline: Pipeline) -> bool:
    """Whether the samples get, or come with, votes."""
    from assay.flows.audits.curation.flow import carries_votes

    return pipeline.asked(Labeling) is not None or carries_votes(pipeline)


def hardness(_ground: Ground, curation: Curation) -> Iterator[Artifact[SampleHardness]]:
    """What the labels of the first labeler doubt."""
    from assay.tasks.hardness.measures import THETA
    from assay.tasks.hardness.task import find_hardness

    if curation.headline is not None:
        yield find_hardness(curation.headline.intervals, THETA, "")


def page(ground: Ground, curation: Curation, findings: FindingIndex) -> Iterator[Part]:
    """Whether the labels get worse along D1 … DN."""
    if curation.headline is None or not curation.curves:
        return
    import pyarrow as pa

    from assay.data.classes import class_names
    from assay.data.schemas import CuratedSets, OrderingCurve
    from assay.flows.audits.data import Data
    from assay.infra.partitions import collect
    from assay.tasks.ordering.page import page as ordering_page

    curves = pa.concat_tables([collect(curve, OrderingCurve.schema.names) for curve in curation.curves])
    classes = dict(enumerate(class_names(collect(ground.of(Data).classes, None))))
    sketch = collect(curation.headline.sketch, CuratedSets.schema.names)
    yield ordering_page(findings, curves, sketch, classes, samples=curation.headline.curated.rows)


def background(ground: Ground, curation: Curation, findings: FindingIndex) -> Iterator[Part]:
    """What the labelers learned, which functions were kept, and what each voted."""
    from assay.infra.partitions import collect
    from assay.tasks.labeling.page import page as labeling_page
    from assay.tasks.pruning.page import page as pruning_page
    from assay.tasks.weak_labels.page import page as weak_labels_page

    if curation.models:
        yield weak_labels_page(findings, {name: collect(model, None) for name, model in curation.models.items()})
    asked, panel = ground.pipeline.asked(Pruning), None
    if curation.panel is not None and asked is not None:
        panel = collect(curation.panel, None)
        yield pruning_page(panel, asked.correlation)
    if curation.table is not None:
        yield labeling_page(findings, collect(curation.table, None), panel)


def verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """Whether the order is adverse."""
    from assay.tasks.ordering.page import verdict as of_the_order

    yield from of_the_order(findings)


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """The order, the rules' labels, and how many rules are kept."""
    from assay.tasks.labeling.followed import followed as of_labelling
    from assay.tasks.ordering.followed import followed as of_the_order
    from assay.tasks.pruning.followed import followed as of_pruning

    for room in (of_the_order, of_labelling, of_pruning):
        yield from room(findings)


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """The rulebook."""
    asked = pipeline.asked(Labeling)
    if asked is not None:
        from assay.flows.audits.curation.rulebooks import rulebook_of
        from assay.flows.configuration.named_things import tried

        yield from tried(("labeling",), {}, partial(rulebook_of, asked, folder))


def columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """The columns that rules look at which the pipeline writes itself."""
    asked = pipeline.asked(Labeling)
    for position, rule in enumerate(asked.rules if asked is not None else ()):
        if rule.column is not None:
            setting = ("when", "column") if rule.when is not None else ("in",)
            yield ("labeling", "rules", position, *setting), rule.column, f"the rule {rule.called!r} looks at"


CURATION = AuditKind(
    "curation",
    asked,
    run,
    keys=(
        Key("labeling", Labeling, "Which labelling functions vote on the samples.", "{functions: breast-cancer}"),
        Key("pruning", Pruning, "Which labelling functions are kept; left out, all of them are.", "{correlation: 0.5}"),
        Key(
            "weak_labels",
            WeakLabelling,
            "How votes become a label and a confidence.",
            "{labelers: [majority, snorkel]}",
        ),
        Key(
            "ordering",
            Ordering,
            "How the samples are ordered into data sets D1 … DN, ever more adversarial.",
            "{alpha: 0.05, datasets: 10, compare: true}",
        ),
    ),
    stands_on=("data",),
    measures=(
        Measured("labeling", labeling.METRICS, ("labeling",), also=comes_with_votes),
        Measured("pruning", pruning.METRICS, ("pruning",)),
        Measured("weak_labels", weak_labels.METRICS, ("weak_labels",)),
        Measured("ordering", ordering.METRICS, ("ordering",), gate=ordering_gate),
    ),
    clashes=clashes,
    missing=missing,
    columns=columns,
    hardness=hardness,
    page=page,
    background=background,
    verdict=verdict,
    followed=followed,
)
