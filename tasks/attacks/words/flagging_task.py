"""The red flag of texts: a classifier that always answers alike withstands every attack, and knows nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.data.classes import class_names
from assay.data.schemas import Classes, Findings, Predictions, Samples
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect
from assay.infra.stage import say, stage, write_table
from assay.tasks.attacks.red_flags import Reading
from assay.tasks.reporting.numerals import percent
from assay.tasks.statistics.classification import answer_name, one_answer
from assay.tasks.statistics.findings import findings_table

MAJORITY = "majority-predictor"


@stage(version=1, title="text red flags")
def flag_texts(
    predictions: Artifact[Predictions], samples: Artifact[Samples], classes: Artifact[Classes], name: str
) -> Artifact[Findings]:
    """Whether a subject (almost) always says the same of the texts as they are: `attack.red_flag`."""
    names = class_names(collect(classes, None))
    reading = constant_text_answer(collect(predictions, ["id", "predicted"]), collect(samples, ["id", "gold"]), names)
    say(f"{name} · " + (reading.why if reading.raised else "its answers vary" if reading.n else "no texts"))
    return write_table(findings_table([reading.finding(name)]), into=Findings)


def constant_text_answer(predictions: pa.Table, samples: pa.Table, classes: Sequence[str]) -> Reading:
    """Whether the texts as they are (almost) all get one answer."""
    gold = dict(zip(samples["id"].to_pylist(), samples["gold"].to_pylist(), strict=True))
    known = [gold[one] for one in predictions["id"].to_pylist()]
    truth = np.array([-1 if one is None else one for one in known], dtype=np.int64)
    alone = one_answer(predictions["predicted"].to_numpy().astype(np.int64), truth, len(classes))
    if not alone.share.n:
        return Reading(MAJORITY, raised=False, n=0, why="there are no predictions")
    why = f"{percent(alone.share.value, 0)} of the texts are called {answer_name(alone.answer, classes)}"
    raised = alone.verdict == "degenerate"
    return Reading(MAJORITY, raised, alone.share.n, why if raised else "")
