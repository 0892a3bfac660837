"""What an attack on images, on texts or on terms is: its settings, its function, and what pages and flags must
know of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from assay.infra.errors import InputError
from assay.infra.user_code.choices import Tagged
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.attacks.terms.settings import TermAttack
from assay.tasks.attacks.texts.settings import Noise, WordAttack

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from assay.infra.stages.exact import Seeds
    from assay.tasks.attacks.batch import Batch, Ledger
    from assay.tasks.attacks.terms.changes import Change, Term, TermMeans
    from assay.tasks.subjects.checkpoints import Checkpoints
    from assay.tasks.subjects.images.dataset import Lessons
    from assay.tasks.subjects.images.model import ImageModel


if TYPE_CHECKING:
    Perturb = Callable[[Tensor, float], Tensor]  # what a trained generator does: images [n, c, h, w] and ε → images

A = TypeVar("A", bound=ImageAttack)
GROUP = "assay.attacks"
"""Where installed packages offer attacks, on images, texts and terms alike."""


@dataclass(frozen=True)
class AttackChoice(Tagged):
    """An attack that a pipeline can name, on images, on texts or on terms: the three say what else is known of it."""

    tag: ClassVar[str] = "attack"

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self) is AttackChoice:
            raise InputError("An attack is a choice of attacks on images, on texts or on terms: make it one of those.")


@dataclass(frozen=True)
class GeneratorTraining(Generic[A]):
    """How an attack learns before it attacks: `train` gives the files of what it learned at one ε, `load` reads them.

    `train` takes the subject, the training split, the settings, ε, the seeds and where checkpoints lie; `load` the
    files, the device, and how many images go through it at a time.
    """

    train: Callable[[ImageModel, Lessons, A, float, Seeds, Checkpoints], dict[str, bytes]]
    load: Callable[[dict[str, bytes], str, int], Perturb]


@dataclass(frozen=True)
class ImageAttackChoice(AttackChoice, Generic[A]):
    """An attack on images, which is a function or a generator; functions import Torch when they are called.

    `run` attacks a batch at one ε and keeps the ledger. Attacks that follow gradients, and take several steps, are what
    others are measured by. `reach` says how far the steps go together at an ε, where that may be short of it.
    `climbs_the_loss` says whether several labels are attacked by the loss that the others climb.
    `drops_fallen` is whether it stops asking about a sample as soon as that has fallen; `one_class` is whether it goes
    by classes that exclude each other, so that subjects of several labels cannot be attacked by it.
    """

    settings: type[A]
    run: Callable[[A, Batch], Ledger] | None = None
    generator: GeneratorTraining[A] | None = None
    follows_gradients: bool = False
    reach: Callable[[A, float], float] = lambda _, eps: eps
    climbs_the_loss: Callable[[A], bool] = lambda _: True
    drops_fallen: bool = False
    one_class: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not issubclass(self.settings, ImageAttack):
            raise InputError(f"{self.settings.__name__} is no ImageAttack, as the settings of attacks on images are.")
        if (self.run is None) == (self.generator is None):
            raise InputError(f"The attack {self.word} is given by its function `run`, or by its `generator`.")

    def conformance(self) -> list[str]:
        """What keeps the attack from being one, a sentence each: it is tried on a small network."""
        from assay.tasks.attacks.conformance import attack_conformance

        return super().conformance() + self.without_default or attack_conformance(self)

    @property
    def black_box(self) -> bool:
        """Whether it sees nothing of the subject but its answers."""
        return not (self.follows_gradients or self.generator)

    def steps(self, settings: A) -> int:
        """How many steps along gradients it takes."""
        return int(getattr(settings, "steps", 1)) if self.follows_gradients else 0


AnyImageAttackChoice = ImageAttackChoice[Any]


TextSettings = TypeVar("TextSettings", bound=WordAttack | Noise)


@dataclass(frozen=True)
class TextAttackChoice(AttackChoice, Generic[TextSettings]):
    """An attack on texts that a pipeline can name: it swaps words while it asks the subject, or adds noise without.

    `replacements` says what may take a word's place, the best first: it is given the words of the attacked texts, the
    training texts, the settings and a seed, and may leave words out. Attacks without it take near words by vectors or
    lists, or, `guided`, what the trust oracle's pools hold, so that they need `trust`.
    """

    settings: type[TextSettings]
    guided: bool = False
    replacements: Callable[[Sequence[str], Sequence[str], TextSettings, int], Mapping[str, Sequence[str]]] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not issubclass(self.settings, WordAttack | Noise):
            raise InputError(f"{self.settings.__name__} is no WordAttack, and every attack on texts has its settings.")

    @property
    def swaps_words(self) -> bool:
        """Whether words give way to others as the subject is asked: such attacks are compared with each other."""
        return issubclass(self.settings, WordAttack)


AnyTextAttackChoice = TextAttackChoice[Any]


TermSettings = TypeVar("TermSettings", bound=TermAttack)


@dataclass(frozen=True)
class TermAttackChoice(AttackChoice, Generic[TermSettings]):
    """An attack on terms that a pipeline can name.

    `change` is given a term, the settings at one severity, the lexicon, and a generator of the term's own, from which
    all draws come. Attacks that need a `lexicon` say which one their settings name (None: the one that `terms` names,
    or ours); others have none.
    """

    settings: type[TermSettings]
    change: Callable[[Term, TermSettings, TermMeans, np.random.Generator], Change]
    lexicon: Callable[[TermSettings], str | None] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not issubclass(self.settings, TermAttack):
            raise InputError(f"{self.settings.__name__} is no TermAttack, and every attack on terms has its settings.")

    def conformance(self) -> list[str]:
        """What keeps the attack from being one, a sentence each: it is tried on a few terms."""
        from assay.tasks.attacks.conformance import term_attack_conformance

        return super().conformance() or term_attack_conformance(self)


AnyTermAttackChoice = TermAttackChoice[Any]
