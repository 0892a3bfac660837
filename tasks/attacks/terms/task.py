"""Attacks on terms as a stage: made once, without asking any subject, so that every subject sees the same sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assay.data.schemas import Samples
from assay.data.term_schemas import TermChanges
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import map_partitions, tally_of
from assay.infra.stage import say, stage, stage_seeds
from assay.tasks.attacks.terms.changing import CHANGED
from assay.tasks.attacks.terms.resolved import ResolvedAttack
from assay.tasks.attacks.terms.rows import SentenceColumns, attacked_rows
from assay.tasks.attacks.terms.table import TERM_ATTACKS


class Perturbed(NamedTuple):
    """The attacked samples, in the order and with the columns of the originals, and what became of every term."""

    samples: Artifact[Samples]
    changes: Artifact[TermChanges]


@stage(version=1, title="terms", draws=True)
def perturb_terms(
    samples: Artifact[Samples], attacks: Sequence[ResolvedAttack], sentences: SentenceColumns, reach: float = 1.0
) -> Perturbed:
    """The samples under an attack; of several, each sample draws one. `reach` is the share that is attacked at all."""
    perturbed = Perturbed(
        *map_partitions(
            attacked_rows,
            samples,
            into=(Samples, TermChanges),
            attacks=list(attacks),
            sentences=sentences,
            seeds=stage_seeds(),
            reach=reach,
        )
    )
    counted = tally_of(perturbed.samples) or tally_of(perturbed.changes)
    outcomes, untagged = counted.get("outcomes", {}), counted.get("untagged", 0)
    if untagged and untagged == samples.rows:
        raise InputError(
            f"None of the {untagged} sentences has tags in {sentences.tags!r}, so that nobody can say what an attack "
            "does to them; bring tagged sentences, or name their column with the subject's `tags`."
        )
    named = " or ".join(dict.fromkeys(TERM_ATTACKS.of(attack.settings).word for attack in attacks))
    rest = " · ".join(f"{outcome} {count}" for outcome, count in sorted(outcomes.items()) if outcome != CHANGED)
    severity = attacks[0].settings.group
    stays = f" · {untagged} sentences without tags stay" if untagged else ""
    say(
        f"{named}, {severity}: {outcomes.get(CHANGED, 0)} of {counted.get('terms', 0)} terms changed"
        + (f" · {rest}" if rest else "")
        + stays
    )
    return perturbed
