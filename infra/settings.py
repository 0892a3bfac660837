"""The one parent of every room's settings: frozen, strict, closed; so that equal settings mean equal keys."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Options of a stage: immutable, every field documented, unknown names refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)
