"""Truth about trust for partitions of samples: what a subject says without some words, and what people point to."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from assay.data.text_schemas import TrustTruth
from assay.infra.artifacts import Table
from assay.infra.errors import InputError
from assay.tasks.language.rationales import Span, rationale_spans, rationale_words
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.loading import load_text_model
from assay.tasks.subjects.texts.rows import texts_of
from assay.tasks.trust.pools import spoken_for
from assay.tasks.trust.truth import explanation_precision, truth_by_deletion, truth_by_rationale, without_spans

REASONS, SHORTCUTS = "sentiment_words", "shortcut_words"
"""The columns of spans: which words are good reasons, and which are shortcuts."""


class RationaleWords(Table):
    """One row per sample: the words that people point to as the reason for its class; empty where there are none."""

    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("words", pa.list_(pa.string()), nullable=False),
        ]
    )


def counterfactual_rows(
    samples: pa.Table, predictions: pa.Table, *, subject: ResolvedSubject, files: dict[str, bytes], classes: int
) -> pa.Table:
    """`TrustTruth` of the correct predictions of a partition: each text is asked about without its reasons, and
    without its shortcuts."""
    spans = [_column(samples, name) for name in (REASONS, SHORTCUTS)]
    texts = texts_of(samples, subject.settings.text)
    ids, golds, predicted = (one.to_pylist() for one in (samples["id"], samples["gold"], predictions["predicted"]))
    right = [row for row, (gold, code) in enumerate(zip(golds, predicted, strict=True)) if gold == code]
    if not right:
        return TrustTruth.schema.empty_table()
    asked = [without_spans(texts[row], _spans(texts[row], one[row], ids[row])) for one in spans for row in right]
    codes = load_text_model(subject, files, classes).probabilities(asked).argmax(axis=1).tolist()
    rows = [
        _truth_row(ids[row], truth_by_deletion(predicted[row], codes[place], codes[len(right) + place]))
        for place, row in enumerate(right)
    ]
    return pa.Table.from_pylist(rows, schema=TrustTruth.schema)


def rationale_rows(samples: pa.Table, *, text: str, rationales: str) -> pa.Table:
    """`RationaleWords` of a partition; a rationale that is not understood is named by its sample, never quoted."""
    given = _column(samples, rationales)
    rows = [
        {"id": key, "words": sorted(rationale_words(words, _spans(words, one, key)))}
        for key, words, one in zip(samples["id"].to_pylist(), texts_of(samples, text), given, strict=True)
    ]
    return pa.Table.from_pylist(rows, schema=RationaleWords.schema)


def truth_by_rationales(explanations: pa.Table, rationales: pa.Table) -> pa.Table:
    """`TrustTruth` of the correct predictions among these explanations.

    An explanation's words are those that speak for the prediction, as they are for the oracle.
    """
    pointed = dict(zip(rationales["id"].to_pylist(), rationales["words"].to_pylist(), strict=True))
    rows = []
    for row in explanations.select(["id", "explainer", "gold", "predicted", "words", "importance"]).to_pylist():
        if row["gold"] == row["predicted"]:
            words, people = list(spoken_for(row)), pointed.get(row["id"], [])
            precision = explanation_precision(words, people) if people else None
            rows.append(_truth_row(row["id"], truth_by_rationale(words, people), precision, row["explainer"]))
    return pa.Table.from_pylist(rows, schema=TrustTruth.schema)


def _truth_row(
    sample: str, truth: str | None, precision: float | None = None, explainer: str = ""
) -> dict[str, object]:
    return {"id": sample, "explainer": explainer, "truth": truth, "precision": precision}


def _column(samples: pa.Table, name: str) -> Sequence[object]:
    if name not in samples.column_names:
        raise InputError(
            f"The samples have no column {name!r}, which trust is measured against: their columns are "
            f"{', '.join(samples.column_names)}."
        )
    values: Sequence[object] = samples[name].to_pylist()
    return values


def _spans(text: str, given: object, sample: str) -> list[Span]:
    return rationale_spans(text, given, f"The marked words of sample {sample!r}")
