"""Subjects learn, predict and are measured: those of tables along D1 … DN, those of images and texts on clean
samples that were set apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from toolz import merge

from assay.data import schemas
from assay.flows.audits.curation_flow import Curation
from assay.flows.audits.data import Data
from assay.flows.audits.subjects import learners, of_tables
from assay.flows.kind import SAMPLES, BySubject, Ground, Handles, Outcomes, Tables, codes
from assay.infra.errors import RunError
from assay.infra.stages.branches import branch_outcomes, start_each, subflow
from assay.infra.stages.partitions import collect
from assay.infra.storage.artifacts import Artifact
from assay.tasks.hardness.measures import CONFIDENCE, MARGIN
from assay.tasks.hardness.task import find_disagreement, find_dynamics, find_hardness
from assay.tasks.ordering.settings import Ordering
from assay.tasks.overfitting.settings import Overfitting
from assay.tasks.overfitting.task import fresh_samples
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.between_runs import Sampled, right_or_wrong
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.groups import group_sizes
from assay.tasks.subjects.kinds import asked_by, kind_of, stages_of
from assay.tasks.subjects.page import clean_page, names, page
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.spot_check import as_it_answers_now
from assay.tasks.subjects.tables.task import judge_subject, measure_subject, predict_samples, train_subject
from assay.tasks.subjects.task import hold_out, measure_weak_lessons, take_weak_lessons
from assay.tasks.subjects.texts.task import measure_texts
from assay.tasks.weak_labels.table import WeakLabelling

Answers = Artifact[schemas.Predictions] | Artifact[schemas.Tagged] | Artifact[schemas.Scored]


class Model(NamedTuple):
    """What every stage needs that asks a subject: the classes, the files of its weights, its settings and code."""

    classes: Artifact[schemas.Classes]
    files: Artifact[schemas.SubjectFiles]
    resolved: ResolvedSubject

    def answers(self, samples: Artifact[schemas.Samples]) -> Artifact[Any]:
        """What the subject says of samples, by the stage of its kind."""
        asked = asked_by(self.resolved.settings)
        return asked.predict(*asked.given(samples, *self))


@dataclass(frozen=True)
class Examined:
    """A subject that is ready to be challenged: the model, how it learned, and what it says of the audited samples."""

    model: Model
    curve: Artifact[schemas.TrainingCurve]
    answers: Answers
    learned_from: Artifact[schemas.Samples]
    clean: Artifact[schemas.Findings] | None = None
    """How good it is on clean samples. Taggers and scorers are measured where the attacks on them are, since the same
    measures are compared there."""
    lessons: Artifact[schemas.Findings] | None = None
    """How many samples taught it, and how rightly, where it learns from weak labels."""

    @property
    def resolved(self) -> ResolvedSubject:
        """Its settings, and its code."""
        return self.model.resolved

    @property
    def files(self) -> Artifact[schemas.SubjectFiles]:
        """Its weights."""
        return self.model.files

    @property
    def predictions(self) -> Artifact[schemas.Predictions]:
        """The class that a subject of images or texts gives each sample."""
        return cast("Artifact[schemas.Predictions]", self.answers)

    @property
    def name(self) -> str:
        """What findings call it."""
        return self.resolved.settings.name


@dataclass(frozen=True)
class Examination:
    """The samples that are audited, those that may train, and every subject that came through."""

    classes: Artifact[schemas.Classes]
    training: Artifact[schemas.Samples]
    """The samples that subjects and generators learn from."""
    evaluation: Artifact[schemas.Samples]
    """The samples that are audited."""
    subjects: Mapping[str, Examined] = field(default_factory=dict)
    fresh: Artifact[schemas.Samples] | None = None
    """The samples that nobody has measured a subject on, where the overfitting test asks for some."""

    @property
    def findings(self) -> list[Artifact[schemas.Findings]]:
        """How good the subjects are on clean samples, and what weak labels taught them."""
        parts = [part for subject in self.subjects.values() for part in (subject.clean, subject.lessons)]
        return [part for part in parts if part is not None]

    @property
    def predictions(self) -> dict[str, Artifact[schemas.Predictions]]:
        """The class that each subject of images or texts gives each audited sample."""
        return {subject.name: subject.predictions for kind in ("network", "classifier") for subject in self.of(kind)}

    def of(self, kind: str) -> list[Examined]:
        """The subjects of one kind: `network` (images), `classifier` (texts), `tagger` (tags) or `scorer` (pairs)."""
        return [subject for subject in self.subjects.values() if subject.resolved.settings.kind == kind]


@subflow("subjects")
def examine(ground: Ground) -> Examination:
    """Set samples apart, and bring every subject of images or texts to where it can be challenged."""
    pipeline, data = ground.pipeline, ground.of(Data)
    apart = pipeline.evaluation.model_copy(update={"column": pipeline.evaluation.column or pipeline.source.split})
    texts = sorted({column for subject in learners(pipeline) for column in kind_of(subject).columns(subject)})
    held_out, fresh = hold_out(data.samples, apart, texts), None
    asked = pipeline.asked(Overfitting)
    test = None if asked is None else asked.translations
    if test is not None and test.fresh is not None:  # here, so that a wrong name is refused before anything trains
        fresh = fresh_samples(data.samples, (held_out.training, held_out.evaluation), apart, test.fresh)
    waiting = Examination(data.classes, *held_out, fresh=fresh)
    each = {subject.name: (waiting, subject, ground) for subject in learners(pipeline)}
    return replace(waiting, subjects=branch_outcomes(start_each("subject", examine_one, each)))


def examine_one(examination: Examination, subject: Subject, ground: Ground) -> Examined:
    """Train the subject if it is ours to train, let it answer, and measure it on clean samples."""
    resolved = replace(resolve_subject(subject, ground.folder), masked=ground.pipeline.masked)
    training = examination.training
    if subject.train_on != "weak":
        return learn(resolved, examination, training)
    labels = teacher_of(ground, subject)
    taught = learn(resolved, examination, take_weak_lessons(training, labels, examination.classes))
    return replace(taught, lessons=measure_weak_lessons(training, labels, subject.name))


def teacher_of(ground: Ground, subject: Subject) -> Artifact[schemas.WeakLabels]:
    """The weak labels that a subject learns from: those of the first labeler; no other stands in for it."""
    asked, labels = ground.pipeline.asked(WeakLabelling), (ground.maybe(Curation) or Curation()).labels
    labeler = "" if asked is None else asked.labelers[0]
    if labeler not in labels:
        raise RunError(
            f"{subject.name} learns from the labels of {labeler or 'the rules'}, and there are none: see why they are "
            "missing, or set `train_on: gold`."
        )
    return labels[labeler]


def learn(resolved: ResolvedSubject, examination: Examination, training: Artifact[schemas.Samples]) -> Examined:
    """The subject as these samples teach it; one that comes as it is learns nothing from them."""
    stages, classes = stages_of(resolved.settings), examination.classes
    train = partial(stages.train, training, classes)
    resolved, (files, curve) = as_it_answers_now(examination.evaluation, classes, resolved, train)
    answers, clean = stages.answer(examination.evaluation, classes, files, resolved)
    return Examined(Model(classes, files, resolved), curve, answers, training, clean)


@dataclass(frozen=True)
class MeasuredSubject:
    """What one subject says of all samples, and how good that is along D1 … DN, where there is an order."""

    predictions: Artifact[schemas.Predictions]
    findings: tuple[Artifact[schemas.Findings], ...] = ()
    audited: Artifact[schemas.Samples] | None = None
    """The samples that it was measured on as they are, where that was not along the order."""


class TableSubjects(BySubject[MeasuredSubject]):
    """The subjects of tables, and how good they are along the order."""

    @property
    def predictions(self) -> dict[str, Artifact[schemas.Predictions]]:
        """What each subject says of all samples."""
        return {name: subject.predictions for name, subject in self.subjects.items()}


@subflow("subjects on tables")
def measure_all(ground: Ground) -> TableSubjects:
    """Every subject on the curated sets."""
    each = {subject.name: (ground, subject) for subject in of_tables(ground.pipeline)}
    return TableSubjects(branch_outcomes(start_each("subject", measure_one, each)))


def measure_one(ground: Ground, subject: Subject) -> MeasuredSubject:
    """Train the subject if it is ours to train, let it predict, and hold it against D1 … DN."""
    data, curation, evaluation = ground.of(Data), ground.maybe(Curation) or Curation(), ground.pipeline.evaluation
    resolved = resolve_subject(subject, ground.folder)
    labels = teacher_of(ground, subject) if subject.train_on == "weak" else None
    training = audited = data.samples
    if evaluation.since is not None:
        training, audited = hold_out(data.samples, evaluation)
    learn = partial(train_subject, training, labels, data.classes)
    resolved, files = as_it_answers_now(audited, data.classes, resolved, learn)
    predictions = predict_samples(audited, data.classes, files, resolved)
    ordering, order, clusters = ground.pipeline.asked(Ordering), curation.headline, curation.clusters
    if order is None or ordering is None or clusters is None or evaluation.since is not None:
        return MeasuredSubject(predictions, (measure_texts(predictions, audited, data.classes, subject.name),), audited)
    significance = ground.pipeline.statistics.significance
    measured = measure_subject(
        predictions, order.curated, clusters, data.classes, subject.name, ordering.datasets, ordering.permutations
    )
    judged = judge_subject(
        predictions, order.intervals, data.samples, clusters, subject.name, ordering.undecided, significance
    )
    return MeasuredSubject(predictions, (measured, judged))


def predictions_of(ground: Ground) -> dict[str, Artifact[schemas.Predictions]]:
    """What the pipeline's subjects say of the samples, in the order of the pipeline."""
    below = (ground.maybe(TableSubjects), ground.maybe(Examination))
    predictions = merge(*(result.predictions for result in below if result is not None))
    in_order = (subject.name for subject in ground.pipeline.subjects)
    return {name: predictions[name] for name in in_order if name in predictions}


CLEAN, ALONG, AREA = "clean", "along", "subject.auc"
TRUTH = {"weak": "label", "gold": "gold"}
"""By which column of the curated sets a subject is right."""


def outcomes_of_tables(ground: Ground, result: TableSubjects) -> Iterator[Outcomes]:
    """The accuracy on D1 … DN, by weak labels and by gold; without an order, on the samples as they are."""
    order = (ground.maybe(Curation) or Curation()).headline
    for name, subject in result.subjects.items():
        tables: Handles = {"predictions": subject.predictions, SAMPLES: subject.audited or ground.of(Data).samples}
        if subject.audited is not None:
            yield Outcomes("subject.accuracy", name, CLEAN, tables, "clean")
        elif order is not None:
            along = tables | {"curated": order.curated}
            yield from (Outcomes("subject.accuracy", name, ALONG, along, of) for of in TRUTH)


def outcomes_of_clean(_ground: Ground, result: Examination) -> Iterator[Outcomes]:
    """The accuracy on clean images and texts."""
    for subject in result.subjects.values():
        if subject.clean is not None:
            yield (right := clean_outcomes(subject, result))
            yield replace(right, metric=AREA)


def clean_outcomes(model: Examined, examination: Examination) -> Outcomes:
    """The accuracy of one model on clean images or texts."""
    tables: Handles = {"predictions": model.predictions, SAMPLES: examination.evaluation}
    return Outcomes("subject.accuracy", model.name, CLEAN, tables, "clean")


def sampled(outcomes: Outcomes, tables: Tables, _of: str, group: str) -> Sampled | None:
    """What single samples add to the accuracy: on D_i, on a stratum, or on all clean samples."""
    if outcomes.metric == AREA:
        return None if group else clean_area(tables)
    return _along(tables, outcomes.of, group) if outcomes.reading == ALONG else clean_samples(tables, group)


def _along(tables: Tables, of: str, group: str) -> Sampled | None:
    import pyarrow.compute as pc

    curated = tables.read("curated", ["id", "dataset", TRUTH[of]])
    dataset, (kind, _, number) = curated["dataset"].to_numpy(), group.rpartition(" ")
    if kind == "stratum" and number.isdecimal():
        chosen = dataset == int(number)
    elif not kind and group[:1] == "D" and group[1:].isdecimal():
        chosen = dataset <= int(group[1:])
    else:
        return None
    predictions = tables.read("predictions", ["id", "predicted"])
    at = pc.index_in(curated["id"], value_set=predictions["id"].combine_chunks())
    predicted, truth = predictions["predicted"].take(at).to_numpy(), codes(curated[TRUTH[of]])
    chosen &= np.asarray(at.is_valid())  # samples of partitions that failed and were let go have no answer
    return right_or_wrong(curated["id"].to_pylist(), predicted == truth, chosen & (truth >= 0))


def clean_area(tables: Tables) -> Sampled | None:
    """What single samples add to the area under the curve of a model."""
    from assay.tasks.attacks.measures import matrix
    from assay.tasks.statistics.auc import area_by_sample
    from assay.tasks.subjects.images.dataset import LABELS

    samples, answers = tables.read(SAMPLES, ["id", "gold", LABELS]), tables.read("predictions", ["probabilities"])
    if "probabilities" not in answers.column_names:
        return None
    truth = matrix(samples[LABELS], np.int64) if LABELS in samples.column_names else codes(samples["gold"])
    return area_by_sample(samples["id"].to_pylist(), matrix(answers["probabilities"], np.float64), truth)


def clean_samples(tables: Tables, group: str = "") -> Sampled | None:
    """Which clean samples a model is right on; of images that bear several labels, on how many of them."""
    from assay.tasks.attacks.measures import matrix
    from assay.tasks.subjects.images.dataset import LABELS
    from assay.tasks.subjects.images.model import said

    if group:
        return None
    samples = tables.read(SAMPLES, ["id", "gold", LABELS])
    if LABELS not in samples.column_names:
        answers, truth = codes(tables.read("predictions", ["predicted"])["predicted"]), codes(samples["gold"])
        return right_or_wrong(samples["id"].to_pylist(), answers == truth, truth >= 0)
    truth = matrix(samples[LABELS], np.int64)
    labels = said(matrix(tables.read("predictions", ["probabilities"])["probabilities"], np.float64), multilabel=True)
    return right_or_wrong(samples["id"].to_pylist(), labels == truth, truth >= 0)


def hard_for_tables(_ground: Ground, subjects: TableSubjects) -> Iterator[Artifact[schemas.SampleHardness]]:
    """What subjects of tables are unsure of, and disagree on."""
    yield from _unsure(subjects.predictions)


def hard_for_learners(_ground: Ground, examination: Examination) -> Iterator[Artifact[schemas.SampleHardness]]:
    """What subjects of images and texts are unsure of, learned late, and disagree on."""
    yield from _unsure(examination.predictions)
    for subject in examination.subjects.values():
        train = subject.resolved.settings.train
        if train is not None and train.snapshots:
            yield find_dynamics(examination.evaluation, *subject.model)


def _unsure(predictions: dict[str, Artifact[schemas.Predictions]]) -> Iterator[Artifact[schemas.SampleHardness]]:
    for name, predicted in predictions.items():
        yield find_hardness(predicted, CONFIDENCE, name)
        yield find_hardness(predicted, MARGIN, name)
    if len(predictions) > 1:
        yield find_disagreement(list(predictions.values()))


def show_tables(ground: Ground, tables: TableSubjects, findings: FindingIndex) -> Iterator[Part]:
    """How right subjects of tables are along the order, or as they are."""
    apart = [subject.audited for subject in tables.subjects.values() if subject.audited is not None]
    if apart and not learners(ground.pipeline):
        yield clean_page(findings, {}, group_sizes(apart[0]))
    if names(findings) or findings.select("subject.degenerate", of=""):
        yield page(findings)


def show_clean(_ground: Ground, examination: Examination, findings: FindingIndex) -> Iterator[Part]:
    """How right subjects of images and texts are before anything is done to them, and how they learned."""
    if findings.select("subject", of="clean"):
        curves = {name: collect(subject.curve, None) for name, subject in examination.subjects.items()}
        yield clean_page(findings, curves, group_sizes(examination.evaluation))
