"""The attacks on terms, each with what must be known of it. A new one is a module of its own, and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.infra.choices import TaggedChoices
from assay.tasks.attacks.choice import GROUP
from assay.tasks.attacks.terms.choice import AnyTermAttackChoice, TermAttackChoice
from assay.tasks.attacks.terms.settings import Keyboard, Swap, Synonymy

if TYPE_CHECKING:
    import numpy as np

    from assay.tasks.attacks.terms.changing import Change, Term, TermMeans


def _swap(term: Term, attack: Swap, _: TermMeans, generator: np.random.Generator) -> Change:
    from assay.tasks.attacks.terms.changing import mistyped
    from assay.tasks.attacks.terms.typos import swap_letters

    return mistyped(swap_letters, term, attack, generator)


def _keyboard(term: Term, attack: Keyboard, _: TermMeans, generator: np.random.Generator) -> Change:
    from assay.tasks.attacks.terms.changing import mistyped
    from assay.tasks.attacks.terms.typos import press_neighbours

    return mistyped(press_neighbours, term, attack, generator)


def _synonymy(term: Term, _: Synonymy, means: TermMeans, generator: np.random.Generator) -> Change:
    from assay.tasks.attacks.terms.changing import renamed

    return renamed(term, means, generator)


TERM_ATTACKS: TaggedChoices[AnyTermAttackChoice] = TaggedChoices(
    "attack on terms",
    GROUP,
    TermAttackChoice,
    (
        TermAttackChoice(Swap, _swap),
        TermAttackChoice(Keyboard, _keyboard),
        TermAttackChoice(Synonymy, _synonymy, lexicon=lambda synonymy: synonymy.synonyms),
    ),
)
