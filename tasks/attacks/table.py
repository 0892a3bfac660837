"""Every attack that a pipeline can name, on images, on texts and on terms. A new attack is a module of its own, and a
line here; AutoAttack, which is four of these in turn, stands here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from assay.infra.settings import Settings
from assay.infra.user_code.choices import TaggedChoices
from assay.tasks.attacks.apgd import APGD, APGD_ATTACK, APGDT, APGDT_ATTACK, ClassByClass, apgd, apgd_t
from assay.tasks.attacks.choice import (
    GROUP,
    AnyImageAttackChoice,
    AnyTermAttackChoice,
    AnyTextAttackChoice,
    AttackChoice,
    GeneratorTraining,
    ImageAttackChoice,
    TermAttackChoice,
    TextAttackChoice,
)
from assay.tasks.attacks.hop_skip_jump import HOP_SKIP_JUMP_ATTACK
from assay.tasks.attacks.minimum_norm import DDN_ATTACK, FABT, FABT_ATTACK, FMN_ATTACK, fab_t
from assay.tasks.attacks.pgd import FGSM_ATTACK, MOMENTUM_PGD_ATTACK, PGD, PGD_ATTACK
from assay.tasks.attacks.random_search import SPARSE_RS_ATTACK, SQUARE_ATTACK, Square, square
from assay.tasks.attacks.settings import GAP, ImageAttack
from assay.tasks.attacks.terms.settings import TermAttack
from assay.tasks.attacks.terms.synonymy import SYNONYMY_ATTACK
from assay.tasks.attacks.terms.typos import KEYBOARD_ATTACK, SWAP_ATTACK
from assay.tasks.attacks.texts.checklist import CHECKLIST
from assay.tasks.attacks.texts.published import BERT_ATTACK, DEEPWORDBUG_ATTACK
from assay.tasks.attacks.texts.questions import INJECTION_ATTACK, QUESTION_ATTACKS
from assay.tasks.attacks.texts.settings import A2T, Guided, Noise, QuestionAttack, TextRewrite, WordAttack

if TYPE_CHECKING:
    from assay.infra.stages.exact import Seeds
    from assay.tasks.attacks.batch import Batch, Ledger, Perturb
    from assay.tasks.subjects.images.dataset import LabelledImages
    from assay.tasks.subjects.images.model import ImageModel
    from assay.tasks.subjects.trained import Checkpoints


def _train_generator(
    model: ImageModel, lessons: LabelledImages, settings: GAP, eps: float, seeds: Seeds, checkpoints: Checkpoints
) -> dict[str, bytes]:
    from assay.tasks.attacks.generator import train_generator

    return train_generator(model, lessons, settings, eps, seeds, checkpoints)


def _load_generator(files: dict[str, bytes], device: str, block: int) -> Perturb:
    from assay.tasks.attacks.generator import load_generator

    return load_generator(files, device, block).perturb


GAP_ATTACK = ImageAttackChoice(GAP, generator=GeneratorTraining(_train_generator, _load_generator))


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
    """The cascade (their section 6): nothing that a sample draws depends on the others, so it falls to the first of the
    four that it would fall to alone, and what withstands all is what withstands each."""
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

PRESETS: dict[str, ImageAttack] = {
    **{
        f"xu-pgd-{levels}": PGD(name=f"xu-pgd-{levels}", eps=(levels / 255,), steps=steps, step_size=1 / 255, last=True)
        for levels, steps in ((2, 1), (4, 4), (5, 40), (10, 60))
    },
    **{f"xu-gap-{levels}": GAP(name=f"xu-gap-{levels}", eps=(levels / 255,)) for levels in (7, 11, 13)},
}
"""The attacks of Xu et al. by name, called after their ε in levels of 255 (section 5.1): PGD with t = 1, 4, 40 and 60
steps of 1/255 (components 1 to 4; component 4 is component 1's second), of which the last image counts, and GAP at the
three norms."""

BUNDLES: dict[str, tuple[ImageAttack, ...]] = {"autoattack-apart": AutoAttack().members}
"""Several attacks by one name: the four of `autoattack`, each on every image, so that each has a number of its own; the
worst case over them leaves what `autoattack` leaves."""

IMAGE_ATTACKS: TaggedChoices[AnyImageAttackChoice] = TaggedChoices(
    "attack",
    GROUP,
    ImageAttackChoice,
    (
        PGD_ATTACK,
        FGSM_ATTACK,
        MOMENTUM_PGD_ATTACK,
        APGD_ATTACK,
        APGDT_ATTACK,
        FABT_ATTACK,
        DDN_ATTACK,
        FMN_ATTACK,
        SQUARE_ATTACK,
        SPARSE_RS_ATTACK,
        HOP_SKIP_JUMP_ATTACK,
        AUTOATTACK,
        GAP_ATTACK,
    ),
    presets=PRESETS,
    bundles=BUNDLES,
)

_MEANING: dict[str, Any] = {"candidates": 50, "modified": 1.0, "similarity": 0.878}
TEXT_PRESETS: dict[str, Settings] = {
    "textfooler": A2T(name="textfooler", ranking="deletion", vectors="counterfitted-neighbors", **_MEANING),
    "pwws": A2T(name="pwws", ranking="saliency", vectors="open-english-wordnet", **_MEANING),
}
"""Published word attacks of the parts of A2T, under its check of meaning: TextFooler (Jin et al. 2020) and PWWS (Ren et
al. 2019). TextFooler asks an angular similarity of 0.841, which is a cosine of 0.878; PWWS asks none, and gets the same
limit. Opposites are refused, and parts of speech kept, by default of either."""

TEXT_ATTACKS: TaggedChoices[AnyTextAttackChoice] = TaggedChoices(
    "attack on texts",
    GROUP,
    TextAttackChoice,
    (
        TextAttackChoice(A2T),
        TextAttackChoice(Guided, guided=True),
        TextAttackChoice(Noise, questions=lambda noise, _: len(noise.kinds) * len(noise.severities)),
        BERT_ATTACK,
        DEEPWORDBUG_ATTACK,
        INJECTION_ATTACK,
        *CHECKLIST,
        *QUESTION_ATTACKS,
    ),
    presets=TEXT_PRESETS,
)

TERM_ATTACKS: TaggedChoices[AnyTermAttackChoice] = TaggedChoices(
    "attack on terms", GROUP, TermAttackChoice, (SWAP_ATTACK, KEYBOARD_ATTACK, SYNONYMY_ATTACK)
)

AnyTextAttack = WordAttack | Noise | TextRewrite
ATTACKS: TaggedChoices[AttackChoice] = TaggedChoices(
    "attack",
    GROUP,
    AttackChoice,
    (*IMAGE_ATTACKS, *TEXT_ATTACKS, *TERM_ATTACKS),
    presets={**PRESETS, **TEXT_PRESETS},
    bundles=BUNDLES,
)
if TYPE_CHECKING:
    AnyAttack = ImageAttack | AnyTextAttack | QuestionAttack | TermAttack
else:
    AnyAttack = ATTACKS.union
"""Any attack, also written short: `- fgsm`, `- pgd: {steps: 20}`, or the paper's by name, `- xu-pgd-4`."""
