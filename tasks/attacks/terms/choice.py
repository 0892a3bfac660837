"""What an attack on terms is to everybody else: its settings, and what becomes of a term."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assay.infra.errors import InputError
from assay.tasks.attacks.choice import AttackChoice
from assay.tasks.attacks.terms.settings import TermAttack

if TYPE_CHECKING:
    import numpy as np

    from assay.tasks.attacks.terms.changing import Change, Term, TermMeans

A = TypeVar("A", bound=TermAttack)


@dataclass(frozen=True)
class TermAttackChoice(AttackChoice, Generic[A]):
    """An attack on terms that a pipeline can name.

    `change` is given a term, the settings at one severity, the lexicon, and a generator of the term's own, from which
    all draws come. Attacks that need a `lexicon` say which one their settings name (None: the one that `terms` names,
    or ours); others have none.
    """

    settings: type[A]
    change: Callable[[Term, A, TermMeans, np.random.Generator], Change]
    lexicon: Callable[[A], str | None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not issubclass(self.settings, TermAttack):
            raise InputError(f"{self.settings.__name__} is no TermAttack, and every attack on terms has its settings.")

    def conformance(self) -> list[str]:
        """What keeps the attack from being one, a sentence each: it is tried on a few terms."""
        from assay.tasks.attacks.terms.conformance import term_attack_conformance

        return super().conformance() or term_attack_conformance(self)


AnyTermAttackChoice = TermAttackChoice[Any]
