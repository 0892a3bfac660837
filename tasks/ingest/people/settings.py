"""Where the answers of people lie, and how an answer is known to be about a sample."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from assay.infra.settings import Settings
from assay.tasks.ingest.several import Paths


class PeoplesGold(Settings):
    """Answers of people that are gold; exports alone (`gold: answers.json`) are the short form."""

    label_studio: Paths = Field(examples=["answers.json", "answers/*.json"])
    """Exports of Label Studio in its format JSON: paths beside pipelines.yaml, patterns or URLs. Of several answers of
    one person to one sample the last counts, so that a project may be exported again and again."""
    question: str = Field(default="label", min_length=1)
    """The choice that is the class, by its `from_name`; tasks of `assay export --label-studio 100` call it `label`."""
    id: str = Field(default="sample", min_length=1)
    """The field of a task's data that holds the sample's id; those tasks call it `sample`."""

    @model_validator(mode="before")
    @classmethod
    def _from_paths(cls, written: Any) -> Any:
        return {"label_studio": written} if isinstance(written, str | list | tuple) else written
