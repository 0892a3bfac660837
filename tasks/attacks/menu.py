"""Every attack that a pipeline can name, on images, on texts and on terms, and how each may be written short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.infra.choices import TaggedChoices
from assay.tasks.attacks.choice import GROUP, AttackChoice
from assay.tasks.attacks.noise.settings import Noise
from assay.tasks.attacks.settings import BUNDLES, PRESETS, ImageAttack
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.attacks.terms.settings import AnyTermAttack as AnyTermAttack
from assay.tasks.attacks.terms.table import TERM_ATTACKS
from assay.tasks.attacks.text_table import TEXT_ATTACKS
from assay.tasks.attacks.words.settings import WordAttack

AnyTextAttack = WordAttack | Noise
ATTACKS: TaggedChoices[AttackChoice] = TaggedChoices(
    "attack",
    GROUP,
    AttackChoice,
    (*IMAGE_ATTACKS, *TEXT_ATTACKS, *TERM_ATTACKS),
    presets=PRESETS,
    bundles=BUNDLES,
)
if TYPE_CHECKING:
    AnyAttack = ImageAttack | AnyTextAttack | AnyTermAttack
else:
    AnyAttack = ATTACKS.union
"""Any attack, also written short: `- fgsm`, `- pgd: {steps: 20}`, or the paper's by name, `- xu-pgd-4`."""
