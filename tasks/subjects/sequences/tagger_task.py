"""The stages of a tagger: it learns from tagged sentences (or comes trained), and tags others."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from assay.data.biomedical_schemas import Tagged
from assay.data.image_schemas import TrainingCurve
from assay.data.schemas import Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions, read_files, reduce_partitions, tally_of
from assay.infra.stage import say, stage, stage_seeds, write_files, write_table
from assay.infra.trainings import train_on_worker
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.cards import card_file
from assay.tasks.subjects.sequences.rows import sentences_of
from assay.tasks.subjects.sequences.tag_learning import learn_tags
from assay.tasks.subjects.sequences.tagging import tag_table
from assay.tasks.subjects.sequences.usual_training import options_of
from assay.tasks.subjects.texts.learning import curve_table


class TrainedTagger(NamedTuple):
    """A tagger's files, and how it learned (no rows where it came trained)."""

    files: Artifact[SubjectFiles]
    curve: Artifact[TrainingCurve]


def train_tagger(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedTagger:
    """The tagger's files by the stage that makes them: trained on these sentences, or as it came."""
    learns = subject.way != "own" and options_of(subject.settings) is not None
    return teach_tagger(training, subject) if learns else take_tagger(training, subject)


@stage(version=1, title="train", draws=True, gpu=True)
def teach_tagger(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedTagger:
    """A small BERT from scratch, or a transformer fine-tuned, by epochs on one worker."""
    made = train_on_worker(
        learn_tags, training, into=SubjectFiles, curve=TrainingCurve, subject=subject, seeds=stage_seeds()
    )
    trained = TrainedTagger(*made)
    last = collect(trained.curve, None).sort_by("epoch").to_pylist()[-1]
    shown = "" if last["train_accuracy"] is None else f", {last['train_accuracy']:.1%} of the words right"
    say(f"{subject.settings.tagger} · {last['epoch']} epochs of {training.rows} sentences{shown}")
    return trained


@stage(version=1, title="subject")
def take_tagger(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedTagger:
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
    curve = write_table(curve_table([]), into=TrainingCurve)
    return TrainedTagger(write_files(files | card_file(subject, files, about), into=SubjectFiles), curve)


@stage(version=1, title="tags", gpu=True)
def predict_tags(
    samples: Artifact[Samples], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[Tagged]:
    """What the tagger says of every word."""
    tagged: Artifact[Tagged] = map_partitions(tag_table, samples, into=Tagged, subject=subject, files=read_files(files))
    cut = tally_of(tagged).get("cut", 0)
    longer = f" · {cut} longer than it reads, and cut" if cut else ""
    say(f"{subject.settings.tagger} · {samples.rows} sentences{longer}")
    return tagged


def tags_in(samples: pa.Table, *, subject: ResolvedSubject) -> dict[str, frozenset[str]]:
    """The tags in a partition of the samples."""
    found = sentences_of(samples, subject.settings)
    return {"tags": frozenset(tag for tags in found.tags for tag in tags or ())}
