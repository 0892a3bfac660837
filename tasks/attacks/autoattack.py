"""AutoAttack (Croce and Hein 2020, section 6): four attacks in turn, each on what withstood those before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from assay.tasks.attacks.apgd import APGD, APGDT, ClassByClass, apgd, apgd_t
from assay.tasks.attacks.choice import ImageAttackChoice
from assay.tasks.attacks.minimum_norm import FABT, fab_t
from assay.tasks.attacks.random_search import Square, square

if TYPE_CHECKING:
    from assay.tasks.attacks.batch import Batch, Ledger


class AutoAttack(ClassByClass):
    """AutoAttack (Croce and Hein 2020): Auto-PGD, its targeted variant, FAB and Square, each on what withstood those
    before it."""

    attack: Literal["autoattack"] = "autoattack"
    """Which attack it is."""
    steps: int = Field(default=100, ge=2, le=100_000)
    """Steps of Auto-PGD, and of its targeted variant and FAB towards each class."""
    queries: int = Field(default=5000, ge=1, le=1_000_000)
    """How many times Square may ask the subject per image."""

    @property
    def members(self) -> tuple[APGD, APGDT, FABT, Square]:
        """The four attacks, as each would be asked for alone."""
        return (
            APGD(name="apgd-ce", norm=self.norm, eps=self.eps, steps=self.steps, only_accuracy=True),
            APGDT(norm=self.norm, eps=self.eps, steps=self.steps, classes=self.classes, only_accuracy=True),
            FABT(norm=self.norm, eps=self.eps, steps=self.steps, classes=self.classes, only_accuracy=True),
            Square(norm=self.norm, eps=self.eps, queries=self.queries, share=0.8, only_accuracy=True),
        )


def autoattack(settings: AutoAttack, batch: Batch) -> Ledger:
    """The cascade: nothing that a sample draws depends on the others, so it falls to the first of the four that it
    would fall to alone, and what withstands all is what withstands each."""
    attacks: tuple[Callable[[Any, Batch], Ledger], ...] = (apgd, apgd_t, fab_t, square)
    ledger, fell_to = batch.ledger(steps=0), list[str | None]([None] * len(batch))
    for member, attack in zip(settings.members, attacks, strict=True):
        rows = ledger.open()
        if len(rows) == 0:
            break
        outcome = attack(member, batch.of(rows))
        ledger.merge(rows, outcome)
        for row in rows[outcome.reached].tolist():
            fell_to[row] = member.called
    ledger.fell_to = fell_to
    return ledger


AUTOATTACK = ImageAttackChoice(AutoAttack, autoattack, follows_gradients=True, drops_fallen=True, one_class=True)
