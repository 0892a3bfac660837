"""What an attack on images, on texts or on terms is: its settings, its function, what pages and flags must know of it,
and what keeps it from being one (each is tried on a small network, or on a few terms)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from assay.infra.errors import InputError, RunError
from assay.infra.user_code.choices import Tagged, tried
from assay.tasks.attacks.settings import ImageAttack, Norm, eps_name, norm_and_slice
from assay.tasks.attacks.terms.settings import TermAttack
from assay.tasks.attacks.texts.settings import Noise, QuestionAttack, TextRewrite, WordAttack

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from assay.infra.stages.exact import Seeds
    from assay.tasks.attacks.batch import Batch, Ledger, Perturb
    from assay.tasks.subjects.addresses.chat import Message, Prompt

    Messages = Sequence[Message]
    from assay.tasks.attacks.terms.changes import Change, Term, TermMeans
    from assay.tasks.subjects.images.dataset import LabelledImages
    from assay.tasks.subjects.images.model import ImageModel
    from assay.tasks.subjects.trained import Checkpoints

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

    train: Callable[[ImageModel, LabelledImages, A, float, Seeds, Checkpoints], dict[str, bytes]]
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

    bases = (ImageAttack,)
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
        if (self.run is None) == (self.generator is None):
            raise InputError(f"The attack {self.word} is given by its function `run`, or by its `generator`.")

    def conformance(self) -> list[str]:
        """What keeps the attack from being one, a sentence each: it is tried on a small network.

        The shape is kept, pixels stay within [0, 1] and images within ε, a success is one, the same draws give the same
        images, and no sample's image depends on which others are attacked with it.
        """
        sentences = super().conformance() + self.without_default
        if self.without_default:
            return sentences
        for multilabel in (False,) if self.one_class else (False, True):
            for norm in self.settings.norms:
                for eps in SIZES[norm]:
                    if faults := tried(partial(_image_faults, self, norm, eps, multilabel=multilabel)):
                        several = " (several labels)" if multilabel else ""
                        at = norm_and_slice(eps_name(eps, norm))[1].eps_text
                        return sentences + [f"At ε = {at}{several} {fault}" for fault in faults]
        return sentences

    def attack(self, settings: A, batch: Batch, perturb: Perturb | None) -> Ledger:
        """The batch under attack, by the function or by a generator that was trained."""
        from assay.tasks.attacks.batch import Ledger, perturbed

        if self.run is not None:
            ledger: object = self.run(settings, batch)
            if isinstance(ledger, Ledger):
                return ledger
            raise InputError(f"The attack {self.word} returns a {type(ledger).__name__}: an attack returns its Ledger.")
        if perturb is None:
            raise RunError(f"The attack {settings.called} needs a trained generator and was handed none.")
        return perturbed(perturb, batch)

    @property
    def black_box(self) -> bool:
        """Whether it sees nothing of the subject but its answers."""
        return not (self.follows_gradients or self.generator)

    def steps(self, settings: A) -> int:
        """How many steps along gradients it takes."""
        return int(getattr(settings, "steps", 1)) if self.follows_gradients else 0


AnyImageAttackChoice = ImageAttackChoice[Any]


if TYPE_CHECKING:

    class Ask(Protocol):
        """The subject as an attack asks it."""

        classes: Sequence[str]
        """What the classes are called."""

        def __call__(self, texts: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
            """The probabilities of texts, [n, k]."""


TextSettings = TypeVar("TextSettings", bound=WordAttack | Noise | TextRewrite | QuestionAttack)


@dataclass(frozen=True)
class TextAttackChoice(AttackChoice, Generic[TextSettings]):
    """An attack on texts that a pipeline can name: it swaps words while it asks the subject, adds noise without, or
    makes another text of each.

    `replacements` says what may take a word's place, the best first: it is given the words of the attacked texts, the
    training texts, the settings and a seed, and may leave words out. Attacks without it take near words by vectors or
    lists, or, `guided`, what the trust oracle's pools hold, so that they need `trust`.

    `rewrite` makes the attacked text: it is given the text, the class that the subject says, a function that asks the
    subject (texts in, probabilities [n, k] out) and knows what the `classes` are called, the settings, and a generator
    of the text's own for all draws.

    `variants` puts the same question otherwise: it is given the settings, the prompt, and what reads another prompt by
    its file, and gives the messages of each variant with a name for it.
    """

    bases = (WordAttack, Noise, TextRewrite, QuestionAttack)
    settings: type[TextSettings]
    guided: bool = False
    replacements: Callable[[Sequence[str], Sequence[str], TextSettings, int], Mapping[str, Sequence[str]]] | None = None
    rewrite: Callable[[str, int, Ask, TextSettings, np.random.Generator], str] | None = None
    questions: Callable[[TextSettings, int], int] | None = None
    """How many questions it asks about a text at most, given the number of classes; None where answers decide that."""
    must_change: bool = False
    """Whether what `rewrite` makes says the opposite: then an answer that stands is what is wrong."""
    variants: Callable[[TextSettings, Prompt, Callable[[str], Prompt]], Iterable[tuple[str, Messages]]] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for kind, way, does in (
            (TextRewrite, "rewrite", "makes other texts"),
            (QuestionAttack, "variants", "puts questions otherwise"),
        ):
            if issubclass(self.settings, kind) != (getattr(self, way) is not None):
                raise InputError(
                    f"The attack {self.word} {does}: its settings are a {kind.__name__}, its `{way}` says how."
                )

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

    bases = (TermAttack,)
    settings: type[TermSettings]
    change: Callable[[Term, TermSettings, TermMeans, np.random.Generator], Change]
    lexicon: Callable[[TermSettings], str | None] | None = None

    def conformance(self) -> list[str]:
        """What keeps the attack from being one, a sentence: it is tried on a few terms.

        It gives a change of the term that it was handed, whose words are texts without blanks, which says that it is
        one exactly where words differ; and the same draws make the same of a term, whatever it changed in between.
        """
        return super().conformance() + (self.without_default or tried(self._check_changes))

    def change_of(self, term: Term, settings: TermSettings, means: TermMeans, generator: np.random.Generator) -> Change:
        """The change that it makes of a term; raises where it makes something else."""
        from assay.tasks.attacks.terms.changes import Change

        change: object = self.change(term, settings, means, generator)
        if not isinstance(change, Change):
            raise InputError(f"The attack {self.word} gave {type(change).__name__}, expected a Change.")
        return change

    def _check_changes(self) -> None:
        """Nothing, or what no change of a term may be."""
        first = [self._checked_change(words) for words in TERMS]
        if first != [self._checked_change(words) for words in reversed(TERMS)][::-1]:
            raise InputError(
                f"The attack {self.word} makes something else of a term when it is asked again with the same "
                "generator: all draws come from that."
            )

    def _checked_change(self, words: tuple[str, ...]) -> Change:
        import numpy as np

        from assay.tasks.attacks.terms.changes import CHANGED, GoldFinder, Span, Term, TermMeans
        from assay.tasks.language.lexicons import shipped_lexicon

        term = Term(Span(0, len(words), "Disease"), words, ("B-Disease", *["I-Disease"] * (len(words) - 1)))
        means = TermMeans(GoldFinder(), None if self.lexicon is None else shipped_lexicon())
        change = self.change_of(term, self.settings(), means, np.random.default_rng(0))
        if change.span != term.span or change.before != words:
            raise InputError(f"The attack {self.word} gave a change of {change.before}, and was asked about {words}.")
        wrong = next((word for word in change.after if not isinstance(word, str) or len(word.split()) != 1), None)
        if wrong is not None or not change.after:
            raise InputError(
                f"The attack {self.word} put {wrong!r} in the place of {' '.join(words)!r}, expected words, each a "
                "text without blanks."
            )
        if (change.after != words) != (change.outcome == CHANGED):
            raise InputError(
                f"The attack {self.word} made {change.after} of {words} and calls that {change.outcome!r}: {CHANGED!r} "
                "is what differs, and nothing else."
            )
        return change


AnyTermAttackChoice = TermAttackChoice[Any]


SIZES = {"linf": (1 / 255, 0.1, 1.0), "l2": (0.1, 0.5, 2.0), "l0": (1.0, 10.0), "patch": (0.01, 0.2, 1.0)}
"""The ε that an attack on images is tried at."""
SAMPLES, CUT = 6, 2
TERMS = (("hypertension",), ("myocardial", "infarction"), ("aspirin",), ("x",))
"""The terms that an attack on terms is tried on."""


def _image_faults(choice: AnyImageAttackChoice, norm: Norm, eps: float, *, multilabel: bool) -> list[str]:
    """What an attack does at one ε that none may do."""
    import torch

    from assay.infra.stages.exact import Seeds
    from assay.tasks.attacks.batch import Draws, pose
    from assay.tasks.subjects.images.dataset import LabelledImages
    from assay.tasks.subjects.images.inference import answers, practice_images, practice_model

    model, images, seeds = practice_model(multilabel=multilabel), practice_images(SAMPLES), Seeds(0, "attack")
    truth, settings = answers(model, images), _short_settings(choice, norm, eps)
    ids, perturb = tuple(f"sample {row}" for row in range(SAMPLES)), None
    if choice.generator is not None:
        lessons, training = LabelledImages(ids, images.numpy(), truth.numpy()), settings.for_training(eps)
        nowhere: Any = SimpleNamespace(latest=lambda: None, save=lambda *_: None)
        files, again = (choice.generator.train(model, lessons, training, eps, seeds, nowhere) for _ in "ab")
        if files != again:
            raise InputError("the same seeds train another generator: draw from the seeds alone.")
        perturb = choice.generator.load(files, "cpu", model.block)

    def attacked(rows: slice) -> tuple[Tensor, ...]:
        """The images, the steps, the queries, and whether each is a success, of some of the samples."""
        batch = pose(settings, model, images[rows].clone(), truth[rows], eps, Draws(seeds, ids[rows]))
        ledger = choice.attack(settings, batch, perturb)
        if not batch.images.equal(images[rows]):
            raise InputError("it changes the images that it is handed: work on a copy.")
        return ledger.result()

    whole = attacked(slice(None))
    if sentences := broken_bounds(whole, images, norm, eps):
        return sentences
    now, success = answers(model, whole[0]), whole[3]
    changed = (now != truth).any(dim=1) if multilabel else now != truth
    if settings.goal == "untargeted" and bool((success.cpu() & ~changed).any()):
        return ["it claims a success on an image that the network still gets right: let the ledger look at it."]
    if not all(map(torch.equal, whole, attacked(slice(None)))):
        return ["the same draws give other images: take random numbers from `batch.draws` or `batch.start` alone."]
    parts = [attacked(rows) for rows in (slice(CUT, None), slice(CUT))]
    joined = [torch.cat([early, late]) for late, early in zip(*parts, strict=True)]
    if not all(map(torch.equal, whole, joined)):
        return [
            "what becomes of a sample depends on the others in its batch: draw per sample (`batch.draws`), and take no "
            "sums or sorts over samples."
        ]
    return []


def _short_settings(choice: AnyImageAttackChoice, norm: Norm, eps: float) -> ImageAttack:
    """Its settings, with less to do where they have the usual options."""
    short = {"norm": norm, "eps": (eps,), "epochs": 1, "width": 4, "steps": 8, "queries": 40}
    fields = choice.settings.model_fields
    settings: ImageAttack = choice.settings(**{name: value for name, value in short.items() if name in fields})
    return settings


def broken_bounds(result: Sequence[Tensor], images: Tensor, norm: Norm, eps: float) -> list[str]:
    """What in the result of an attack on images is not as wide, as near or as long as it has to be, a sentence each."""
    from assay.tasks.attacks.batch import distances

    attacked, *columns = result
    if attacked.shape != images.shape or attacked.dtype != images.dtype:
        return [
            f"it makes {attacked.dtype} {list(attacked.shape)} of images {images.dtype} {list(images.shape)}: keep the "
            "shape and the type."
        ]
    sentences = []
    if any(column.shape != (len(images),) for column in columns):
        sentences.append("its ledger has not one row for each sample.")
    if not attacked.isfinite().all() or attacked.min() < 0 or attacked.max() > 1:
        sentences.append("pixels leave [0, 1]: clip them (`batch.ball.clip`).")
    moved = float(distances(norm, attacked.double() - images.double()).max())
    if moved > (eps if norm != "patch" else max(eps, 1 / images[0, 0].numel())):  # a patch is one pixel at least
        what = "a pixel moves" if norm == "linf" else "an image moves"
        sentences.append(f"{what} by {moved:.3g}, farther than ε: clip images to the ball (`batch.ball.clip`).")
    return sentences
