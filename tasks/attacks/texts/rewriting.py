"""Attacks on texts that swap no words: a function makes another text of a text, and may ask the subject as it does.

Each text is attacked by itself, with draws of its own, and what became of it is told as of word swaps
(`AttackedTexts`): which stretches of the original gave way to which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.text_schemas import AttackedTexts
from assay.infra.errors import InputError
from assay.tasks.attacks.table import TEXT_ATTACKS
from assay.tasks.attacks.texts.attacking import WRONG
from assay.tasks.attacks.texts.similarity import CharacterEncoder, cosine_to
from assay.tasks.language.words import words_of
from assay.tasks.subjects.predictions import answered_classes
from assay.tasks.subjects.texts.rows import load_text_model, texts_of

if TYPE_CHECKING:
    from assay.infra.stages.exact import Seeds
    from assay.tasks.attacks.texts.settings import TextRewrite
    from assay.tasks.subjects.resolved import ResolvedSubject
    from assay.tasks.subjects.texts.model import TextModel

UNTOUCHED, STANDS = "the attack left the text as it is", "the prediction stands"
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


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
    for sample, gold, text, said in zip(
        samples["id"].to_pylist(), samples["gold"].to_pylist(), texts, before, strict=True
    ):
        predicted, asking, new = int(answered_classes(said)), Asking(model, names), text
        wrong = (gold is not None and gold >= 0 and gold != predicted) or predicted >= classes
        if not wrong:
            new = choice.rewrite(text, predicted, asking, attack, seeds.generator(sample))
            if not isinstance(new, str):
                raise InputError(f"The attack {choice.word} made a {type(new).__name__} of a text, expected a text.")
        changes = list(changed_stretches(text, new))
        after = model.probabilities([new])[0] if changes else said
        attacked = int(answered_classes(after))
        fooled = attacked != predicted
        similarity = float(cosine_to(encoder.encode([text])[0], encoder.encode([new]))[0]) if changes else None
        words = len(words_of(text))
        rows.append(
            {
                "id": sample,
                "gold": gold,
                "status": "skipped" if not changes else "success" if fooled else "failed",
                "reason": WRONG if wrong else UNTOUCHED if not changes else "" if fooled else STANDS,
                "predicted": predicted,
                "probabilities": said.tolist() if chances else [],
                "attacked": attacked,
                "attacked_probabilities": after.tolist() if chances else [],
                "text": text,
                "attacked_text": new,
                "positions": [len(words_of(text[:start])) for start, _, _ in changes],
                "starts": [start for start, _, _ in changes],
                "ends": [end for _, end, _ in changes],
                "originals": [text[start:end] for start, end, _ in changes],
                "replacements": [put_in for _, _, put_in in changes],
                "words": words,
                "changed": len(changes),
                "modified": len(changes) / words if words else 0.0,
                "similarity": similarity,
                "encoder": encoder.name,
                "second_similarity": None,
                "second_encoder": "",
                "queries": asking.queries,
                "refused": 0,
                "ranking": "",
                "providers": [],
                "limits": [],
            }
        )
    return pa.Table.from_pylist(rows, schema=AttackedTexts.schema)


def changed_stretches(text: str, new: str) -> Iterator[tuple[int, int, str]]:
    """The stretches of a text that gave way, as (start, end, what stands there now), in reading order.

    >>> list(changed_stretches("so bad, so sad", "so baad so sad!"))
    [(3, 7, 'baad'), (14, 14, '!')]
    """
    old_tokens, new_tokens = _TOKEN.findall(text), _TOKEN.findall(new)
    starts = np.cumsum([0, *map(len, old_tokens)]).tolist()
    for kind, first, last, new_first, new_last in SequenceMatcher(None, old_tokens, new_tokens, False).get_opcodes():
        if kind != "equal":
            yield starts[first], starts[last], "".join(new_tokens[new_first:new_last])
