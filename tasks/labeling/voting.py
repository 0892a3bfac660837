"""What a rulebook says of a partition: votes, and the faults of rules that raised, the same for any partitioning."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from toolz import groupby

from assay.infra.errors import InputError
from assay.tasks.labeling.rules import ABSTAIN, ColumnRule, EndlessPatternError, InBatches, Rulebook, Sample, SampleRule

VoteVector = npt.NDArray[np.int8]
_LARGEST = np.iinfo(np.int64).max  # whole numbers beyond are no votes, and no array holds them

_ROWS_AT_ONCE = 4096  # functions of one sample see Python objects; this bounds how many exist together


@dataclass(frozen=True)
class Faults:
    """On how many samples a rule raised, and what it said on the one with the smallest id."""

    count: int
    sample: str
    message: str

    def __add__(self, other: Faults) -> Faults:
        """The faults of both, with the example of the smaller id.

        >>> Faults(1, "b", "KeyError: 'x'") + Faults(2, "a", "ValueError: no")
        Faults(count=3, sample='a', message='ValueError: no')
        """
        first = min(self, other, key=lambda faults: (faults.sample, faults.message))
        return Faults(self.count + other.count, first.sample, first.message)


@dataclass
class _Ledger:
    """Faults as they happen in one partition, and how many of a rule are too many."""

    patience: int | None
    faults: dict[str, Faults] = field(default_factory=dict)

    def note(self, rule: str, sample: str, fault: Exception) -> None:
        message = " ".join(str(fault).split())  # in one line
        new = Faults(1, sample, f"{type(fault).__name__}: {message}"[:200] if message else type(fault).__name__)
        total = self.faults[rule] + new if rule in self.faults else new
        self.faults[rule] = total
        if self.patience is not None and total.count > self.patience:
            raise InputError(
                f"The labelling function {rule} raised on more than {self.patience} samples, which is all that the "
                f"fault limit allows; on sample {total.sample} it said {total.message}. Mend the rule, or raise "
                "labeling.fault_limit."
            )


def apply_rules(table: pa.Table, rulebook: Rulebook, patience: int | None = None) -> tuple[pa.Table, dict[str, Faults]]:
    """The votes of every rule on every row (one int8 column per rule), and the faults of those that raised.

    A rule that raises on a sample abstains there and is counted. A column rule that raises is asked again on ever
    smaller parts, so that it loses the offending rows only, however the rows are partitioned. Gold labels are hidden
    from the rules. Past `patience` faults of one rule the work stops with an error that names it.

    >>> book = Rulebook("sizes", ("small", "big"), [SampleRule("big", lambda x: 1 if x.size > 2 else ABSTAIN)])
    >>> votes, faults = apply_rules(pa.table({"id": ["a", "b"], "size": [1, 3]}), book)
    >>> votes.to_pydict(), faults
    ({'id': ['a', 'b'], 'big': [-1, 1]}, {})
    """
    seen = table.drop_columns(["gold"]) if "gold" in table.column_names else table
    ledger = _Ledger(patience)
    classes = len(rulebook.classes)
    votes = {rule.name: np.full(table.num_rows, ABSTAIN, np.int8) for rule in rulebook.rules}
    of_columns = [rule for rule in rulebook.rules if isinstance(rule, ColumnRule)]
    for frame, rules in groupby(attrgetter("frame"), of_columns).items():
        for start, part in _blocks(seen, frame.rows if isinstance(frame, InBatches) else max(table.num_rows, 1)):
            shown = _frame_of(rules[0], part)  # made once for all rules, and gone before the next batch
            for rule in rules:
                _ask_columns(
                    rule, part, _own_copy(shown), votes[rule.name][start : start + part.num_rows], classes, ledger
                )
    _ask_samples([rule for rule in rulebook.rules if isinstance(rule, SampleRule)], seen, votes, classes, ledger)
    columns = {"id": table.column("id")} | {name: pa.array(vector, pa.int8()) for name, vector in votes.items()}
    return pa.table(columns), ledger.faults


def _frame_of(rule: ColumnRule[object], table: pa.Table) -> object:
    """What a column rule is shown of a partition; a frame that cannot be made is nobody's vote, but a mistake."""
    try:
        return rule.frame(table)
    except Exception as fault:
        reason = str(fault).removesuffix(".") if isinstance(fault, InputError) else f"{type(fault).__name__}: {fault}"
        raise InputError(f"The labelling function {rule.name} cannot be shown the samples: {reason}.") from fault


def _own_copy(frame: object) -> object:
    """A frame that a rule may write into without the next one seeing it, where it is of a kind that can be written."""
    return copy(frame) if isinstance(frame, np.ndarray | list) or hasattr(frame, "iloc") else frame


def _ask_columns(
    rule: ColumnRule[object], table: pa.Table, frame: object, votes: VoteVector, classes: int, ledger: _Ledger
) -> None:
    """Fill in a column rule's votes; where it raises, by halves down to the rows that make it raise."""
    try:
        answer = rule.function(frame)
    except (MemoryError, EndlessPatternError, InputError):  # of a service that cannot be asked no rule is at fault
        raise
    except Exception as fault:  # noqa: BLE001  a rule is somebody else's code and may raise anything
        if table.num_rows == 1:
            ledger.note(rule.name, str(table.column("id")[0].as_py()), fault)
            return
        half = table.num_rows // 2
        for part, out in ((table.slice(0, half), votes[:half]), (table.slice(half), votes[half:])):
            _ask_columns(rule, part, _frame_of(rule, part), out, classes, ledger)
        return
    votes[:] = _checked(rule.name, _vector(rule.name, answer, table.num_rows), table, classes)


def _ask_samples(
    rules: list[SampleRule], table: pa.Table, votes: dict[str, VoteVector], classes: int, ledger: _Ledger
) -> None:
    """Fill in the votes of the functions of one sample, a bounded number of samples at a time."""
    if not rules:
        return
    for start, block in _blocks(table, _ROWS_AT_ONCE):
        rows = block.to_pylist()
        for rule in rules:
            answers = np.full(len(rows), ABSTAIN, np.int64)
            for place, row in enumerate(rows):
                sample = Sample(**row)  # of its own for each rule: one may write into it
                try:
                    answer = rule.function(sample)
                except (MemoryError, EndlessPatternError):
                    raise
                except Exception as fault:  # noqa: BLE001  a rule is somebody else's code and may raise anything
                    ledger.note(rule.name, str(row["id"]), fault)
                else:
                    answers[place] = _scalar(rule.name, answer)
            votes[rule.name][start : start + len(rows)] = _checked(rule.name, answers, block, classes)


def _blocks(table: pa.Table, rows: int) -> Iterator[tuple[int, pa.Table]]:
    for start in range(0, table.num_rows, rows):
        yield start, table.slice(start, rows)


def _vector(rule: str, answer: object, rows: int) -> npt.NDArray[np.int64]:
    """A column rule's answer as integers, nulls as abstentions; or an error that says what it was instead."""
    if isinstance(answer, pa.Array | pa.ChunkedArray):
        answer = answer.to_numpy(zero_copy_only=False)
    array = np.asarray(answer)
    if array.shape != (rows,):
        raise InputError(
            f"The labelling function {rule} answered with shape {array.shape}, expected one vote for each of the "
            f"{rows} samples it was given."
        )
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind in "fO":
        return np.fromiter((_scalar(rule, value) for value in array.tolist()), np.int64, rows)
    raise InputError(_not_a_vote(rule, f"values of type {array.dtype}"))


def _scalar(rule: str, answer: object) -> int:
    """One answer as an integer; None, NaN and pandas' NA abstain."""
    if answer is None or type(answer).__name__ == "NAType":
        return ABSTAIN
    vote = answer
    if isinstance(answer, float | np.floating):
        if math.isnan(answer):
            return ABSTAIN
        vote = int(answer) if float(answer).is_integer() else answer
    if isinstance(vote, int | np.integer) and not isinstance(vote, bool) and abs(int(vote)) <= _LARGEST:
        return int(vote)
    raise InputError(_not_a_vote(rule, repr(answer)))


def _not_a_vote(rule: str, what: str) -> str:
    return (
        f"The labelling function {rule} answered {what}, expected the number of a class (0, 1, …) or {ABSTAIN} to "
        "abstain: numpy.where(condition, CLASS, -1) turns a condition into votes."
    )


def _checked(rule: str, votes: npt.NDArray[np.int64], table: pa.Table, classes: int) -> VoteVector:
    """The votes as int8 when each is a class or an abstention; otherwise an error that names rule and sample."""
    outside = np.flatnonzero((votes < ABSTAIN) | (votes >= classes))
    if outside.size:
        ids = table.column("id")
        sample, vote = min((str(ids[int(row)].as_py()), int(votes[row])) for row in outside)
        raise InputError(
            f"The labelling function {rule} voted {vote} on sample {sample}, expected a class from 0 to {classes - 1} "
            f"or {ABSTAIN} to abstain."
        )
    return votes.astype(np.int8)
