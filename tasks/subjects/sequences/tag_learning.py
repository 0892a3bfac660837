"""A tagger in the making, on a worker: from tagged sentences to weights, a tokenizer, a card and the curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.subjects.curves import curve_table
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.sequences.alignment import align, read_word_by_word, targets
from assay.tasks.subjects.sequences.cards import card_file
from assay.tasks.subjects.sequences.rows import Words, sentences_of, tag_names
from assay.tasks.subjects.sequences.usual_training import options_of
from assay.tasks.subjects.texts.rows import origins_of
from assay.tasks.subjects.token_networks.blocks import IntArray
from assay.tasks.subjects.token_networks.computing import make_ready, tokenizer_in
from assay.tasks.subjects.token_networks.epochs import Answer, Exercise, learn_here, validating
from assay.tasks.subjects.token_networks.hugging_face import pad_of
from assay.tasks.subjects.token_networks.starts import Start, start_from, start_small

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from assay.tasks.subjects.learning_state import Checkpoints


@dataclass(frozen=True)
class TagExercise:
    """Sentences as pieces, and the tag of each piece that carries one."""

    network: Any
    ids: list[IntArray]
    target: list[IntArray]
    pad: int

    @property
    def lengths(self) -> IntArray:
        """The pieces of every sentence."""
        return np.array([len(one) for one in self.ids], dtype=np.int64)

    def answer(self, rows: IntArray, device: str) -> Answer:
        """Cross-entropy over the words of these sentences, and how many words are tagged rightly."""
        from assay.tasks.subjects.sequences.tag_loss import tag_answer

        ids, target = ([some[row] for row in rows] for some in (self.ids, self.target))
        return tag_answer(self.network, ids, target, self.pad, device)


def learn_tags(
    training: pa.Table, *, checkpoints: Checkpoints, subject: ResolvedSubject, seeds: Seeds
) -> tuple[dict[str, bytes], pa.Table]:
    """The subject's files and its curve: a small BERT from scratch, or a transformer fine-tuned."""
    options = options_of(subject.settings)
    assert options is not None
    lesson = _lesson(training, subject)
    sentences, names = lesson.sentences, lesson.names
    start = _start(subject, sentences, len(names), seeds)
    tokenizer = tokenizer_in(start.files)
    make_ready(start.network, tokenizer, start.limit)
    read_word_by_word(tokenizer)
    numbers = {name: code for code, name in enumerate(names)}
    codes = [[numbers[tag] for tag in given] for given in lesson.tags]
    curve = learn_here(
        start.network,
        _exercise(start, tokenizer, sentences, codes, spells=subject.source is None),
        validating(lesson.origins, options.validation),
        options,
        seeds=seeds,
        checkpoints=checkpoints,
    )
    about = start.about(options, len(sentences)) | {"outputs": list(names)}
    files = start.trained_files()
    return files | card_file(subject, files, about), curve_table(curve)


@dataclass(frozen=True)
class _Lesson:
    """Tagged sentences in the order of their ids, all tags, and per sentence the text that it comes from."""

    sentences: list[Words]
    tags: list[Words]
    names: tuple[str, ...]
    origins: list[str]


def _lesson(training: pa.Table, subject: ResolvedSubject) -> _Lesson:
    """What there is to learn from; no order of files shows in it."""
    ordered = training.sort_by("id")
    sentences = sentences_of(ordered, subject.settings)
    origins = origins_of(ordered, [" ".join(words) for words in sentences.tokens])
    known = [
        (words, tags, origin)
        for words, tags, origin in zip(sentences.tokens, sentences.tags, origins, strict=True)
        if tags is not None and words
    ]
    names = tag_names([tag for _, tags, _ in known for tag in tags])
    if len(names) == 1:
        raise InputError(
            f"None of the {len(sentences.ids)} training sentences has an entity in {subject.settings.tags!r}: a tagger "
            "needs tagged ones to learn from."
        )
    return _Lesson(
        [words for words, _, _ in known], [tags for _, tags, _ in known], names, [origin for _, _, origin in known]
    )


def _start(subject: ResolvedSubject, sentences: list[Words], outputs: int, seeds: Seeds) -> Start:
    if subject.source is None:
        return start_small([" ".join(words) for words in sentences], "tokens", outputs, seeds)
    return start_from(subject.source, f'The tagger "{subject.settings.tagger}"', "tokens", outputs, seeds)


def _exercise(
    start: Start, tokenizer: Tokenizer, sentences: list[Words], codes: list[list[int]], spells: bool
) -> Exercise:
    """Sentences and their tags; a network that knows no words yet also learns to spell."""
    pad = pad_of(start.network.config)
    if spells:
        from assay.tasks.subjects.sequences.spelling import SpellingExercise, spelt

        ends = (tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]"))
        return SpellingExercise(start.network, spelt(tokenizer, sentences, codes), ends, start.limit, pad)
    aligned = [align(tokenizer, words, pad) for words in sentences]
    taught = [targets(one, given) for one, given in zip(aligned, codes, strict=True)]
    return TagExercise(start.network, [one.ids for one in aligned], taught, pad)
