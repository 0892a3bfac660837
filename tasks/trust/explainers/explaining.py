"""Predictions explained: which of them, one at a time, and as rows of `Explanations` for a partition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Explanations, ListedTable
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import plugin_faults
from assay.tasks.subjects.holding_out import draw_evenly
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.model import TextModel, TokenModel, UnusableTextError
from assay.tasks.subjects.texts.rows import load_text_model, texts_of
from assay.tasks.trust.explainers.choice import require_explanation
from assay.tasks.trust.explainers.documents import Explanation, read_document
from assay.tasks.trust.explainers.table import EXPLAINERS, Explaining


def chosen_predictions(
    ids: Sequence[str],
    gold: Sequence[int | None],
    predicted: Sequence[int],
    *,
    correct: bool,
    limit: int | None = None,
    repeat: int = 0,
) -> npt.NDArray[np.bool_]:
    """Which predictions to explain, [n]: the correct ones or all, at most `limit`, evenly over the predicted classes.

    Drawn by a hash of the id, so neither the order nor what else there is matters within a class; another `repeat`
    draws others. Without a class (-1, several labels) there is nothing to explain.

    >>> chosen_predictions(["a", "b", "c", "d"], [0, 0, 1, None], [0, 1, 1, 1], correct=True).tolist()
    [True, False, True, False]
    >>> int(chosen_predictions(["a", "b", "c", "d"], [0, 0, 0, 1], [0, 0, 0, 1], correct=True, limit=2)[3])
    1
    """
    explainable = [code >= 0 and (not correct or code == truth) for code, truth in zip(predicted, gold, strict=True)]
    chosen = np.array(explainable, dtype=np.bool_)
    if limit is None or int(chosen.sum()) <= limit:
        return chosen
    rows = np.flatnonzero(chosen).tolist()
    place = {f"{repeat}/{ids[row]}": row for row in rows}
    drawn = draw_evenly(place, (predicted[row] for row in rows), limit)
    few = np.zeros(len(chosen), dtype=np.bool_)
    few[[place[name] for name in drawn]] = True
    return few


def explain(
    model: TextModel, text: str, target: int, settings: Explaining, generator: np.random.Generator
) -> Explanation:
    """The words of the text with their importance for the class `target`; none for a text without words.

    Only LIME draws; the same generator gives the same explanation.
    """
    require_explainable(model, settings)
    document = read_document(text, model)
    if not document.words:
        return Explanation((), (), document.text_words, 0)
    choice = EXPLAINERS.named(settings.explainer, settings)
    explanation = choice.explain(model, document, target, settings, generator)
    if choice.word not in EXPLAINERS.words:
        require_explanation(choice, explanation, settings.top_words)
    return explanation


def require_explainable(model: TextModel, settings: Explaining) -> None:
    """Raises where the explainer needs more of the subject than it gives."""
    if EXPLAINERS.named(settings.explainer, settings).looks_inside and not isinstance(model, TokenModel):
        raise InputError(
            f"The explainer `{settings.explainer}` needs to see inside the subject, and this one is a function of "
            "texts: explain it with `lime` or `omission`, or name a Hugging Face model as its `classifier`."
        )


class ToExplain(ListedTable):
    """One row per prediction that is to be explained: the text, and what the subject said of it."""


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
    model, again = load_text_model(subject, files, classes), f"\0{repeat}" if repeat else ""
    explanations = []
    for row in rows.to_pylist():
        sample, generator = row["id"], seeds.generator(f"{row['id']}{again}")
        try:
            with plugin_faults(settings, settings.explainer, subject.masked):
                explanations.append(explain(model, row["text"], row["predicted"], settings, generator))
        except UnusableTextError as fault:
            raise InputError(f"{fault.reason} when words are dropped from the text of sample {sample!r}.") from fault
    return explanations_table(rows, explanations, settings)


def explanations_table(rows: pa.Table, explanations: list[Explanation], settings: Explaining) -> pa.Table:
    """The table of explanations beside the rows that were explained."""
    words = [explanation.words for explanation in explanations]
    columns = {
        **{name: rows[name] for name in ("id", "gold", "predicted", "confidence")},
        "explainer": pa.array([settings.explainer] * rows.num_rows, pa.string()),
        "words": pa.array([[word.text for word in some] for some in words], pa.list_(pa.string())),
        "starts": pa.array([[word.start for word in some] for some in words], pa.list_(pa.int32())),
        "ends": pa.array([[word.end for word in some] for some in words], pa.list_(pa.int32())),
        "importance": pa.array([list(explanation.importance) for explanation in explanations], pa.list_(pa.float64())),
        "text_words": pa.array([explanation.text_words for explanation in explanations], pa.int32()),
        "read_words": pa.array([explanation.read_words for explanation in explanations], pa.int32()),
    }
    return pa.table(columns).select([*Explanations.schema.names, "text_words", "read_words"])
