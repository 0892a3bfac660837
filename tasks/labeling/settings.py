"""What a pipeline says about its labelling functions."""

from typing import Self

from pydantic import Field, model_validator

from assay.infra.settings import StandsOn
from assay.tasks.labeling.written import WrittenRules


class Labeling(StandsOn, WrittenRules):
    """Which labelling functions vote on the samples: `functions` that somebody programmed, or `rules` written here."""

    functions: str | None = Field(
        default=None,
        min_length=1,
        examples=["breast-cancer", "rules.yaml", "rules.py", "rules.py:MY_RULES", "mypackage.rules:RULEBOOK"],
    )
    """A rulebook of ours by name, `module:object`, or beside the pipelines file `file.py`, `file.py:object` or
    `file.yaml` (`rules` and `classes` as here)."""

    fault_limit: float = Field(default=0.01, ge=0.0, le=1.0)
    """The share of samples on which a labelling function may raise (it abstains there) before the run stops."""

    @model_validator(mode="after")
    def _one_rulebook(self) -> Self:
        if (self.functions is None) == (not self.rules):
            given = "neither" if self.functions is None else "both"
            raise ValueError(
                f"labelling functions are functions (a rulebook) or rules (written here), and here is {given}"
            )
        if self.functions is not None and self.classes is not None:
            raise ValueError("classes are about rules written here; a rulebook names its own")
        return self

    @property
    def file(self) -> str | None:
        """The file of written rules that `functions` names, if it names one.

        >>> Labeling(functions="rules.yaml").file, Labeling(functions="rules.py").file
        ('rules.yaml', None)
        """
        return self.functions if self.functions is not None and self.functions.endswith((".yaml", ".yml")) else None
