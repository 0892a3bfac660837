"""One class per kind of artifact: its columns, its keys, its meaning. Kinds of images, texts and biomedical terms
have modules of their own.
"""

from __future__ import annotations

import pyarrow as pa

from assay.data.columns import ListedTable
from assay.infra.storage.artifacts import Files


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
