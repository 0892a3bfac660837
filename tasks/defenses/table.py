"""The defences that a pipeline can name, of images and of texts, how each may be written short, and what defences and
certificates measure. A new defence of images is a module, and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import Tagged, TaggedChoices, tried
from assay.tasks.defenses.settings import AttackedCopies, Defence, MAAdvT, MPAdvT, Standard
from assay.tasks.statistics.metrics import metrics

if TYPE_CHECKING:
    from assay.tasks.subjects.images.training import BatchHook


D = TypeVar("D", bound=Defence)
GROUP = "assay.defenses"


@dataclass(frozen=True)
class DefenceChoice(Tagged):
    """A defence that a pipeline can name."""

    tag: ClassVar[str] = "defense"


@dataclass(frozen=True)
class ImageDefenceChoice(DefenceChoice, Generic[D]):
    """A way of training image subjects: `hook` gives what is done with every batch, and imports Torch when called.

    `one_class` says why it is only for subjects that know one class per image; empty where it is for others as well.
    """

    settings: type[D]
    hook: Callable[[D, Seeds], BatchHook]
    one_class: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not issubclass(self.settings, Defence):
            raise InputError(f"{self.settings.__name__} is no Defence, as the settings of defences of images are.")

    def conformance(self) -> list[str]:
        """What keeps the defence from being one, a sentence each: it is tried on a small batch."""
        return super().conformance() + self.without_default or _conformance(self)


_EPS, _SAMPLES = 0.1, 6  # of the batch that a defence is tried on


def _conformance(choice: ImageDefenceChoice[Any]) -> list[str]:
    """What keeps a defence from being one, a sentence each; nothing where all is well.

    Its settings give variants, a batch gives a finite loss with a gradient and logits for every image, and the same
    seeds give the same loss.
    """
    sentences = list[str]()
    for variant in choice.settings().variants(_EPS):
        for multilabel in (False,) if choice.one_class else (False, True):
            several = " (several labels)" if multilabel else ""
            faults = tried(partial(_faults, choice, variant, multilabel))
            sentences += [f"As {variant.called}{several} {sentence}" for sentence in faults]
    return sentences


def _descended(choice: ImageDefenceChoice[Any], variant: Defence, multilabel: bool) -> object:
    from assay.tasks.subjects.images.inference import answers, practice_images, practice_model
    from assay.tasks.subjects.images.training import Batch, loss_for

    model = practice_model(multilabel=multilabel)
    images = practice_images(_SAMPLES)
    targets = answers(model, images)
    model.network.requires_grad_(True).train()
    ids = tuple(f"sample {row}" for row in range(_SAMPLES))
    seeds = Seeds(0, "defend_subject/epoch 1/batch 0")
    loss = loss_for("cross-entropy", multilabel=multilabel, softmaxed=False)
    return choice.hook(variant, Seeds(0, "defend_subject"))(Batch(model, images, targets, ids, seeds, loss, epoch=1))


def _faults(choice: ImageDefenceChoice[Any], variant: Defence, multilabel: bool) -> list[str]:
    import torch

    from assay.tasks.subjects.images.training import Descent

    descended = _descended(choice, variant, multilabel)
    if not isinstance(descended, Descent):
        return [f"it returns a {type(descended).__name__}: a hook returns a Descent, the loss and the logits."]
    loss, logits = descended.loss, descended.logits
    if loss.numel() != 1 or not torch.isfinite(loss).all() or not loss.requires_grad:
        return ["its loss is no single finite number with a gradient."]
    if logits.ndim != 2 or len(logits) != _SAMPLES:
        return [f"its logits are {list(logits.shape)}, expected a row for each of {_SAMPLES} images."]
    again = _descended(choice, variant, multilabel)
    if not isinstance(again, Descent) or not torch.equal(again.loss, loss):
        return ["the same seeds give another loss: take random numbers from its seeds alone (`batch.seeds`)."]
    return []


def _standard(settings: Standard, seeds: Seeds) -> BatchHook:
    from assay.tasks.defenses.adversarial_training import standard

    return standard(settings, seeds)


def _mpadvt(settings: MPAdvT, seeds: Seeds) -> BatchHook:
    from assay.tasks.defenses.adversarial_training import mpadvt

    return mpadvt(settings, seeds)


def _maadvt(settings: MAAdvT, seeds: Seeds) -> BatchHook:
    from assay.tasks.defenses.adversarial_training import maadvt

    return maadvt(settings, seeds)


IMAGE_DEFENCES: TaggedChoices[ImageDefenceChoice[Any]] = TaggedChoices(
    "defence",
    GROUP,
    ImageDefenceChoice,
    (
        ImageDefenceChoice(Standard, _standard),
        ImageDefenceChoice(MPAdvT, _mpadvt),
        ImageDefenceChoice(
            MAAdvT, _maadvt, one_class="MAAdvT compares the probabilities of classes that exclude each other (Eq. 7)"
        ),
    ),
)


DEFENCES: TaggedChoices[DefenceChoice] = TaggedChoices(
    "defence", GROUP, DefenceChoice, (*IMAGE_DEFENCES, DefenceChoice(AttackedCopies))
)
if TYPE_CHECKING:
    AnyDefence = Defence | AttackedCopies
else:
    AnyDefence = DEFENCES.union
"""Any defence, also written short: `- standard`, `- maadvt: {eps: 0.1, lambda: 6}`."""


METRICS = metrics(
    "defense",
    higher={"share": "accuracy best_accuracy certified_accuracy gain gain_over_control"},
    lower={"share": "abstains"},
    neither={"p": "between_p control_mcnemar_p mcnemar_p"},
)
