"""Options of the attacks on terms: swapped letters, neighbouring keys, synonyms."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field

from assay.tasks.attacks.settings import NamedAttack


def as_many(value: object) -> object:
    """A number alone as a tuple of one."""
    return (value,) if isinstance(value, int | float) else value


Share = Annotated[float, Field(gt=0, le=1)]
Shares = Annotated[tuple[Share, ...], BeforeValidator(as_many), Field(min_length=1)]


class TermAttack(NamedAttack):
    """What every attack on terms has."""

    name: str | None = Field(default=None, min_length=1, max_length=80)
    """What findings call it, without a `|`, and neither `clean` nor `mixed`; left out, the kind of attack."""

    terms: str = Field(default="gold", min_length=1)
    """Who finds the terms: `gold` (tagged entities), `lexicon` (Assay's), `disease-chemical-synonyms` (the
    catalogue's), a lexicon file (tabs between concept, type and name), or `spacy:NAME`."""

    share: Shares = (1.0,)
    """The share of the terms that are attacked: the severity."""

    sentence: Literal["first", "second"] = "first"
    """Which sentence of a pair is attacked; the other stays."""

    examples: int = Field(default=4, ge=0, le=100)
    """How many attacked samples the report shows."""

    @property
    def group(self) -> str:
        """What findings call its first severity.

        >>> from assay.tasks.attacks.terms.synonymy import Synonymy
        >>> from assay.tasks.attacks.terms.typos import Swap
        >>> Swap().group, Synonymy(share=0.5).group
        ('share=1, changes=1', 'share=0.5')
        """
        changes: tuple[int, ...] = getattr(self, "changes", ())
        return ", ".join([f"share={self.share[0]:g}", *(f"changes={change}" for change in changes[:1])])

    def each(self) -> list[Self]:
        """The attack at every severity, one by one, the paper's (every term, one change) or what is nearest first.

        >>> from assay.tasks.attacks.terms.typos import Swap
        >>> [attack.group for attack in Swap(share=(0.5, 1), changes=(1, 2)).each()]
        ['share=1, changes=1', 'share=1, changes=2', 'share=0.5, changes=1', 'share=0.5, changes=2']
        """
        changes: tuple[int, ...] = getattr(self, "changes", ())
        return [
            self.model_copy(update={"share": (share,), **({"changes": (change,)} if change else {})})
            for share in sorted(set(self.share), reverse=True)
            for change in sorted(set(changes)) or [0]
        ]
