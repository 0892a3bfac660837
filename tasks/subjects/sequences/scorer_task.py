"""The stages of a scorer of sentence pairs: it learns from scored pairs (or comes trained), and scores others."""

from __future__ import annotations

import json
from typing import Any

from assay.data.biomedical_schemas import Scored
from assay.data.schemas import Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.partitions import map_partitions, read_files
from assay.infra.stage import say, stage, stage_seeds
from assay.tasks.subjects.cut_short import cut_in_words
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.cards import card_file
from assay.tasks.subjects.sequences.score_learning import learn_scores
from assay.tasks.subjects.sequences.score_table import score_table
from assay.tasks.subjects.sequences.usual_training import options_of
from assay.tasks.subjects.token_networks.cards import CARD
from assay.tasks.subjects.trained import TrainedSubject, trained_on_worker, without_epochs


def train_scorer(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedSubject:
    """The scorer's files by the stage that makes them: trained on these pairs, or as it came."""
    learns = subject.way != "own" and options_of(subject.settings) is not None
    return teach_scorer(training, subject) if learns else take_scorer(subject)


@stage(version=1, title="train", draws=True, gpu=True)
def teach_scorer(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedSubject:
    """Two towers from scratch or from MiniLM, or a transformer fine-tuned, by epochs on one worker."""
    trained = trained_on_worker(learn_scores, training, subject=subject, seeds=stage_seeds())
    last = trained.last_epoch()
    pairs = json.loads(read_files(trained.files)[CARD])["training_samples"]
    say(f"{subject.settings.scorer} · {last['epoch']} epochs of {pairs} pairs, mean squared error {last['loss']:.3f}")
    return trained


@stage(version=1, title="subject")
def take_scorer(subject: ResolvedSubject) -> TrainedSubject:
    """A scorer as it came: the user's function, or a Hugging Face model with one output."""
    files: dict[str, bytes] = {}
    if subject.source is None:
        about: dict[str, Any] = {"how": "the user's own function", "code": subject.fingerprint}
    else:
        from assay.tasks.subjects.sequences.score_taking import given_scorer

        files, about = given_scorer(subject.source)
    say(f"{subject.settings.scorer}, as it came")
    return without_epochs(files | card_file(subject, files, about))


@stage(version=1, title="scores", gpu=True)
def predict_scores(
    samples: Artifact[Samples], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[Scored]:
    """How similar the scorer finds the sentences of every pair."""
    scored: Artifact[Scored] = map_partitions(
        score_table, samples, into=Scored, subject=subject, files=read_files(files)
    )
    say(f"{subject.settings.scorer} · {samples.rows} pairs{cut_in_words(scored)}")
    return scored
