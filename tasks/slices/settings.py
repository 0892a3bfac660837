"""The options of slices: by which columns, and how deep the search goes."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from assay.infra.settings import Settings


class Slices(Settings):
    """By which columns subjects are looked at in slices; a list of columns alone is the short form."""

    columns: tuple[str, ...] = Field(min_length=1, max_length=20, examples=[["site", "sex"]])
    """The columns of the samples whose values are slices: a site, a sex, a device. Numbers of many values are cut into
    quarters."""

    deepest: int = Field(default=2, ge=1, le=3)
    """How many columns the search puts together: with 2, also women of one site."""

    most: int = Field(default=5, ge=1, le=50)
    """How many slices the search may take to the other half; the more, the more each has to show (Holm)."""

    @model_validator(mode="before")
    @classmethod
    def _from_a_list(cls, written: Any) -> Any:
        return {"columns": tuple(written)} if isinstance(written, list | tuple) else written

    @model_validator(mode="after")
    def _each_once(self) -> Slices:
        twice = sorted({one for one in self.columns if self.columns.count(one) > 1})
        if twice:
            raise ValueError(f"names {', '.join(twice)} twice; name each column once")
        return self
