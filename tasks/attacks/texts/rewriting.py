"""Attacks on texts that swap no words: a function makes another text of a text, and may ask the subject as it does.

Each text is attacked by itself, with draws of its own, and what became of it is told as of word swaps
(`AttackedTexts`): which stretches of the original gave way to which.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import AttackedTexts
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import plugin_faults
from assay.tasks.attacks.table import TEXT_ATTACKS
from assay.tasks.attacks.texts.settings import MUST_CHANGE, TextRewrite
from assay.tasks.attacks.texts.similarity import CharacterEncoder, cosine_to
from assay.tasks.language.words import words_of
from assay.tasks.subjects.predictions import answered_classes
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.model import TextModel
from assay.tasks.subjects.texts.rows import load_text_model, texts_of

WRONG = "the prediction is wrong already"
"""Why a text is skipped whose prediction needs no attack to be wrong."""
UNTOUCHED, STANDS = "the attack left the text as it is", "the prediction stands"
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True)
class Change:
    """What an attack changed: at which word of the text, where it stood, and what stands there now."""

    position: int
    start: int
    end: int
    original: str
    replacement: str


@dataclass(frozen=True)
class Outcome:
    """What came of one text: `similarity` and `second` (by another encoder) are None where nothing was changed."""

    status: str
    reason: str
    text: str
    words: int
    changes: tuple[Change, ...] = ()
    similarity: float | None = None
    second: float | None = None
    queries: int = 0


def outcome_columns(
    outcome: Outcome, text: str, before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], *, chances: bool
) -> dict[str, object]:
    """What came of a text, and what the subject says of it before and after, as columns of `AttackedTexts`; without
    `chances` there are no probabilities."""
    changes = outcome.changes
    return {
        "status": outcome.status,
        "reason": outcome.reason,
        "text": text,
        "predicted": int(answered_classes(before)),
        "probabilities": before.tolist() if chances else [],
        "attacked": int(answered_classes(after)),
        "attacked_probabilities": after.tolist() if chances else [],
        "attacked_text": outcome.text,
        "words": outcome.words,
        "positions": [change.position for change in changes],
        "starts": [change.start for change in changes],
        "ends": [change.end for change in changes],
        "originals": [change.original for change in changes],
        "replacements": [change.replacement for change in changes],
        "changed": len(changes),
        "modified": len(changes) / outcome.words if outcome.words else 0.0,
        "similarity": outcome.similarity,
        "second_similarity": outcome.second,
        "queries": outcome.queries,
    }


class Asking:
    """The subject, as an attack asks it: texts in, the probability of every class out [n, k]; texts are counted, and
    `classes` says what the classes are called."""

    def __init__(self, model: TextModel, classes: Sequence[str] = ()) -> None:
        self._model, self.queries, self.classes = model, 0, classes

    def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """What the subject says of the texts."""
        self.queries += len(texts)
        return self._model.probabilities(list(texts))


def rewrite_rows(
    samples: pa.Table,
    *,
    attack: TextRewrite,
    subject: ResolvedSubject,
    files: dict[str, bytes],
    classes: int,
    seeds: Seeds,
    names: Sequence[str] = (),
) -> pa.Table:
    """One row of `AttackedTexts` per sample."""
    if samples.num_rows == 0:
        return AttackedTexts.schema.empty_table()
    choice, model, encoder = TEXT_ATTACKS.of(attack), load_text_model(subject, files, classes), CharacterEncoder()
    assert choice.rewrite is not None
    texts = texts_of(samples, subject.settings.text)
    before, rows, chances = model.probabilities(texts), [], subject.gives_chances
    for sample, gold, text, own in zip(
        samples["id"].to_pylist(), samples["gold"].to_pylist(), texts, before, strict=True
    ):
        predicted, asking, new = int(answered_classes(own)), Asking(model, names), text
        wrong = (gold is not None and gold >= 0 and gold != predicted) or predicted >= classes
        if not wrong:
            with plugin_faults(attack, choice.word, subject.masked):
                new = choice.rewrite(text, predicted, asking, attack, seeds.generator(sample))
            if not isinstance(new, str):
                raise InputError(f"The attack {choice.word} made a {type(new).__name__} of a text, expected a text.")
        changes = tuple(changed_stretches(text, new))
        after = model.probabilities([new])[0] if changes else own
        stands = int(answered_classes(after)) == predicted
        fooled = stands is choice.must_change
        reason = MUST_CHANGE if choice.must_change else STANDS if stands else ""
        reason = WRONG if wrong else reason if changes else UNTOUCHED
        status = "skipped" if not changes else "success" if fooled else "failed"
        alike = float(cosine_to(encoder.encode([text])[0], encoder.encode([new]))[0]) if changes else None
        outcome = Outcome(status, reason, new, len(words_of(text)), changes, alike, queries=asking.queries)
        about = {"id": sample, "gold": None if choice.must_change else gold, "refused": 0}
        about |= {"encoder": encoder.name, "second_encoder": "", "ranking": "", "providers": [], "limits": []}
        rows.append(about | outcome_columns(outcome, text, own, after, chances=chances))
    return pa.Table.from_pylist(rows, schema=AttackedTexts.schema)


def changed_stretches(text: str, new: str) -> Iterator[Change]:
    """The stretches of a text that gave way, in reading order.

    >>> changes = changed_stretches("so bad, so sad", "so baad so sad!")
    >>> [(change.start, change.end, change.replacement) for change in changes]
    [(3, 7, 'baad'), (14, 14, '!')]
    """
    from Levenshtein import matching_blocks, opcodes

    old_tokens, new_tokens = _TOKEN.findall(text), _TOKEN.findall(new)
    starts = np.cumsum([0, *map(len, old_tokens)]).tolist()
    words = [word.start for word in words_of(text)]
    first = new_first = 0
    for same, new_same, length in matching_blocks(opcodes(old_tokens, new_tokens), old_tokens, new_tokens):
        start, end, put_in = starts[first], starts[same], "".join(new_tokens[new_first:new_same])
        if end > start or put_in:
            yield Change(bisect_left(words, start), start, end, text[start:end], put_in)
        first, new_first = same + length, new_same + length
