"""The defences that a pipeline can name, of images and of texts, and how each may be written short. A new defence of
images is a module, and a line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.infra.user_code.choices import TaggedChoices
from assay.tasks.defenses.adversarial_training import (
    GROUP,
    MAADVT,
    MART_DEFENCE,
    MPADVT,
    STANDARD,
    TRADES_DEFENCE,
    DefenceChoice,
    ImageDefenceChoice,
)
from assay.tasks.defenses.settings import AttackedCopies, Defence

IMAGE_DEFENCES: TaggedChoices[ImageDefenceChoice[Any]] = TaggedChoices(
    "defence", GROUP, ImageDefenceChoice, (STANDARD, MPADVT, MAADVT, TRADES_DEFENCE, MART_DEFENCE)
)


DEFENCES: TaggedChoices[DefenceChoice] = TaggedChoices(
    "defence", GROUP, DefenceChoice, (*IMAGE_DEFENCES, DefenceChoice(AttackedCopies))
)
if TYPE_CHECKING:
    AnyDefence = Defence | AttackedCopies
else:
    AnyDefence = DEFENCES.union
"""Any defence, also written short: `- standard`, `- maadvt: {eps: 0.1, lambda: 6}`."""
