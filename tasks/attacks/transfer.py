"""Transfer: are images that were made to fool one subject wrong for another as well?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.attacks.records import Assault, Posed
from assay.tasks.attacks.settings import eps_name
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share
from assay.tasks.subjects.images.model import ImageModel, Probabilities, said

Counts = npt.NDArray[np.int64]


def transfer_partition(samples: pa.Table, *, assaults: Sequence[Assault]) -> Counts:
    """Right answers and answers judged [ε, made for, shown to, 2] in one partition, per label where there are several.

    The images are made here and shown at once to every subject, so none is stored. As in the accuracy of an attack, an
    image that a subject gets wrong without it is not right for having been moved.
    """
    grid = assaults[0].grid()
    counts = np.zeros((len(grid), len(assaults), len(assaults), 2), np.int64)
    if samples.num_rows == 0:
        return counts
    models = [assault.model() for assault in assaults]
    if len({model.multilabel for model in models}) > 1:
        raise InputError("Some of the subjects know one class per image and others several labels: compare alike.")
    posings = [Posed.of(samples, model) for model in models]
    truth = _truth(samples, posings[0], models[0])
    withstood = [
        _right(posed.clean, truth, model) | model.multilabel for posed, model in zip(posings, models, strict=True)
    ]
    for source, (assault, model, posed) in enumerate(zip(assaults, models, posings, strict=True)):
        for at, eps in enumerate(grid):
            images = assault.result(model, posed, eps).images.numpy()
            for target, judge in enumerate(models):
                right = _right(judge.predict(images, posed.ids), truth, judge) & withstood[target]
                counts[at, source, target] = right.sum(), (truth >= 0).sum()
    return counts


def transfer_findings(counts: Counts, assaults: Sequence[Assault]) -> list[Finding]:
    """`attack.transfer`: the accuracy of each subject on the images made for each, with Wilson's interval.

    `subject` is the one that looks; the group names ε and the subject that the images were made for.
    """
    findings = []
    for at, eps in enumerate(assaults[0].grid()):
        for source, made_for in enumerate(assaults):
            for target, shown_to in enumerate(assaults):
                right, judged = (int(count) for count in counts[at, source, target])
                group = f"{eps_name(eps)}, made for {made_for.name}"
                findings.append(
                    share(
                        "attack.transfer", right, judged, of=made_for.attack.called, group=group, subject=shown_to.name
                    )
                )
    return findings


def _right(probabilities: Probabilities, truth: npt.NDArray[np.int64], model: ImageModel) -> npt.NDArray[np.bool_]:
    """Where an answer is right and the truth known."""
    right: npt.NDArray[np.bool_] = (said(probabilities, model.multilabel) == truth) & (truth >= 0)
    return right


def _truth(samples: pa.Table, posed: Posed, model: ImageModel) -> npt.NDArray[np.int64]:
    """What is true, -1 where nobody knows: codes [n], or labels [n, k]."""
    if model.multilabel:
        return posed.targets
    unknown = np.asarray(samples["gold"].is_null().to_numpy())
    return np.where(unknown, -1, posed.targets)
