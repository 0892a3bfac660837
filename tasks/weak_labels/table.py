"""The labelers, each with what must be known of it. A new one is a module of its own, and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.infra.choices import NamedChoices
from assay.tasks.weak_labels.choice import GROUP, LabelerChoice

if TYPE_CHECKING:
    from assay.tasks.statistics.vote_counts import VoteCounts
    from assay.tasks.weak_labels.models import Labeler, Options


def _snorkel(counts: VoteCounts, settings: Options) -> Labeler:
    from assay.tasks.weak_labels.snorkel_counts import snorkel

    balance = getattr(settings, "class_balance", None)  # the options of a trial run know no classes
    return snorkel(counts, settings, balance if isinstance(balance, tuple) else None)


def _load_snorkel() -> None:
    from assay.tasks.weak_labels.snorkel_counts import load

    load()


LABELERS: NamedChoices[LabelerChoice] = NamedChoices(
    "labeler",
    GROUP,
    LabelerChoice,
    (LabelerChoice("majority"), LabelerChoice("snorkel", learn=_snorkel, load=_load_snorkel)),
)
