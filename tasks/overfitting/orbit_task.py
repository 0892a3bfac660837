"""The test for closed symmetries as a stage: predictions are gathered by orbit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from assay.data.overfitting_schemas import IndependenceTests
from assay.data.schemas import Predictions, Samples
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect, reduce_partitions
from assay.infra.stage import say, stage, write_table
from assay.tasks.overfitting.orbits import gather, orbit_records
from assay.tasks.overfitting.records import records_table, samples_fingerprint
from assay.tasks.overfitting.settings import Bound, Orbit


@stage(version=1, title="orbits")
def compare_orbits(
    samples: Artifact[Samples],
    predictions: Artifact[Predictions],
    settings: Orbit,
    bound: Bound,
    alpha: float,
    name: str,
) -> Artifact[IndependenceTests]:
    """The exact test of one subject, and the paper's beside it."""
    columns = reduce_partitions(column_names, samples)["columns"]
    for option in (settings.orbit, settings.original):
        if option not in columns:
            raise InputError(
                f"The samples have no column {option!r}, which `overfitting.orbit` names: their columns are "
                f"{', '.join(sorted(columns))}."
            )
    table = collect(samples, list(dict.fromkeys(["id", "gold", settings.orbit, settings.original])))
    predicted = collect(predictions, ["id", "predicted"])
    known = require_truth(table, settings)
    orbits = gather(
        table[settings.orbit].to_pylist(),
        truths(table[settings.original], settings.original),
        predicted["predicted"].to_numpy() != known,
        settings.orbit,
    )
    test_set = samples_fingerprint(table["id"].to_pylist(), table["gold"].to_pylist())
    records = orbit_records(orbits, name, bound, alpha, test_set)
    say(f"{name} · {records[0].tested.n} orbits, tested")  # and no more: what is said of them is counted
    return write_table(records_table(records), into=IndependenceTests)


def column_names(samples: pa.Table) -> dict[str, frozenset[str]]:
    """The columns of a partition."""
    return {"columns": frozenset(samples.column_names)}


def require_truth(table: pa.Table, settings: Orbit) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    """The gold class of every sample; raises where it is unknown.

    The forms of one orbit may have different ones: where options are reordered, the right letter is another. The test
    asks only whether each form is answered rightly.
    """
    gold, orbits = table["gold"].to_pylist(), table[settings.orbit].to_pylist()
    for sample, orbit, label in zip(table["id"].to_pylist(), orbits, gold, strict=True):
        if label is None or orbit is None:
            lacking = "gold label" if label is None else f"value in the column {settings.orbit!r}"
            raise InputError(f"Sample {sample!r} has no {lacking}, and the orbit test needs one for every sample.")
    return np.array(gold, np.int16)


def truths(column: pa.ChunkedArray, name: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """A column of true and false, also where they are written as 1 and 0 or as words."""
    words = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
    values = []
    for row, value in enumerate(column.to_pylist(), start=1):
        truth = words.get(str(value).lower())
        if truth is None:
            raise InputError(f"Row {row} of the column {name!r} holds {value!r}, expected true or false.")
        values.append(truth)
    return np.array(values, np.bool_)
