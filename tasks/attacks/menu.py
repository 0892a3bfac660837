"""Every attack that a pipeline can name, on images, on texts and on terms, and how each may be written short."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from assay.tasks.attacks.noise.settings import NOISE_KINDS, Noise
from assay.tasks.attacks.settings import APGD, FGSM, GAP, PGD, PRESETS, MomentumPGD, Square
from assay.tasks.attacks.settings import KINDS as IMAGE_KINDS
from assay.tasks.attacks.terms.settings import TERM_KINDS, Keyboard, Swap, Synonymy
from assay.tasks.attacks.terms.settings import AnyTermAttack as AnyTermAttack
from assay.tasks.attacks.words.settings import A2T, WORD_KINDS, Guided

KINDS = (*IMAGE_KINDS, *WORD_KINDS, *NOISE_KINDS, *TERM_KINDS)


def _spelt_out(value: object) -> object:
    """An attack written short, spelt out: `xu-pgd-4` and `fgsm` by name, `pgd: {steps: 20}` under its kind."""
    if isinstance(value, str):
        if value in PRESETS:
            return PRESETS[value]
        if value in KINDS:
            return {"attack": value}
        raise ValueError(f"there is no attack {value!r}; there are {', '.join((*KINDS, *PRESETS))}")
    if isinstance(value, dict) and len(value) == 1:
        ((kind, options),) = value.items()
        if kind in KINDS and (options is None or isinstance(options, dict)):
            return {**(options or {}), "attack": kind}
    return value


AnyTextAttack = A2T | Guided | Noise
AnyAttack = Annotated[
    Annotated[
        PGD | FGSM | MomentumPGD | APGD | Square | GAP | A2T | Guided | Noise | Swap | Keyboard | Synonymy,
        Field(discriminator="attack"),
    ],
    BeforeValidator(_spelt_out),
]
"""Any attack, also written short: `- fgsm`, `- pgd: {steps: 20}`, or the paper's by name, `- xu-pgd-4`."""
