"""What the oracle is compared with: Naive (the subject's confidence), and the oracle without keyword identification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from assay.tasks.language.relatedness import cosines
from assay.tasks.trust.keywords import agreed
from assay.tasks.trust.oracle import NO_WORDS, Judgement, Label, weigh
from assay.tasks.trust.spaces import Space


def naive_label(confidence: float, least: float) -> Label:
    """Trustworthy iff the subject is at least so confident.

    >>> naive_label(0.95, 0.9)
    'trustworthy'
    """
    return "trustworthy" if confidence >= least else "untrustworthy"


def judge_by_name(
    words: Mapping[str, float], name: Sequence[str], spaces: Sequence[Space],
    importance: Literal["different", "equivalent"],
) -> Judgement:  # fmt: skip
    """TOKI(−K.I): as Eq. 6, with a word related iff most providers find it related to the class name itself."""
    listed = list(words)
    if not listed:
        return Judgement("undecided", NO_WORDS)
    near = np.stack([cosines(space.of(listed), space.mean(name)[None, :])[:, 0] for space in spaces])
    known = ~np.isnan(near)
    thetas = np.array([space.theta for space in spaces])[:, None]
    yes = agreed(np.nan_to_num(near, nan=-np.inf) >= thetas, known).tolist()
    heard = np.asarray(known.any(axis=0)).tolist()
    related = [one if any_known else None for one, any_known in zip(yes, heard, strict=True)]
    return weigh([1.0 if importance == "equivalent" else words[word] for word in listed], related)
