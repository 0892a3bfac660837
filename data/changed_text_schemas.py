"""The kind of artifact that shows people what was done to texts."""

import pyarrow as pa

from assay.infra.artifacts import Table

_S, _I2, _I4, _F = pa.string(), pa.int16(), pa.int32(), pa.float64()


def _schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


class ChangedTexts(Table):
    """One row per attacked text that the report shows: the original, and every change that was made to it.

    `attack` made it (`group` says how, where there are several ways); `before` and `after` are what the subject says of
    the two texts. `starts`, `ends` (characters of the original) and `news` belong together. `similarity` is null where
    none was measured. Where texts are masked, `text` is empty, `news` holds no words, and the places are those of the
    changes in reading order, so that nothing of the text is left.
    """

    schema = _schema(
        ("id", _S, False),
        ("attack", _S, False),
        ("group", _S, False),
        ("gold", _I2, True),
        ("before", _I2, False),
        ("after", _I2, False),
        ("status", _S, False),
        ("text", _S, False),
        ("starts", pa.list_(_I4), False),
        ("ends", pa.list_(_I4), False),
        ("news", pa.list_(_S), False),
        ("words", _I4, True),
        ("similarity", _F, True),
    )
