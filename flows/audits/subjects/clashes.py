"""What subjects cannot be together with: each other's names, the data, and what they are to learn from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from assay.flows.audits.challenge_clashes import several_labels
from assay.flows.configuration.mistakes import Where
from assay.flows.configuration.written import Clash, as_dict, each_subject, name_of
from assay.flows.configuration.yaml_source import Value
from assay.tasks.subjects.kinds import kinds_written

TABLES = ("csv", "parquet", "jsonl", "iob", "votes", "sql", "label_studio")
"""Sources that have images only where `image` says in which column."""
LESSONS = ("subject.taught", "subject.lessons_right")
"""What is measured of learning from weak labels."""
LABELLED = ("dataset", "images", "label", "labels")
"""What gives a source gold labels: any one of these."""


def clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """Subjects that cannot be told apart, learn from nothing, or look at what is not there."""
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
        if subject.get("train_on") == "weak":
            yield from _taught_weakly(pipeline, subject, where)
        yield from _unlabelled(subject, source, where)
        tables = any(source.get(name) is not None for name in TABLES)
        if subject.get("network") is not None and tables and source.get("image") is None:
            yield Clash(
                (*where, "network"),
                "looks at images, and the source names none: say which column holds them with "
                "source.image, or give a folder of them as source.images",
            )
    evaluation = as_dict(pipeline.get("evaluation"))
    audited, learned = evaluation.get("split", "test"), evaluation.get("train", "train")
    if audited == learned:
        place = ("evaluation", "split" if "split" in evaluation else "train")
        yield Clash(place, "is audited and may train; what is audited must not train: choose another split")


def subject_gate(pipeline: dict[str, Value], gate: dict[str, Value], where: Where) -> Iterator[Clash]:
    """A gate on subjects of images or texts is on clean samples; one on subjects of tables is on a set of the order."""
    of, group, name = gate.get("of"), gate.get("group"), gate.get("subject")
    meant = [one for _, one in each_subject(pipeline) if not isinstance(name, str) or name_of(one) == name]
    on_tables = [one for one in meant if one.get("model") is not None or one.get("predictions") is not None]
    if not meant:
        return
    if not on_tables:
        if of in ("gold", "weak") and gate.get("finding") not in LESSONS:
            yield Clash((*where, "of"), "is measured on tables only; for images and texts write clean")
        if isinstance(group, str) and re.fullmatch(r"D\d+", group):
            yield Clash((*where, "group"), "is a set of the order: of images and texts write along.accuracy")
    elif len(on_tables) == len(meant) and pipeline.get("ordering") is None:
        yield Clash(
            (*where, "finding"),
            "nothing will measure it: tables are measured along the order; add ordering",
        )
    elif isinstance(group, str) and re.fullmatch(r"D\d+", group):
        sets = as_dict(pipeline.get("ordering")).get("datasets", 10)
        if isinstance(sets, int) and not 1 <= int(group[1:]) <= sets:
            yield Clash((*where, "group"), f"there are only D1 to D{sets}, as ordering.datasets says")


def _taught_weakly(pipeline: dict[str, Value], subject: dict[str, Value], where: Where) -> Iterator[Clash]:
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
    if subject.get("network") is None:
        return
    if subject.get("train") is not None and subject.get("train_on") != "weak":
        yield Clash((*where, "train"), "learns from gold labels: give source.label, or source.labels for several")
    elif source.get("classes") is None:
        yield Clash((*where, "network"), "answers with classes, and none is known: give source.label or source.classes")
