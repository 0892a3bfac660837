"""Options of the noise attack."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from assay.infra.settings import Settings

NoiseKind = Literal["typos", "casing", "punctuation", "whitespace", "homoglyphs"]
NOISES: tuple[NoiseKind, ...] = ("typos", "casing", "punctuation", "whitespace", "homoglyphs")


class Noise(Settings):
    """Typos anywhere, casing, punctuation, whitespace, homoglyphs: each at several severities."""

    attack: Literal["noise"] = "noise"
    """Which attack it is."""

    name: str | None = Field(default=None, min_length=1, max_length=80)
    """What findings call it; left out, `noise`."""

    kinds: tuple[NoiseKind, ...] = Field(default=NOISES, min_length=1)
    """Which kinds of noise are tried, each by itself."""

    severities: tuple[Annotated[int, Field(ge=1, le=5)], ...] = Field(default=(1, 3, 5), min_length=1)
    """How much of it, from 1 to 5."""

    examples: int = Field(default=4, ge=0, le=100)
    """How many noisy texts the report shows."""

    @property
    def called(self) -> str:
        """What findings call it."""
        return self.name or self.attack
