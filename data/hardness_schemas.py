"""The kinds of artifact that say how hard samples are: by one measure, by two together, and by all of them."""

import pyarrow as pa

from assay.infra.artifacts import Table

_S, _I2, _I4, _I8, _F = pa.string(), pa.int16(), pa.int32(), pa.int64(), pa.float64()


def _schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


class SampleHardness(Table):
    """How hard an audit found each sample by one measure: higher is harder, and only the order of values counts.

    `subject` is empty where the measure is of no subject. A sample that the measure says nothing of has no row; of
    several rows with one measure, subject and sample the hardest counts. −∞ stands for what nothing made wrong.
    """

    schema = _schema(("id", _S, False), ("subject", _S, False), ("measure", _S, False), ("value", _F, False))


class HardnessPairs(Table):
    """One row per pair of measures and group of samples of about one rank by `first`: how hard they are by `second`.

    `x` and `y` are mean ranks, from 0 (the easiest sample) to 1 (the hardest); [low, high] is the interval of `y`.
    """

    schema = _schema(
        ("subject", _S, False),
        ("first", _S, False),
        ("second", _S, False),
        ("n", _I8, False),
        ("x", _F, False),
        ("y", _F, False),
        ("low", _F, False),
        ("high", _F, False),
    )


class HardestSamples(Table):
    """One row per sample that is hard by every measure it has, and measure: its value, the share it is harder than.

    `place` 1 is the hardest by the mean of these shares; `n` is how many samples the measure speaks of.
    """

    schema = _schema(
        ("subject", _S, False),
        ("place", _I4, False),
        ("id", _S, False),
        ("measure", _S, False),
        ("value", _F, False),
        ("harder_than", _F, False),
        ("n", _I8, False),
        ("gold", _I2, True),
        ("predicted", _I2, True),
    )
