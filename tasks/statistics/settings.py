"""How the findings of a run are judged together, and gates: the bounds that a team sets on findings in
pipelines.yaml.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, field_validator, model_validator

from assay.infra.settings import Settings

if TYPE_CHECKING:
    from assay.tasks.statistics.findings import Finding


class Statistics(Settings):
    """How the findings of a run are judged together."""

    significance: float = Field(default=0.01, gt=0, lt=1)
    """The level at which a corrected p counts as a result."""

    correction: Literal["holm", "none"] = "holm"
    """How a run's p-values are corrected for their number: by Holm's method, or not."""

    margin: float = Field(default=0.05, gt=0, lt=1)
    """How much of a class's recall a defence may cost (0.05: five points)."""


class ErrorCost(Settings):
    """What errors on one class cost."""

    miss: float = Field(default=1.0, ge=0)
    """What a missed sample of this class costs, beside 1 for classes not named."""


class Claim(Settings):
    """A primary claim of a pipeline: the finding that tests it, of what, and the verdict that it claims."""

    finding: str
    verdict: str
    of: str | None = None
    group: str | None = None
    subject: str | None = None

    def matches(self, finding: Finding) -> bool:
        """Whether the finding is the test of this claim."""
        return is_about(self, finding)


def is_about(asked: Claim | Gate, finding: Finding) -> bool:
    """Whether a finding has the name that is asked for, and is of what is asked; what is left out matches all."""
    return finding.metric == asked.finding and all(
        wanted is None or wanted == actual
        for wanted, actual in ((asked.of, finding.of), (asked.group, finding.group), (asked.subject, finding.subject))
    )


_NIGHTS = re.compile(r"(?P<wanted>\d{1,2}) of (?P<nights>\d{1,2})( nights)?")
_MOST_NIGHTS = 30


class Gate(Settings, populate_by_name=True):
    """A bound on findings: what a gate leaves out (`of`, `group`, `subject`) matches all, and all must keep to it."""

    finding: str = Field(pattern=r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$")
    """Which finding, as `stage.metric`."""

    of: str | None = None
    """What it is about: an approach, an attack, a perturbation, a defence, `weak` or `gold`."""

    group: str | None = None
    """Which slice: a labeler, an ε, a severity, a class, a data set such as `D10`."""

    subject: str | None = None
    """Which subject, by its name in the pipeline."""

    at_most: float | None = None
    """The value may not be above this."""

    at_least: float | None = None
    """The value may not be below this."""

    verdict: str | None = None
    """The verdict it must carry, word for word."""

    on: Literal["value", "interval", "all", "shared", "new"] = "value"
    """What keeps to a constant bound: the value, or the whole 95 % interval. On change, which samples are compared:
    `all` of each run (the default), those of both (`shared`), or the `new` ones with all earlier ones."""

    against: str | None = Field(
        default=None, min_length=1, examples=["last-passed", "accepted", "2026-11-22-0200-k3f9"]
    )
    """For a bound on change: an earlier run by name, `last-passed`, or `accepted` (by `assay accept`)."""

    drop_at_most: float | None = Field(default=None, ge=0)
    """It may not have fallen by more than this since, judged by the interval of the drop."""

    rise_at_most: float | None = Field(default=None, ge=0)
    """The same for what should not rise."""

    inconclusive: Literal["pass", "warn", "fail"] = "warn"
    """What becomes of a gate on change that has too few samples to tell."""

    for_: str | None = Field(default=None, alias="for", examples=["2 of 3 nights"])
    """On how many of the latest nights it must have failed before it fails the run."""

    severity: Literal["warn", "fail"] = "fail"
    """Whether a failure fails the run or only warns."""

    owner: str = ""
    """Whom a failure concerns; shown with it."""

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        constant = not (self.at_most is None and self.at_least is None and self.verdict is None)
        if self.is_on_change:
            self._require_change(constant)
            return self
        if self.against is not None:
            raise ValueError(f"the gate against {self.against} bounds no change: give drop_at_most or rise_at_most")
        if not constant:
            raise ValueError(
                f"the gate on {self.finding} sets no bound: give at_most, at_least or verdict, or against an earlier "
                "run drop_at_most"
            )
        if self.on in ("all", "shared", "new"):
            raise ValueError(
                f"the gate on {self.finding} bounds no change, and `on: {self.on}` says which samples two runs are "
                "compared on: leave it out, or give against and drop_at_most"
            )
        if self.on == "interval" and self.at_most is None and self.at_least is None:
            raise ValueError(f"the gate on {self.finding} asks nothing of an interval: give at_most or at_least")
        if self.at_most is not None and self.at_least is not None and self.at_most < self.at_least:
            raise ValueError(
                f"the gate on {self.finding} can never pass: at_most {self.at_most:g} "
                f"is below at_least {self.at_least:g}"
            )
        return self

    def _require_change(self, constant: bool) -> None:
        """Raises where a bound on change lacks what it is held against, or is not alone."""
        if self.against is None:
            raise ValueError(
                f"the gate on the change of {self.finding} names no run: give against: last-passed, accepted or a run"
            )
        if constant or None not in (self.drop_at_most, self.rise_at_most):
            raise ValueError(
                f"the gate on the change of {self.finding} sets several bounds: give each a gate of its own"
            )
        if self.on == "interval":
            raise ValueError(
                f"the gate on the change of {self.finding} is judged by an interval in any case: leave `on` out, or "
                "say which samples it compares (all, shared or new)"
            )

    @field_validator("for_")
    @classmethod
    def _countable(cls, written: str | None) -> str | None:
        if written is not None:
            match = _NIGHTS.fullmatch(written)
            if match is None:
                raise ValueError(f'expected so many of the latest nights, as in "2 of 3 nights", not {written!r}')
            if not 1 <= int(match["wanted"]) <= int(match["nights"]) <= _MOST_NIGHTS:
                raise ValueError(
                    f"{written} cannot be: write at least 1 of at most {_MOST_NIGHTS}, and no more than there are"
                )
        return written

    @property
    def is_on_change(self) -> bool:
        """Whether it bounds the change since another run."""
        return self.drop_at_most is not None or self.rise_at_most is not None

    @property
    def compared_samples(self) -> Literal["all", "shared", "new"]:
        """Which samples a bound on change compares."""
        return self.on if self.on in ("shared", "new") else "all"

    @property
    def change_at_most(self) -> float:
        """The bound on change, whichever way it goes."""
        return self.drop_at_most if self.drop_at_most is not None else self.rise_at_most or 0.0

    @property
    def nights(self) -> tuple[int, int]:
        """On how many of how many nights it must have failed.

        >>> Gate.model_validate({"finding": "a.b", "at_most": 1, "for": "2 of 3 nights"}).nights
        (2, 3)
        """
        match = _NIGHTS.fullmatch(self.for_ or "")
        return (1, 1) if match is None else (int(match["wanted"]), int(match["nights"]))

    def title(self) -> str:
        """The gate in one line: what it looks at and what it asks.

        >>> Gate(finding="subject.accuracy", of="gold", group="D10", at_least=0.8).title()
        'subject.accuracy (of gold, group D10) at least 0.8'
        """
        return f"{self.finding}{self.slice_in_words()} {self._bounds()}"

    def matches(self, finding: Finding) -> bool:
        """Whether the finding is one that this gate looks at."""
        return is_about(self, finding)

    def slice_in_words(self) -> str:
        """What it leaves to a slice, as it stands behind the name of the finding.

        >>> Gate(finding="labeling.coverage", of="", at_least=0.8).slice_in_words()
        ' (of the whole)'
        """
        named = (("of", self.of), ("group", self.group), ("subject", self.subject))
        parts = [f"{word} {value or 'the whole'}" for word, value in named if value is not None]
        return f" ({', '.join(parts)})" if parts else ""

    def _bounds(self) -> str:
        bounds = [
            None if self.at_least is None else f"at least {self.at_least:g}",
            None if self.at_most is None else f"at most {self.at_most:g}",
            None if self.verdict is None else f"verdict {self.verdict!r}",
            None if self.drop_at_most is None else f"drop against {self.against} at most {self.drop_at_most:g}",
            None if self.rise_at_most is None else f"rise against {self.against} at most {self.rise_at_most:g}",
            "by its interval" if self.on == "interval" else None,
            f"on {self.on} samples" if self.on in ("shared", "new") else None,
        ]
        return " and ".join(bound for bound in bounds if bound)
