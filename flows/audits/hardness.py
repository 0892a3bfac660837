"""Hardness as a kind of audit: how hard every audit found each sample, held against each other, and the samples that
are hard by all measures. It stands on every audit that has something to say of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from toolz import groupby

from assay.data.images import COLUMNS, pixels_of, png
from assay.flows.audits.challenge_clashes import some_subject
from assay.flows.audits.data import Data, classes_of
from assay.flows.kind import (
    AuditKind,
    Clash,
    Ground,
    Key,
    Late,
    Measured,
    Written,
    as_dict,
    as_list,
    each_subject,
    name_of,
    nothing,
    unknown,
)
from assay.infra.stages.branches import subflow
from assay.infra.storage.artifacts import Artifact
from assay.tasks.hardness.association import Hardness
from assay.tasks.statistics.groups import GROUP
from assay.tasks.statistics.metrics import metrics_of

if TYPE_CHECKING:
    from assay.data.schemas import Findings, HardestSamples, HardnessPairs
    from assay.tasks.hardness.page import HardSample
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import FindingIndex


@dataclass(frozen=True)
class HardnessAudit:
    """Which measures agree, and the samples that are hard by all of them; nothing where none was measured."""

    findings: tuple[Artifact[Findings], ...] = ()
    pairs: Artifact[HardnessPairs] | None = None
    hardest: Artifact[HardestSamples] | None = None


@subflow("hardness")
def relate(ground: Ground, settings: Hardness | None, kinds: Sequence[AuditKind[Any]]) -> HardnessAudit:
    """Gather what every audit has to say, and hold it against each other."""
    from assay.flows.audits.subjects_flow import predictions_of
    from assay.infra.stages.runs import current_run
    from assay.tasks.hardness.task import relate_hardness

    measured = [
        result
        for kind in kinds
        if kind.name in ground.results
        for result in kind.hardness(ground, ground.results[kind.name])
    ]
    if not measured:
        current_run().notice("No audit of this pipeline says how hard a sample is: there is nothing to relate.")
        return HardnessAudit()
    samples, significance = ground.of(Data).samples, ground.pipeline.statistics.significance
    related = relate_hardness(measured, samples, predictions_of(ground), settings or Hardness(), significance)
    return HardnessAudit((related.findings,), related.pairs, related.hardest)


def hard_samples(
    hardest: pa.Table, samples: pa.Table, classes: Mapping[int, str], texts: Mapping[str, str], masked: bool
) -> Iterator[HardSample]:
    """The samples of a table of the hardest, in its order; where texts are masked, none of them is in it."""
    from assay.tasks.hardness.page import HardSample

    places = {sample: at for at, sample in enumerate(samples["id"].to_pylist())}
    for (subject, sample), rows in groupby(["subject", "id"], hardest.to_pylist()).items():
        row = samples.slice(places[sample], 1)
        first, column = rows[0], texts.get(subject)
        pictured = set(COLUMNS) <= set(row.column_names)
        gold, predicted = (_name(first[code], classes) for code in ("gold", "predicted"))
        values = {row["measure"]: (row["value"], row["harder_than"]) for row in rows}
        picture = png(pixels_of(row)[0]) if pictured else None
        text = None if column is None or pictured else "" if masked else str(row[column][0].as_py() or "")
        yield HardSample(subject, first["place"], sample, gold, predicted, values, png=picture, text=text)


def plain_row(row: pa.Table, masked: bool) -> dict[str, Any]:
    """The numbers of a row, and its texts unless they are masked."""
    of_numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    kinds = of_numbers if masked else (*of_numbers, pa.types.is_string)
    kept = [field.name for field in row.schema if any(is_kind(field.type) for is_kind in kinds)]
    return {name: row[name][0].as_py() for name in kept if name not in ("id", "gold", GROUP)}


def _name(code: int | None, classes: Mapping[int, str]) -> str | None:
    return None if code is None else classes.get(code, str(code))


def show_hardness(ground: Ground, audit: HardnessAudit, findings: FindingIndex) -> Iterator[Part]:
    """Which measures agree, which rank errors, and the samples that a person should look at."""
    from assay.infra.stages.partitions import collect, collect_rows
    from assay.tasks.hardness.page import page

    if audit.pairs is None or audit.hardest is None:
        return
    pipeline, hardest = ground.pipeline, collect(audit.hardest, None)
    limit = (pipeline.asked(Hardness) or Hardness()).shown
    chosen = hardest.filter(pc.less_equal(hardest["place"], limit)) if limit else hardest.slice(0, 0)
    samples = collect_rows(ground.of(Data).samples, set(chosen["id"].to_pylist()))
    texts = {subject.name: subject.text for subject in pipeline.subjects if subject.classifier is not None}
    shown = hard_samples(chosen, samples, dict(enumerate(classes_of(ground))), texts, pipeline.masked)
    yield page(findings, collect(audit.pairs, None), list(shown))


def clashes(pipeline: Written) -> Iterator[Clash]:
    """There is a subject, and the subjects that `hardness` names are among them."""
    yield from some_subject(pipeline, "hardness", "relates what audits find hard")
    subjects = [name_of(subject) for _, subject in each_subject(pipeline)]
    for position, name in enumerate(as_list(as_dict(pipeline.get("hardness")).get("subjects")) if subjects else ()):
        yield from unknown(("hardness", "subjects", position), name, "subject", subjects)


def hardness_over(kinds: Sequence[AuditKind[Any]]) -> AuditKind[Any]:
    """The audit of hardness over these kinds of audit: it waits for all that have something to say."""
    heard = tuple(kind.name for kind in kinds if kind.hardness is not nothing)
    return AuditKind(
        "hardness",
        lambda pipeline: pipeline.asked(Hardness) is not None,
        lambda ground, settings: relate(ground, settings, kinds),
        keys=(Key("hardness", Hardness, "{hardest: 0.25, shown: 12}"),),
        stands_on=("data", *heard),
        measures=(Measured("hardness", metrics_of("hardness"), ("hardness",)),),
        clashes=clashes,
        page=show_hardness,
        followed=Late("assay.tasks.hardness.page").followed,
    )
