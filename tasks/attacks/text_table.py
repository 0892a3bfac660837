"""The attacks on texts, each with what must be known of it. A new one is a module of its own, and a line here."""

from __future__ import annotations

from assay.infra.choices import TaggedChoices
from assay.tasks.attacks.choice import GROUP
from assay.tasks.attacks.noise.settings import Noise
from assay.tasks.attacks.text_choice import AnyTextAttackChoice, TextAttackChoice
from assay.tasks.attacks.words.settings import A2T, Guided

TEXT_ATTACKS: TaggedChoices[AnyTextAttackChoice] = TaggedChoices(
    "attack on texts",
    GROUP,
    TextAttackChoice,
    (TextAttackChoice(A2T), TextAttackChoice(Guided, guided=True), TextAttackChoice(Noise)),
)
