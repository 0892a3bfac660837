"""The kinds of artifact that text audits make: their columns, their keys, their meaning."""

import pyarrow as pa

from assay.infra.artifacts import Table

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

    schema = _schema(
        ("id", _S, False),
        ("explainer", _S, False),
        ("truth", _S, True),
        ("precision", _F, True),
    )


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
