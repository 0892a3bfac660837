"""People's labels of drawn samples, as a kind of audit: how right today's models and rules are by them.

A draw lies in the store under `drawn/PIPELINE/DRAW`: the samples with their strata and the probability that each was
drawn, and people's answers once they are taken back. The latest answers are held against every later run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.flows.kind import AuditKind, Clash, Ground, Measured, Written
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import Artifact
from assay.tasks.agreement.drawn_labels import Answerer, answerer_of, people_findings, people_page
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.statistics.stratified_ppi import Drawn

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.data.schemas import Findings
    from assay.flows.yaml_document import Where
    from assay.infra.stages.runs import Run
    from assay.infra.storage.store import Store
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import Finding, FindingIndex

DRAWS, POPULATION, ANSWERS = "drawn", "population.parquet", "answers.json"
PREDICTED, LABELLED = ["id", "predicted", "probabilities"], ["id", "label", "confidence", "undecided"]
"""The columns by which subjects and labelers answer."""
_EXAMPLES = 8


@dataclass(frozen=True)
class Labelled:
    """A draw and what people said of its samples; None where they cannot tell."""

    name: str
    population: pa.Table
    answers: Mapping[str, str | None]

    @property
    def drawn(self) -> Drawn:
        """The strata of the samples, and which were drawn."""
        places = np.flatnonzero(self.population["drawn"].to_numpy(zero_copy_only=False))
        return Drawn(self.population["stratum"].to_numpy().astype(np.int64), places)

    @property
    def ids(self) -> list[str]:
        """The drawn samples."""
        return list(self.population.filter(self.population["drawn"])["id"].to_pylist())

    def answerers(self, tables: Mapping[str, pa.Table], classes: Sequence[str]) -> list[Answerer]:
        """Those whose tables speak of all samples of the draw, in their order."""
        ids = self.population["id"].combine_chunks()
        each = (answerer_of(name, table, ids, len(classes)) for name, table in tables.items())
        return [answerer for answerer in each if answerer is not None]

    def codes(self, classes: Sequence[str]) -> Any:
        """People's class of every drawn sample, as a code; -1 where they cannot tell."""
        code_of: dict[str | None, int] = {name: code for code, name in enumerate(classes)}
        return np.array([code_of.get(self.answers[name], -1) for name in self.ids])


def read_draw(store: Store, pipeline: str, name: str) -> pa.Table:
    """The samples of a draw, or the sentence that says which draws there are."""
    from assay.infra.storage.parquet import read_parquet

    draws = store.folder.folders(f"{DRAWS}/{pipeline}")
    if name not in draws:
        way = f"it has {', '.join(sorted(draws))}" if draws else f"assay label {pipeline} --budget 200 makes one"
        raise InputError(f"{pipeline} has no draw {name!r}; {way}.")
    return read_parquet(store.folder, f"{DRAWS}/{pipeline}/{name}/{POPULATION}")


def latest_labels(store: Store, pipeline: str) -> Labelled | None:
    """The draw of a pipeline whose answers were taken last."""
    below, taken = f"{DRAWS}/{pipeline}", {}
    for name in store.folder.folders(below):
        if (kept := store.folder.read_json(f"{below}/{name}/{ANSWERS}")) is not None:
            taken[name] = kept
    if not taken:
        return None
    latest = max(taken, key=lambda name: (str(taken[name]["at"]), name))
    return Labelled(latest, read_draw(store, pipeline, latest), taken[latest]["answers"])


@dataclass(frozen=True)
class PeoplesLabels:
    """The labels that a run is held against, and who answers for all samples of their draw."""

    findings: Sequence[Artifact[Findings]] = ()
    labelled: Labelled | None = None
    among: Sequence[Answerer] = ()


def run(_ground: Ground) -> PeoplesLabels:
    """Nothing yet: models and rules answer first."""
    return PeoplesLabels()


def judge(ground: Ground, nothing: PeoplesLabels, run: Run) -> tuple[PeoplesLabels, Sequence[Finding]]:
    """How right everybody is by the labels that were taken last, where there are any."""
    from assay.flows.audits.curation_flow import Curation
    from assay.flows.audits.data import classes_of
    from assay.flows.audits.subjects_flow import predictions_of
    from assay.infra.stages.partitions import collect

    labelled = None if run.record.is_sample else latest_labels(run.store, run.record.pipeline)
    if labelled is None:
        return nothing, ()
    curation, classes = ground.maybe(Curation) or Curation(), classes_of(ground)
    tables = {name: collect(table, PREDICTED) for name, table in predictions_of(ground).items()}
    tables |= {name: collect(table, LABELLED) for name, table in curation.labels.items()}
    among = labelled.answerers(tables, classes)
    if not among:
        run.notice(f"People's labels of the draw {labelled.name} are left out: nobody answers for all its samples.")
    found = people_findings(among, labelled.drawn, labelled.codes(classes), classes)
    return PeoplesLabels(labelled=labelled, among=among), found


def page(ground: Ground, made: PeoplesLabels, findings: FindingIndex) -> Iterator[Part]:
    """What people said, with samples on which they contradict who comes first."""
    from assay.flows.audits.data import classes_of
    from assay.tasks.reporting.parts import Mark, NamedSample

    if made.labelled is None or not made.among:
        return
    first, drawn, classes = made.among[0], made.labelled.drawn, classes_of(ground)
    answers, labels = first.answers[drawn.at], made.labelled.codes(classes)
    wrong = np.flatnonzero((labels >= 0) & (labels != answers) & first.decided[drawn.at])[:_EXAMPLES]
    notes = {
        made.labelled.ids[at]: f"people say {classes[labels[at]]}, {first.name} {classes[answers[at]]}" for at in wrong
    }
    cannot_tell = int((labels < 0).sum())
    against = [NamedSample(name, note, marks=[Mark(note)]) for name, note in notes.items()]
    yield people_page(findings, made.labelled.population.num_rows, cannot_tell, against)


def gate(pipeline: Written, _gate: Written, where: Where) -> Iterator[Clash]:
    """Only somebody who answers is held against people."""
    if not any(pipeline.get(key) for key in ("subject", "subjects", "weak_labels")):
        yield Clash((*where, "finding"), "nothing will measure it: no subject and no rule says a class")


PEOPLE = AuditKind(
    "people",
    lambda _pipeline: True,
    run,
    measures=(Measured("people", metrics_of("people"), ("source",), gate=gate),),
    afterwards=judge,
    page=page,
)
