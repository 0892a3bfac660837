"""How rules do on samples: coverage, overlaps, conflicts, accuracy by gold, and the samples that show what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.flows.trying.rulebooks import cast
from assay.infra.seeds import Seeds
from assay.tasks.labeling.class_codes import class_codes, recode
from assay.tasks.labeling.rules import ABSTAIN
from assay.tasks.labeling.summary import LabelingCounts, count_votes, labeling_counts, vote_matrix
from assay.tasks.labeling.task import AnyRulebook

Why = Literal["votes on", "misses", "stands alone on"]
WHYS: tuple[Why, ...] = ("votes on", "misses", "stands alone on")

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Trial:
    """Rules that have voted: what was counted, which classes each votes for, and the rows that show what it does."""

    counts: LabelingCounts
    classes: tuple[str, ...]
    votes: npt.NDArray[np.int8]  # [n, m]
    gold: npt.NDArray[np.int64]  # [n], -1 where there is none
    faults: Mapping[str, str]

    @property
    def has_gold(self) -> bool:
        """Whether any sample's class is known."""
        return bool((self.gold >= 0).any())

    def rows(self, rule: int, why: Why) -> Rows:
        """The samples that a rule votes on; that it misses: it abstains, and gold, or else another rule, says a class
        that it votes for; or that it alone votes on."""
        mine = self.votes[:, rule]
        voted = mine != ABSTAIN
        if why == "votes on":
            return np.flatnonzero(voted)
        if why == "stands alone on":
            return np.flatnonzero(voted & ((self.votes != ABSTAIN).sum(axis=1) == 1))
        speaks_for = np.flatnonzero(self.counts.votes[rule])
        if self.has_gold:
            return np.flatnonzero(~voted & np.isin(self.gold, speaks_for))
        others = np.isin(self.votes, speaks_for).any(axis=1)
        return np.flatnonzero(~voted & others)

    def shown(self, rule: int, why: Why, most: int) -> Rows:
        """At most so many of these, drawn with seed 0, in their order."""
        rows = self.rows(rule, why)
        return (
            rows
            if len(rows) <= most
            else np.sort(Seeds(0, "samples of rules").generator().choice(rows, most, replace=False))
        )


def try_rules(rulebook: AnyRulebook, samples: pa.Table, classes: tuple[str, ...]) -> Trial:
    """The rules at work on samples, which have `id`, `gold` and what rules look at."""
    book, votes, faults = cast(rulebook, samples)
    votes = recode(votes, class_codes(book.name, book.classes, classes))
    counted = count_votes(votes, samples["gold"], len(classes))
    gold = samples["gold"].fill_null(ABSTAIN).to_numpy().astype(np.int64)
    return Trial(labeling_counts(book.names, counted), classes, vote_matrix(votes), gold, faults)
