"""The stage that explains predictions: small partitions, because a single text can take a second."""

from __future__ import annotations

import numpy as np

from assay.data.schemas import Classes, Predictions, Samples, SubjectFiles
from assay.data.text_schemas import Explanations
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions, read_files
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.subjects.predictions import require_same_samples
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.trust.explainers.choosing import chosen_predictions
from assay.tasks.trust.explainers.settings import Explaining
from assay.tasks.trust.explainers.tables import ToExplain, explain_rows, explanations_table, rows_to_explain

ROWS = 16  # texts of a partition: few, so that the bar moves and all workers have something to do


@stage(version=1, title="explanations", draws=True, gpu=True)
def explain_predictions(
    samples: Artifact[Samples],
    predictions: Artifact[Predictions],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    settings: Explaining,
    correct: bool = True,
    limit: int | None = None,
    repeat: int = 0,
) -> Artifact[Explanations]:
    """The explanation of every prediction, or of the `correct` ones only, of at most `limit` evenly over the classes.

    Another `repeat` draws other predictions and other perturbed texts.
    """
    known, predicted = collect(samples, ["id", "gold"]), collect(predictions, ["id", "predicted"])
    require_same_samples(predicted, known, subject.settings.name)
    golds, codes = known["gold"].to_pylist(), predicted["predicted"].to_pylist()
    chosen = chosen_predictions(known["id"].to_pylist(), golds, codes, correct=correct, limit=limit, repeat=repeat)
    if not chosen.any():
        say(f"{settings.explainer} · nothing to explain among {len(chosen)} predictions")
        none = explanations_table(ToExplain.schema.empty_table(), [], settings)
        return write_table(none, into=Explanations)
    rows = map_partitions(
        rows_to_explain, samples, predictions, into=ToExplain, aligned={"chosen": chosen}, text=subject.settings.text
    )
    explained: Artifact[Explanations] = map_partitions(
        explain_rows,
        rows,
        into=Explanations,
        rows=ROWS,
        subject=subject,
        files=read_files(files),
        classes=classes.rows,
        settings=settings,
        seeds=stage_seeds(),
        repeat=repeat,
    )
    say(_summary(explained, settings, correct))
    return explained


def _summary(explained: Artifact[Explanations], settings: Explaining, correct: bool) -> str:
    counts = collect(explained, ["text_words", "read_words"])
    read, words = counts["read_words"].to_numpy(), counts["text_words"].to_numpy()
    what = "correct predictions" if correct else "predictions"
    opening = f"{settings.explainer} · {explained.rows} {what}, {settings.top_words} words each"
    parts = [
        f"{count} texts {why}"
        for count, why in (
            (int((words == 0).sum()), "without words"),
            (int(np.count_nonzero(read < words)), "explained only as far as the subject reads"),
        )
        if count
    ]
    return " · ".join([opening, *parts])
