"""How arrays are called where their shape says the rest: of numbers, of whole numbers, of what holds or does not."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
