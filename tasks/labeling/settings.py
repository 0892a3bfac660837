"""What a pipeline says about its labelling functions."""

from pydantic import Field

from assay.infra.settings import StandsOn


class Labeling(StandsOn):
    """Which labelling functions vote on the samples, and how many faults of theirs a run puts up with."""

    functions: str = Field(
        min_length=1, examples=["breast-cancer", "rules.py", "rules.py:MY_RULES", "mypackage.rules:RULEBOOK"]
    )
    """A rulebook of ours by name, `module:object`, or `file.py` / `file.py:object` beside the pipelines file."""

    fault_limit: float = Field(default=0.01, ge=0.0, le=1.0)
    """The share of samples on which a labelling function may raise (it abstains there) before the run stops."""
