"""One class per kind of artifact: its columns, its keys, its meaning."""

import pyarrow as pa

from assay.infra.artifacts import Files, Table


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
