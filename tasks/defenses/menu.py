"""Every defence that a pipeline can name, of images and of texts, and how each may be written short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.infra.choices import TaggedChoices
from assay.tasks.defenses.settings import Defence
from assay.tasks.defenses.table import GROUP, IMAGE_DEFENCES, DefenceChoice
from assay.tasks.defenses.text_settings import AttackedCopies

DEFENCES: TaggedChoices[DefenceChoice] = TaggedChoices(
    "defence", GROUP, DefenceChoice, (*IMAGE_DEFENCES, DefenceChoice(AttackedCopies))
)
if TYPE_CHECKING:
    AnyDefence = Defence | AttackedCopies
else:
    AnyDefence = DEFENCES.union
"""Any defence, also written short: `- standard`, `- maadvt: {eps: 0.1, lambda: 6}`."""
