"""The kinds of subject in one table: what names each, what it reads and learns from, and the stages that bring it up.

Nothing heavy is imported before a kind's stages are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pyarrow as pa

from assay.data.schemas import Classes, Findings, PredictedNumbers, Predictions, Samples, Scored, SubjectFiles, Tagged
from assay.infra.stages.partitions import Tallied
from assay.infra.stages.stage import Stage
from assay.infra.storage.artifacts import Artifact, Table
from assay.tasks.subjects.addresses.given import KindName
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import KNOWN, Subject
from assay.tasks.subjects.trained import TrainedSubject

K = TypeVar("K", bound=Table)


@dataclass(frozen=True)
class Predicting(Generic[K]):
    """How a subject is asked about samples; `K` is what it answers with."""

    predict: Stage[..., Artifact[K]]
    """The stage that asks it."""

    table: Callable[[pa.Table, ResolvedSubject, dict[str, bytes], Sequence[str]], pa.Table | Tallied]
    """What that stage writes for a partition of the samples, with the subject's files and the classes."""

    by_class: bool = True
    """Whether its answers are classes of the audit, so that it is handed these."""

    def given(self, samples: Artifact[Samples], classes: Artifact[Classes], *model: Any) -> tuple[Any, ...]:
        """The arguments of the stage: samples, classes where it is handed them, and of the model files and subject."""
        return (samples, classes, *model) if self.by_class else (samples, *model)


@dataclass(frozen=True, kw_only=True)
class Stages(Predicting[K]):
    """How a subject of samples that were set apart is brought to where it can be challenged."""

    train: Callable[[Artifact[Samples], Artifact[Classes], ResolvedSubject], TrainedSubject]
    """Its files, trained on the samples where it learns, else as it came; and how it learned."""

    measure: Callable[[Artifact[K], Artifact[Samples], Artifact[Classes], str], Artifact[Findings]] | None = None
    """The findings on its answers to clean samples, under its name; None where they stand beside those of attacks."""

    def answer(
        self,
        samples: Artifact[Samples],
        classes: Artifact[Classes],
        files: Artifact[SubjectFiles],
        subject: ResolvedSubject,
    ) -> tuple[Artifact[K], Artifact[Findings] | None]:
        """What it says of clean samples, and the findings on that, where they are taken here."""
        answers = self.predict(*self.given(samples, classes, files, subject))
        measured = None if self.measure is None else self.measure(answers, samples, classes, subject.settings.name)
        return answers, measured


AnyStages = Stages[Predictions] | Stages[Tagged] | Stages[Scored]


@dataclass(frozen=True)
class SubjectKind:
    """What is known of a kind of subject."""

    name: KindName
    """The setting that names it: `subject: {network: …}`."""

    reads: tuple[str, ...] = ()
    """The settings that name the columns it reads; copies of a sample are known by these."""

    held_against: str | None = None
    """The setting that names the column of what is true, where that is no class."""

    always_trained: tuple[str, ...] = ()
    """The names that Assay trains in any case."""

    trainable: bool = False
    """Whether others are trained where `train` is given."""

    builders: bool = False
    """Whether code of the user's own builds something to be trained, rather than coming as it is."""

    stages: Callable[[], AnyStages] | None = None
    """The stages of what samples are set apart for; None for subjects of columns, which are cross-fitted instead."""

    def learns(self, named: str, train: object) -> bool:
        """Whether Assay trains what is so named, given what `train` says; if not, it comes as it is.

        >>> kind_of(Subject(classifier="small-bert")).learns("small-bert", None)
        True
        """
        return named in self.always_trained or (
            self.trainable and train is not None and (self.builders or ":" not in named)
        )

    def columns(self, subject: Subject) -> tuple[str, ...]:
        """The columns of text that a subject reads.

        >>> scorer = Subject(scorer="small-scorer")
        >>> kind_of(scorer).columns(scorer)
        ('first', 'second')
        """
        values = (getattr(subject, setting) for setting in self.reads)
        return tuple(name for value in values for name in ((value,) if isinstance(value, str) else value))


def _of_images() -> Stages[Predictions]:
    from assay.tasks.subjects.images.dataset import predict_table
    from assay.tasks.subjects.images.task import measure_images, predict_images, train_network

    return Stages(predict_images, predict_table, train=train_network, measure=measure_images)


def _of_texts() -> Stages[Predictions]:
    from assay.tasks.subjects.texts.rows import predict_table
    from assay.tasks.subjects.texts.task import measure_texts, predict_texts, train_classifier

    return Stages(predict_texts, predict_table, train=train_classifier, measure=measure_texts)


def _of_tags() -> Stages[Tagged]:
    from assay.tasks.subjects.sequences.task import predict_tags, tag_table, train_tagger

    return Stages(predict_tags, tag_table, by_class=False, train=train_tagger)


def _of_pairs() -> Stages[Scored]:
    from assay.tasks.subjects.sequences.task import predict_scores, score_table, train_scorer

    return Stages(predict_scores, score_table, by_class=False, train=train_scorer)


def _of_columns() -> Predicting[Predictions]:
    from assay.tasks.subjects.tables.task import predict_own, predict_samples

    return Predicting(predict_samples, predict_own)


def _of_numbers() -> Predicting[PredictedNumbers]:
    from assay.tasks.subjects.numbers.task import predict_numbers, predicted_numbers

    return Predicting(predict_numbers, predicted_numbers, by_class=False)


KINDS = (
    SubjectKind("model", always_trained=KNOWN["model"]),
    SubjectKind("network", trainable=True, builders=True, stages=_of_images),
    SubjectKind("classifier", ("text",), None, KNOWN["classifier"], trainable=True, stages=_of_texts),
    SubjectKind("tagger", ("tokens",), "tags", KNOWN["tagger"], trainable=True, stages=_of_tags),
    SubjectKind("scorer", ("pair",), "score", KNOWN["scorer"], trainable=True, stages=_of_pairs),
    SubjectKind("predictions"),
)
"""The kinds of subject, in the order in which the settings name them."""


def kind_of(subject: Subject) -> SubjectKind:
    """The kind of a subject.

    >>> kind_of(Subject(network="small-cnn", train={})).name
    'network'
    """
    return kind_called(subject.kind)


def kind_called(name: KindName) -> SubjectKind:
    """The kind that this setting names."""
    return next(kind for kind in KINDS if kind.name == name)


def kinds_written(subject: Mapping[str, object]) -> list[SubjectKind]:
    """The kinds that a subject names as it is written, before anything is validated: one, unless it is wrong.

    >>> [kind.name for kind in kinds_written({"tagger": "minilm", "name": "mine"})]
    ['tagger']
    """
    return [kind for kind in KINDS if subject.get(kind.name) is not None]


def stages_of(subject: Subject) -> AnyStages:
    """The stages of a subject that samples are set apart for."""
    stages = kind_of(subject).stages
    if stages is None:
        raise ValueError(f"{subject.name} is a subject of columns, which is cross-fitted on all samples.")
    return stages()


def asked_by(subject: Subject) -> Predicting[Any]:
    """How a subject of any kind is asked about samples."""
    return (kind_of(subject).stages or (_of_columns if subject.predicts is None else _of_numbers))()
