"""One test set of the synthetic overfitting experiment: half-spaces of 500 dimensions, of which one says the class."""

import json

import numpy as np
import pyarrow as pa

ROWS, DIMENSIONS = 1000, 500
SIGMA, MARGIN = DIMENSIONS**0.5, 0.025


def half_spaces(seed: int = 0) -> pa.Table:
    """1000 samples from N(±e₁, 500 I), cut off at |x₁| > 0.025: the class is the sign of x1, the other columns noise.

    >>> table = half_spaces()
    >>> table.num_rows, table.num_columns, table.column_names[:4]
    (1000, 502, ['id', 'gold', 'x1', 'x2'])
    """
    generator = np.random.Generator(np.random.Philox(key=[seed, ROWS]))
    gold = generator.integers(2, size=ROWS)
    x = SIGMA * generator.standard_normal((ROWS, DIMENSIONS))
    first = 1 + x[:, 0]
    while (outside := first <= MARGIN).any():
        first[outside] = 1 + SIGMA * generator.standard_normal(int(outside.sum()))
    x[:, 0] = np.where(gold == 1, first, -first)
    columns = {"id": pa.array([f"point-{number:04d}" for number in range(ROWS)]), "gold": pa.array(gold, pa.int16())}
    columns |= {f"x{number + 1}": pa.array(x[:, number]) for number in range(DIMENSIONS)}
    return pa.table(columns).replace_schema_metadata({"classes": json.dumps(["left", "right"])})
