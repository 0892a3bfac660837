"""One class per kind of artifact: its columns, its keys, its meaning. Kinds of images, texts and biomedical terms
have modules of their own.
"""

from __future__ import annotations

import pyarrow as pa

from assay.infra.storage.artifacts import Files, Table


def _schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


_S, _I2, _I4, _I8, _F, _B = pa.string(), pa.int16(), pa.int32(), pa.int64(), pa.float64(), pa.bool_()


class Samples(Table):
    """What is audited: one row per sample, a unique `id`, the gold class where known (else null), features."""

    schema = _schema(("id", _S, False), ("gold", _I2, True))
    extras = "any"


class Classes(Table):
    """The classes of a pipeline: the code used everywhere inside, and the name the user gave it."""

    schema = _schema(("code", _I2, False), ("name", _S, False))


class Rejects(Table):
    """Rows that did not enter: file, line (text files) or row number (others), both counted from 1, and the reason."""

    schema = _schema(
        ("file", _S, False), ("row", _I8, False), ("id", _S, True), ("column", _S, True), ("reason", _S, False)
    )


class ContractResults(Table):
    """One row per expectation of a contract: what was expected, of how many rows, how many disappointed."""

    schema = _schema(
        ("contract", _S, False),
        ("expectation", _S, False),
        ("column", _S, True),
        ("success", _B, False),
        ("checked", _I8, False),
        ("unexpected", _I8, False),
        ("detail", _S, True),
    )


class Votes(Table):
    """One int8 column per labelling function, named after it: the class it votes for, or -1 where it abstains."""

    schema = _schema(("id", _S, False))
    extras = pa.int8()


class LabelingTable(Table):
    """One row per labelling function: what it says, how often, how it agrees with the others and with gold."""

    schema = _schema(
        ("function", _S, False),
        ("position", _I4, False),
        ("polarity", _S, False),
        ("coverage", _F, False),
        ("overlaps", _F, False),
        ("conflicts", _F, False),
        ("votes", _I8, False),
        ("gold_votes", _I8, False),
        ("gold_hits", _I8, False),
        ("empirical_accuracy", _F, True),
        ("faults", _I8, False),
        ("fault_example", _S, True),
        ("samples", _I8, False),
    )


class Panel(Table):
    """One row per labelling function: its rank in Algorithm 1 (0 walks first), if it is kept, or which kept function
    pruned it and with which correlation. `cliques` is null where the functions were ranked by `degree` instead."""

    schema = _schema(
        ("function", _S, False),
        ("position", _I4, False),
        ("kept", _B, False),
        ("rank", _I4, False),
        ("cliques", _I8, True),
        ("degree", _I8, False),
        ("coverage", _F, False),
        ("constant", _B, False),
        ("pruned_by", _S, True),
        ("correlation", _F, True),
    )


class LabelModel(Table):
    """The weight a labeler gives each labelling function (the same for every class), and how its training went."""

    schema = _schema(("function", _S, False), ("weight", _F, False))
    extras = pa.float64()


class WeakLabels(Table):
    """Per sample: the estimated class, the confidence in it, the votes cast, the softmax share for the interval."""

    schema = _schema(
        ("id", _S, False),
        ("label", _I2, False),
        ("confidence", _F, False),
        ("votes_cast", _I4, False),
        ("share", _F, False),
        ("undecided", _B, False),
    )


class Intervals(Table):
    """Weak labels with their Clopper-Pearson interval [lower, upper] and the real-valued votes won. `tie_break` is a
    stable hash of the id: samples with equal scores are ordered by it."""

    schema = _schema(
        ("id", _S, False),
        ("label", _I2, False),
        ("confidence", _F, False),
        ("votes_cast", _I4, False),
        ("votes_won", _F, False),
        ("lower", _F, False),
        ("upper", _F, False),
        ("undecided", _B, False),
        ("tie_break", _I8, False),
    )


class Clusters(Table):
    """Which samples are alike: a hash of the user's group, else of the votes; equal ones are one cluster."""

    schema = _schema(("id", _S, False), ("cluster", _I8, False))


class OrderedAnswers(Table):
    """How often a subject is right on a sample of the order, of how many `times`, under one circumstance.

    `of` and `group` name the circumstance as findings do (`pgd`, `eps=0.1`); `score` is the sample's θ_L.
    """

    schema = _schema(
        ("id", _S, False),
        ("of", _S, False),
        ("group", _S, False),
        ("right", _I4, False),
        ("times", _I4, False),
        ("score", _F, False),
        ("stratum", _I4, False),
        ("cluster", _I8, False),
        ("decided", _B, False),
    )


class CuratedSets(Table):
    """The adversarial order: `rank` 0 is the easiest sample; `dataset` d means the sample is in D_d, D_d+1, … D_N."""

    schema = _schema(
        ("id", _S, False),
        ("rank", _I8, False),
        ("dataset", _I4, False),
        ("label", _I2, False),
        ("confidence", _F, False),
        ("lower", _F, False),
        ("upper", _F, False),
        ("votes_cast", _I4, False),
        ("gold", _I2, True),
    )


class OrderingCurve(Table):
    """One row per approach, labeler and D_i: its size and its accuracy with both bands, the tie-free one beside it."""

    schema = _schema(
        ("approach", _S, False),
        ("labeler", _S, False),
        ("dataset", _I4, False),
        ("size", _I8, False),
        ("n", _I8, False),
        ("accuracy", _F, True),
        ("band_low", _F, True),
        ("band_high", _F, True),
        ("wilson_low", _F, True),
        ("wilson_high", _F, True),
        ("tie_free_accuracy", _F, True),
        ("stratum_n", _I8, False),
        ("stratum_accuracy", _F, True),
    )


class Predictions(Table):
    """What a subject says of each sample: the class, and the probability of every class where the subject gives one."""

    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("predicted", pa.int16(), nullable=False),
            pa.field("probabilities", pa.list_(pa.float64()), nullable=True),
        ]
    )


class Findings(Table):
    """Every measured thing, one row each: the report, the gates, the trend and the exports all read this table."""

    schema = _schema(
        ("run", _S, False),
        ("pipeline", _S, False),
        ("subject", _S, False),
        ("stage", _S, False),
        ("metric", _S, False),
        ("of", _S, False),
        ("group", _S, False),
        ("value", _F, True),
        ("low", _F, True),
        ("high", _F, True),
        ("n", _I8, True),
        ("p_value", _F, True),
        ("p_adjusted", _F, True),
        ("verdict", _S, False),
        ("unit", _S, False),
    )


class SubjectFiles(Files):
    """A subject as files: parameters as safetensors or JSON, never a pickle, and a card that says how it was made."""


def class_names(classes: pa.Table) -> list[str]:
    """The names of the classes, in the order of their codes.

    >>> class_names(pa.table({"code": [1, 0], "name": ["malignant", "benign"]}))
    ['benign', 'malignant']
    """
    return [str(name) for name in classes.sort_by("code").column("name").to_pylist()]


_ANSWER_S, _ANSWER_I2, _ANSWER_I4 = pa.string(), pa.int16(), pa.int32()


class PeoplesAnswers(Table):
    """One row per sample that people were asked about: its class by the gold column, by them, and what it is now.

    `people` gave an answer, `agreeing` of them this one (where they are even, one of those most given), `skipped`
    looked and gave none. `cluster` is a hash of the sample's group, null where samples are independent.
    """

    schema = pa.schema(
        [
            pa.field("id", _ANSWER_S, nullable=False),
            pa.field("before", _ANSWER_I2, nullable=True),
            pa.field("answer", _ANSWER_I2, nullable=True),
            pa.field("gold", _ANSWER_I2, nullable=True),
            pa.field("people", _ANSWER_I4, nullable=False),
            pa.field("agreeing", _ANSWER_I4, nullable=False),
            pa.field("skipped", _ANSWER_I4, nullable=False),
            pa.field("outcome", _ANSWER_S, nullable=False),
            pa.field("cluster", pa.int64(), nullable=True),
        ]
    )


_HARDNESS_S, _HARDNESS_I2, _HARDNESS_I4, _HARDNESS_I8, _HARDNESS_F = (
    pa.string(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float64(),
)


def _hardness_schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


class SampleHardness(Table):
    """How hard an audit found each sample by one measure: higher is harder, and only the order of values counts.

    `subject` is empty where the measure is of no subject. A sample that the measure says nothing of has no row; of
    several rows with one measure, subject and sample the hardest counts. −∞ stands for what nothing made wrong.
    """

    schema = _hardness_schema(
        ("id", _HARDNESS_S, False),
        ("subject", _HARDNESS_S, False),
        ("measure", _HARDNESS_S, False),
        ("value", _HARDNESS_F, False),
    )


class HardnessPairs(Table):
    """One row per pair of measures and group of samples of about one rank by `first`: how hard they are by `second`.

    `x` and `y` are mean ranks, from 0 (the easiest sample) to 1 (the hardest); [low, high] is the interval of `y`.
    """

    schema = _hardness_schema(
        ("subject", _HARDNESS_S, False),
        ("first", _HARDNESS_S, False),
        ("second", _HARDNESS_S, False),
        ("n", _HARDNESS_I8, False),
        ("x", _HARDNESS_F, False),
        ("y", _HARDNESS_F, False),
        ("low", _HARDNESS_F, False),
        ("high", _HARDNESS_F, False),
    )


class HardestSamples(Table):
    """One row per sample that is hard by every measure it has, and measure: its value, the share it is harder than.

    `place` 1 is the hardest by the mean of these shares; `n` is how many samples the measure speaks of.
    """

    schema = _hardness_schema(
        ("subject", _HARDNESS_S, False),
        ("place", _HARDNESS_I4, False),
        ("id", _HARDNESS_S, False),
        ("measure", _HARDNESS_S, False),
        ("value", _HARDNESS_F, False),
        ("harder_than", _HARDNESS_F, False),
        ("n", _HARDNESS_I8, False),
        ("gold", _HARDNESS_I2, True),
        ("predicted", _HARDNESS_I2, True),
    )


_OVERFITTING_S, _OVERFITTING_I4, _OVERFITTING_I8, _OVERFITTING_F, _OVERFITTING_R = (
    pa.string(),
    pa.int32(),
    pa.int64(),
    pa.float64(),
    pa.list_(pa.float32()),
)


def _overfitting_schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


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

    schema = _overfitting_schema(
        ("subject", _OVERFITTING_S, False),
        ("generator", _OVERFITTING_S, False),
        ("role", _OVERFITTING_S, False),
        ("models", _OVERFITTING_I4, False),
        ("bound", _OVERFITTING_S, False),
        ("n", _OVERFITTING_I8, False),
        ("mean", _OVERFITTING_F, False),
        ("sigma", _OVERFITTING_F, False),
        ("span", _OVERFITTING_F, False),
        ("log_p", _OVERFITTING_F, False),
        ("minimum_gap", _OVERFITTING_F, False),
        ("reach", _OVERFITTING_F, False),
        ("error", _OVERFITTING_F, False),
        ("adversarial_error", _OVERFITTING_F, True),
        ("estimate", _OVERFITTING_F, False),
        ("h_original", _OVERFITTING_F, True),
        ("h_adversarial", _OVERFITTING_F, True),
        ("moved", _OVERFITTING_I8, True),
        ("basic_p", _OVERFITTING_F, True),
        ("test_set", _OVERFITTING_S, False),
        ("model", _OVERFITTING_S, False),
        ("chances", pa.list_(_OVERFITTING_F), True),
    )


class SyntheticRuns(Table):
    """One row per run and ε of the synthetic experiment: the two errors, the estimate, the tests, and every T_i.

    `low` and `high` of `error` and `estimate` are not stored: they follow from n and the two standard deviations.
    """

    schema = _overfitting_schema(
        ("experiment", _OVERFITTING_S, False),
        ("run", _OVERFITTING_I4, False),
        ("eps", _OVERFITTING_F, False),
        ("n", _OVERFITTING_I8, False),
        ("mean", _OVERFITTING_F, False),
        ("sigma", _OVERFITTING_F, False),
        ("log_p", _OVERFITTING_F, False),
        ("basic_p", _OVERFITTING_F, False),
        ("risk", _OVERFITTING_F, False),
        ("error", _OVERFITTING_F, False),
        ("adversarial_error", _OVERFITTING_F, False),
        ("estimate", _OVERFITTING_F, False),
        ("error_sigma", _OVERFITTING_F, False),
        ("estimate_sigma", _OVERFITTING_F, False),
        ("h_original", _OVERFITTING_F, True),
        ("h_adversarial", _OVERFITTING_F, True),
        ("training_accuracy", _OVERFITTING_F, False),
        ("first_weight", _OVERFITTING_F, False),
        ("values", _OVERFITTING_R, False),
    )


class SyntheticTests(Table):
    """One row per experiment, number of models, bin of models and ε: the test on the averaged values."""

    schema = _overfitting_schema(
        ("experiment", _OVERFITTING_S, False),
        ("models", _OVERFITTING_I4, False),
        ("bin", _OVERFITTING_I4, False),
        ("eps", _OVERFITTING_F, False),
        ("n", _OVERFITTING_I8, False),
        ("mean", _OVERFITTING_F, False),
        ("sigma", _OVERFITTING_F, False),
        ("log_p", _OVERFITTING_F, False),
    )


class ShiftedWindows(Table):
    """One row per sample of known class and generator: what shifting the window did to a subject there.

    `wrong` is L(f, x), `attackable` whether it is right and some shift makes it wrong; `adversarial` is L(f, g(x)) and
    `weighted` is L(f, g(x)) h(g(x)), under a random generator the mean over its draws. `wrong_at` says for every shift,
    from top to bottom and from left to right, whether the subject is wrong there. `looks` counts forward passes.
    """

    schema = _overfitting_schema(
        ("id", _OVERFITTING_S, False),
        ("gold", pa.int16(), False),
        ("generator", _OVERFITTING_S, False),
        ("wrong", pa.bool_(), False),
        ("attackable", pa.bool_(), False),
        ("adversarial", _OVERFITTING_F, False),
        ("weighted", _OVERFITTING_F, False),
        ("wrong_at", pa.list_(pa.bool_()), False),
        ("looks", _OVERFITTING_I4, False),
    )
