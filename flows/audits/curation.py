"""Curation as a kind of audit: data sets that are hard as they are, found without true labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.kind import AuditKind, Clash, Ground, Key, Measured, as_dict, as_list
from assay.flows.yaml_document import Value, Where, suggestion
from assay.tasks.labeling import settings as labeling
from assay.tasks.labeling.settings import Labeling
from assay.tasks.ordering import settings as ordering
from assay.tasks.ordering.settings import Ordering
from assay.tasks.pruning import settings as pruning
from assay.tasks.pruning.settings import Pruning
from assay.tasks.weak_labels import table as weak_labels
from assay.tasks.weak_labels.table import WeakLabelling

if TYPE_CHECKING:
    from assay.data.schemas import SampleHardness
    from assay.flows.audits.curation_flow import Curation
    from assay.flows.kind import MissingThing, NamedColumn
    from assay.flows.pipeline import Pipeline
    from assay.infra.storage.artifacts import Artifact
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.reporting.report import Headline
    from assay.tasks.statistics.findings import FindingIndex


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


def run(ground: Ground) -> Curation:
    """Label, prune, label weakly, order."""
    from assay.flows.audits.curation_flow import curate

    return curate(ground)


def asked(pipeline: Pipeline) -> bool:
    """Whether the samples get, or come with, votes."""
    from assay.flows.audits.curation_flow import carries_votes

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

    from assay.data.schemas import CuratedSets, OrderingCurve, class_names
    from assay.flows.audits.data import Data
    from assay.infra.stages.partitions import collect
    from assay.tasks.ordering.page import page as ordering_page

    curves = pa.concat_tables([collect(curve, OrderingCurve.schema.names) for curve in curation.curves])
    classes = dict(enumerate(class_names(collect(ground.of(Data).classes, None))))
    sketch = collect(curation.headline.sketch, CuratedSets.schema.names)
    yield ordering_page(findings, curves, sketch, classes, samples=curation.headline.curated.rows)


def background(ground: Ground, curation: Curation, findings: FindingIndex) -> Iterator[Part]:
    """What the labelers learned, which functions were kept, and what each voted."""
    from assay.infra.stages.partitions import collect
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
    from assay.tasks.labeling.page import followed as of_labelling
    from assay.tasks.ordering.page import followed as of_the_order
    from assay.tasks.pruning.page import followed as of_pruning

    for room in (of_the_order, of_labelling, of_pruning):
        yield from room(findings)


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """The rulebook."""
    asked = pipeline.asked(Labeling)
    if asked is not None:
        from assay.flows.audits.curation_flow import rulebook_of
        from assay.flows.kind import missing_if_fails

        yield from missing_if_fails(("labeling",), {}, partial(rulebook_of, asked, folder))


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
