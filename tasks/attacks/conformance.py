"""Whether an attack on images or on terms keeps what every attack promises: it is tried on a small network, or on
a few terms, and each fault is a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from assay.infra.errors import AssayError, InputError, told
from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import tried
from assay.tasks.attacks.batch import Batch, Draws, Ledger, pose
from assay.tasks.attacks.pgd import Perturb, perturbed
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.attacks.terms.changes import CHANGED, Change, GoldFinder, Span, Term, TermMeans
from assay.tasks.language.lexicons import shipped_lexicon
from assay.tasks.subjects.images.dataset import Lessons
from assay.tasks.subjects.images.inference import answers, practice_images, practice_model
from assay.tasks.subjects.images.model import ImageModel

if TYPE_CHECKING:
    from assay.tasks.attacks.choice import AnyImageAttackChoice, AnyTermAttackChoice


SIZES = (1 / 255, 0.1, 1.0)
"""The ε that an attack is tried at."""
SAMPLES, CUT = 6, 2
SEEDS = Seeds(0, "attack")


def attack_conformance(choice: AnyImageAttackChoice) -> list[str]:
    """What keeps an attack from being one, a sentence each; nothing where all is well.

    The shape is kept, every pixel stays within [0, 1] and within ε, a success is one, the same draws give the same
    images, and no sample's image depends on which others are attacked with it.
    """
    for multilabel in (False,) if choice.one_class else (False, True):
        model = practice_model(multilabel=multilabel)
        for eps in SIZES:
            if sentences := tried(partial(_faults, choice, model, eps)):
                several = " (several labels)" if multilabel else ""
                return [f"At ε = {eps:.3g}{several} {sentence}" for sentence in sentences]
    return []


def _faults(choice: AnyImageAttackChoice, model: ImageModel, eps: float) -> list[str]:
    images, rows = practice_images(SAMPLES), range(SAMPLES)
    truth = answers(model, images)
    perturb = _generator(choice, model, images, truth, eps) if choice.generator is not None else None
    whole = _attacked(choice, model, images, truth, rows, eps, perturb)
    if sentences := _bounds(whole, images, eps) or _successes(choice, model, whole, truth):
        return sentences
    again = _attacked(choice, model, images, truth, rows, eps, perturb)
    if not _equal(whole, again):
        return ["the same draws give other images: take random numbers from `batch.draws` or `batch.start` alone."]
    parts = [_attacked(choice, model, images, truth, cut, eps, perturb) for cut in (rows[CUT:], rows[:CUT])]
    together = [torch.cat([late, early]) for early, late in zip(*parts, strict=True)]
    if not _equal(whole, together):
        return [
            "what becomes of a sample depends on the others in its batch: draw per sample (`batch.draws`), and take no "
            "sums or sorts over samples."
        ]
    return []


def _attacked(
    choice: AnyImageAttackChoice,
    model: ImageModel,
    images: Tensor,
    truth: Tensor,
    rows: Sequence[int],
    eps: float,
    perturb: Perturb | None,
) -> list[Tensor]:
    """The images, the steps, the queries, and whether each is a success, of some of the samples."""
    chosen = list(rows)
    draws = Draws(SEEDS, tuple(f"sample {row}" for row in chosen))
    settings = _short_settings(choice)
    batch: Batch = pose(settings, model, images[chosen], truth[chosen], eps, draws)
    run = partial(perturbed, perturb) if perturb is not None else partial(choice.run, settings) if choice.run else None
    ledger: object = None if run is None else run(batch)
    if not isinstance(ledger, Ledger):
        raise InputError(f"it returns a {type(ledger).__name__}: an attack returns its Ledger.")
    if not torch.equal(batch.images, images[chosen]):
        raise InputError("it changes the images that it is handed: work on a copy.")
    return list(ledger.result())


def _generator(choice: AnyImageAttackChoice, model: ImageModel, images: Tensor, truth: Tensor, eps: float) -> Perturb:
    """The generator, trained twice: the same bytes, or it is not seeded."""
    assert choice.generator is not None
    lessons = Lessons(tuple(f"sample {row}" for row in range(SAMPLES)), images.numpy(), truth.numpy())
    settings = _short_settings(choice).for_training(eps)
    files, again = (choice.generator.train(model, lessons, settings, eps, SEEDS, _NoCheckpoints()) for _ in range(2))
    if files != again:
        raise InputError("the same seeds train another generator: draw from the seeds alone.")
    return choice.generator.load(files, "cpu", model.block)


class _NoCheckpoints:
    """Keeps no checkpoint."""

    def latest(self) -> None:
        """Nothing was saved."""

    def save(self, step: int, total: int, files: dict[str, bytes]) -> None:
        """Saves nothing."""


def _short_settings(choice: AnyImageAttackChoice) -> ImageAttack:
    """Its settings, with less to do where they have the usual options."""
    short = {"epochs": 1, "width": 4, "steps": 8, "queries": 40}
    fields = choice.settings.model_fields
    settings: ImageAttack = choice.settings(**{name: value for name, value in short.items() if name in fields})
    return settings


def _bounds(result: Sequence[Tensor], images: Tensor, eps: float) -> list[str]:
    attacked, *columns = result
    if attacked.shape != images.shape or attacked.dtype != images.dtype:
        return [
            f"it makes {attacked.dtype} {list(attacked.shape)} of images {images.dtype} {list(images.shape)}: keep the "
            "shape and the type."
        ]
    sentences = []
    if any(column.shape != (len(images),) for column in columns):
        sentences.append("its ledger has not one row for each sample.")
    if not torch.isfinite(attacked).all() or attacked.min() < 0 or attacked.max() > 1:
        sentences.append("pixels leave [0, 1]: clip them (`batch.ball.clip`).")
    moved = float((attacked.double() - images.double()).abs().max())
    if moved > eps:
        sentences.append(f"a pixel moves by {moved:.3g}, farther than ε: clip images to the ball (`batch.ball.clip`).")
    return sentences


def _successes(choice: AnyImageAttackChoice, model: ImageModel, result: Sequence[Tensor], truth: Tensor) -> list[str]:
    attacked, _, _, success = result
    now = answers(model, attacked)
    changed = (now != truth).any(dim=1) if model.multilabel else now != truth
    if _short_settings(choice).goal == "untargeted" and bool((success.cpu() & ~changed).any()):
        return ["it claims a success on an image that the network still gets right: let the ledger look at it."]
    return []


def _equal(first: Sequence[Tensor], second: Sequence[Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


TERMS = (("hypertension",), ("myocardial", "infarction"), ("aspirin",), ("x",))


def term_attack_conformance(choice: AnyTermAttackChoice) -> list[str]:
    """What keeps an attack on terms from being one, a sentence; nothing where all is well.

    It gives a change of the term that it was handed, whose words are texts without blanks, which says that it is one
    exactly where words differ; and the same draws make the same of a term, whatever it changed in between.
    """
    try:
        first = [_checked_change(choice, words) for words in TERMS]
        again = [_checked_change(choice, words) for words in reversed(TERMS)][::-1]
        if first != again:
            raise InputError(
                f"The attack {choice.word} makes something else of a term when it is asked again with the same "
                "generator: all draws come from that."
            )
    except AssayError as error:
        return [str(error)]
    except Exception as fault:  # noqa: BLE001  an author is told whatever it was
        return [f"The attack {choice.word} raised {told(fault)}"]
    return []


def _checked_change(choice: AnyTermAttackChoice, words: tuple[str, ...]) -> Change:
    term = Term(Span(0, len(words), "Disease"), words, ("B-Disease", *["I-Disease"] * (len(words) - 1)))
    means = TermMeans(GoldFinder(), None if choice.lexicon is None else shipped_lexicon())
    change = choice.change(term, choice.settings(), means, np.random.default_rng(0))
    if not isinstance(change, Change):
        raise InputError(f"The attack {choice.word} gave {type(change).__name__}, expected a Change.")
    if change.span != term.span or change.before != words:
        raise InputError(f"The attack {choice.word} gave a change of {change.before}, and was asked about {words}.")
    wrong = next((one for one in change.after if not isinstance(one, str) or len(one.split()) != 1), None)
    if wrong is not None or not change.after:
        raise InputError(
            f"The attack {choice.word} put {wrong!r} in the place of {' '.join(words)!r}, expected words, each a text "
            "without blanks."
        )
    if (change.after != words) != (change.outcome == CHANGED):
        raise InputError(
            f"The attack {choice.word} made {change.after} of {words} and calls that {change.outcome!r}: {CHANGED!r} "
            "is what differs, and nothing else."
        )
    return change
