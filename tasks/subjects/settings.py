"""Options of one subject: a model under audit, or the predictions that another system has already made."""

from typing import Literal, Self

from pydantic import Field, model_validator

from assay.infra.settings import Settings


class Subject(Settings):
    """A model under audit: one that Assay trains, one that the user brings, or only its predictions."""

    name: str = Field(default="subject", min_length=1, max_length=80)
    """What the subject is called in findings, gates and the report."""

    model: str | None = Field(default=None, min_length=1)
    """`logistic` (trained by Assay), or a model of your own as `module:object` or `file.py:object`."""

    predictions: str | None = Field(default=None, min_length=1)
    """A column of the samples that already holds another system's predictions, as class names or class codes."""

    weights: str | None = Field(default=None, min_length=1)
    """A safetensors file with the weights of the Torch module that `model` builds."""

    features: tuple[str, ...] | None = Field(default=None, min_length=1)
    """The feature columns the model sees, in this order; left out, `logistic` takes every numeric column."""

    train_on: Literal["gold", "weak"] = "gold"
    """What `logistic` learns from: the gold labels, or the weak ones."""

    folds: int = Field(default=5, ge=2, le=100)
    """Into how many parts the samples are split so that `logistic` never predicts a sample it has learned from."""

    @model_validator(mode="after")
    def _one_way_to_predict(self) -> Self:
        if (self.model is None) == (self.predictions is None):
            raise ValueError(
                f"the subject {self.name} needs either `model` (logistic, module:object or file.py:object) or "
                "`predictions` (a column of the samples), and not both"
            )
        if self.weights is not None and self.model in (None, "logistic"):
            raise ValueError(f"the subject {self.name} has `weights` but no Torch builder as `model` to load them into")
        if self.model not in (None, "logistic") and ":" not in str(self.model):
            raise ValueError(
                f"the model {self.model!r} of the subject {self.name} is neither `logistic` nor written as "
                "module:object or file.py:object"
            )
        if self.features is not None and len(set(self.features)) < len(self.features):
            twice = sorted({name for name in self.features if self.features.count(name) > 1})
            raise ValueError(f"the subject {self.name} lists the feature {twice[0]!r} more than once")
        return self
