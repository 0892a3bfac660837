"""The options of agreement: which columns hold the labels of which people."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from assay.infra.settings import Settings


class Annotators(Settings):
    """Where the labels of single annotators stand; a list of columns alone is the short form."""

    columns: tuple[str, ...] = Field(min_length=2, max_length=100, examples=[["first_reader", "second_reader"]])
    """A column of labels per annotator; an empty cell is a sample that this annotator did not label."""

    @model_validator(mode="before")
    @classmethod
    def _from_a_list(cls, written: Any) -> Any:
        return {"columns": tuple(written)} if isinstance(written, list | tuple) else written
