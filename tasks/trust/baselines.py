"""What the oracle is compared with: Naive (the subject's confidence), and the oracle without keyword identification."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.tasks.language.relatedness import cosines
from assay.tasks.language.spaces import Space
from assay.tasks.trust.keywords import agreed
from assay.tasks.trust.oracle import Label, Relatedness


def naive_label(confidence: float, least: float) -> Label:
    """Trustworthy iff the subject is at least so confident.

    >>> naive_label(0.95, 0.9)
    'trustworthy'
    """
    return "trustworthy" if confidence >= least else "untrustworthy"


def by_name(name: Sequence[str], spaces: Sequence[Space]) -> Relatedness:
    """TOKI(−K.I): a word is related iff most providers find it related to the class name itself."""
    return Relatedness(lambda words: related_to_name(words, name, spaces))


def related_to_name(words: Sequence[str], name: Sequence[str], spaces: Sequence[Space]) -> list[bool | None]:
    """Whether each word's cosine with the class name reaches θ_relate, by more than half of the providers that know
    both; None where none does."""
    near = np.stack([cosines(space.of(words), space.mean(name)[None, :])[:, 0] for space in spaces])
    known = ~np.isnan(near)
    thetas = np.array([space.theta for space in spaces])[:, None]
    yes = agreed(np.where(known, near, -np.inf) >= thetas, known).tolist()
    heard = np.asarray(known.any(axis=0)).tolist()
    return [one if any_known else None for one, any_known in zip(yes, heard, strict=True)]
