"""What pruning shows in the report: how many labelling functions make the panel, and which of them never vary."""

from __future__ import annotations

import pyarrow as pa

from assay.infra.errors import first_named
from assay.tasks.reporting.numerals import plain, plural
from assay.tasks.reporting.parts import Part

_LISTED = 12


def page(panel: pa.Table, correlation: float) -> Part:
    """The part of the report about pruning, from the `Panel` and δ, the correlation above which functions depend."""
    rows = panel.to_pylist()
    kept = [row for row in rows if row["kept"]]
    constant = [row["function"] for row in rows if row["constant"]]
    rules = plural(len(rows), "labelling function")
    if len(kept) == len(rows):
        sentence = f"All {rules} are kept: no two of them correlate by more than δ = {plain(correlation)}."
    else:
        sentence = (
            f"{len(kept)} of {rules} are kept, no two of which correlate by more than δ = {plain(correlation)}; "
            f"{plural(len(rows) - len(kept), 'other depends', 'others each depend')} on one of them, which the table "
            "of functions names."
        )
    if constant:
        named = first_named(constant, _LISTED)
        sentence += f" {plural(len(constant), 'function')} never varied, and so could depend on nothing: {named}."
    return Part("Panel", sentence, anchor="pruning")
