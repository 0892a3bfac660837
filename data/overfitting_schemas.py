"""The kinds of artifact that the overfitting test makes: their columns, their keys, their meaning."""

import pyarrow as pa

from assay.infra.artifacts import Table

_S, _I4, _I8, _F, _R = pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.list_(pa.float32())


def _schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
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

    schema = _schema(
        ("subject", _S, False),
        ("generator", _S, False),
        ("role", _S, False),
        ("models", _I4, False),
        ("bound", _S, False),
        ("n", _I8, False),
        ("mean", _F, False),
        ("sigma", _F, False),
        ("span", _F, False),
        ("log_p", _F, False),
        ("minimum_gap", _F, False),
        ("reach", _F, False),
        ("error", _F, False),
        ("adversarial_error", _F, True),
        ("estimate", _F, False),
        ("h_original", _F, True),
        ("h_adversarial", _F, True),
        ("moved", _I8, True),
        ("basic_p", _F, True),
        ("test_set", _S, False),
        ("model", _S, False),
        ("chances", pa.list_(_F), True),
    )


class SyntheticRuns(Table):
    """One row per run and ε of the synthetic experiment: the two errors, the estimate, the tests, and every T_i.

    `low` and `high` of `error` and `estimate` are not stored: they follow from n and the two standard deviations.
    """

    schema = _schema(
        ("experiment", _S, False),
        ("run", _I4, False),
        ("eps", _F, False),
        ("n", _I8, False),
        ("mean", _F, False),
        ("sigma", _F, False),
        ("log_p", _F, False),
        ("basic_p", _F, False),
        ("risk", _F, False),
        ("error", _F, False),
        ("adversarial_error", _F, False),
        ("estimate", _F, False),
        ("error_sigma", _F, False),
        ("estimate_sigma", _F, False),
        ("h_original", _F, True),
        ("h_adversarial", _F, True),
        ("training_accuracy", _F, False),
        ("first_weight", _F, False),
        ("values", _R, False),
    )


class SyntheticTests(Table):
    """One row per experiment, number of models, bin of models and ε: the test on the averaged values."""

    schema = _schema(
        ("experiment", _S, False),
        ("models", _I4, False),
        ("bin", _I4, False),
        ("eps", _F, False),
        ("n", _I8, False),
        ("mean", _F, False),
        ("sigma", _F, False),
        ("log_p", _F, False),
    )


class ShiftedWindows(Table):
    """One row per sample of known class and generator: what shifting the window did to a subject there.

    `wrong` is L(f, x), `attackable` whether it is right and some shift makes it wrong; `adversarial` is L(f, g(x)) and
    `weighted` is L(f, g(x)) h(g(x)), under a random generator the mean over its draws. `wrong_at` says for every shift,
    from top to bottom and from left to right, whether the subject is wrong there. `looks` counts forward passes.
    """

    schema = _schema(
        ("id", _S, False),
        ("gold", pa.int16(), False),
        ("generator", _S, False),
        ("wrong", pa.bool_(), False),
        ("attackable", pa.bool_(), False),
        ("adversarial", _F, False),
        ("weighted", _F, False),
        ("wrong_at", pa.list_(pa.bool_()), False),
        ("looks", _I4, False),
    )
