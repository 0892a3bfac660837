"""What single samples add to the accuracy of subjects: along the order, and on clean images and texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.flows.audits.curation.flow import Curation
from assay.flows.audits.data import Data
from assay.flows.audits.kind import Ground
from assay.flows.audits.outcomes import SAMPLES, Handles, Outcomes, Tables, codes, in_groups
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.flows.audits.subjects.on_tables import TableSubjects
from assay.tasks.statistics.sampled import Sampled, right_or_wrong

CLEAN, ALONG = "clean", "along"
TRUTH = {"weak": "label", "gold": "gold"}
"""By which column of the curated sets a subject is right."""


def outcomes_of_tables(ground: Ground, result: TableSubjects) -> Iterator[Outcomes]:
    """The accuracy on D1 … DN, by weak labels and by gold."""
    curation = ground.maybe(Curation)
    order = None if curation is None else curation.headline
    if order is not None:
        for name, subject in result.subjects.items():
            tables: Handles = {
                "predictions": subject.predictions,
                "curated": order.curated,
                SAMPLES: ground.of(Data).samples,
            }
            yield from (Outcomes("subject.accuracy", name, ALONG, tables, of) for of in TRUTH)


def outcomes_of_clean(_ground: Ground, result: Examination) -> Iterator[Outcomes]:
    """The accuracy on clean images and texts."""
    yield from (clean_outcomes(one, result) for one in result.subjects.values() if one.clean is not None)


def clean_outcomes(model: Examined, examination: Examination) -> Outcomes:
    """The accuracy of one model on clean images or texts."""
    tables: Handles = {"predictions": model.predictions, SAMPLES: examination.evaluation}
    return Outcomes("subject.accuracy", model.name, CLEAN, tables, "clean")


def sampled(outcomes: Outcomes, tables: Tables, _of: str, group: str) -> Sampled | None:
    """What single samples add to the accuracy: on D_i, on a stratum, or on all clean samples."""
    per_sample = _along(tables, outcomes.of, group) if outcomes.reading == ALONG else clean_samples(tables, group)
    return None if per_sample is None else in_groups(per_sample, tables)


def _along(tables: Tables, of: str, group: str) -> Sampled | None:
    import pyarrow.compute as pc

    curated = tables.read("curated", ["id", "dataset", TRUTH[of]])
    dataset, (kind, _, number) = curated["dataset"].to_numpy(), group.rpartition(" ")
    if kind == "stratum" and number.isdecimal():
        chosen = dataset == int(number)
    elif not kind and group[:1] == "D" and group[1:].isdecimal():
        chosen = dataset <= int(group[1:])
    else:
        return None
    predictions = tables.read("predictions", ["id", "predicted"])
    at = pc.index_in(curated["id"], value_set=predictions["id"].combine_chunks())
    predicted, truth = predictions["predicted"].take(at).to_numpy(), codes(curated[TRUTH[of]])
    return right_or_wrong(curated["id"].to_pylist(), predicted == truth, chosen & (truth >= 0))


def clean_samples(tables: Tables, group: str = "") -> Sampled | None:
    """Which clean samples a model is right on; of images that bear several labels, on how many of them."""
    from assay.tasks.attacks.trials import matrix
    from assay.tasks.subjects.images.lessons import LABELS
    from assay.tasks.subjects.images.model import said

    if group:
        return None
    samples = tables.read(SAMPLES, ["id", "gold", LABELS])
    if LABELS not in samples.column_names:
        answers, truth = codes(tables.read("predictions", ["predicted"])["predicted"]), codes(samples["gold"])
        return right_or_wrong(samples["id"].to_pylist(), answers == truth, truth >= 0)
    truth = matrix(samples[LABELS], np.int64)
    labels = said(matrix(tables.read("predictions", ["probabilities"])["probabilities"], np.float64), multilabel=True)
    return right_or_wrong(samples["id"].to_pylist(), labels == truth, truth >= 0)
