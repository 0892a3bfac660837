"""The types of arrays by what they hold: floats, integers, booleans, codes of classes, counts."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Codes = Integers
"""The class of each sample, or another kind by its number; -1 where there is none."""
Counts = Integers
"""How many there are of each kind."""
