"""Explanations of a partition: rows with a text and a prediction in, rows of `Explanations` out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.text_schemas import Explanations
from assay.infra.artifacts import Table
from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.loading import load_text_model
from assay.tasks.subjects.texts.model import TextModel, UnusableTextError
from assay.tasks.subjects.texts.rows import texts_of
from assay.tasks.trust.explainers.explaining import explain
from assay.tasks.trust.explainers.explanation import Explanation
from assay.tasks.trust.explainers.settings import Explaining


class ToExplain(Table):
    """One row per prediction that is to be explained: the text, and what the subject said of it."""

    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("gold", pa.int16()),
            pa.field("predicted", pa.int16(), nullable=False),
            pa.field("confidence", pa.float64(), nullable=False),
            pa.field("text", pa.string(), nullable=False),
        ]
    )


def rows_to_explain(samples: pa.Table, predictions: pa.Table, *, chosen: npt.NDArray[np.bool_], text: str) -> pa.Table:
    """Of a partition of samples and predictions the chosen rows, with the confidence in the predicted class."""
    rows = np.flatnonzero(chosen)
    kept, predicted = samples.take(pa.array(rows)), predictions.take(pa.array(rows))
    codes, shares = predicted["predicted"].to_pylist(), predicted["probabilities"].to_pylist()
    confidence = [share[code] for code, share in zip(codes, shares, strict=True)]
    texts = pa.array(texts_of(kept, text), pa.string())
    columns = [kept["id"], kept["gold"], predicted["predicted"], pa.array(confidence, pa.float64()), texts]
    return pa.table(columns, schema=ToExplain.schema)


def explain_rows(
    rows: pa.Table,
    *,
    subject: ResolvedSubject,
    files: dict[str, bytes],
    classes: int,
    settings: Explaining,
    seeds: Seeds,
    repeat: int,
) -> pa.Table:
    """The explanations of a partition; what is drawn for a sample depends on the seed, its id and the repeat alone."""
    if not rows.num_rows:
        return explanations_table(rows, [], settings)
    model = load_text_model(subject, files, classes)
    explanations = [
        _explained(model, row["id"], row["text"], row["predicted"], settings, _generator(seeds, row["id"], repeat))
        for row in rows.to_pylist()
    ]
    return explanations_table(rows, explanations, settings)


def explanations_table(rows: pa.Table, explanations: list[Explanation], settings: Explaining) -> pa.Table:
    """The table of explanations beside the rows that were explained."""
    kept = {name: rows[name] for name in ("id", "gold", "predicted", "confidence")}
    columns = {
        "id": kept["id"],
        "explainer": pa.array([settings.explainer] * rows.num_rows, pa.string()),
        "gold": kept["gold"],
        "predicted": kept["predicted"],
        "confidence": kept["confidence"],
        "words": pa.array([[word.text for word in one.words] for one in explanations], pa.list_(pa.string())),
        "starts": pa.array([[word.start for word in one.words] for one in explanations], pa.list_(pa.int32())),
        "ends": pa.array([[word.end for word in one.words] for one in explanations], pa.list_(pa.int32())),
        "importance": pa.array([list(one.importance) for one in explanations], pa.list_(pa.float64())),
        "text_words": pa.array([one.text_words for one in explanations], pa.int32()),
        "read_words": pa.array([one.read_words for one in explanations], pa.int32()),
    }
    return pa.table(columns).select([*Explanations.schema.names, "text_words", "read_words"])


def _explained(
    model: TextModel, sample: str, text: str, target: int, settings: Explaining, generator: np.random.Generator
) -> Explanation:
    try:
        return explain(model, text, target, settings, generator)
    except UnusableTextError as fault:
        raise InputError(f"{fault.said} when words are dropped from the text of sample {sample!r}.") from fault


def _generator(seeds: Seeds, sample: str, repeat: int) -> np.random.Generator:
    return seeds.generator(f"{sample}\0{repeat}" if repeat else sample)
