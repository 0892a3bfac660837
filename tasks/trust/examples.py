"""Which predictions a reader should look at, and their words with what the oracle says of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from assay.data.schemas import ListedTable, TrustExamples
from assay.tasks.language.words import spelling, words_of
from assay.tasks.subjects.texts.rows import texts_of

PER_CLASS = 4
_BESIDE = 1  # trustworthy ones per class, to compare with


class ChosenTexts(ListedTable):
    """One row per sample that was chosen: its text."""


def most_damning(labels: Sequence[Mapping[str, Any]], per_class: int = PER_CLASS) -> list[Mapping[str, Any]]:
    """Of every class the right predictions that are most confident, and most clearly untrustworthy; then one that is as
    clearly trustworthy. From the oracle's labels, by confidence times what one side of Eq. 6 has over the other.

    >>> rows = [{"id": name, "predicted": 0, "label": "untrustworthy", "confidence": sure, "related_mass": 0.1,
    ...          "unrelated_mass": against} for name, sure, against in (("a", 0.9, 0.2), ("b", 0.9, 0.8))]
    >>> [row["id"] for row in most_damning(rows, per_class=1)]
    ['b']
    """
    chosen: list[Mapping[str, Any]] = []
    for label, most in (("untrustworthy", per_class), ("trustworthy", _BESIDE)):
        labelled = sorted((row for row in labels if row["label"] == label), key=lambda row: (-_clarity(row), row["id"]))
        for code in sorted({int(row["predicted"]) for row in labelled}):
            chosen += [row for row in labelled if row["predicted"] == code][:most]
    return chosen


def _clarity(row: Mapping[str, Any]) -> float:
    return float(row["confidence"]) * abs(float(row["unrelated_mass"]) - float(row["related_mass"]))


def chosen_texts(samples: pa.Table, *, ids: frozenset[str], text: str) -> pa.Table:
    """The texts of those samples of a partition that were chosen."""
    rows = [row for row, key in enumerate(samples["id"].to_pylist()) if key in ids]
    kept = samples.take(pa.array(rows, pa.int64()))
    return pa.table([kept["id"], pa.array(texts_of(kept, text), pa.string())], schema=ChosenTexts.schema)


def example_rows(
    chosen: Sequence[Mapping[str, Any]],
    explained: Mapping[str, Mapping[str, float]],
    texts: Mapping[str, str],
    truths: Mapping[str, str | None],
    *,
    lemmatise: bool,
    masked: bool,
) -> pa.Table:
    """`TrustExamples` of the chosen labels; `explained` holds the signed importance of the words of each sample.

    A word that speaks against the prediction is neither related nor unrelated.
    """
    rows = []
    for label in chosen:
        related = dict(zip(label["words"], label["related"], strict=True))
        scores = {spelling(word, lemmatise): score for word, score in explained[label["id"]].items()}
        scores |= dict(zip(label["words"], label["importance"], strict=True))
        text = texts[label["id"]]
        spans = [
            (word.start, word.end, scores[spelt], related.get(spelt))
            for word in words_of(text)
            if (spelt := spelling(word.text, lemmatise)) in scores
        ]
        if masked:
            spans = [(2 * place, 2 * place + 1, score, yes) for place, (_, _, score, yes) in enumerate(spans)]
        rows.append(
            {
                **{name: label[name] for name in ("id", "explainer", "confidence", "label")},
                **{name: label[name] for name in ("related_mass", "unrelated_mass")},
                "code": label["predicted"],
                "truth": truths.get(label["id"]),
                "text": "" if masked else text,
                **{
                    name: [span[at] for span in spans]
                    for at, name in enumerate(("starts", "ends", "importance", "related"))
                },
            }
        )
    return pa.Table.from_pylist(rows, schema=TrustExamples.schema)
