"""The stages of a tagger: it learns from tagged sentences (or comes trained), and tags others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from assay.data.biomedical_schemas import Tagged
from assay.data.schemas import Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.partitions import map_partitions, read_files, reduce_partitions
from assay.infra.stage import say, stage, stage_seeds
from assay.tasks.subjects.cut_short import cut_in_words
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.cards import card_file
from assay.tasks.subjects.sequences.rows import sentences_of
from assay.tasks.subjects.sequences.tag_learning import learn_tags
from assay.tasks.subjects.sequences.tag_table import tag_table
from assay.tasks.subjects.sequences.usual_training import options_of
from assay.tasks.subjects.trained import TrainedSubject, trained_on_worker, without_epochs


def train_tagger(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedSubject:
    """The tagger's files by the stage that makes them: trained on these sentences, or as it came."""
    learns = subject.way != "own" and options_of(subject.settings) is not None
    return teach_tagger(training, subject) if learns else take_tagger(training, subject)


@stage(version=1, title="train", draws=True, gpu=True)
def teach_tagger(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedSubject:
    """A small BERT from scratch, or a transformer fine-tuned, by epochs on one worker."""
    trained = trained_on_worker(learn_tags, training, subject=subject, seeds=stage_seeds())
    last = trained.last_epoch()
    shown = "" if last["train_accuracy"] is None else f", {last['train_accuracy']:.1%} of the words right"
    say(f"{subject.settings.tagger} · {last['epoch']} epochs of {training.rows} sentences{shown}")
    return trained


@stage(version=1, title="subject")
def take_tagger(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedSubject:
    """A tagger as it came: the user's function, or a Hugging Face model, its labels read as the samples' tags."""
    files: dict[str, bytes] = {}
    strangers = ""
    if subject.source is None:
        about: dict[str, Any] = {"how": "the user's own function", "code": subject.fingerprint}
    else:
        from assay.tasks.subjects.sequences.tag_taking import given_tagger

        known = reduce_partitions(tags_in, training, subject=subject)["tags"]
        files, about = given_tagger(subject.source, sorted(known))
        strangers = f" · read as O: {', '.join(about['strangers'])}" if about["strangers"] else ""
    say(f"{subject.settings.tagger}, as it came{strangers}")
    return without_epochs(files | card_file(subject, files, about))


@stage(version=1, title="tags", gpu=True)
def predict_tags(
    samples: Artifact[Samples], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[Tagged]:
    """What the tagger says of every word."""
    tagged: Artifact[Tagged] = map_partitions(tag_table, samples, into=Tagged, subject=subject, files=read_files(files))
    say(f"{subject.settings.tagger} · {samples.rows} sentences{cut_in_words(tagged)}")
    return tagged


def tags_in(samples: pa.Table, *, subject: ResolvedSubject) -> dict[str, frozenset[str]]:
    """The tags in a partition of the samples."""
    sentences = sentences_of(samples, subject.settings)
    return {"tags": frozenset(tag for tags in sentences.tags for tag in tags or ())}
