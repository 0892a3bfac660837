"""Gates: the bounds a team sets on its findings; a run passes when every gate does."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from assay.infra.settings import Settings


class Gate(Settings):
    """A bound on findings: what a gate leaves out (`of`, `group`, `subject`) matches all, and all must keep to it."""

    finding: str = Field(pattern=r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$")
    """Which finding, as `stage.metric`."""

    of: str | None = None
    """What the finding is about: an approach, an attack, a perturbation, a defence, `weak` or `gold`."""

    group: str | None = None
    """Which slice: a labeler, an ε, a severity, a class, a data set such as `D10`."""

    subject: str | None = None
    """Which subject, by its name in the pipeline."""

    at_most: float | None = None
    """The finding's value may not be above this."""

    at_least: float | None = None
    """The finding's value may not be below this."""

    verdict: str | None = None
    """The verdict the finding must carry, word for word."""

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.at_most is None and self.at_least is None and self.verdict is None:
            raise ValueError(f"the gate on {self.finding} sets no bound: give at_most, at_least or verdict")
        if self.at_most is not None and self.at_least is not None and self.at_most < self.at_least:
            raise ValueError(
                f"the gate on {self.finding} can never pass: at_most {self.at_most:g} "
                f"is below at_least {self.at_least:g}"
            )
        return self
