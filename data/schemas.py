"""One class per kind of artifact: its meaning; its columns, their types and which may be null stand in columns.yaml.

Samples of tagged sentences have `tokens` (words, a list of strings) and `tags` (a list as long: `O`, `B-Disease`,
`I-Disease`). Samples of sentence pairs have `first` and `second` (strings) and `score` (a float). A subject's
settings may name other columns; `gold` is null in both.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from ruamel.yaml import YAML

from assay.infra.storage.artifacts import Files, Table

_COLUMNS: dict[str, dict[str, str]] = YAML(typ="safe").load(
    Path(__file__).with_name("columns.yaml").read_text(encoding="utf-8")
)


class ListedTable(Table):
    """A kind of table whose columns stand under its name in columns.yaml.

    >>> class Predictions(ListedTable): pass
    >>> Predictions.schema.field("probabilities").type, Predictions.schema.field("predicted").nullable
    (ListType(list<item: double>), False)
    """

    def __init_subclass__(cls) -> None:
        cls.schema = pa.schema([_column(name, written) for name, written in _COLUMNS[cls.__name__].items()])


def _column(name: str, written: str) -> pa.Field:
    """A column by what is written of it: `int16`, `list[double]`, with a question mark where it may be null."""
    kind, listed, _ = written.removesuffix("?").removeprefix("list[").partition("]")
    dtype = pa.type_for_alias(kind)
    return pa.field(name, pa.list_(dtype) if listed else dtype, nullable=written.endswith("?"))


class Samples(ListedTable):
    """What is audited: one row per sample, a unique `id`, the gold class where known (else null), features."""

    extras = "any"


class Classes(ListedTable):
    """The classes of a pipeline: the code used everywhere inside, and the name the user gave it."""


class Rejects(ListedTable):
    """Rows that did not enter: file, line (text files) or row number (others), both counted from 1, and the reason."""


class ContractResults(ListedTable):
    """One row per expectation of a contract: what was expected, of how many rows, how many disappointed."""


class Votes(ListedTable):
    """One int8 column per labelling function, named after it: the class it votes for, or -1 where it abstains."""

    extras = pa.int8()


class LabelingTable(ListedTable):
    """One row per labelling function: what it says, how often, how it agrees with the others and with gold."""


class Panel(ListedTable):
    """One row per labelling function: its rank in Algorithm 1 (0 walks first), if it is kept, or which kept function
    pruned it and with which correlation. `cliques` is null where the functions were ranked by `degree` instead."""


class LabelModel(ListedTable):
    """The weight a labeler gives each labelling function (the same for every class), and how its training went."""

    extras = pa.float64()


class WeakLabels(ListedTable):
    """Per sample: the estimated class, the confidence in it, the votes cast, the softmax share for the interval."""


class Intervals(ListedTable):
    """Weak labels with their Clopper-Pearson interval [lower, upper] and the real-valued votes won. `tie_break` is a
    stable hash of the id: samples with equal scores are ordered by it."""


class Clusters(ListedTable):
    """What is independent: a hash of the user's group, else of the sample's id. Without groups also one of the votes:
    samples of one pattern have one score."""


class OrderedAnswers(ListedTable):
    """How often a subject is right on a sample of the order, of how many `times`, under one circumstance.

    `of` and `group` name the circumstance as findings do (`pgd`, `eps=0.1`); `score` is the sample's θ_L.
    """


class CuratedSets(ListedTable):
    """The adversarial order: `rank` 0 is the easiest sample; `dataset` d means the sample is in D_d, D_d+1, … D_N."""


class OrderingCurve(ListedTable):
    """One row per approach, labeler and D_i: its size and its accuracy with both bands, the tie-free one beside it."""


class Predictions(ListedTable):
    """What a subject says of each sample: the class, and the probability of every class where the subject gives one."""


class Findings(ListedTable):
    """Every measured thing, one row each: the report, the gates, the trend and the exports all read this table."""


class SubjectFiles(Files):
    """A subject as files: parameters as safetensors or JSON, never a pickle, and a card that says how it was made."""


def class_names(classes: pa.Table) -> list[str]:
    """The names of the classes, in the order of their codes.

    >>> class_names(pa.table({"code": [1, 0], "name": ["malignant", "benign"]}))
    ['benign', 'malignant']
    """
    return [str(name) for name in classes.sort_by("code").column("name").to_pylist()]


class PeoplesAnswers(ListedTable):
    """One row per sample that people were asked about: its class by the gold column, by them, and what it is now.

    `people` gave an answer, `agreeing` of them this one (where they are even, one of those most given), `skipped`
    looked and gave none. `cluster` is a hash of the sample's group, null where samples are independent.
    """


class SampleHardness(ListedTable):
    """How hard an audit found each sample by one measure: higher is harder, and only the order of values counts.

    `subject` is empty where the measure is of no subject. A sample that the measure says nothing of has no row; of
    several rows with one measure, subject and sample the hardest counts. −∞ stands for what nothing made wrong.
    """


class NearKeys(ListedTable):
    """One row per sample: the keys that samples which are nearly the same have in common."""


class NearCandidates(ListedTable):
    """One row per sample and key that another sample has as well, with what the two are compared by."""


class NearDuplicates(ListedTable):
    """One row per pair of samples that are nearly the same, with the part that each is of, most alike first.

    The part is `audited` or `training` where samples were set apart, else `data`.
    """


class LabelDoubts(ListedTable):
    """One row per subject and sample with a gold label: which class is likely by confident learning, how probable the
    subject finds the gold one, and whether the label is doubtful."""


class HardnessPairs(ListedTable):
    """One row per pair of measures and group of samples of about one rank by `first`: how hard they are by `second`.

    `x` and `y` are mean ranks, from 0 (the easiest sample) to 1 (the hardest); [low, high] is the interval of `y`.
    """


class HardestSamples(ListedTable):
    """One row per sample that is hard by every measure it has, and measure: its value, the share it is harder than.

    `place` 1 is the hardest by the mean of these shares; `n` is how many samples the measure speaks of.
    """


class IndependenceTests(ListedTable):
    """One row per test of whether a model and a set of samples are independent.

    `generator` is what made the adversarial examples, `role` what the samples are: the test set (`test`), the samples
    that the model learned from (`training`, a positive control) or samples that nobody has measured a model on
    (`fresh`, a negative control). `models` counts the models whose values were averaged. `mean`, `sigma`, `span`,
    `log_p`, `minimum_gap` and `reach` are those of the test; `error`, `adversarial_error` and `estimate` are R_S, R_adv
    and R_g; the densities h are means over misclassified originals and over successful adversarial examples, of which
    there are `moved`. `basic_p` is the test by two intervals. `test_set` and `model` are fingerprints: the same samples
    with the same labels, the same answers to them. `chances` are those of an error on each orbit, where the test is the
    exact one.
    """


class SyntheticRuns(ListedTable):
    """One row per run and ε of the synthetic experiment: the two errors, the estimate, the tests, and every T_i.

    `low` and `high` of `error` and `estimate` are not stored: they follow from n and the two standard deviations.
    """


class SyntheticTests(ListedTable):
    """One row per experiment, number of models, bin of models and ε: the test on the averaged values."""


class ShiftedWindows(ListedTable):
    """One row per sample of known class and generator: what shifting the window did to a subject there.

    `wrong` is L(f, x), `attackable` whether it is right and some shift makes it wrong; `adversarial` is L(f, g(x)) and
    `weighted` is L(f, g(x)) h(g(x)), under a random generator the mean over its draws. `wrong_at` says for every shift,
    from top to bottom and from left to right, whether the subject is wrong there. `looks` counts forward passes.
    """


class Attacked(ListedTable):
    """One row per sample and ε: what the subject says of the clean image and of the attacked one.

    ε = 0 is the clean image and always there. `success` means that the attack reached its goal, after so many `steps`
    (or all of them where it never did); `distance` is the L∞ distance in pixel values of [0, 1], or under attacks on
    few pixels (L0, patches) how many of them changed. Where samples bear several labels `gold` is null, `clean` and
    `attacked` are -1, and the labels and probabilities speak. In a table of the worst case `winner` is the attack whose
    image it was, and of several attacks in turn the one that it fell to; elsewhere it is null.
    """


class AdversarialImages(ListedTable):
    """Attacked images as float32 pixels [channels, height, width], bit for bit what a subject was shown.

    Of the samples that are kept for the report the clean image is there as well, at ε = 0.
    """


class ImagePaths(ListedTable):
    """One row per row of a table that names images by their paths: the sample's id, and the path as it stands there."""


class FrameFlips(ListedTable):
    """One row per sample, subject, perturbation and severity: how often the prediction flips along the sequence.

    `comparisons` is the number of pairs of frames that were compared (times labels, where samples bear several),
    `flips` how many of them differ. Of the frames at the severity's full strength `judged` have a known truth (times
    labels; none where there is no gold) and `correct` are right.
    """


class CorruptedImages(ListedTable):
    """A few images as subjects saw them at the full strength of a perturbation and severity, for people to look at.

    Pixels [channels, height, width] in 8 bits. The clean image is there as well, at severity 0 of `clean`.
    """


class TrainingCurve(ListedTable):
    """One row per epoch of a training: the loss, and the accuracy on training and validation samples.

    The accuracy is that of the running epoch on samples as they were varied; with several labels, per label. How long
    it took is in the manifest: a clock has no place in a table that is the same in every run.
    """


class GeneratorFiles(Files):
    """A trained perturbation generator: safetensors and a card."""


class Probed(ListedTable):
    """One row per probed sample: its logits' range and sum, the largest gradient at the image and next to it, how far
    the logits of repeated calls lie apart, and the probabilities before and after an attack that may repaint the image
    (ε = 1)."""


class DiagnosticImages(ListedTable):
    """One row per image, picture of it and circumstance: what a subject looks at, as numbers for people to look at.

    `shown` is `clean` or the attack's name; `picture` is `image`, `feature map`, `saliency`, `integrated gradients`,
    `attention fine` or `attention coarse`. `values` are float32 [channels, height, width]; only an `image` has more
    than one channel. `gold` is null and `labels` not where samples bear several. Integrated gradients are of the class
    `said`; `total` is what they add up to, `expected` what they should: f(x) − f(baseline).
    """


class LayerFeatures(ListedTable):
    """What comes out of one layer for one image; `shown` is `train`, `clean` or the name of an attack."""


class LayerPoints(ListedTable):
    """One row per layer, circumstance and sample: its place in the plane by t-SNE, computed for all of a layer at once.

    `code` is its class, of several labels the first that holds, -1 where unknown or none. `agrees` says how far its
    nearest training samples bear its class: 0 or 1, of several labels a share; null where its truth is unknown.
    """


class CoOccurrence(ListedTable):
    """One row per pair of classes: of `images`, how many the subject says to be of both, before and after an attack.

    `side` is `clean` or `attacked`; a pair of a class with itself counts the images said to bear it, and `alone` those
    that bear nothing else. Where images are of one class, `side` is `moved`: so many said to be `first` when clean are
    said to be `second` when attacked.
    """


class Certified(ListedTable):
    """One row per sample: the class that the smoothed subject is certain of, and the L2 radius it is certain within.

    Where it abstains, `predicted` is -1 and the radius 0. `lower` bounds the probability of the class under noise from
    below, from `hits` of so many `draws`.
    """


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


WORDS = pa.list_(pa.string())
"""The type of the columns `tokens` and `tags`."""


class Tagged(ListedTable):
    """One row per sentence: its words, the tag each should have (null where unknown), and the tag a subject gives it.

    `confidence` is the probability of the tag given. A word beyond what the subject reads is tagged `O` at confidence
    0. All lists of a row are of one length.
    """


class Scored(ListedTable):
    """One row per pair of sentences: how similar people say they are (null where unknown), and a subject."""


class PredictedNumbers(ListedTable):
    """One row per sample: the number that a subject predicts, and the ends of its interval where it gives one."""


class TermChanges(ListedTable):
    """One row per term of a sample, in reading order: what stood there, what stands there now, and what was done.

    `first` and `last` are places of words before the attack (`last` is not included), `new_first` and `new_last` after
    it; `start` and `end` are character offsets in the attacked sentence (tagged words are joined by a blank). `words`
    of the term could be attacked, `changed` were. `outcome` is `changed`, or why nothing changed: `spared` (the share
    left it out), `too short`, `nothing to change`, `no synonym`, `several concepts`, `crosses an entity`.
    """


class EntityMatches(ListedTable):
    """One row per sentence: its entities (`gold_*`) and those that a tagger named (`said_*`), in reading order.

    A hit has both ends and the kind right. `seen` says whether the words of the entity, before any attack, are those of
    an entity in the training samples.
    """
