"""Every defence that a pipeline can name, of images and of texts, and how each may be written short."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from assay.tasks.defenses.settings import KINDS as IMAGE_KINDS
from assay.tasks.defenses.settings import MAAdvT, MPAdvT, Standard
from assay.tasks.defenses.text_settings import AttackedCopies

KINDS = (*IMAGE_KINDS, "attacked-copies")


def _spelt_out(value: object) -> object:
    """A defence written short, spelt out: `maadvt` by name, `maadvt: {lambda: 3}` under its kind."""
    if isinstance(value, str):
        if value in KINDS:
            return {"defense": value}
        raise ValueError(f"there is no defence {value!r}; there are {', '.join(KINDS)}")
    if isinstance(value, dict) and len(value) == 1:
        ((kind, options),) = value.items()
        if kind in KINDS and (options is None or isinstance(options, dict)):
            return {**(options or {}), "defense": kind}
    return value


AnyDefence = Annotated[
    Annotated[Standard | MPAdvT | MAAdvT | AttackedCopies, Field(discriminator="defense")], BeforeValidator(_spelt_out)
]
"""Any defence, also written short: `- standard`, `- maadvt: {eps: 0.1, lambda: 6}`."""
