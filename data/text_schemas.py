"""The kinds of artifact that audits of text classifiers make: explanations and trust, word substitutions, attacked
texts and their changes.
"""

from __future__ import annotations

import pyarrow as pa

from assay.data.schemas import optional, required, schema_of
from assay.infra.storage.artifacts import Table

_S, _I2, _I4, _F, _B = pa.string(), pa.int16(), pa.int32(), pa.float64(), pa.bool_()


class Explanations(Table):
    """One row per sample: the words that matter for the predicted class, the largest importance in size first.

    `importance` is signed: below zero speaks against the prediction. A word stands for all its occurrences; `starts`
    and `ends` are character offsets of the first. Two columns may follow: `text_words`, how many words the text has,
    and `read_words`, how many of them the subject read and the explanation is about.
    """

    schema = schema_of(
        required(_S, "id", "explainer"),
        optional(_I2, "gold"),
        required(_I2, "predicted"),
        required(_F, "confidence"),
        required(pa.list_(_S), "words"),
        required(pa.list_(_I4), "starts", "ends"),
        required(pa.list_(_F), "importance"),
    )
    extras = _I4


class Keywords(Table):
    """One row per provider, class and word of the class's pool: its mean importance, its cluster, whether it is a
    keyword by this provider (`elected`), and by the vote of all (`keyword`)."""

    schema = schema_of(
        required(_S, "provider", "explainer"),
        required(_I2, "code"),
        required(_S, "word"),
        required(_F, "importance"),
        required(_I4, "explanations", "cluster"),
        optional(_F, "relatedness"),
        required(_B, "elected", "keyword"),
    )


class TrustLabels(Table):
    """One row per sample and explainer: trustworthy, untrustworthy, undecided (with the reason) or out of scope.

    `words`, `importance` and `related` belong together; `related_mass` and `unrelated_mass` are the two sides of Eq. 6.
    """

    schema = schema_of(
        required(_S, "id", "explainer", "oracle"),
        optional(_I2, "gold"),
        required(_I2, "predicted"),
        required(_F, "confidence"),
        required(_S, "label", "reason"),
        required(_F, "related_mass", "unrelated_mass"),
        required(pa.list_(_S), "words"),
        required(pa.list_(_F), "importance"),
        required(pa.list_(_B), "related"),
    )


class TrustExamples(Table):
    """One row per prediction that the report shows: its text, and every word of the explanation wherever it stands.

    `starts`, `ends`, `importance` and `related` belong together. Where texts are masked, `text` is empty and the places
    are those of the words in reading order, so that nothing of the text is left.
    """

    schema = schema_of(
        required(_S, "id", "explainer"),
        required(_I2, "code"),
        required(_F, "confidence"),
        required(_S, "label"),
        optional(_S, "truth"),
        required(_F, "related_mass", "unrelated_mass"),
        required(_S, "text"),
        required(pa.list_(_I4), "starts", "ends"),
        required(pa.list_(_F), "importance"),
        required(pa.list_(_B), "related"),
    )


class Thresholds(Table):
    """One row per provider: θ_relate, from how many synonym pairs, how many it did not know, how it parts them.

    `balance` is null where θ_relate was given.
    """

    schema = schema_of(
        required(_S, "provider"),
        required(_F, "theta"),
        required(_I4, "pairs", "unknown"),
        optional(_F, "balance"),
        required(_I4, "words", "words_unknown"),
    )


class TrustTruth(Table):
    """One row per sample whose trust label is known without the oracle: by counterfactuals, rationales or people.

    `precision` is the explanation precision, where rationales tell; such rows hold for one explainer only.
    """

    schema = schema_of(required(_S, "id", "explainer"), optional(_S, "truth"), optional(_F, "precision"))


class TrustSettings(Table):
    """What the oracle says under other thresholds: one row per explainer, setting and value of it.

    `trustworthy` of `n` predictions are; `g_mean` where the truth is known of `known` of them.
    """

    schema = schema_of(
        required(_S, "explainer", "setting"),
        required(_F, "value"),
        required(_B, "used"),
        required(_I4, "n", "trustworthy", "undecided", "known"),
        optional(_F, "g_mean"),
    )


class WordVectors(Table):
    """One row per provider and word: its vector, null where the provider does not know the word."""

    schema = schema_of(required(_S, "provider", "word"), optional(pa.list_(pa.float32()), "vector"))


_TOLD_APART = (optional(_F, "auc", "low", "high"), optional(_I4, "pairs"))


class WordSwaps(Table):
    """One row per word and class: what may take its place, the best first; class −1 stands for every class.

    `related` is what the trust oracle says of the word and the class (null where it was not asked, or cannot say).
    `cosines` and `importance` belong to the candidates, with NaN where there is none.
    """

    schema = schema_of(
        required(_I2, "code"),
        required(_S, "word"),
        optional(_B, "related"),
        required(pa.list_(_S), "candidates"),
        required(pa.list_(_F), "cosines", "importance"),
    )


class CosineLimits(Table):
    """One row per source of word vectors: the least cosine of a replacement (null where lists have no cosines), and how
    well the vectors tell synonyms from random pairs, as in `SynonymCosines`."""

    schema = schema_of(required(_S, "provider"), optional(_F, "limit"), *_TOLD_APART)


class SynonymCosines(Table):
    """One row per source of word vectors: the cosine that half of all known synonyms reach, and θ_relate.

    NaN where the vectors know too few synonyms to say; null where nobody asked, or lists have no cosines. `auc` is how
    likely one of so many synonym `pairs` has a higher cosine than a random pair, with its interval (`low`, `high`);
    null where the vectors know too few pairs, or there are none.
    """

    schema = schema_of(required(_S, "provider"), optional(_F, "synonyms", "related"), *_TOLD_APART)


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

    schema = schema_of(
        required(_S, "id"),
        optional(_I2, "gold"),
        required(_S, "status", "reason"),
        required(_I2, "predicted"),
        required(pa.list_(_F), "probabilities"),
        required(_I2, "attacked"),
        required(pa.list_(_F), "attacked_probabilities"),
        required(_S, "text", "attacked_text"),
        required(pa.list_(_I4), "positions", "starts", "ends"),
        required(pa.list_(_S), "originals", "replacements"),
        required(_I4, "words", "changed"),
        required(_F, "modified"),
        optional(_F, "similarity"),
        required(_S, "encoder"),
        optional(_F, "second_similarity"),
        required(_S, "second_encoder"),
        required(_I4, "queries"),
        optional(_I4, "refused"),
        required(_S, "ranking"),
        required(pa.list_(_S), "providers"),
        required(pa.list_(_F), "limits"),
    )


class ChangedTexts(Table):
    """One row per attacked text that the report shows: the original, and every change that was made to it.

    `attack` made it (`group` says how, where there are several ways); `before` and `after` are what the subject says of
    the two texts. `starts`, `ends` (characters of the original) and `news` belong together. `similarity` is null where
    none was measured. Where texts are masked, `text` is empty, `news` holds no words, and the places are those of the
    changes in reading order, so that nothing of the text is left.
    """

    schema = schema_of(
        required(_S, "id", "attack", "group"),
        optional(_I2, "gold"),
        required(_I2, "before", "after"),
        required(_S, "status", "text"),
        required(pa.list_(_I4), "starts", "ends"),
        required(pa.list_(_S), "news"),
        optional(_I4, "words"),
        optional(_F, "similarity"),
    )
