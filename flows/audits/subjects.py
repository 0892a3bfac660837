"""The models under audit as kinds of audit: on tables along the order, on images and texts before any challenge,
and these along the order too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.audits.challenge_clashes import several_labels
from assay.flows.kind import AuditKind, Clash, Ground, Measured, as_dict, each_subject, name_of
from assay.flows.yaml_document import Value, Where
from assay.tasks.ordering.settings import Ordering
from assay.tasks.subjects.kinds import kinds_written
from assay.tasks.subjects.settings import ALONG_METRICS, METRICS, Subject

if TYPE_CHECKING:
    from assay.data.schemas import Predictions, SampleHardness
    from assay.flows.audits.along_flow import AlongTheOrder
    from assay.flows.audits.subjects_flow import Examination, TableSubjects
    from assay.flows.kind import MissingThing, NamedColumn, Outcomes, Tables, Written
    from assay.flows.pipeline import Pipeline
    from assay.infra.storage.artifacts import Artifact
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.reporting.report import Headline
    from assay.tasks.statistics.between_runs import Sampled
    from assay.tasks.statistics.findings import FindingIndex


SOURCES_OF_ROWS = ("csv", "parquet", "jsonl", "iob", "votes", "sql", "label_studio")
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
        tables = any(source.get(name) is not None for name in SOURCES_OF_ROWS)
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
        yield Clash((*where, "finding"), "nothing will measure it: tables are measured along the order; add ordering")
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


def measure_tables(ground: Ground) -> TableSubjects:
    """Let every subject of tables predict, and hold it against D1 … DN."""
    from assay.flows.audits.subjects_flow import measure_all

    return measure_all(ground)


def are_tables(pipeline: Pipeline) -> bool:
    """Whether a subject looks at columns of numbers."""
    from assay.flows.audits.subjects_flow import of_tables

    return bool(of_tables(pipeline))


def examine_subjects(ground: Ground) -> Examination:
    """Train every subject of images and texts, let it answer, measure it clean."""
    from assay.flows.audits.subjects_flow import examine

    return examine(ground)


def are_learners(pipeline: Pipeline) -> bool:
    """Whether a subject looks at images or texts."""
    from assay.flows.audits.subjects_flow import learners

    return bool(learners(pipeline))


def hard_for_tables(_ground: Ground, subjects: TableSubjects) -> Iterator[Artifact[SampleHardness]]:
    """What subjects of tables are unsure of, and disagree on."""
    yield from _unsure(subjects.predictions)


def hard_for_learners(_ground: Ground, examination: Examination) -> Iterator[Artifact[SampleHardness]]:
    """What subjects of images and texts are unsure of, learned late, and disagree on."""
    from assay.tasks.hardness.task import find_dynamics

    yield from _unsure(examination.predictions)
    for subject in examination.subjects.values():
        train = subject.resolved.settings.train
        if train is not None and train.snapshots:
            yield find_dynamics(examination.evaluation, *subject.model)


def _unsure(predictions: dict[str, Artifact[Predictions]]) -> Iterator[Artifact[SampleHardness]]:
    from assay.tasks.hardness.measures import CONFIDENCE, MARGIN
    from assay.tasks.hardness.task import find_disagreement, find_hardness

    for name, predicted in predictions.items():
        yield find_hardness(predicted, CONFIDENCE, name)
        yield find_hardness(predicted, MARGIN, name)
    if len(predictions) > 1:
        yield find_disagreement(list(predictions.values()))


def libraries(pipeline: Pipeline) -> Iterator[str]:
    """What computes a network, and what its first step of training loads."""
    from assay.flows.audits.subjects_flow import learners

    subjects = learners(pipeline)
    if any(one.network is not None or one.train is not None for one in subjects):
        yield "torch"
    if any(one.train is not None for one in subjects):
        yield "torch._dynamo"


def are_taught_weakly(pipeline: Pipeline) -> bool:
    """Whether a subject of images or texts learns from the weak labels."""
    from assay.flows.audits.subjects_flow import learners

    return any(one.train_on == "weak" for one in learners(pipeline))


def tables_page(_ground: Ground, _subjects: TableSubjects, findings: FindingIndex) -> Iterator[Part]:
    """How right subjects of tables are along the order."""
    from assay.tasks.subjects.page import names, page

    if names(findings) or findings.select("subject.degenerate", of=""):
        yield page(findings)


def clean_page(_ground: Ground, examination: Examination, findings: FindingIndex) -> Iterator[Part]:
    """How right subjects of images and texts are before anything is done to them, and how they learned."""
    from assay.infra.stages.partitions import collect
    from assay.tasks.statistics.groups import count_groups
    from assay.tasks.subjects.page import clean_page as page

    if findings.select("subject", of="clean"):
        curves = {name: collect(one.curve, None) for name, one in examination.subjects.items()}
        yield page(findings, curves, count_groups(examination.evaluation))


def tables_verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """Whether a subject finds the hard end hard."""
    from assay.tasks.subjects.page import verdict

    yield from verdict(findings)


def clean_verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """How right a subject is on clean samples."""
    from assay.tasks.subjects.page import clean_verdict as verdict

    yield from verdict(findings)


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """How right the subjects are."""
    from assay.tasks.subjects.page import followed as of_subjects

    yield from of_subjects(findings)


def columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """The columns that every subject reads, or is held against."""
    for where, subject in placed(pipeline):
        for step, column, reader in _columns_of(subject):
            yield (*where, *step), column, reader


def _columns_of(subject: Subject) -> Iterator[NamedColumn]:
    if subject.classifier is not None:
        yield ("text",), subject.text, "the classifier reads"
    if subject.tagger is not None:
        yield ("tokens",), subject.tokens, "the tagger reads"
        yield ("tags",), subject.tags, "the tagger is held against"
    if subject.scorer is not None:
        yield from ((("pair", at), column, "the scorer reads") for at, column in enumerate(subject.pair))
        yield ("score",), subject.score, "the scorer is held against"
    if subject.predictions is not None:
        yield ("predictions",), subject.predictions, "the predictions are in"
    for at, column in enumerate(subject.features or ()):
        yield ("features", at), column, "the model sees"


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """Of the subjects, those whose code, weights or model files cannot be had."""
    from functools import partial

    from assay.flows.kind import SUBJECT, missing_if_fails
    from assay.tasks.subjects.resolved import resolve_subject

    for where, subject in placed(pipeline):
        yield from missing_if_fails(where, SUBJECT, partial(resolve_subject, subject, folder))


def placed(pipeline: Pipeline) -> Iterator[tuple[Where, Subject]]:
    """Every subject, and where it stands in the pipeline."""
    for position, subject in enumerate(pipeline.subjects):
        yield ("subject",) if pipeline.subject is not None else ("subjects", position), subject


def tables_outcomes(ground: Ground, result: TableSubjects) -> Iterator[Outcomes]:
    """Where what single samples add to its findings lies."""
    from assay.flows.audits.subjects_flow import outcomes_of_tables as declared

    yield from declared(ground, result)


def sampled(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """What single samples add to one of its findings."""
    from assay.flows.audits.subjects_flow import sampled as read

    return read(outcomes, tables, of, group)


def clean_outcomes(ground: Ground, result: Examination) -> Iterator[Outcomes]:
    """Where what single samples add to its findings lies."""
    from assay.flows.audits.subjects_flow import outcomes_of_clean as declared

    yield from declared(ground, result)


TABLES = AuditKind(
    "tables",
    are_tables,
    measure_tables,
    stands_on=("data", "curation"),
    measures=(Measured("subject", METRICS, ("subject", "subjects"), gate=subject_gate),),
    clashes=clashes,
    columns=columns,
    missing=missing,
    hardness=hard_for_tables,
    background=tables_page,
    verdict=tables_verdict,
    followed=followed,
    outcomes=tables_outcomes,
    sampled=sampled,
)
SUBJECTS = AuditKind(
    "subjects",
    are_learners,
    examine_subjects,
    stands_on=("data", "curation"),
    only_if={"curation": are_taught_weakly},
    libraries=libraries,
    hardness=hard_for_learners,
    background=clean_page,
    verdict=clean_verdict,
    outcomes=clean_outcomes,
    sampled=sampled,
)


def are_followed(pipeline: Pipeline) -> bool:
    """Whether samples are ordered, and a subject looks at images or texts."""
    readers = any(one.network is not None or one.classifier is not None for one in pipeline.subjects)
    return readers and pipeline.asked(Ordering) is not None


def follow_along(ground: Ground) -> AlongTheOrder:
    """Measure every model on every stratum."""
    from assay.flows.audits.along_flow import follow

    return follow(ground)


def page_along(_ground: Ground, _made: AlongTheOrder, findings: FindingIndex) -> Iterator[Part]:
    """How right every model is along the order."""
    from assay.tasks.subjects.along.page import page as along_page

    if findings.select("along"):
        yield along_page(findings)


def verdict_along(findings: FindingIndex) -> Iterator[Verdict]:
    """Whether a subject finds the hard end hard."""
    from assay.tasks.subjects.along.page import verdict as of_subjects

    yield from of_subjects(findings)


def gate_along(pipeline: Written, _gate: Written, where: Where) -> Iterator[Clash]:
    """A gate on subjects along the order needs one that looks at images or texts."""
    if not any(subject.get("network") or subject.get("classifier") for _, subject in each_subject(pipeline)):
        yield Clash(
            (*where, "finding"),
            "is about subjects of images or texts, and there is none; subjects of tables are "
            "measured along the order as subject.…",
        )


def outcomes_along(ground: Ground, result: AlongTheOrder) -> Iterator[Outcomes]:
    """The answers of every model along the order."""
    from assay.flows.audits.along_flow import outcomes_of_order as of_models

    return of_models(ground, result)


def sampled_along(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """Which samples of a stratum a model is right on."""
    from assay.flows.audits.along_flow import sampled as of_answers

    return of_answers(outcomes, tables, of, group)


ALONG = AuditKind(
    "along",
    are_followed,
    follow_along,
    stands_on=("curation", "subjects"),
    after=("attacks", "corruptions", "texts"),
    measures=(Measured("along", ALONG_METRICS, ("ordering",), gate=gate_along),),
    page=page_along,
    verdict=verdict_along,
    outcomes=outcomes_along,
    sampled=sampled_along,
)
