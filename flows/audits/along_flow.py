"""Every subject of images and texts, and every defended copy, along D1 … DN: as it is and under what was done to
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from assay.data.schemas import Findings
from assay.flows.audits.curation_flow import Curation
from assay.flows.audits.data import Data
from assay.flows.audits.images_flow import Flips, Robustness
from assay.flows.audits.subjects_flow import Examination, Examined
from assay.flows.audits.texts_flow import WordAudit, tables_of
from assay.flows.kind import SAMPLES, Ground, Outcomes, Tables
from assay.infra.errors import RunError
from assay.infra.stages.branches import branch_outcomes, start_branch, subflow
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.texts.noise import ORIGINAL, SEVERITY
from assay.tasks.ordering.settings import Ordering
from assay.tasks.statistics.between_runs import Sampled
from assay.tasks.statistics.findings import slice_of
from assay.tasks.subjects.along.findings import ACCURACY
from assay.tasks.subjects.along.task import Followed, compare_along, follow_subject


@dataclass(frozen=True)
class AlongTheOrder:
    """How right every model is along the order, by name: the subjects first, then their defended copies."""

    models: Mapping[str, Followed]
    gains: Mapping[str, Artifact[Findings]]
    """What each defended copy gains along the order, by its name."""

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """What was measured."""
        return [*(model.measured for model in self.models.values()), *self.gains.values()]


@subflow("subjects along the order")
def follow(ground: Ground) -> AlongTheOrder:
    """Hold every model against the order of the samples, and every defended copy against its original."""
    examination = ground.of(Examination)
    challenged = (ground.maybe(Robustness) or Robustness(), ground.maybe(WordAudit) or WordAudit())
    models = {subject.name: subject for subject in [*examination.of("network"), *examination.of("classifier")]}
    models |= {name: made.models[name] for made in challenged for name in made.copies}
    originals = {
        copy: subject for made in challenged for subject, copies in made.defended.items() for copy in copies.values()
    }
    followed = {
        name: start_branch(f"{name} along the order", follow_one, ground, model, name in originals)
        for name, model in models.items()
    }
    gains = {
        copy: start_branch(f"gain of {copy} along the order", gain_of, ground, copy, followed[subject], followed[copy])
        for copy, subject in originals.items()
    }
    return AlongTheOrder(branch_outcomes(followed), branch_outcomes(gains))


def gain_of(ground: Ground, copy: str, original: Followed, defended: Followed) -> Artifact[Findings]:
    """What one defended copy gains on every stratum."""
    settings = ground.pipeline.asked(Ordering) or Ordering()
    significance = ground.pipeline.statistics.significance
    return compare_along(original.answers, defended.answers, copy, settings.undecided, significance)


def follow_one(ground: Ground, model: Examined, copy: bool) -> Followed:
    """One model on the audited samples of every stratum."""
    curation, ordering = ground.of(Curation), ground.pipeline.asked(Ordering)
    order, clusters = curation.headline, curation.clusters
    if order is None or clusters is None or ordering is None:
        raise RunError(f"{model.name} cannot be measured along the order: no labeler's order came through.")
    attacked = (ground.maybe(Robustness) or Robustness()).attacked.get(model.name, {})
    changed = (ground.maybe(WordAudit) or WordAudit()).attacked.get(model.name, {})
    corrupted = (ground.maybe(Flips) or Flips()).corrupted
    return follow_subject(
        order.curated,
        order.intervals,
        clusters,
        model.predictions,
        {name: attack.audited.attacked for name, attack in attacked.items()},
        tables_of(changed, "attacked"),
        tables_of(changed, "noisy"),
        tables_of(changed, "answers"),
        (ORIGINAL, SEVERITY),
        None if corrupted is None else corrupted.flips,
        model.name,
        ordering.datasets,
        ordering.undecided,
        ground.pipeline.statistics.significance,
        copy,
    )


_ANSWERS = "answers"


def outcomes_of_order(ground: Ground, result: AlongTheOrder) -> Iterator[Outcomes]:
    """The accuracy of every model on D1 … DN and on every stratum, under every circumstance."""
    for name, model in result.models.items():
        yield Outcomes(ACCURACY, name, _ANSWERS, {_ANSWERS: model.answers, SAMPLES: ground.of(Data).samples})


def sampled(_outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """How often a model is right on each sample of a stratum, or up to D_i, under the circumstance of a finding."""
    circumstance, _, cut = group.rpartition(", ")
    rows = tables.read(_ANSWERS, ["id", "of", "group", "right", "times", "stratum"])
    up_to, alone = slice_of(cut).dataset, slice_of(cut).stratum
    if up_to is None and alone is None:
        return None
    reached = pc.equal(rows["stratum"], alone) if up_to is None else pc.less_equal(rows["stratum"], up_to)
    here = pc.and_(pc.equal(rows["of"], of), pc.equal(rows["group"], circumstance))
    rows = rows.filter(pc.and_(here, reached))
    right, times = (rows[name].to_numpy().astype(np.float64) for name in ("right", "times"))
    return Sampled(np.array(rows["id"].to_pylist(), dtype=np.str_), right, times)
