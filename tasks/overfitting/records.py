"""One test of independence with all that the report says of it, as a row of `IndependenceTests`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.overfitting_schemas import IndependenceTests
from assay.tasks.overfitting.settings import Bound
from assay.tasks.overfitting.testing import Tested, Values, basic_p, pairwise_test

Role = Literal["test", "training", "fresh", "dishonest"]


@dataclass(frozen=True)
class Record:
    """A test, what it was made on, and what lies behind it; the columns of `IndependenceTests` say what each is."""

    subject: str
    generator: str
    tested: Tested
    error: float
    estimate: float
    test_set: str
    model: str
    role: Role = "test"
    models: int = 1
    bound: str = "paper"
    adversarial_error: float | None = None
    h_original: float | None = None
    h_adversarial: float | None = None
    moved: int | None = None
    basic_p: float | None = None
    chances: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Answers:
    """What a model answers to n samples and to their adversarial versions."""

    errors: npt.NDArray[np.bool_]
    """L(f, X_i)."""
    adversarial: npt.NDArray[np.bool_]
    """L(f, g(X_i)); misclassified samples stay where they are."""
    densities: Values
    """h(g(X_i)); what it is where g(X_i) is classified rightly does not matter."""

    @property
    def values(self) -> Values:
        """T_i = L(f, g(X_i)) h(g(X_i)) − L(f, X_i)."""
        values: Values = self.adversarial * self.densities - self.errors
        return values


def record(
    subject: str,
    generator: str,
    answers: Answers,
    span: float,
    test_set: str,
    *,
    role: Role = "test",
    bound: Bound = "paper",
    alpha: float = 0.05,
    lowest: float = -1.0,
) -> Record:
    """The test of one model by one generator, from what the model answers."""
    weighted = answers.adversarial * answers.densities
    fooled = answers.adversarial & ~answers.errors
    return Record(
        subject,
        generator,
        pairwise_test(answers.values, span, bound, alpha, lowest),
        error=float(answers.errors.mean()),
        estimate=float(weighted.mean()),
        test_set=test_set,
        model=fingerprint(answers.values),
        role=role,
        bound=bound,
        adversarial_error=float(answers.adversarial.mean()),
        h_original=_mean(answers.densities[answers.errors]),
        h_adversarial=_mean(answers.densities[fooled]),
        moved=int(fooled.sum()),
        basic_p=basic_p(answers.errors.astype(float), weighted),
    )


def fingerprint(values: Values) -> str:
    """What tells one model from another on the same samples: a hash of the T_i."""
    return hashlib.blake2b(np.ascontiguousarray(values, "<f8").tobytes(), digest_size=16).hexdigest()


def samples_fingerprint(ids: Sequence[str], gold: Sequence[int | None]) -> str:
    """What tells one test set from another, whatever the order: a hash of the ids and labels.

    >>> fingerprint = samples_fingerprint(["a", "b"], [0, 1])
    >>> fingerprint == samples_fingerprint(["b", "a"], [1, 0]), fingerprint == samples_fingerprint(["a", "b"], [1, 1])
    (True, False)
    """
    digest = hashlib.blake2b(digest_size=16)
    for line in sorted(zip(ids, gold, strict=True), key=lambda pair: pair[0]):
        digest.update(repr(line).encode())
    return digest.hexdigest()


def records_table(records: Sequence[Record]) -> pa.Table:
    """The records as the table that `IndependenceTests` declares."""
    rows = [{**asdict(one), **asdict(one.tested)} for one in records]
    columns = {name: [row[name] for row in rows] for name in IndependenceTests.schema.names}
    return pa.table(columns, schema=IndependenceTests.schema)


def records_from(table: pa.Table) -> list[Record]:
    """The records that a table holds."""
    tested = [one.name for one in fields(Tested)]
    others = [one.name for one in fields(Record) if one.name != "tested"]
    rows = [{**row, "chances": None if row["chances"] is None else tuple(row["chances"])} for row in table.to_pylist()]
    return [
        Record(tested=Tested(**{name: row[name] for name in tested}), **{name: row[name] for name in others})
        for row in rows
    ]


def _mean(values: Values) -> float | None:
    return float(values.mean()) if len(values) else None
