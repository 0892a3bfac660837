"""How scans and volumes become pictures."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from assay.infra.settings import Settings


class Scan(Settings):
    """How a medical scan becomes pictures of 8 bits: which values are shown, and which slices."""

    window: tuple[float, Annotated[float, Field(gt=1)]] | None = Field(default=None, examples=["[40, 400]"])
    """Centre and width of the values that are shown, in the units of the modality (Hounsfield for CT). Left out, a
    DICOM file's own window, else all its values, and of a NIfTI volume those between its 1st and 99th percentile."""

    slices: Annotated[int, Field(ge=1, le=4096)] | None = Field(default=None, examples=["16"])
    """So many slices of a volume (or frames of a file), evenly from its first to its last; left out, all of them."""

    plane: Literal["axial", "coronal", "sagittal"] = "axial"
    """Across which plane a NIfTI volume is cut, by the directions that its header gives."""
