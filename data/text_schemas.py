"""The kinds of artifact that audits of text classifiers make: explanations and trust, word substitutions, attacked
texts and their changes.
"""

from __future__ import annotations

import pyarrow as pa

from assay.data.columns import ListedTable


class Explanations(ListedTable):
    """One row per sample: the words that matter for the predicted class, the largest importance in size first.

    `importance` is signed: below zero speaks against the prediction. A word stands for all its occurrences; `starts`
    and `ends` are character offsets of the first. Two columns may follow: `text_words`, how many words the text has,
    and `read_words`, how many of them the subject read and the explanation is about.
    """

    extras = pa.int32()


class Keywords(ListedTable):
    """One row per provider, class and word of the class's pool: its mean importance, its cluster, whether it is a
    keyword by this provider (`elected`), and by the vote of all (`keyword`)."""


class TrustLabels(ListedTable):
    """One row per sample and explainer: trustworthy, untrustworthy, undecided (with the reason) or out of scope.

    `words`, `importance` and `related` belong together; `related_mass` and `unrelated_mass` are the two sides of Eq. 6.
    """


class TrustExamples(ListedTable):
    """One row per prediction that the report shows: its text, and every word of the explanation wherever it stands.

    `starts`, `ends`, `importance` and `related` belong together. Where texts are masked, `text` is empty and the places
    are those of the words in reading order, so that nothing of the text is left.
    """


class Thresholds(ListedTable):
    """One row per provider: θ_relate, from how many synonym pairs, how many it did not know, how it parts them.

    `balance` is null where θ_relate was given.
    """


class TrustTruth(ListedTable):
    """One row per sample whose trust label is known without the oracle: by counterfactuals, rationales or people.

    `precision` is the explanation precision, where rationales tell; such rows hold for one explainer only.
    """


class TrustSettings(ListedTable):
    """What the oracle says under other thresholds: one row per explainer, setting and value of it.

    `trustworthy` of `n` predictions are; `g_mean` where the truth is known of `known` of them.
    """


class WordVectors(ListedTable):
    """One row per provider and word: its vector, null where the provider does not know the word."""


class WordSwaps(ListedTable):
    """One row per word and class: what may take its place, the best first; class −1 stands for every class.

    `related` is what the trust oracle says of the word and the class (null where it was not asked, or cannot say).
    `cosines` and `importance` belong to the candidates, with NaN where there is none.
    """


class CosineLimits(ListedTable):
    """One row per source of word vectors: the least cosine of a replacement (null where lists have no cosines), and how
    well the vectors tell synonyms from random pairs, as in `SynonymCosines`."""


class SynonymCosines(ListedTable):
    """One row per source of word vectors: the cosine that half of all known synonyms reach, and θ_relate.

    NaN where the vectors know too few synonyms to say; null where nobody asked, or lists have no cosines. `auc` is how
    likely one of so many synonym `pairs` has a higher cosine than a random pair, with its interval (`low`, `high`);
    null where the vectors know too few pairs, or there are none.
    """


class AttackedTexts(ListedTable):
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


class ChangedTexts(ListedTable):
    """One row per attacked text that the report shows: the original, and every change that was made to it.

    `attack` made it (`group` says how, where there are several ways); `before` and `after` are what the subject says of
    the two texts. `starts`, `ends` (characters of the original) and `news` belong together. `similarity` is null where
    none was measured. Where texts are masked, `text` is empty, `news` holds no words, and the places are those of the
    changes in reading order, so that nothing of the text is left.
    """
