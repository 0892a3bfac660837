"""The contracts at our borders: Great Expectations suites, over a whole table (or a seeded sample of a huge one)."""

from __future__ import annotations

import contextlib
import functools
import json
import threading
import warnings
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import ContractResults
from assay.infra.engines.calls import process_state
from assay.infra.environment import prepare_environment
from assay.infra.errors import InputError

WHOLE_UP_TO = 1 << 18
"""Tables up to so many rows are checked whole; of larger ones a seeded sample of that size is: Great Expectations looks
at a pandas table in one place, and a million rows would be most of the memory that a flow needs."""


def contract(name: str) -> dict[str, Any]:
    """The suite of that name as its JSON says it.

    >>> [expectation["type"] for expectation in contract("samples")["expectations"]][3]
    'expect_column_values_to_be_unique'
    """
    text = resources.files("assay.data").joinpath("contracts", f"{name}.json").read_text(encoding="utf-8")
    suite: dict[str, Any] = json.loads(text)
    return suite


def check_contract(table: pa.Table, name: str, parameters: Mapping[str, int] | None = None) -> pa.Table:
    """One row of `ContractResults` per expectation of the contract, asked of the table.

    `parameters` are the figures that the suite leaves open (`last_class`). Nothing is fetched, sent or left on disk.
    """
    checked = bounded_sample(table, WHOLE_UP_TO)
    note = "" if checked.num_rows == table.num_rows else f" (seeded sample of {table.num_rows} rows)"
    answers = _ask(checked, contract(name), dict(parameters or {}))
    rows = [_result(name, answer, checked.num_rows, note) for answer in answers]
    return pa.Table.from_pylist(rows, schema=ContractResults.schema)


def require_contract(results: pa.Table, source: str) -> pa.Table:
    """The results, if every expectation was met; else the sentence that names the first one that was not."""
    for row in results.to_pylist():
        if not row["success"]:
            of = f" of {row['column']}" if row["column"] else ""
            example = f": {row['detail']}" if row["detail"] else ""
            raise InputError(
                f"{source} breaks the contract {row['contract']!r}: {row['expectation']}{of}, "
                f"{row['unexpected']} of {row['checked']} rows{example}."
            )
    return results


def check_curated_sets(table: pa.Table, classes: int, datasets: int, rows: int) -> pa.Table:
    """The contract of curated sets asked of `CuratedSets` (in any order of rows), before they are handed out.

    `rows` is how many were ordered: the table may be a sample of them.
    """
    parameters = {"last_class": classes - 1, "datasets": datasets, "last_rank": max(rows - 1, 0)}
    return check_contract(table.sort_by("rank"), "curated_sets", parameters)


def bounded_sample(table: pa.Table, rows: int) -> pa.Table:
    """The table itself, or so many of its rows in their order: always the same ones."""
    if table.num_rows <= rows:
        return table
    chosen = np.random.default_rng(0).choice(table.num_rows, size=rows, replace=False, shuffle=False)
    return table.take(pa.array(np.sort(chosen)))


@functools.cache
def warm_up() -> threading.Thread:
    """The thread that imports Great Expectations (up to seven seconds) while other work goes on.

    Who checks waits for it, so that the processor's time for it is no stage's, whichever is the first.
    """

    def load() -> None:
        with contextlib.suppress(ImportError, RuntimeError):  # the check imports it again and says what is wrong
            import great_expectations  # noqa: F401

    prepare_environment()
    thread = threading.Thread(target=load, name="expectations", daemon=True)
    thread.start()
    return thread


def _ask(table: pa.Table, suite: Mapping[str, Any], parameters: dict[str, int]) -> list[Any]:
    """What Great Expectations answers, in the suite's order."""
    prepare_environment()
    with process_state, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import great_expectations as gx
        from great_expectations.data_context.types.base import ProgressBarsConfig

        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
        expectations = context.suites.add(gx.ExpectationSuite(name=suite["name"], expectations=suite["expectations"]))
        whole = context.data_sources.add_pandas("assay").add_dataframe_asset(suite["name"])
        batch = whole.add_batch_definition_whole_dataframe("whole")
        definition = gx.ValidationDefinition(name=suite["name"], data=batch, suite=expectations)
        answer = context.validation_definitions.add(definition).run(
            batch_parameters={"dataframe": _as_pandas(table)},
            expectation_parameters=parameters,
            result_format="SUMMARY",
        )
    return list(answer.results)


def _as_pandas(table: pa.Table) -> Any:
    """A data frame in which whole numbers stay whole where some are missing, and are plain where none is.

    Great Expectations compares plain int64 and float64 columns as a whole, any other one value by value in Python.
    """
    import pandas as pd

    kinds = {pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype()}
    columns = zip(table.column_names, table.columns, strict=True)
    plain = [name for name, column in columns if pa.types.is_integer(column.type) and not column.null_count]
    return table.to_pandas(types_mapper=kinds.get).astype(dict.fromkeys(plain, "int64"))


def _result(name: str, answer: Any, rows: int, note: str) -> dict[str, object]:
    config, result = answer.expectation_config, answer.result or {}
    arguments = config.kwargs
    column = arguments.get("column") or "/".join(
        arguments[part] for part in ("column_A", "column_B") if part in arguments
    )
    return {
        "contract": name,
        "expectation": config.type,
        "column": column or None,
        "success": bool(answer.success),
        "checked": int(result.get("element_count", rows)),
        "unexpected": int(result.get("unexpected_count", 0 if answer.success else rows)),
        "detail": (_detail(answer, result) + note).strip() or None,
    }


def _detail(answer: Any, result: Mapping[str, Any]) -> str:
    if answer.success:
        return ""
    examples = result.get("partial_unexpected_list") or []
    if examples:
        shown = ", ".join(dict.fromkeys(_plain(value) for value in examples[:20]))
        return f"for example {shown[:120]}"
    if "observed_value" in result:
        return f"found {_plain(result['observed_value'])[:120]}"
    return str((answer.exception_info or {}).get("exception_message") or "")[:200]


def _plain(value: object) -> str:
    return str(value.item()) if isinstance(value, np.generic) else str(value)


def votes_extent(table: pa.Table, functions: tuple[str, ...]) -> pa.Table:
    """What the contract of votes looks at: per sample the lowest and the highest vote, and how many were cast."""
    columns = [table.column(name).combine_chunks() for name in functions]
    cast = np.zeros(table.num_rows, dtype=np.int64)
    lowest = np.full(table.num_rows, np.iinfo(np.int64).max)
    highest = np.full(table.num_rows, np.iinfo(np.int64).min)
    for column in columns:
        votes = pc.fill_null(column, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        cast += votes >= 0
        np.minimum(lowest, votes, out=lowest)
        np.maximum(highest, votes, out=highest)
    return pa.table({"id": table.column("id"), "lowest": lowest, "highest": highest, "votes_cast": cast})
