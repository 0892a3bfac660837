"""The kind of artifact that holds what people said of samples."""

import pyarrow as pa

from assay.infra.artifacts import Table

_S, _I2, _I4 = pa.string(), pa.int16(), pa.int32()


class PeoplesAnswers(Table):
    """One row per sample that people were asked about: its class by the gold column, by them, and what it is now.

    `people` gave an answer, `agreeing` of them this one (where they are even, one of those most given), `skipped`
    looked and gave none. `cluster` is a hash of the sample's group, null where samples are independent.
    """

    schema = pa.schema(
        [
            pa.field("id", _S, nullable=False),
            pa.field("before", _I2, nullable=True),
            pa.field("answer", _I2, nullable=True),
            pa.field("gold", _I2, nullable=True),
            pa.field("people", _I4, nullable=False),
            pa.field("agreeing", _I4, nullable=False),
            pa.field("skipped", _I4, nullable=False),
            pa.field("outcome", _S, nullable=False),
            pa.field("cluster", pa.int64(), nullable=True),
        ]
    )
