"""Curation as a kind of audit: data sets that are hard as they are, found without true labels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from assay.flows import kind
from assay.flows.yaml_document import Value, Where, suggestion
from assay.infra.errors import AssayError
from assay.tasks.labeling.settings import Labeling
from assay.tasks.ordering import settings as ordering
from assay.tasks.ordering.settings import Ordering
from assay.tasks.pruning.settings import Pruning
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.weak_labels import table as weak_labels
from assay.tasks.weak_labels.table import WeakLabelling

FLOW = kind.Late("assay.flows.audits.curation_flow")


def clashes(pipeline: kind.Written) -> Iterator[kind.Clash]:
    """Each step needs the one before it."""
    votes = kind.as_dict(pipeline.get("source")).get("votes") is not None
    has = {name for name, value in pipeline.items() if value is not None}
    if votes and "labeling" in has:
        why = "source.votes already holds the votes; remove labeling or give the source as samples"
        yield kind.Clash(("labeling",), why)
    voted = "labeling" in has or comes_with_votes(pipeline)
    for stage in ("pruning", "weak_labels"):
        if stage in has and not voted:
            yield kind.Clash((stage,), "needs votes: add labeling (rules that vote) or source.votes (votes as a table)")
    if "ordering" in has and "weak_labels" not in has:
        yield kind.Clash(("ordering",), "needs confidences: add weak_labels, as in weak_labels: {labelers: [majority]}")
    if kind.as_dict(pipeline.get("ordering")).get("compare") is True and "pruning" not in has:
        yield kind.Clash(
            ("ordering", "compare"), "compares with and without pruning: add pruning, or leave compare out"
        )


def comes_with_votes(pipeline: kind.Written) -> bool:
    """Whether the samples come with votes: as a table beside them, or as a data set of crowd workers' answers."""
    from assay.data.catalog import is_votes

    source = kind.as_dict(pipeline.get("source"))
    return source.get("votes") is not None or is_votes(str(source.get("dataset")))


def ordering_gate(pipeline: kind.Written, gate: dict[str, Value], where: Where) -> Iterator[kind.Clash]:
    """A gate on the order names an approach and a labeler that are measured."""
    of, group, written = gate.get("of"), gate.get("group"), kind.as_dict(pipeline.get("ordering"))
    by, rival = written.get("by", "bound"), gate.get("finding") == "ordering.by_gain"
    others = (score for score in ordering.SCORES if score != by)
    names = list(others if rival else (approach.name for approach in ordering.APPROACHES))
    measured = of == "ours" or written.get("compare") is True or (rival and by != "bound")
    what, instead = ("other score", "order by another one") if rival else ("approach", "write ours")
    if isinstance(of, str) and of not in names:
        yield kind.Clash((*where, "of"), f"is no {what}; {suggestion(of, names)}")
    elif isinstance(of, str) and not measured and pipeline.get("ordering") is not None:
        yield kind.Clash((*where, "of"), f"is measured only with ordering.compare: true; add it, or {instead}")
    labelers = kind.as_dict(pipeline.get("weak_labels")).get("labelers") or ["majority", "snorkel"]
    known = [name for name in kind.as_list(labelers) if isinstance(name, str)]
    if isinstance(group, str) and known and group not in known and group in weak_labels.LABELERS.words:
        yield kind.Clash((*where, "group"), f"is not among weak_labels.labelers ({', '.join(known)}); add it there")


def asked(pipeline: kind.AuditRequest) -> bool:
    """Whether the samples get, or come with, votes."""
    return pipeline.asked(Labeling) is not None or carries_votes(pipeline)


def carries_votes(pipeline: kind.AuditRequest) -> bool:
    """Whether the samples come with votes: as a table beside them, or as a data set of crowd workers' answers."""
    from assay.data.catalog import is_votes

    return pipeline.source.votes is not None or is_votes(pipeline.source.dataset)


def missing(pipeline: kind.AuditRequest, folder: Path) -> Iterator[kind.MissingThing]:
    """The rulebook."""
    asked = pipeline.asked(Labeling)
    if asked is not None:
        yield from kind.missing_if_fails(("labeling",), {}, partial(FLOW.rulebook_of, asked, folder))


def extras(pipeline: kind.AuditRequest) -> Iterator[tuple[Where, str]]:
    """What Snorkel's label model is computed by."""
    labelling = pipeline.asked(WeakLabelling)
    if labelling is not None and "snorkel" in labelling.labelers:
        yield ("weak_labels", "labelers"), "snorkel"


def libraries(pipeline: kind.AuditRequest) -> Iterator[str]:
    """What its labelers import."""
    labelling = pipeline.asked(WeakLabelling) or WeakLabelling()
    for labeler in weak_labels.LABELERS.all:
        yield from labeler.libraries if labeler.word in labelling.labelers else ()


def columns(pipeline: kind.AuditRequest) -> Iterator[kind.NamedColumn]:
    """The columns that rules look at which the pipeline writes itself."""
    asked = pipeline.asked(Labeling)
    for position, rule in enumerate(asked.rules if asked is not None else ()):
        looked_at: list[tuple[Where, str | None]] = [
            (("all", at, "column") if rule.all_ else ("when", "column"), condition.column)
            for at, condition in enumerate(rule.conditions)
        ]
        for setting, column in looked_at or [(("in",), rule.text)]:
            if column is not None:
                yield ("labeling", "rules", position, *setting), column, f"the rule {rule.called!r} looks at"


def columns_in_files(pipeline: kind.AuditRequest, folder: Path) -> Iterator[kind.NamedColumn]:
    """The columns that rules in a file look at."""
    asked = pipeline.asked(Labeling)
    if asked is None or asked.file is None:
        return
    try:
        written = FLOW.read_rules(folder / asked.file)
    except AssayError:
        return
    for rule in written.rules:
        for column in rule.columns:
            yield ("labeling", "functions"), column, f"the rule {rule.called!r} of {asked.file} looks at"


CURATION = kind.AuditKind(
    "curation",
    asked,
    FLOW.curate,
    extras=extras,
    libraries=libraries,
    keys=(
        kind.Key("labeling", Labeling, "{functions: breast-cancer}"),
        kind.Key("pruning", Pruning, "{correlation: 0.5}"),
        kind.Key("weak_labels", WeakLabelling, "{labelers: [majority, snorkel]}"),
        kind.Key("ordering", Ordering, "{alpha: 0.05, datasets: 10, compare: true}"),
    ),
    stands_on=("data",),
    measures=(
        kind.Measured("labeling", metrics_of("labeling"), ("labeling",), also=comes_with_votes),
        kind.Measured("pruning", metrics_of("pruning"), ("pruning",)),
        kind.Measured("weak_labels", metrics_of("weak_labels"), ("weak_labels",)),
        kind.Measured("ordering", metrics_of("ordering"), ("ordering",), gate=ordering_gate),
    ),
    clashes=clashes,
    missing=missing,
    columns=columns,
    columns_in_files=columns_in_files,
    hardness=FLOW.hard_for_rules,
    outcomes=FLOW.outcomes_of_orders,
    sampled=FLOW.sampled,
    page=FLOW.show_order,
    background=FLOW.show_curation,
)
