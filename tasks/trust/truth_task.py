"""The stages that find out what the oracle should say: by counterfactuals, human rationales, or people's verdicts."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from assay.data.classes import class_names
from assay.data.schemas import Classes, Predictions, Samples, SubjectFiles
from assay.data.text_schemas import Explanations, TrustTruth
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect, map_partitions, read_files
from assay.infra.stage import say, stage, write_table
from assay.tasks.subjects.predictions import require_same_samples
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.trust.resolved import VerdictFile
from assay.tasks.trust.truth_rows import RationaleWords, counterfactual_rows, rationale_rows, truth_by_rationales
from assay.tasks.trust.verdicts import verdicts_of


@stage(version=1, title="counterfactual truth", gpu=True)
def counterfactual_truth(
    samples: Artifact[Samples],
    predictions: Artifact[Predictions],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
) -> Artifact[TrustTruth]:
    """What each correct prediction rests on: does it flip without its reasons, or without its shortcuts?"""
    truth: Artifact[TrustTruth] = map_partitions(
        counterfactual_rows,
        samples,
        predictions,
        into=TrustTruth,
        subject=subject,
        files=read_files(files),
        classes=classes.rows,
    )
    _say(truth)
    return truth


@stage(version=1, title="rationale truth")
def rationale_truth(
    explained: Artifact[Explanations], samples: Artifact[Samples], text: str, rationales: str
) -> Artifact[TrustTruth]:
    """Whether at least half of each explanation's words are in the human rationale (explanation precision, §5)."""
    pointed: Artifact[RationaleWords] = map_partitions(
        rationale_rows, samples, into=RationaleWords, text=text, rationales=rationales
    )
    truth: Artifact[TrustTruth] = write_table(
        truth_by_rationales(collect(explained, None), collect(pointed, ["id", "words"])), into=TrustTruth
    )
    _say(truth)
    return truth


@stage(version=1, title="human truth")
def human_truth(
    samples: Artifact[Samples], predictions: Artifact[Predictions], classes: Artifact[Classes], verdicts: VerdictFile
) -> Artifact[TrustTruth]:
    """What most people say of each correct prediction."""
    names = class_names(collect(classes, None))
    known, answers = collect(samples, ["id", "gold"]), collect(predictions, ["id", "predicted"])
    require_same_samples(answers, known, "the subject")
    ids, golds, codes = known["id"].to_pylist(), known["gold"].to_pylist(), answers["predicted"].to_pylist()
    predicted = {key: names[code] for key, gold, code in zip(ids, golds, codes, strict=True) if gold == code}
    table = verdicts.table()
    truths = verdicts_of(table, predicted, names, verdicts.name)
    if not set(map(str, table["sample"].to_pylist())) & set(ids):
        raise InputError(
            f"No sample of {verdicts.name} is among the audited ones, whose ids are such as {ids[0]!r}; its column "
            "`sample` must hold the samples' ids."
        )
    rows = [{"id": key, "explainer": "", "truth": truth, "precision": None} for key, truth in sorted(truths.items())]
    truth: Artifact[TrustTruth] = write_table(pa.Table.from_pylist(rows, schema=TrustTruth.schema), into=TrustTruth)
    _say(truth)
    return truth


def _say(truth: Artifact[TrustTruth]) -> None:
    counts = Counter(collect(truth, ["truth"])["truth"].to_pylist())
    say(" · ".join(f"{counts[name]} {name or 'not known'}" for name in ("trustworthy", "untrustworthy", None)))
