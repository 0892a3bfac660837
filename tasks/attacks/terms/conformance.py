"""Whether an attack on terms keeps what every one promises, tried on a few terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.infra.errors import AssayError, InputError, told
from assay.tasks.attacks.terms.changing import CHANGED, Change, Term, TermMeans
from assay.tasks.attacks.terms.finders import GoldFinder
from assay.tasks.attacks.terms.spans import Span
from assay.tasks.language.lexicons import shipped_lexicon

if TYPE_CHECKING:
    from assay.tasks.attacks.terms.choice import AnyTermAttackChoice

TERMS = (("hypertension",), ("myocardial", "infarction"), ("aspirin",), ("x",))


def term_attack_conformance(choice: AnyTermAttackChoice) -> list[str]:
    """What keeps an attack on terms from being one, a sentence; nothing where all is well.

    It gives a change of the term that it was handed, whose words are texts without blanks, which says that it is one
    exactly where words differ; and the same draws make the same of a term, whatever it changed in between.
    """
    try:
        first = [_checked_change(choice, words) for words in TERMS]
        again = [_checked_change(choice, words) for words in reversed(TERMS)][::-1]
        if first != again:
            raise InputError(
                f"The attack {choice.word} makes something else of a term when it is asked again with the same "
                "generator: all draws come from that."
            )
    except AssayError as error:
        return [str(error)]
    except Exception as fault:  # noqa: BLE001  an author is told whatever it was
        return [f"The attack {choice.word} raised {told(fault)}"]
    return []


def _checked_change(choice: AnyTermAttackChoice, words: tuple[str, ...]) -> Change:
    term = Term(Span(0, len(words), "Disease"), words, ("B-Disease", *["I-Disease"] * (len(words) - 1)))
    means = TermMeans(GoldFinder(), None if choice.lexicon is None else shipped_lexicon())
    change = choice.change(term, choice.settings(), means, np.random.default_rng(0))
    if not isinstance(change, Change):
        raise InputError(f"The attack {choice.word} gave {type(change).__name__}, expected a Change.")
    if change.span != term.span or change.before != words:
        raise InputError(f"The attack {choice.word} gave a change of {change.before}, and was asked about {words}.")
    wrong = next((one for one in change.after if not isinstance(one, str) or len(one.split()) != 1), None)
    if wrong is not None or not change.after:
        raise InputError(
            f"The attack {choice.word} put {wrong!r} in the place of {' '.join(words)!r}, expected words, each a text "
            "without blanks."
        )
    if (change.after != words) != (change.outcome == CHANGED):
        raise InputError(
            f"The attack {choice.word} made {change.after} of {words} and calls that {change.outcome!r}: {CHANGED!r} "
            "is what differs, and nothing else."
        )
    return change
