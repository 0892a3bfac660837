"""A kind of address: how it is recognised, what such a model can look at, and how it comes to hand and is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from assay.infra.choices import Named
from assay.infra.errors import InputError

if TYPE_CHECKING:
    from assay.tasks.subjects.addresses.given import GivenModel
    from assay.tasks.subjects.networks.libraries import LibraryNetwork
    from assay.tasks.subjects.settings import KindName, Subject
    from assay.tasks.subjects.token_networks.sources import ModelSource


@dataclass(frozen=True)
class Address(Named):
    """One kind of address (`word`), shown to people as `example`; functions import what they need when called."""

    example: str
    is_one: Callable[[str], bool]
    looks_at: tuple[KindName, ...]
    """The settings that may name it."""
    refer: Callable[[Subject, str, Path], GivenModel | LibraryNetwork | ModelSource]
    """The model in hand; paths count from the folder. Raises in words where it cannot be had."""
    unfit: tuple[str, ...]
    """The settings of a subject that say nothing about such a model."""
    extra: str = ""
    """The extra that brings the library, and `library` its module, where the base installation has none."""
    library: str = ""
    followed: bool = False
    """Whether it is a Torch network, which can learn and whose gradient attacks can follow; others are only asked."""
    brings_weights: bool = False
    """Whether its weights lie at the address."""

    def require_library(self, written: str) -> None:
        """Raises unless what reads it is installed.

        >>> Address("x", "m.x", str, (), None, (), "x", "json").require_library("m.x")
        """
        if self.library and find_spec(self.library) is None:
            raise InputError(
                f'"{written}" is read by {self.library}, which is not installed: run '
                f"`pip install 'assay-audit[{self.extra}]'`."
            )
