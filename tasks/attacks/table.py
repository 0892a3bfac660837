"""Every attack that a pipeline can name, on images, on texts and on terms, and the metrics that attacks measure. A
new attack is a module of its own, and a line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.infra.user_code.choices import TaggedChoices
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
from assay.tasks.attacks.settings import (
    APGD,
    APGDT,
    BUNDLES,
    FABT,
    FGSM,
    GAP,
    PGD,
    PRESETS,
    ImageAttack,
    MomentumPGD,
    Square,
    step_size_for,
)
from assay.tasks.attacks.terms.settings import AnyTermAttack as AnyTermAttack
from assay.tasks.attacks.terms.settings import Keyboard, Swap, Synonymy
from assay.tasks.attacks.texts.settings import A2T, Guided, Noise, WordAttack
from assay.tasks.statistics.metrics import metrics

if TYPE_CHECKING:
    import numpy as np

    from assay.infra.stages.exact import Seeds
    from assay.tasks.attacks.batch import Batch, Ledger
    from assay.tasks.attacks.choice import Perturb
    from assay.tasks.attacks.terms.changes import Change, Term, TermMeans
    from assay.tasks.subjects.checkpoints import Checkpoints
    from assay.tasks.subjects.images.dataset import Lessons
    from assay.tasks.subjects.images.model import ImageModel


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
    from assay.tasks.attacks.generator import train_generator

    return train_generator(model, lessons, settings, eps, seeds, checkpoints)


def _load_gap(files: dict[str, bytes], device: str, block: int) -> Perturb:
    from assay.tasks.attacks.generator import load_generator

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


TEXT_ATTACKS: TaggedChoices[AnyTextAttackChoice] = TaggedChoices(
    "attack on texts",
    GROUP,
    TextAttackChoice,
    (TextAttackChoice(A2T), TextAttackChoice(Guided, guided=True), TextAttackChoice(Noise)),
)


def _swap(term: Term, attack: Swap, _: TermMeans, generator: np.random.Generator) -> Change:
    from assay.tasks.attacks.terms.changes import mistyped
    from assay.tasks.attacks.terms.typos import swap_letters

    return mistyped(swap_letters, term, attack, generator)


def _keyboard(term: Term, attack: Keyboard, _: TermMeans, generator: np.random.Generator) -> Change:
    from assay.tasks.attacks.terms.changes import mistyped
    from assay.tasks.attacks.terms.typos import press_neighbours

    return mistyped(press_neighbours, term, attack, generator)


def _synonymy(term: Term, _: Synonymy, means: TermMeans, generator: np.random.Generator) -> Change:
    from assay.tasks.attacks.terms.changes import renamed

    return renamed(term, means, generator)


TERM_ATTACKS: TaggedChoices[AnyTermAttackChoice] = TaggedChoices(
    "attack on terms",
    GROUP,
    TermAttackChoice,
    (
        TermAttackChoice(Swap, _swap),
        TermAttackChoice(Keyboard, _keyboard),
        TermAttackChoice(Synonymy, _synonymy, lexicon=lambda synonymy: synonymy.synonyms),
    ),
)


AnyTextAttack = WordAttack | Noise
ATTACKS: TaggedChoices[AttackChoice] = TaggedChoices(
    "attack", GROUP, AttackChoice, (*IMAGE_ATTACKS, *TEXT_ATTACKS, *TERM_ATTACKS), presets=PRESETS, bundles=BUNDLES
)
if TYPE_CHECKING:
    AnyAttack = ImageAttack | AnyTextAttack | AnyTermAttack
else:
    AnyAttack = ATTACKS.union
"""Any attack, also written short: `- fgsm`, `- pgd: {steps: 20}`, or the paper's by name, `- xu-pgd-4`."""


METRICS = metrics(
    "attack",
    higher={
        "share": "accuracy accuracy_change modified_share recall transfer worst_accuracy",
        "": "auc class_auc",
        "queries": "queries",
        "steps": "steps",
        "words": "perturbed_words",
    },
    lower={"share": "flip_rate fooling_rate success_rate", "": "aurc brier ece red_flag"},
    neither={
        "": "synonym_auc",
        "share": "degenerate majority_rate skipped success_difference unchanged winner",
        "bits": "prediction_entropy",
        "p": "mcnemar_p",
        "cosine": "limit similarity",
        "of [0, 1]": "distance",
        "L2": "distance_l2",
        "queries": "queries_difference",
        "words": "perturbed_words_difference",
        "replacements": "refused",
    },
)


_GAINS = "gain gain_over_control own_gain own_gain_over_control"

TERM_METRICS = (
    *metrics(
        "ner",
        higher={"share": "precision recall recovered", "": f"f1 {_GAINS}"},
        lower={"": "cost drop"},
        neither={"samples": "cut", "p": "drop_p"},
    ),
    *metrics(
        "sts",
        higher={"share": "recovered", "": f"pearson spearman {_GAINS}"},
        lower={"": "cost drop mae"},
        neither={"samples": "cut", "p": "drop_p"},
    ),
)
