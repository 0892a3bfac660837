"""The kinds of artifact that attacks on words make: their columns, their keys, their meaning."""

import pyarrow as pa

from assay.infra.artifacts import Table

_S, _I2, _I4, _F, _B = pa.string(), pa.int16(), pa.int32(), pa.float64(), pa.bool_()


def _schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


_TOLD_APART = (("auc", _F, True), ("low", _F, True), ("high", _F, True), ("pairs", _I4, True))


class WordSwaps(Table):
    """One row per word and class: what may take its place, the best first; class −1 stands for every class.

    `related` is what the trust oracle says of the word and the class (null where it was not asked, or cannot say).
    `cosines` and `importance` belong to the candidates, with NaN where there is none.
    """

    schema = _schema(
        ("code", _I2, False),
        ("word", _S, False),
        ("related", _B, True),
        ("candidates", pa.list_(_S), False),
        ("cosines", pa.list_(_F), False),
        ("importance", pa.list_(_F), False),
    )


class CosineLimits(Table):
    """One row per source of word vectors: the least cosine of a replacement (null where lists have no cosines), and how
    well the vectors tell synonyms from random pairs, as in `SynonymCosines`."""

    schema = _schema(("provider", _S, False), ("limit", _F, True), *_TOLD_APART)


class SynonymCosines(Table):
    """One row per source of word vectors: the cosine that half of all known synonyms reach, and θ_relate.

    NaN where the vectors know too few synonyms to say; null where nobody asked, or lists have no cosines. `auc` is how
    likely one of so many synonym `pairs` has a higher cosine than a random pair, with its interval (`low`, `high`);
    null where the vectors know too few pairs, or there are none.
    """

    schema = _schema(("provider", _S, False), ("synonyms", _F, True), ("related", _F, True), *_TOLD_APART)


class AttackedTexts(Table):
    """One row per sample: whether the attack changed what the subject says of it, and by which words.

    `status` is success, failed or skipped; `reason` says why not. Skipped is what the attack could not try: of such a
    sample the attacked text is its own. A successful attack changed one word at least. The
    prediction `predicted` with its `probabilities` is of the original, `attacked` with `attacked_probabilities` of the
    attacked text. `positions` (which word of the text), `starts`, `ends` (characters of the original), `originals` and
    `replacements` belong together, in reading order. `words` counts all words of the text, `changed` those that the
    attack changed. `similarity` is by the encoder of the attack's own constraint, `second_similarity` by another; null
    where nothing was changed. `refused` counts the replacements of the text's words that were left out as their
    opposites; null where opposites are let in. `limits` are the least cosines of a replacement that were in force, by
    `providers`: null for lists without cosines.
    """

    schema = _schema(
        ("id", _S, False),
        ("gold", _I2, True),
        ("status", _S, False),
        ("reason", _S, False),
        ("predicted", _I2, False),
        ("probabilities", pa.list_(_F), False),
        ("attacked", _I2, False),
        ("attacked_probabilities", pa.list_(_F), False),
        ("text", _S, False),
        ("attacked_text", _S, False),
        ("positions", pa.list_(_I4), False),
        ("starts", pa.list_(_I4), False),
        ("ends", pa.list_(_I4), False),
        ("originals", pa.list_(_S), False),
        ("replacements", pa.list_(_S), False),
        ("words", _I4, False),
        ("changed", _I4, False),
        ("modified", _F, False),
        ("similarity", _F, True),
        ("encoder", _S, False),
        ("second_similarity", _F, True),
        ("second_encoder", _S, False),
        ("queries", _I4, False),
        ("refused", _I4, True),
        ("ranking", _S, False),
        ("providers", pa.list_(_S), False),
        ("limits", pa.list_(_F), False),
    )
