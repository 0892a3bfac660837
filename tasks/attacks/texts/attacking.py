"""A partition of texts in, attacked texts out: one attack object per worker, every text by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import AttackedTexts
from assay.infra.errors import InputError
from assay.tasks.attacks.texts.measures import BLIND, is_blind
from assay.tasks.attacks.texts.resolved import WORD_VECTORS, ResolvedWordAttack
from assay.tasks.attacks.texts.rewriting import WRONG, Outcome, outcome_columns
from assay.tasks.attacks.texts.similarity import CharacterEncoder, Encoder, NetworkEncoder, WordVectorEncoder
from assay.tasks.attacks.texts.swaps import EVERY_CLASS
from assay.tasks.language.words import normalised, words_of
from assay.tasks.subjects.predictions import answered_classes
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.model import UnusableTextError
from assay.tasks.subjects.texts.rows import load_text_model, texts_of

if TYPE_CHECKING:
    from assay.tasks.attacks.texts.composing import WordAttacker


Probabilities = npt.NDArray[np.float64]


@dataclass(frozen=True)
class AttackKit:
    """Everything that an attack on texts needs; two with one `key` are the same, so a worker builds one attack."""

    key: str
    subject: ResolvedSubject = field(compare=False)
    files: dict[str, bytes] = field(compare=False)
    classes: int = field(compare=False)
    attack: ResolvedWordAttack = field(compare=False)
    swaps: pa.Table = field(compare=False)
    vectors: pa.Table = field(compare=False)
    limits: pa.Table = field(compare=False)
    """Of `CosineLimits`: how near a replacement is, by source of vectors, and whether that means anything."""


@dataclass(frozen=True)
class Offered:
    """What an attack may put in: what is listed for a word, without its opposites; nothing for a word that stays."""

    listed: Callable[[str, int], Sequence[str]]
    attack: ResolvedWordAttack

    def __call__(self, word: str, code: int) -> Sequence[str]:
        """The replacements of a word in a text of a class."""
        return [replacement for replacement in self.listed(word, code) if self.permits(word, replacement)]

    def permits(self, word: str, replacement: str) -> bool:
        """Whether a word may give way to another."""
        return word not in self.attack.keep and not self.attack.refuses(word, replacement)

    def refused(self, text: str, code: int) -> int | None:
        """How many replacements of a text's words are their opposites, and left out; None where opposites may stay."""
        if self.attack.settings.antonyms == "allow":
            return None
        words = {normalised(word.text) for word in words_of(text)} - self.attack.keep
        return sum(self.attack.refuses(word, replacement) for word in words for replacement in self.listed(word, code))


def attack_rows(samples: pa.Table, *, kit: AttackKit) -> pa.Table:
    """One row of `AttackedTexts` per sample."""
    if samples.num_rows == 0:
        return AttackedTexts.schema.empty_table()
    from assay.tasks.attacks.texts.composing import NOT_LISTED, REFUSED

    (attacker, offered), blind = prepared(kit), is_blind(kit.limits)
    model = attacker.victim.model
    ids, texts = samples["id"].to_pylist(), texts_of(samples, kit.subject.settings.text)
    before = model.probabilities(texts)
    outcomes = [
        _outcome(attacker, sample, text, gold, int(predicted), blind)
        for sample, text, gold, predicted in zip(
            ids, texts, samples["gold"].to_pylist(), answered_classes(before).tolist(), strict=True
        )
    ]
    after, chances = before.copy(), kit.subject.gives_chances
    asked = [place for place, outcome in enumerate(outcomes) if outcome.changes]
    if asked:
        after[asked] = model.probabilities([outcomes[place].text for place in asked])
    rows, (providers, limits) = [], (kit.limits[name].to_pylist() for name in ("provider", "limit"))
    for at, outcome in enumerate(outcomes):
        predicted, confirmed = int(answered_classes(before[at])), _confirmed(outcome, texts[at], before[at], after[at])
        refused = offered.refused(texts[at], predicted)
        if confirmed.reason == WRONG and refused is not None:  # opposites are refused, and here none was asked for
            refused = 0
        if confirmed.reason == NOT_LISTED and refused:
            confirmed = replace(confirmed, reason=REFUSED)
        answer = before[at] if confirmed.status == "skipped" else after[at]
        assert confirmed.status != "success" or confirmed.changes
        about = {"id": ids[at], "gold": samples["gold"][at].as_py(), "refused": refused}
        about |= {"encoder": attacker.encoder.name, "second_encoder": attacker.second.name}
        about |= {"ranking": attacker.ranking, "providers": providers, "limits": limits}
        rows.append(about | outcome_columns(confirmed, texts[at], before[at], answer, chances=chances))
    return pa.Table.from_pylist(rows, schema=AttackedTexts.schema)


def _confirmed(outcome: Outcome, text: str, before: Probabilities, after: Probabilities) -> Outcome:
    """The outcome, if the subject says of the attacked text again what it said during the attack; else it is no result.

    A function of the user's may answer differently each time: near a tie that looks like a successful attack.
    """
    from assay.tasks.attacks.texts.composing import FICKLE

    fooled = bool(answered_classes(after) != answered_classes(before))
    if outcome.status == "skipped" or fooled == (outcome.status == "success"):
        return outcome
    return replace(outcome, status="skipped", reason=FICKLE, text=text, changes=(), similarity=None, second=None)


@lru_cache(maxsize=1)
def prepared(kit: AttackKit) -> tuple[WordAttacker, Offered]:
    """The attack of a kit, and what it may put in; each process puts it together once."""
    from assay.tasks.attacks.texts.composing import compose
    from assay.tasks.attacks.texts.textattack_parts import MaskedSwap

    model = load_text_model(kit.subject, kit.files, kit.classes)
    encoder, second = encoders(kit.attack, kit.vectors)
    offered = Offered(look_up(kit.swaps), kit.attack)
    masked, settings = kit.attack.masked, kit.attack.settings
    swap = None if masked is None else MaskedSwap(str(masked.folder), settings.candidates, offered.permits)
    return compose(model, settings, encoder, offered, second, swap), offered


def encoders(attack: ResolvedWordAttack, vectors: pa.Table) -> tuple[Encoder, Encoder]:
    """The encoder of the constraint, and another one that the report asks too."""
    by_words = WordVectorEncoder(WORD_VECTORS, known_vectors(vectors))
    if attack.encoder.folder is None:
        return by_words, CharacterEncoder()
    return NetworkEncoder(attack.encoder.name, attack.encoder.folder), by_words


def look_up(swaps: pa.Table) -> Callable[[str, int], Sequence[str]]:
    """What may take a word's place in a text of a class, by a table of `WordSwaps`."""
    rows = swaps.select(["word", "code", "candidates"]).to_pylist()
    listed: dict[tuple[str, int], list[str]] = {(row["word"], row["code"]): row["candidates"] for row in rows}
    return lambda word, code: listed.get((word, code)) or listed.get((word, EVERY_CLASS)) or ()


def known_vectors(vectors: pa.Table) -> Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """The vectors in a table of `WordVectors`, those that are there."""
    return {
        row["word"]: np.array(row["vector"], dtype=np.float32)
        for row in vectors.select(["word", "vector"]).to_pylist()
        if row["vector"] is not None
    }


def _outcome(attacker: WordAttacker, sample: str, text: str, gold: int | None, predicted: int, blind: bool) -> Outcome:
    if (gold is not None and gold >= 0 and gold != predicted) or predicted >= attacker.victim.model.classes:
        return Outcome("skipped", WRONG, text, len(words_of(text)))
    if blind:
        return Outcome("skipped", BLIND, text, len(words_of(text)))
    try:
        return attacker.outcome(text, predicted)
    except UnusableTextError as fault:
        raise InputError(f"{fault.reason} for a text that the attack made of sample {sample!r}.") from fault
