"""The kinds of artifact that audits of text classifiers make: explanations and trust, word substitutions, attacked
texts and their changes.
"""

from __future__ import annotations

import pyarrow as pa

from assay.infra.storage.artifacts import Table

_S, _I2, _I4, _F, _B = pa.string(), pa.int16(), pa.int32(), pa.float64(), pa.bool_()


def _schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


class Explanations(Table):
    """One row per sample: the words that matter for the predicted class, the largest importance in size first.

    `importance` is signed: below zero speaks against the prediction. A word stands for all its occurrences; `starts`
    and `ends` are character offsets of the first. Two columns may follow: `text_words`, how many words the text has,
    and `read_words`, how many of them the subject read and the explanation is about.
    """

    schema = _schema(
        ("id", _S, False),
        ("explainer", _S, False),
        ("gold", _I2, True),
        ("predicted", _I2, False),
        ("confidence", _F, False),
        ("words", pa.list_(_S), False),
        ("starts", pa.list_(_I4), False),
        ("ends", pa.list_(_I4), False),
        ("importance", pa.list_(_F), False),
    )
    extras = _I4


class Keywords(Table):
    """One row per provider, class and word of the class's pool: its mean importance, its cluster, whether it is a
    keyword by this provider (`elected`), and by the vote of all (`keyword`)."""

    schema = _schema(
        ("provider", _S, False),
        ("explainer", _S, False),
        ("code", _I2, False),
        ("word", _S, False),
        ("importance", _F, False),
        ("explanations", _I4, False),
        ("cluster", _I4, False),
        ("relatedness", _F, True),
        ("elected", _B, False),
        ("keyword", _B, False),
    )


class TrustLabels(Table):
    """One row per sample and explainer: trustworthy, untrustworthy, undecided (with the reason) or out of scope.

    `words`, `importance` and `related` belong together; `related_mass` and `unrelated_mass` are the two sides of Eq. 6.
    """

    schema = _schema(
        ("id", _S, False),
        ("explainer", _S, False),
        ("oracle", _S, False),
        ("gold", _I2, True),
        ("predicted", _I2, False),
        ("confidence", _F, False),
        ("label", _S, False),
        ("reason", _S, False),
        ("related_mass", _F, False),
        ("unrelated_mass", _F, False),
        ("words", pa.list_(_S), False),
        ("importance", pa.list_(_F), False),
        ("related", pa.list_(_B), False),
    )


class TrustExamples(Table):
    """One row per prediction that the report shows: its text, and every word of the explanation wherever it stands.

    `starts`, `ends`, `importance` and `related` belong together. Where texts are masked, `text` is empty and the places
    are those of the words in reading order, so that nothing of the text is left.
    """

    schema = _schema(
        ("id", _S, False),
        ("explainer", _S, False),
        ("code", _I2, False),
        ("confidence", _F, False),
        ("label", _S, False),
        ("truth", _S, True),
        ("related_mass", _F, False),
        ("unrelated_mass", _F, False),
        ("text", _S, False),
        ("starts", pa.list_(_I4), False),
        ("ends", pa.list_(_I4), False),
        ("importance", pa.list_(_F), False),
        ("related", pa.list_(_B), False),
    )


class Thresholds(Table):
    """One row per provider: θ_relate, from how many synonym pairs, how many it did not know, how it parts them.

    `balance` is null where θ_relate was given.
    """

    schema = _schema(
        ("provider", _S, False),
        ("theta", _F, False),
        ("pairs", _I4, False),
        ("unknown", _I4, False),
        ("balance", _F, True),
        ("words", _I4, False),
        ("words_unknown", _I4, False),
    )


class TrustTruth(Table):
    """One row per sample whose trust label is known without the oracle: by counterfactuals, rationales or people.

    `precision` is the explanation precision, where rationales tell; such rows hold for one explainer only.
    """

    schema = _schema(("id", _S, False), ("explainer", _S, False), ("truth", _S, True), ("precision", _F, True))


class TrustSettings(Table):
    """What the oracle says under other thresholds: one row per explainer, setting and value of it.

    `trustworthy` of `n` predictions are; `g_mean` where the truth is known of `known` of them.
    """

    schema = _schema(
        ("explainer", _S, False),
        ("setting", _S, False),
        ("value", _F, False),
        ("used", _B, False),
        ("n", _I4, False),
        ("trustworthy", _I4, False),
        ("undecided", _I4, False),
        ("known", _I4, False),
        ("g_mean", _F, True),
    )


class WordVectors(Table):
    """One row per provider and word: its vector, null where the provider does not know the word."""

    schema = _schema(("provider", _S, False), ("word", _S, False), ("vector", pa.list_(pa.float32()), True))


_WORD_S, _WORD_I2, _WORD_I4, _WORD_F, _WORD_B = pa.string(), pa.int16(), pa.int32(), pa.float64(), pa.bool_()


def _word_schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


_TOLD_APART = (("auc", _WORD_F, True), ("low", _WORD_F, True), ("high", _WORD_F, True), ("pairs", _WORD_I4, True))


class WordSwaps(Table):
    """One row per word and class: what may take its place, the best first; class −1 stands for every class.

    `related` is what the trust oracle says of the word and the class (null where it was not asked, or cannot say).
    `cosines` and `importance` belong to the candidates, with NaN where there is none.
    """

    schema = _word_schema(
        ("code", _WORD_I2, False),
        ("word", _WORD_S, False),
        ("related", _WORD_B, True),
        ("candidates", pa.list_(_WORD_S), False),
        ("cosines", pa.list_(_WORD_F), False),
        ("importance", pa.list_(_WORD_F), False),
    )


class CosineLimits(Table):
    """One row per source of word vectors: the least cosine of a replacement (null where lists have no cosines), and how
    well the vectors tell synonyms from random pairs, as in `SynonymCosines`."""

    schema = _word_schema(("provider", _WORD_S, False), ("limit", _WORD_F, True), *_TOLD_APART)


class SynonymCosines(Table):
    """One row per source of word vectors: the cosine that half of all known synonyms reach, and θ_relate.

    NaN where the vectors know too few synonyms to say; null where nobody asked, or lists have no cosines. `auc` is how
    likely one of so many synonym `pairs` has a higher cosine than a random pair, with its interval (`low`, `high`);
    null where the vectors know too few pairs, or there are none.
    """

    schema = _word_schema(
        ("provider", _WORD_S, False), ("synonyms", _WORD_F, True), ("related", _WORD_F, True), *_TOLD_APART
    )


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

    schema = _word_schema(
        ("id", _WORD_S, False),
        ("gold", _WORD_I2, True),
        ("status", _WORD_S, False),
        ("reason", _WORD_S, False),
        ("predicted", _WORD_I2, False),
        ("probabilities", pa.list_(_WORD_F), False),
        ("attacked", _WORD_I2, False),
        ("attacked_probabilities", pa.list_(_WORD_F), False),
        ("text", _WORD_S, False),
        ("attacked_text", _WORD_S, False),
        ("positions", pa.list_(_WORD_I4), False),
        ("starts", pa.list_(_WORD_I4), False),
        ("ends", pa.list_(_WORD_I4), False),
        ("originals", pa.list_(_WORD_S), False),
        ("replacements", pa.list_(_WORD_S), False),
        ("words", _WORD_I4, False),
        ("changed", _WORD_I4, False),
        ("modified", _WORD_F, False),
        ("similarity", _WORD_F, True),
        ("encoder", _WORD_S, False),
        ("second_similarity", _WORD_F, True),
        ("second_encoder", _WORD_S, False),
        ("queries", _WORD_I4, False),
        ("refused", _WORD_I4, True),
        ("ranking", _WORD_S, False),
        ("providers", pa.list_(_WORD_S), False),
        ("limits", pa.list_(_WORD_F), False),
    )


_CHANGED_S, _CHANGED_I2, _CHANGED_I4, _CHANGED_F = pa.string(), pa.int16(), pa.int32(), pa.float64()


def _changed_schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


class ChangedTexts(Table):
    """One row per attacked text that the report shows: the original, and every change that was made to it.

    `attack` made it (`group` says how, where there are several ways); `before` and `after` are what the subject says of
    the two texts. `starts`, `ends` (characters of the original) and `news` belong together. `similarity` is null where
    none was measured. Where texts are masked, `text` is empty, `news` holds no words, and the places are those of the
    changes in reading order, so that nothing of the text is left.
    """

    schema = _changed_schema(
        ("id", _CHANGED_S, False),
        ("attack", _CHANGED_S, False),
        ("group", _CHANGED_S, False),
        ("gold", _CHANGED_I2, True),
        ("before", _CHANGED_I2, False),
        ("after", _CHANGED_I2, False),
        ("status", _CHANGED_S, False),
        ("text", _CHANGED_S, False),
        ("starts", pa.list_(_CHANGED_I4), False),
        ("ends", pa.list_(_CHANGED_I4), False),
        ("news", pa.list_(_CHANGED_S), False),
        ("words", _CHANGED_I4, True),
        ("similarity", _CHANGED_F, True),
    )
