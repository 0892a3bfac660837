"""The defences that a pipeline can name, of images and of texts, how each may be written short, and what defences and
certificates measure. A new defence of images is a module, and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from assay.infra.errors import InputError
from assay.infra.user_code.choices import Tagged, TaggedChoices
from assay.tasks.defenses.settings import AttackedCopies, Defence, MAAdvT, MPAdvT, Standard
from assay.tasks.statistics.metrics import metrics

if TYPE_CHECKING:
    from assay.infra.stages.exact import Seeds
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
        from assay.tasks.defenses.conformance import defence_conformance

        return super().conformance() + self.without_default or defence_conformance(self)


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
