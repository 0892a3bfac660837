"""Near duplicates as a kind of audit: within the data, and between what subjects learned from and what is audited."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.flows.kind import AuditKind, Ground, Key, Measured
from assay.infra.storage.artifacts import Artifact
from assay.tasks.duplicates.near import AUDITED, TRAINING, Duplicates, find_duplicates
from assay.tasks.statistics.metrics import metrics_of

if TYPE_CHECKING:
    from assay.data.schemas import Findings, NearDuplicates, Samples
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import FindingIndex


@dataclass(frozen=True)
class Duplicated:
    """The findings, the pairs, and the parts that the samples are of."""

    findings: tuple[Artifact[Findings], ...]
    pairs: Artifact[NearDuplicates]
    parts: dict[str, Artifact[Samples]]


def run(ground: Ground, settings: Duplicates | None) -> Duplicated:
    """Compare the samples: those audited with those that train, where a subject of images or texts learns here."""
    from assay.flows.audits.data import Data
    from assay.flows.audits.subjects import learners
    from assay.flows.audits.subjects_flow import Examination
    from assay.tasks.subjects.kinds import kind_of

    examination, subjects = ground.maybe(Examination), learners(ground.pipeline)
    parts = {"data": ground.of(Data).samples}
    if examination is not None and any(kind_of(each).learns(each.named, each.train) for each in subjects):
        parts = {AUDITED: examination.evaluation, TRAINING: examination.training}
    texts = {column for subject in subjects for column in kind_of(subject).columns(subject)}
    duplicates = find_duplicates(parts, sorted(texts), settings or Duplicates())
    return Duplicated((duplicates.findings,), duplicates.pairs, parts)


def page(ground: Ground, made: Duplicated, findings: FindingIndex) -> Iterator[Part]:
    """How many samples are nearly another, and some of them beside each other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from assay.data.images import COLUMNS, pixels_of, png
    from assay.data.schemas import WORDS
    from assay.flows.audits.hardness import plain_row
    from assay.infra.stages.partitions import collect, collect_rows
    from assay.tasks.duplicates.page import page as of_pairs

    settings = ground.pipeline.asked(Duplicates) or Duplicates()
    shown = collect(made.pairs, None).slice(0, settings.shown)
    ids = {*shown["first"].to_pylist(), *shown["second"].to_pylist()}
    samples = pa.concat_tables([collect_rows(part, ids) for part in made.parts.values()])
    for at, field in enumerate(samples.schema):
        if field.type == WORDS:
            samples = samples.set_column(at, field.name, pc.binary_join(samples[field.name], " "))
    rows = {sample: samples.slice(at, 1) for at, sample in enumerate(samples["id"].to_pylist())}
    pictured = set(COLUMNS) <= set(samples.column_names)

    def text(sample: str) -> str:
        values = plain_row(rows[sample], ground.pipeline.masked)
        return " · ".join(f"{name} {value}"[:600] for name, value in values.items())

    yield of_pairs(findings, shown, (lambda sample: png(pixels_of(rows[sample])[0])) if pictured else None, text)


DUPLICATES = AuditKind(
    "duplicates",
    lambda pipeline: pipeline.asked(Duplicates) is not None,
    run,
    keys=(Key("duplicates", Duplicates, "{}"),),
    stands_on=("data", "subjects"),
    measures=(Measured("duplicates", metrics_of("duplicates"), ("duplicates",)),),
    page=page,
)
