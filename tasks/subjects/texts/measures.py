"""Predictions of texts as a table, and the findings on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.partitions import Tallied
from assay.tasks.statistics.chances import chance_findings
from assay.tasks.statistics.class_areas import class_areas
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.classification_findings import About, prediction_findings
from assay.tasks.statistics.findings import Finding
from assay.tasks.subjects.gold_codes import codes_known
from assay.tasks.subjects.predictions import predictions_table, require_same_samples
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.loading import load_text_model
from assay.tasks.subjects.texts.model import TextModel, UnusableTextError
from assay.tasks.subjects.texts.rows import texts_of


def predict_table(
    samples: pa.Table, *, subject: ResolvedSubject, files: dict[str, bytes], classes: Sequence[str]
) -> Tallied:
    """Predictions for a partition of the samples, and how many texts were longer than the classifier reads (`cut`)."""
    model = load_text_model(subject, files, len(classes))
    texts = texts_of(samples, subject.settings.text)
    try:
        probabilities = model.probabilities(texts)
    except UnusableTextError as fault:
        sample = samples["id"][fault.row].as_py()
        raise InputError(f"{fault.said} for sample {sample!r}.") from fault
    cut = 0 if subject.way == "own" else _count_cut(model, texts)
    return Tallied(predictions_table(samples["id"], probabilities), {"cut": cut})


def _count_cut(model: TextModel, texts: Sequence[str]) -> int:
    from assay.tasks.subjects.texts.network import NetworkModel

    return sum(model.is_cut(text) for text in texts) if isinstance(model, NetworkModel) else 0


def text_findings(
    predictions: pa.Table, samples: pa.Table, classes: Sequence[str], name: str, groups: Groups = None
) -> list[Finding]:
    """How good the subject is on the texts as they are, and whether it says more than one thing."""
    require_same_samples(predictions, samples, name)
    flat = predictions["probabilities"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    probabilities = np.asarray(flat, dtype=np.float64).reshape(predictions.num_rows, len(classes))
    predicted = predictions["predicted"].to_numpy().astype(np.int64)
    truth = codes_known(samples, classes)
    about = About("subject", "clean", subject=name)
    *findings, answers = prediction_findings(about, predicted, probabilities, truth, classes, groups=groups)
    areas = class_areas(about, probabilities, truth, classes, groups)
    return [*findings, *areas, *chance_findings(about, probabilities, truth, groups), answers]
