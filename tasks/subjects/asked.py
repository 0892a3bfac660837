"""What a subject is asked through: a person's own code, or a model at an address. Both are asked alike."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class Asked(Protocol):
    """Whatever answers for a subject that Assay did not build."""

    @property
    def written(self) -> str:
        """How the settings name it."""

    @property
    def fingerprint(self) -> str:
        """The hash of what its answers depend on."""

    @property
    def asks_elsewhere(self) -> bool:
        """Whether a service answers, which is asked for what there is and for nothing twice."""

    def __hash__(self) -> int:
        """Equal where what answers is the same: each process makes it once."""

    def load(self) -> object:
        """The object that answers."""

    def at_work(self, what: str) -> AbstractContextManager[None]:
        """Within the block it is asked; `what` it is begins the sentences about it."""

    def raised(self, fault: BaseException, masked: bool = False) -> str:
        """What it raised, in words; `masked` without those of the error."""

    def line_of(self, fault: BaseException) -> str:
        """Where in its code that was, or nothing."""
