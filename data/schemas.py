"""One class per kind of artifact: its columns, its keys, its meaning. Kinds of images, texts and biomedical terms
have modules of their own.
"""

from __future__ import annotations

import pyarrow as pa

from assay.infra.storage.artifacts import Files, Table


def required(kind: pa.DataType, *names: str) -> list[pa.Field]:
    """Columns of one type, none of them ever null."""
    return [pa.field(name, kind, nullable=False) for name in names]


def optional(kind: pa.DataType, *names: str) -> list[pa.Field]:
    """Columns of one type that may be null."""
    return [pa.field(name, kind) for name in names]


def schema_of(*columns: list[pa.Field]) -> pa.Schema:
    """A schema of these columns, in their order."""
    return pa.schema([field for fields in columns for field in fields])


_S, _I2, _I4, _I8, _F, _B = pa.string(), pa.int16(), pa.int32(), pa.int64(), pa.float64(), pa.bool_()


class Samples(Table):
    """What is audited: one row per sample, a unique `id`, the gold class where known (else null), features."""

    schema = schema_of(required(_S, "id"), optional(_I2, "gold"))
    extras = "any"


class Classes(Table):
    """The classes of a pipeline: the code used everywhere inside, and the name the user gave it."""

    schema = schema_of(required(_I2, "code"), required(_S, "name"))


class Rejects(Table):
    """Rows that did not enter: file, line (text files) or row number (others), both counted from 1, and the reason."""

    schema = schema_of(required(_S, "file"), required(_I8, "row"), optional(_S, "id", "column"), required(_S, "reason"))


class ContractResults(Table):
    """One row per expectation of a contract: what was expected, of how many rows, how many disappointed."""

    schema = schema_of(
        required(_S, "contract", "expectation"),
        optional(_S, "column"),
        required(_B, "success"),
        required(_I8, "checked", "unexpected"),
        optional(_S, "detail"),
    )


class Votes(Table):
    """One int8 column per labelling function, named after it: the class it votes for, or -1 where it abstains."""

    schema = schema_of(required(_S, "id"))
    extras = pa.int8()


class LabelingTable(Table):
    """One row per labelling function: what it says, how often, how it agrees with the others and with gold."""

    schema = schema_of(
        required(_S, "function"),
        required(_I4, "position"),
        required(_S, "polarity"),
        required(_F, "coverage", "overlaps", "conflicts"),
        required(_I8, "votes", "gold_votes", "gold_hits"),
        optional(_F, "empirical_accuracy"),
        required(_I8, "faults"),
        optional(_S, "fault_example"),
        required(_I8, "samples"),
    )


class Panel(Table):
    """One row per labelling function: its rank in Algorithm 1 (0 walks first), if it is kept, or which kept function
    pruned it and with which correlation. `cliques` is null where the functions were ranked by `degree` instead."""

    schema = schema_of(
        required(_S, "function"),
        required(_I4, "position"),
        required(_B, "kept"),
        required(_I4, "rank"),
        optional(_I8, "cliques"),
        required(_I8, "degree"),
        required(_F, "coverage"),
        required(_B, "constant"),
        optional(_S, "pruned_by"),
        optional(_F, "correlation"),
    )


class LabelModel(Table):
    """The weight a labeler gives each labelling function (the same for every class), and how its training went."""

    schema = schema_of(required(_S, "function"), required(_F, "weight"))
    extras = pa.float64()


class WeakLabels(Table):
    """Per sample: the estimated class, the confidence in it, the votes cast, the softmax share for the interval."""

    schema = schema_of(
        required(_S, "id"),
        required(_I2, "label"),
        required(_F, "confidence"),
        required(_I4, "votes_cast"),
        required(_F, "share"),
        required(_B, "undecided"),
    )


class Intervals(Table):
    """Weak labels with their Clopper-Pearson interval [lower, upper] and the real-valued votes won. `tie_break` is a
    stable hash of the id: samples with equal scores are ordered by it."""

    schema = schema_of(
        required(_S, "id"),
        required(_I2, "label"),
        required(_F, "confidence"),
        required(_I4, "votes_cast"),
        required(_F, "votes_won", "lower", "upper"),
        required(_B, "undecided"),
        required(_I8, "tie_break"),
    )


class Clusters(Table):
    """What is independent: a hash of the user's group, else of the sample's id. Without groups also one of the votes:
    samples of one pattern have one score."""

    schema = schema_of(required(_S, "id"), required(_I8, "cluster"), optional(_I8, "pattern"))


class OrderedAnswers(Table):
    """How often a subject is right on a sample of the order, of how many `times`, under one circumstance.

    `of` and `group` name the circumstance as findings do (`pgd`, `eps=0.1`); `score` is the sample's θ_L.
    """

    schema = schema_of(
        required(_S, "id", "of", "group"),
        required(_I4, "right", "times"),
        required(_F, "score"),
        required(_I4, "stratum"),
        required(_I8, "cluster"),
        optional(_I8, "pattern"),
        required(_B, "decided"),
    )


class CuratedSets(Table):
    """The adversarial order: `rank` 0 is the easiest sample; `dataset` d means the sample is in D_d, D_d+1, … D_N."""

    schema = schema_of(
        required(_S, "id"),
        required(_I8, "rank"),
        required(_I4, "dataset"),
        required(_I2, "label"),
        required(_F, "confidence", "lower", "upper"),
        required(_I4, "votes_cast"),
        optional(_I2, "gold"),
    )


class OrderingCurve(Table):
    """One row per approach, labeler and D_i: its size and its accuracy with both bands, the tie-free one beside it."""

    schema = schema_of(
        required(_S, "approach", "labeler"),
        required(_I4, "dataset"),
        required(_I8, "size", "n"),
        optional(_F, "accuracy", "band_low", "band_high", "wilson_low", "wilson_high", "tie_free_accuracy"),
        required(_I8, "stratum_n"),
        optional(_F, "stratum_accuracy"),
    )


class Predictions(Table):
    """What a subject says of each sample: the class, and the probability of every class where the subject gives one."""

    schema = schema_of(
        required(_S, "id"), required(_I2, "predicted"), optional(pa.list_(pa.float64()), "probabilities")
    )


class Findings(Table):
    """Every measured thing, one row each: the report, the gates, the trend and the exports all read this table."""

    schema = schema_of(
        required(_S, "run", "pipeline", "subject", "stage", "metric", "of", "group"),
        optional(_F, "value", "low", "high"),
        optional(_I8, "n"),
        optional(_F, "p_value", "p_adjusted"),
        required(_S, "verdict", "unit"),
    )


class SubjectFiles(Files):
    """A subject as files: parameters as safetensors or JSON, never a pickle, and a card that says how it was made."""


def class_names(classes: pa.Table) -> list[str]:
    """The names of the classes, in the order of their codes.

    >>> class_names(pa.table({"code": [1, 0], "name": ["malignant", "benign"]}))
    ['benign', 'malignant']
    """
    return [str(name) for name in classes.sort_by("code").column("name").to_pylist()]


class PeoplesAnswers(Table):
    """One row per sample that people were asked about: its class by the gold column, by them, and what it is now.

    `people` gave an answer, `agreeing` of them this one (where they are even, one of those most given), `skipped`
    looked and gave none. `cluster` is a hash of the sample's group, null where samples are independent.
    """

    schema = schema_of(
        required(_S, "id"),
        optional(_I2, "before", "answer", "gold"),
        required(_I4, "people", "agreeing", "skipped"),
        required(_S, "outcome"),
        optional(_I8, "cluster"),
    )


class SampleHardness(Table):
    """How hard an audit found each sample by one measure: higher is harder, and only the order of values counts.

    `subject` is empty where the measure is of no subject. A sample that the measure says nothing of has no row; of
    several rows with one measure, subject and sample the hardest counts. −∞ stands for what nothing made wrong.
    """

    schema = schema_of(required(_S, "id", "subject", "measure"), required(_F, "value"))


class HardnessPairs(Table):
    """One row per pair of measures and group of samples of about one rank by `first`: how hard they are by `second`.

    `x` and `y` are mean ranks, from 0 (the easiest sample) to 1 (the hardest); [low, high] is the interval of `y`.
    """

    schema = schema_of(
        required(_S, "subject", "first", "second"), required(_I8, "n"), required(_F, "x", "y", "low", "high")
    )


class HardestSamples(Table):
    """One row per sample that is hard by every measure it has, and measure: its value, the share it is harder than.

    `place` 1 is the hardest by the mean of these shares; `n` is how many samples the measure speaks of.
    """

    schema = schema_of(
        required(_S, "subject"),
        required(_I4, "place"),
        required(_S, "id", "measure"),
        required(_F, "value", "harder_than"),
        required(_I8, "n"),
        optional(_I2, "gold", "predicted"),
    )


class IndependenceTests(Table):
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

    schema = schema_of(
        required(_S, "subject", "generator", "role"),
        required(_I4, "models"),
        required(_S, "bound"),
        required(_I8, "n"),
        required(_F, "mean", "sigma", "span", "log_p", "minimum_gap", "reach", "error"),
        optional(_F, "adversarial_error"),
        required(_F, "estimate"),
        optional(_F, "h_original", "h_adversarial"),
        optional(_I8, "moved"),
        optional(_F, "basic_p"),
        required(_S, "test_set", "model"),
        optional(pa.list_(_F), "chances"),
    )


class SyntheticRuns(Table):
    """One row per run and ε of the synthetic experiment: the two errors, the estimate, the tests, and every T_i.

    `low` and `high` of `error` and `estimate` are not stored: they follow from n and the two standard deviations.
    """

    schema = schema_of(
        required(_S, "experiment"),
        required(_I4, "run"),
        required(_F, "eps"),
        required(_I8, "n"),
        required(
            _F,
            "mean",
            "sigma",
            "log_p",
            "basic_p",
            "risk",
            "error",
            "adversarial_error",
            "estimate",
            "error_sigma",
            "estimate_sigma",
        ),
        optional(_F, "h_original", "h_adversarial"),
        required(_F, "training_accuracy", "first_weight"),
        required(pa.list_(pa.float32()), "values"),
    )


class SyntheticTests(Table):
    """One row per experiment, number of models, bin of models and ε: the test on the averaged values."""

    schema = schema_of(
        required(_S, "experiment"),
        required(_I4, "models", "bin"),
        required(_F, "eps"),
        required(_I8, "n"),
        required(_F, "mean", "sigma", "log_p"),
    )


class ShiftedWindows(Table):
    """One row per sample of known class and generator: what shifting the window did to a subject there.

    `wrong` is L(f, x), `attackable` whether it is right and some shift makes it wrong; `adversarial` is L(f, g(x)) and
    `weighted` is L(f, g(x)) h(g(x)), under a random generator the mean over its draws. `wrong_at` says for every shift,
    from top to bottom and from left to right, whether the subject is wrong there. `looks` counts forward passes.
    """

    schema = schema_of(
        required(_S, "id"),
        required(_I2, "gold"),
        required(_S, "generator"),
        required(pa.bool_(), "wrong", "attackable"),
        required(_F, "adversarial", "weighted"),
        required(pa.list_(pa.bool_()), "wrong_at"),
        required(_I4, "looks"),
    )
