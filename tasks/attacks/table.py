"""The attacks on images, each with what must be known of it. A new one is a module of its own, and a line here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.infra.choices import TaggedChoices
from assay.tasks.attacks.choice import GROUP, AnyImageAttackChoice, GeneratorTraining, ImageAttackChoice
from assay.tasks.attacks.settings import (
    APGD,
    APGDT,
    BUNDLES,
    FABT,
    FGSM,
    GAP,
    PGD,
    PRESETS,
    MomentumPGD,
    Square,
    step_size_for,
)

if TYPE_CHECKING:
    from assay.infra.seeds import Seeds
    from assay.tasks.attacks.batch import Batch
    from assay.tasks.attacks.choice import Perturb
    from assay.tasks.attacks.ledger import Ledger
    from assay.tasks.subjects.images.lessons import Lessons
    from assay.tasks.subjects.images.model import ImageModel
    from assay.tasks.subjects.learning_state import Checkpoints


def _pgd(settings: PGD, batch: Batch) -> Ledger:
    from assay.tasks.attacks.pgd import pgd

    return pgd(settings, batch)


def _fgsm(settings: FGSM, batch: Batch) -> Ledger:
    from assay.tasks.attacks.pgd import fgsm

    return fgsm(settings, batch)


def _momentum_pgd(settings: MomentumPGD, batch: Batch) -> Ledger:
    from assay.tasks.attacks.pgd import momentum_pgd

    return momentum_pgd(settings, batch)


def _apgd(settings: APGD, batch: Batch) -> Ledger:
    from assay.tasks.attacks.apgd import apgd

    return apgd(settings, batch)


def _apgd_t(settings: APGDT, batch: Batch) -> Ledger:
    from assay.tasks.attacks.apgd import apgd_t

    return apgd_t(settings, batch)


def _fab_t(settings: FABT, batch: Batch) -> Ledger:
    from assay.tasks.attacks.fab import fab_t

    return fab_t(settings, batch)


def _square(settings: Square, batch: Batch) -> Ledger:
    from assay.tasks.attacks.square import square

    return square(settings, batch)


def _train_gap(
    model: ImageModel, lessons: Lessons, settings: GAP, eps: float, seeds: Seeds, checkpoints: Checkpoints
) -> dict[str, bytes]:
    from assay.tasks.attacks.gap import train_generator

    return train_generator(model, lessons, settings, eps, seeds, checkpoints)


def _load_gap(files: dict[str, bytes], device: str, block: int) -> Perturb:
    from assay.tasks.attacks.gap import load_generator

    return load_generator(files, device, block).perturb


def _reach(settings: PGD | MomentumPGD, eps: float) -> float:
    return settings.steps * step_size_for(eps, settings.steps, settings.step_size)


IMAGE_ATTACKS: TaggedChoices[AnyImageAttackChoice] = TaggedChoices(
    "attack",
    GROUP,
    ImageAttackChoice,
    (
        ImageAttackChoice(PGD, _pgd, follows_gradients=True, reach=_reach),
        ImageAttackChoice(FGSM, _fgsm, follows_gradients=True),
        ImageAttackChoice(MomentumPGD, _momentum_pgd, follows_gradients=True, reach=_reach),
        # The margin is not what the others climb, so with several labels it is no measure for them.
        ImageAttackChoice(APGD, _apgd, follows_gradients=True, climbs_the_loss=lambda apgd: apgd.loss != "margin"),
        ImageAttackChoice(APGDT, _apgd_t, follows_gradients=True, one_class=True),
        ImageAttackChoice(FABT, _fab_t, follows_gradients=True, drops_fallen=True, one_class=True),
        ImageAttackChoice(Square, _square, drops_fallen=True),
        ImageAttackChoice(GAP, generator=GeneratorTraining(_train_gap, _load_gap)),
    ),
    presets=PRESETS,
    bundles=BUNDLES,
)
