"""The gold classes of samples as codes, or an error that names the sample whose code is none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError


def codes_known(samples: pa.Table, classes: Sequence[str]) -> npt.NDArray[np.int64]:
    """The class code of every sample, −1 where it is unknown.

    >>> codes_known(pa.table({"id": ["a", "b"], "gold": [1, None]}), ["no", "yes"]).tolist()
    [1, -1]
    """
    codes: npt.NDArray[np.int64] = pc.fill_null(samples["gold"], -1).to_numpy().astype(np.int64)
    wrong = np.flatnonzero((codes < -1) | (codes >= len(classes)))
    if len(wrong):
        raise InputError(
            f"Sample {samples['id'][int(wrong[0])].as_py()!r} has the class code {codes[wrong[0]]}, expected 0 to "
            f"{len(classes) - 1} ({', '.join(classes)})."
        )
    return codes
