"""The stages of taggers and of scorers of sentence pairs: each learns (or comes trained), and answers for samples."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from assay.data.schemas import Samples, Scored, SubjectFiles, Tagged
from assay.infra.errors import InputError
from assay.infra.stages.partitions import Tallied, map_partitions, read_files, reduce_partitions
from assay.infra.stages.stage import say, stage, stage_seeds
from assay.infra.storage.artifacts import Artifact
from assay.tasks.reporting.numerals import plural
from assay.tasks.subjects.resolved import BuiltFrom, ResolvedSubject
from assay.tasks.subjects.sequences.rows import OwnScorer, OwnTagger, Scorer, Tagger, card_file, pairs_of, sentences_of
from assay.tasks.subjects.sequences.scorer import given_scorer, learn_scores, scorer_from_files
from assay.tasks.subjects.sequences.tagger import given_tagger, learn_tags, tagger_from_files
from assay.tasks.subjects.settings import options_of
from assay.tasks.subjects.token_networks.sources import ModelSource
from assay.tasks.subjects.trained import CARD, TrainedSubject, cut_in_words, trained_on_worker, without_epochs


@lru_cache(maxsize=4)
def _tagger(source: BuiltFrom) -> Tagger:
    code = source.subject.code
    return tagger_from_files(source.files) if code is None else OwnTagger(code, source.subject.masked)


def load_tagger(subject: ResolvedSubject, files: dict[str, bytes]) -> Tagger:
    """The tagger in a subject's files, on a GPU where there is one; each process builds it once."""
    return _tagger(BuiltFrom.of(subject, files))


def tag_table(samples: pa.Table, subject: ResolvedSubject, files: dict[str, bytes], _classes: object = ()) -> Tallied:
    """`Tagged` for a partition of the samples, and how many sentences were longer than the tagger reads (`cut`)."""
    sentences = sentences_of(samples, subject.settings)
    taggings = load_tagger(subject, files).tag(sentences.tokens)
    tags, confidence = [tagging.tags for tagging in taggings], [tagging.confidence for tagging in taggings]
    columns = [sentences.ids, sentences.tokens, sentences.tags, tags, confidence]
    return Tallied(pa.table(columns, schema=Tagged.schema), {"cut": sum(tagging.cut for tagging in taggings)})


@lru_cache(maxsize=4)
def _scorer(source: BuiltFrom) -> Scorer:
    code = source.subject.code
    return scorer_from_files(source.files) if code is None else OwnScorer(code, source.subject.masked)


def load_scorer(subject: ResolvedSubject, files: dict[str, bytes]) -> Scorer:
    """The scorer in a subject's files, on a GPU where there is one; each process builds it once."""
    return _scorer(BuiltFrom.of(subject, files))


def score_table(samples: pa.Table, subject: ResolvedSubject, files: dict[str, bytes], _classes: object = ()) -> Tallied:
    """`Scored` for a partition of the samples, and how many pairs were longer than the scorer reads (`cut`)."""
    given, scorer = pairs_of(samples, subject.settings), load_scorer(subject, files)
    scores = scorer.score(given.pairs)
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        raise InputError(f"The scorer gives no finite number for sample {given.ids[int(wrong[0])]!r}.")
    columns = [given.ids, given.scores, scores]
    return Tallied(pa.table(columns, schema=Scored.schema), {"cut": scorer.count_cut(given.pairs)})


def train_tagger(training: Artifact[Samples], _classes: object, subject: ResolvedSubject) -> TrainedSubject:
    """The tagger's files by the stage that makes them: trained on these sentences, or as it came."""
    return take_tagger(training, subject) if options_of(subject.settings) is None else teach_tagger(training, subject)


@stage(version=1, title="train", draws=True, gpu=True, libraries=["transformers"])
def teach_tagger(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedSubject:
    """A small BERT from scratch, or a transformer fine-tuned, by epochs on one worker."""
    trained = trained_on_worker(learn_tags, training, subject=subject, seeds=stage_seeds())
    last = trained.last_epoch()
    shown = "" if last["train_accuracy"] is None else f", {last['train_accuracy']:.1%} of the words right"
    say(f"{subject.settings.tagger} · {plural(last['epoch'], 'epoch')} of {training.rows} sentences{shown}")
    return trained


@stage(version=1, title="subject")
def take_tagger(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedSubject:
    """A tagger as it came: the user's function, or a Hugging Face model, its labels read as the samples' tags."""

    def given(source: ModelSource) -> tuple[dict[str, bytes], dict[str, Any]]:
        return given_tagger(source, sorted(reduce_partitions(tags_in, training, subject=subject)["tags"]))

    return _as_it_came(subject, given)


def _as_it_came(
    subject: ResolvedSubject, given: Callable[[ModelSource], tuple[dict[str, bytes], dict[str, Any]]]
) -> TrainedSubject:
    """The user's function, or what is `given` by the files of a Hugging Face model: these, and what the card says."""
    own = {"how": "the user's own function", "code": subject.fingerprint}
    files, about = ({}, own) if subject.source is None else given(subject.source)
    strangers = f" · read as O: {', '.join(about['strangers'])}" if about.get("strangers") else ""
    say(f"{subject.settings.named}, as it came{strangers}")
    return without_epochs(files | card_file(subject, files, about))


@stage(version=1, title="tags", gpu=True, libraries=["transformers"])
def predict_tags(
    samples: Artifact[Samples], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[Tagged]:
    """What the tagger says of every word."""
    tagged = map_partitions(tag_table, samples, into=Tagged, subject=subject, files=read_files(files))
    say(f"{subject.settings.tagger} · {samples.rows} sentences{cut_in_words(tagged)}")
    return tagged


def tags_in(samples: pa.Table, *, subject: ResolvedSubject) -> dict[str, frozenset[str]]:
    """The tags in a partition of the samples."""
    return {"tags": frozenset(tag for tags in sentences_of(samples, subject.settings).tags for tag in tags or ())}


def train_scorer(training: Artifact[Samples], _classes: object, subject: ResolvedSubject) -> TrainedSubject:
    """The scorer's files by the stage that makes them: trained on these pairs, or as it came."""
    return take_scorer(subject) if options_of(subject.settings) is None else teach_scorer(training, subject)


@stage(version=1, title="train", draws=True, gpu=True, libraries=["transformers"])
def teach_scorer(training: Artifact[Samples], subject: ResolvedSubject) -> TrainedSubject:
    """Two towers from scratch or from MiniLM, or a transformer fine-tuned, by epochs on one worker."""
    trained = trained_on_worker(learn_scores, training, subject=subject, seeds=stage_seeds())
    last = trained.last_epoch()
    pairs = json.loads(read_files(trained.files)[CARD])["training_samples"]
    trained_for = plural(last["epoch"], "epoch")
    say(f"{subject.settings.scorer} · {trained_for} of {pairs} pairs, mean squared error {last['loss']:.3f}")
    return trained


@stage(version=1, title="subject")
def take_scorer(subject: ResolvedSubject) -> TrainedSubject:
    """A scorer as it came: the user's function, or a Hugging Face model with one output."""
    return _as_it_came(subject, given_scorer)


@stage(version=1, title="scores", gpu=True, libraries=["transformers"])
def predict_scores(
    samples: Artifact[Samples], files: Artifact[SubjectFiles], subject: ResolvedSubject
) -> Artifact[Scored]:
    """How similar the scorer finds the sentences of every pair."""
    scored = map_partitions(score_table, samples, into=Scored, subject=subject, files=read_files(files))
    say(f"{subject.settings.scorer} · {samples.rows} pairs{cut_in_words(scored)}")
    return scored
