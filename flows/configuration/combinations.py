"""Settings that are right one by one and impossible together. Read from the raw mapping, so that they are reported
in the same breath as wrong types and unknown keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from assay.flows.audits.images.clashes import attack_name, challenge_clashes
from assay.flows.audits.overfitting.clashes import overfitting_clashes
from assay.flows.audits.texts.clashes import text_clashes
from assay.flows.configuration.gated_findings import unknown_metric
from assay.flows.configuration.mistakes import Where, suggestion
from assay.flows.configuration.written import Clash, as_dict, as_list, each_subject, name_of
from assay.flows.configuration.yaml_source import Value

APPROACHES = ("pl_all", "pl_indep", "ci_all", "ours")
PRUNED = ("pl_indep", "ours")
LABELERS = ("majority", "snorkel")
WORST_CASE = "worst-case"
STAGES = {
    "labeling": ("labeling",),
    "pruning": ("pruning",),
    "weak_labels": ("weak_labels",),
    "ordering": ("ordering",),
    "subject": ("subject", "subjects"),
    "attack": ("attacks",),
    "corruption": ("corruptions",),
    "defense": ("defenses", "smoothing"),
    "diagnostics": ("diagnostics",),
    "trust": ("trust",),
    "overfitting": ("overfitting",),
    "ner": ("attacks", "subject", "subjects"),
    "sts": ("attacks", "subject", "subjects"),
}
"""What must be configured for a stage's findings to exist: any one of these."""
TABLES = ("csv", "parquet", "jsonl", "iob", "votes")
"""Sources that have images only where `image` says in which column."""
LABELLED = ("dataset", "images", "label", "labels")
"""What gives a source gold labels: any one of these."""


def clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """Everything in a pipeline that cannot be together."""
    yield from _chain(pipeline)
    yield from _subjects(pipeline)
    yield from challenge_clashes(pipeline)
    yield from text_clashes(pipeline)
    yield from overfitting_clashes(pipeline)
    for position, gate in enumerate(as_list(pipeline.get("gates"))):
        if isinstance(gate, dict):
            yield from _gate(pipeline, gate, ("gates", position))


def _chain(pipeline: dict[str, Value]) -> Iterator[Clash]:
    votes = as_dict(pipeline.get("source")).get("votes") is not None
    has = {name for name, value in pipeline.items() if value is not None}
    if votes and "labeling" in has:
        yield Clash(
            ("labeling",), "source.votes already holds the votes; remove labeling or give the source as samples"
        )
    voted = votes or "labeling" in has or _carries_votes(pipeline)
    for stage in ("pruning", "weak_labels"):
        if stage in has and not voted:
            yield Clash((stage,), "needs votes: add labeling (rules that vote) or source.votes (votes as a table)")
    if "ordering" in has and "weak_labels" not in has:
        yield Clash(("ordering",), "needs confidences: add weak_labels, as in weak_labels: {labelers: [majority]}")
    if as_dict(pipeline.get("ordering")).get("compare") is True and "pruning" not in has:
        yield Clash(("ordering", "compare"), "compares with and without pruning: add pruning, or leave compare out")


def _carries_votes(pipeline: dict[str, Value]) -> bool:
    """Whether the data set is itself a table of votes, such as crowd workers' answers."""
    dataset = as_dict(pipeline.get("source")).get("dataset")
    if not isinstance(dataset, str) or dataset.startswith("sample/"):
        return False
    from assay.data.catalog import catalog, is_votes

    return dataset in catalog() and is_votes(dataset)


def _subjects(pipeline: dict[str, Value]) -> Iterator[Clash]:
    if pipeline.get("subject") is not None and pipeline.get("subjects") is not None:
        yield Clash(("subjects",), "stands beside subject; put them all into subjects")
    names = Counter(name for _, subject in each_subject(pipeline) for name in [name_of(subject)])
    source = as_dict(pipeline.get("source"))
    dataset = source.get("dataset")
    for where, subject in each_subject(pipeline):
        if names[name_of(subject)] > 1:
            yield Clash(
                (*where, "name"), f"{names[name_of(subject)]} subjects are called {name_of(subject)}; name each"
            )
        if subject.get("predictions") is not None:
            if isinstance(dataset, str) and dataset.startswith("sample/"):
                yield Clash(
                    (*where, "predictions"), f"{dataset} has no column of predictions; give parquet, csv or jsonl"
                )
            if subject.get("train_on") is not None:
                yield Clash((*where, "train_on"), "predictions are already made; nothing is trained")
        if subject.get("train_on") == "weak" and pipeline.get("weak_labels") is None:
            yield Clash((*where, "train_on"), "needs weak labels: add weak_labels, or train on gold")
        yield from _unlabelled(subject, source, where)
        tables = any(source.get(name) is not None for name in TABLES)
        if subject.get("network") is not None and tables and source.get("image") is None:
            yield Clash(
                (*where, "network"), "looks at images, and the source names none: say which column holds them with "
                "source.image, or give a folder of them as source.images",
            )  # fmt: skip


def _unlabelled(subject: dict[str, Value], source: dict[str, Value], where: Where) -> Iterator[Clash]:
    """What learns from gold labels has none to learn from."""
    if not source or any(source.get(name) is not None for name in LABELLED):
        return
    if subject.get("model") == "logistic" and subject.get("train_on") in (None, "gold"):
        yield Clash((*where, "model"), "learns from gold labels: give source.label, or train_on: weak")
    if subject.get("network") is None:
        return
    if subject.get("train") is not None:
        yield Clash((*where, "train"), "learns from gold labels: give source.label, or source.labels for several")
    elif source.get("classes") is None:
        yield Clash((*where, "network"), "answers with classes, and none is known: give source.label or source.classes")


def _gate(pipeline: dict[str, Value], gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    finding = gate.get("finding")
    stage = finding.partition(".")[0] if isinstance(finding, str) else ""
    if not stage:
        return
    if stage not in STAGES:
        yield Clash((*where, "finding"), f"no stage measures {stage}; {suggestion(stage, STAGES)}")
        return
    if unknown := unknown_metric(str(finding)):
        yield Clash((*where, "finding"), unknown)
        return
    given_votes = stage == "labeling" and (
        as_dict(pipeline.get("source")).get("votes") is not None or _carries_votes(pipeline)
    )
    if STAGES[stage] and not given_votes and all(pipeline.get(name) is None for name in STAGES[stage]):
        yield Clash((*where, "finding"), f"nothing will measure it: the pipeline has no {' or '.join(STAGES[stage])}")
    if stage == "ordering":
        yield from _ordering_gate(pipeline, gate, where)
    if stage == "attack" and finding != "attack.red_flag":
        yield from _attack_gate(pipeline, gate, where)
    subjects = [name_of(subject) for _, subject in each_subject(pipeline)]
    name = gate.get("subject")
    defended = pipeline.get("defenses") and str(name).partition("+")[0] in subjects  # plain+maadvt
    if isinstance(name, str) and name not in subjects and not defended:
        said = suggestion(name, subjects) if subjects else "the pipeline has no subject"
        yield Clash((*where, "subject"), f"there is no such subject; {said}")


def _attack_gate(pipeline: dict[str, Value], gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    of = gate.get("of")
    called = [*filter(None, map(attack_name, as_list(pipeline.get("attacks"))))]
    known = [*called, WORST_CASE] if len(called) > 1 else called
    if isinstance(of, str) and called and of not in known:
        yield Clash((*where, "of"), f"there is no such attack; {suggestion(of, known)}")


def _ordering_gate(pipeline: dict[str, Value], gate: dict[str, Value], where: Where) -> Iterator[Clash]:
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
