"""The models under audit as kinds of audit: on tables along the order, on images and texts before any challenge,
and these along the order too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from assay.flows.audits.challenge_clashes import several_labels
from assay.flows.kind import (
    SUBJECT,
    AuditKind,
    AuditRequest,
    Clash,
    Late,
    Measured,
    MissingThing,
    NamedColumn,
    Written,
    as_dict,
    each_subject,
    missing_if_fails,
    name_of,
    placed_subjects,
    shown_if_measured,
)
from assay.flows.yaml_document import Value, Where
from assay.tasks.ordering.settings import Ordering
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.subjects.kinds import kind_of, kinds_written
from assay.tasks.subjects.settings import Subject

SOURCES_OF_ROWS = ("csv", "parquet", "jsonl", "iob", "votes", "sql", "label_studio")
"""Sources that have images only where `image` says in which column."""
LESSONS = ("subject.taught", "subject.lessons_right")
"""What is measured of learning from weak labels."""
LABELLED = ("dataset", "images", "label", "labels")
"""What gives a source gold labels: any one of these."""

FLOW, PAGE = Late("assay.flows.audits.subjects_flow"), Late("assay.tasks.subjects.page")
ALONG_FLOW = Late("assay.flows.audits.along_flow")


def clashes(pipeline: Written) -> Iterator[Clash]:
    """Subjects that cannot be told apart, learn from nothing, or look at what is not there."""
    if pipeline.get("subject") is not None and pipeline.get("subjects") is not None:
        yield Clash(("subjects",), "stands beside subject; put them all into subjects")
    names = Counter(name for _, subject in each_subject(pipeline) for name in [name_of(subject)])
    source = as_dict(pipeline.get("source"))
    dataset = source.get("dataset")
    for where, subject in each_subject(pipeline):
        called = name_of(subject)
        if names[called] > 1:
            yield Clash((*where, "name"), f"{names[called]} subjects are called {called}; name each")
        if subject.get("predictions") is not None:
            if isinstance(dataset, str) and dataset.startswith("sample/"):
                why = f"{dataset} has no column of predictions; give parquet, csv or jsonl"
                yield Clash((*where, "predictions"), why)
            if subject.get("train_on") is not None:
                yield Clash((*where, "train_on"), "predictions are already made; nothing is trained")
        if subject.get("train_on") == "weak":
            yield from _taught_weakly(pipeline, subject, where)
        for kind in kinds_written(subject) if several_labels(pipeline) else ():
            if kind.name in ("classifier", "model"):
                yield Clash((*where, kind.name), "gives one class a sample: only of images several labels are measured")
        yield from _unlabelled(subject, source, where)
        tables = any(source.get(name) is not None for name in SOURCES_OF_ROWS)
        if subject.get("network") is not None and tables and source.get("image") is None:
            yield Clash(
                (*where, "network"),
                "looks at images, and the source names none: say which column holds them with "
                "source.image, or give a folder of them as source.images",
            )
    evaluation = as_dict(pipeline.get("evaluation"))
    for where, subject in each_subject(pipeline):
        if evaluation.get("since") is not None and subject.get("train_on") == "weak" and "model" in subject:
            yield Clash((*where, "train_on"), "says weak, and evaluation.since keeps later rows from it: train on gold")
    audited, learned = evaluation.get("split", "test"), evaluation.get("train", "train")
    on_tables = ["model" in subject or "predictions" in subject for _, subject in each_subject(pipeline)]
    if on_tables and all(on_tables) and evaluation and evaluation.get("since") is None:
        why = "of images and texts. Of columns all samples are audited; where some train, give source.gold_in: [test]"
        yield Clash(("evaluation", next(iter(evaluation))), f"{why}, or since")
    elif audited == learned:
        place = ("evaluation", "split" if "split" in evaluation else "train")
        yield Clash(place, "is audited and may train; what is audited must not train: choose another split")


def subject_gate(pipeline: Written, gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    """A gate on subjects of images or texts is on clean samples; one on subjects of tables is on a set of the order."""
    of, group, name = gate.get("of"), gate.get("group"), gate.get("subject")
    meant = [subject for _, subject in each_subject(pipeline) if not isinstance(name, str) or name_of(subject) == name]
    on_tables = [each for each in meant if each.get("model") is not None or each.get("predictions") is not None]
    if not meant:
        return
    if all(subject.get("predicts") is not None for subject in meant):
        yield Clash(
            (*where, "finding"), "is about classes, and a number is predicted: write regression.mae or regression.r2"
        )
    elif not on_tables:
        if of in ("gold", "weak") and gate.get("finding") not in LESSONS:
            yield Clash((*where, "of"), "is measured on tables only; for images and texts write clean")
        if isinstance(group, str) and re.fullmatch(r"D\d+", group):
            yield Clash((*where, "group"), "is a set of the order: of images and texts write along.accuracy")
    elif len(on_tables) == len(meant) and pipeline.get("ordering") is None and of != "clean":
        why = "nothing will measure it: without an order tables are measured as they are; write of: clean, or add one"
        yield Clash((*where, "of" if "of" in gate else "finding"), why)
    elif isinstance(group, str) and re.fullmatch(r"D\d+", group):
        sets = as_dict(pipeline.get("ordering")).get("datasets", 10)
        if isinstance(sets, int) and not 1 <= int(group[1:]) <= sets:
            yield Clash((*where, "group"), f"there are only D1 to D{sets}, as ordering.datasets says")


def _taught_weakly(pipeline: Written, subject: dict[str, Value], where: Where) -> Iterator[Clash]:
    """What cannot learn from weak labels: where there are none, or not of the kind that it learns from."""
    place = (*where, "train_on")
    if pipeline.get("weak_labels") is None:
        yield Clash(place, "needs weak labels: add weak_labels, or train on gold")
    if several_labels(pipeline):
        yield Clash(place, "weak labels say one class per sample, and these bear several labels: train on gold")
    for kind in kinds_written(subject):
        if kind.held_against is not None:
            yield Clash(place, f"weak labels are classes, and a {kind.name} learns {kind.held_against}: train on gold")
        elif kind.stages is not None and not kind.learns(str(subject[kind.name]), subject.get("train")):
            yield Clash(place, f"this {kind.name} comes as it is and learns nothing: leave train_on out")


def _unlabelled(subject: dict[str, Value], source: dict[str, Value], where: Where) -> Iterator[Clash]:
    """What learns from gold labels has none to learn from."""
    if not source or any(source.get(name) is not None for name in LABELLED):
        return
    if subject.get("model") == "logistic" and subject.get("train_on") in (None, "gold"):
        yield Clash((*where, "model"), "learns from gold labels: give source.label, or train_on: weak")
    elif subject.get("predicts") is None and source.get("score") is not None:
        why = f"gives classes, and source.score numbers: say predicts: {source['score']}, of a function or a column"
        yield from (Clash((*where, name), why) for name in ("model", "predictions") if subject.get(name) is not None)
    if subject.get("network") is None:
        return
    if subject.get("train") is not None and subject.get("train_on") != "weak":
        yield Clash((*where, "train"), "learns from gold labels: give source.label, or source.labels for several")
    elif source.get("classes") is None:
        yield Clash((*where, "network"), "answers with classes, and none is known: give source.label or source.classes")


def learners(pipeline: AuditRequest) -> list[Subject]:
    """The subjects that look at images or texts, rather than at columns of numbers."""
    return [subject for subject in pipeline.subjects if kind_of(subject).stages is not None]


def of_tables(pipeline: AuditRequest) -> list[Subject]:
    """The subjects that give columns of numbers a class."""
    return [each for each in pipeline.subjects if kind_of(each).stages is None and each.predicts is None]


def of_numbers(pipeline: AuditRequest) -> list[Subject]:
    """The subjects that predict a number."""
    return [subject for subject in pipeline.subjects if subject.predicts is not None]


def libraries(pipeline: AuditRequest) -> Iterator[str]:
    """What computes a network, and what its first step of training loads."""
    subjects = learners(pipeline)
    if any(subject.network is not None or subject.train is not None for subject in subjects):
        yield "torch"
    if any(subject.train is not None for subject in subjects):
        yield "torch._dynamo"


def extras(pipeline: AuditRequest) -> Iterator[tuple[Where, str]]:
    """What computes networks, and what reads texts."""
    for where, subject in placed_subjects(pipeline):
        if subject.classifier or subject.tagger or subject.scorer:
            yield where, "text"
        elif subject.network is not None:
            yield where, "images"


def columns(pipeline: AuditRequest) -> Iterator[NamedColumn]:
    """The columns that every subject reads, or is held against."""
    for where, subject in placed_subjects(pipeline):
        kind = kind_of(subject)
        steps = [(setting, f"the {kind.name} reads") for setting in kind.reads]
        steps += [(kind.held_against, f"the {kind.name} is held against")] if kind.held_against else []
        steps += [("predictions", "the predictions are in"), ("predicts", "the model predicts")]
        steps += [("features", "the model sees")]
        for setting, reader in steps:
            named = getattr(subject, setting) or ()
            if isinstance(named, str):
                yield (*where, setting), named, reader
            else:
                yield from (((*where, setting, at), column, reader) for at, column in enumerate(named))


def missing(pipeline: AuditRequest, folder: Path) -> Iterator[MissingThing]:
    """Of the subjects, those whose code, weights or model files cannot be had."""
    from assay.tasks.subjects.resolved import resolve_subject

    for where, subject in placed_subjects(pipeline):
        yield from missing_if_fails(where, SUBJECT, partial(resolve_subject, subject, folder))


TABLES = AuditKind(
    "tables",
    lambda pipeline: bool(of_tables(pipeline)),
    FLOW.measure_all,
    stands_on=("data", "curation"),
    measures=(Measured("subject", metrics_of("subject"), ("subject", "subjects"), gate=subject_gate),),
    clashes=clashes,
    columns=columns,
    missing=missing,
    hardness=FLOW.hard_for_tables,
    background=FLOW.show_tables,
    followed=PAGE.followed,
    outcomes=FLOW.outcomes_of_tables,
    sampled=FLOW.sampled,
)
SUBJECTS = AuditKind(
    "subjects",
    lambda pipeline: bool(learners(pipeline)),
    FLOW.examine,
    stands_on=("data", "curation"),
    only_if={"curation": lambda pipeline: any(subject.train_on == "weak" for subject in learners(pipeline))},
    extras=extras,
    libraries=libraries,
    hardness=FLOW.hard_for_learners,
    background=FLOW.show_clean,
    outcomes=FLOW.outcomes_of_clean,
    sampled=FLOW.sampled,
)


def are_followed(pipeline: AuditRequest) -> bool:
    """Whether samples are ordered, and a subject looks at images or texts."""
    readers = any(subject.network is not None or subject.classifier is not None for subject in pipeline.subjects)
    return readers and pipeline.asked(Ordering) is not None


def gate_along(pipeline: Written, _gate: Written, where: Where) -> Iterator[Clash]:
    """A gate on subjects along the order needs one that looks at images or texts."""
    if not any(subject.get("network") or subject.get("classifier") for _, subject in each_subject(pipeline)):
        yield Clash(
            (*where, "finding"),
            "is about subjects of images or texts, and there is none; subjects of tables are "
            "measured along the order as subject.…",
        )


ALONG = AuditKind(
    "along",
    are_followed,
    ALONG_FLOW.follow,
    stands_on=("curation", "subjects"),
    after=("attacks", "corruptions", "texts"),
    measures=(Measured("along", metrics_of("along"), ("ordering",), gate=gate_along),),
    page=shown_if_measured("along", Late("assay.tasks.subjects.along.page").page),
    outcomes=ALONG_FLOW.outcomes_of_order,
    sampled=ALONG_FLOW.sampled,
)
