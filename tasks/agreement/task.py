"""Agreement as a stage: the labels of people are read from the columns that were named."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Samples
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect
from assay.infra.stage import say, stage, write_table
from assay.tasks.agreement.measuring import Codes, agreement_findings
from assay.tasks.agreement.settings import Annotators
from assay.tasks.statistics.findings import findings_table
from assay.tasks.statistics.grouped_samples import groups_of


@stage(version=1, title="annotators")
def measure_agreement(
    samples: Artifact[Samples], classes: Artifact[Classes], settings: Annotators
) -> Artifact[Findings]:
    """The findings `annotators.*` on the columns of labels."""
    names = class_names(collect(classes, None))
    known = collect(samples, ["id", "gold", *settings.columns])
    codes = {name: code for code, name in enumerate(names)}
    labels = {name: codes_in(known[name], name, codes) for name in settings.columns}
    gold = pc.fill_null(known["gold"], -1).to_numpy().astype(np.int64)
    findings = agreement_findings(labels, gold, len(names), groups_of(samples))
    value = findings[0].value
    outcome = "not measured: no sample has two labels of theirs" if value is None else f"α = {value:.2f}"
    say(f"{len(labels)} annotators · {outcome}")
    return write_table(findings_table(findings), into=Findings)


def codes_in(column: pa.ChunkedArray, name: str, classes: Mapping[str, int]) -> Codes:
    """The class codes of a column of labels, −1 where a cell is empty.

    >>> codes_in(pa.chunked_array([["yes", None, " no "]]), "first", {"no": 0, "yes": 1}).tolist()
    [1, -1, 0]
    """
    words = pc.utf8_trim_whitespace(column.combine_chunks().cast(pa.string())).to_pylist()
    unknown = next((word for word in words if word and word not in classes), None)
    if unknown is not None:
        raise InputError(
            f"The column {name!r} of an annotator holds {unknown!r}, which is no class; there are {', '.join(classes)}."
        )
    return np.array([classes[word] if word else -1 for word in words], dtype=np.int64)
