"""One sentence under an attack on its terms (Araujo et al., Section 4.1): words, tags, and what became of each term.

What is drawn for a term does not depend on the severity: the terms attacked at a share of 0.5 are among those at 1, and
a word with two changes is the word with one, changed once more. So the severities of one attack can be compared
sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.tasks.attacks.terms.changing import SPARED, Change, Term, TermMeans
from assay.tasks.attacks.terms.settings import TermAttack
from assay.tasks.attacks.terms.spans import projected
from assay.tasks.attacks.terms.table import TERM_ATTACKS


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A sentence after the attack: words, tags (as many; None where it has none), and the changes in reading order."""

    words: list[str]
    tags: list[str] | None
    changes: list[Change]


def perturb(
    words: Sequence[str],
    tags: Sequence[str] | None,
    attack: TermAttack,
    means: TermMeans,
    generator: np.random.Generator,
) -> Perturbed:
    """The sentence under the attack at its first severity.

    Tags stay as they are, one for one, unless a synonym has more or fewer words than the term: then they are projected
    onto the new words.
    """
    choice, spans = TERM_ATTACKS.of(attack), means.finder.find(words, tags)
    drawn, seeds = generator.random(len(spans)), generator.integers(2**63, size=len(spans))
    new_words, new_tags, changes, end = list[str](), list[str](), list[Change](), 0
    for span, luck, seed in zip(spans, drawn.tolist(), seeds.tolist(), strict=True):
        before = tuple(words[span.first : span.last])
        if luck < attack.share[0]:
            own = None if tags is None else tags[span.first : span.last]
            change = choice.change(Term(span, before, own), attack, means, np.random.default_rng(seed))
        else:
            change = Change(span, before, before, SPARED)
        changes.append(change)
        new_words += [*words[end : span.first], *change.after]
        if tags is not None:
            kept = tags[span.first : span.last]
            same = len(change.after) == len(before)
            new_tags += [*tags[end : span.first], *(kept if same else projected(kept, len(change.after)) or ())]
        end = span.last
    new_words += words[end:]
    return Perturbed(new_words, None if tags is None else [*new_tags, *tags[end:]], changes)
