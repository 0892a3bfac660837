"""What an attack on texts is to everybody else: its settings, and where its replacements come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from assay.infra.errors import InputError
from assay.tasks.attacks.choice import AttackChoice
from assay.tasks.attacks.noise.settings import Noise
from assay.tasks.attacks.words.settings import WordAttack

A = TypeVar("A", bound=WordAttack | Noise)


@dataclass(frozen=True)
class TextAttackChoice(AttackChoice, Generic[A]):
    """An attack on texts that a pipeline can name: it swaps words while it asks the subject, or adds noise without.

    `replacements` says what may take a word's place, the best first: it is given the words of the attacked texts, the
    training texts, the settings and a seed, and may leave words out. Attacks without it take near words by vectors or
    lists, or, `guided`, what the trust oracle's pools hold, so that they need `trust`.
    """

    settings: type[A]
    guided: bool = False
    replacements: Callable[[Sequence[str], Sequence[str], A, int], Mapping[str, Sequence[str]]] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not issubclass(self.settings, WordAttack | Noise):
            raise InputError(f"{self.settings.__name__} is no WordAttack, and every attack on texts has its settings.")

    @property
    def swaps_words(self) -> bool:
        """Whether words give way to others as the subject is asked: such attacks are compared with each other."""
        return issubclass(self.settings, WordAttack)


AnyTextAttackChoice = TextAttackChoice[Any]
