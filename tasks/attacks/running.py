"""An attack on images, run: on one batch at one ε, on a partition of samples with a record per sample and ε, and
on images that are shown to other subjects (transfer).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from toolz import groupby

from assay.data.arrays import Counts
from assay.data.images import image_columns, pixels_of
from assay.data.schemas import AdversarialImages, Attacked
from assay.infra.engines.devices import deterministically
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import FromPlugins, plugin_faults
from assay.tasks.attacks.choice import broken_bounds
from assay.tasks.attacks.settings import COUNTED, ImageAttack, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share
from assay.tasks.subjects.holding_out import rows_by_sample
from assay.tasks.subjects.images.dataset import LABELS, targets_of
from assay.tasks.subjects.images.model import ImageModel, Pixels, Probabilities, load_image_model, said
from assay.tasks.subjects.resolved import ResolvedSubject

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.attacks.batch import Draws, Perturb


@dataclass(frozen=True)
class AttackResult:
    """What an attack made of a batch, on the CPU.

    `success`: the goal is reached: a wrong class, the class aimed at where that is not the true one, or, with several
    labels, more of them wrong than of the clean image. `steps`: after how many, or all where it never was. `queries`:
    how often the model was asked about the sample, gradients included.
    """

    images: Tensor  # float32 [n, c, h, w]
    steps: Tensor  # int32 [n]
    queries: Tensor  # int32 [n]
    success: Tensor  # bool [n]
    fell_to: list[str | None] | None = None  # of several attacks in turn, the one that each sample fell to


def run_attack(
    settings: ImageAttack,
    model: ImageModel,
    images: Tensor,
    targets: Tensor,
    eps: float,
    draws: Draws,
    *,
    perturb: Perturb | None = None,
) -> AttackResult:
    """The attacked images and what became of them; pure: the same for any batch, order or worker.

    `images` are float32 [n, c, h, w] within [0, 1]; `targets` what is true of them, as class codes [n] or as labels
    [n, k] of 1, 0 and -1. `perturb` is the trained generator of an attack that has one.
    """
    import torch

    from assay.tasks.attacks.batch import pose, require_numbers

    if settings.only_accuracy and model.multilabel:
        raise InputError(
            f"The attack {settings.called} has `only_accuracy`, which stops at a sample's first wrong answer, and the "
            f"subject {model.name} knows several labels per image, each with its own: leave `only_accuracy` out."
        )
    if IMAGE_ATTACKS.of(settings).one_class and model.multilabel:
        raise InputError(
            f"The attack {settings.called} is for one class per image, and the subject {model.name} knows several "
            "labels: take apgd and square."
        )
    if len(images) == 0:
        nothing = torch.zeros(0, dtype=torch.int32)
        return AttackResult(images, nothing, nothing, nothing.bool())
    is_plugin = isinstance(settings, FromPlugins)
    batch = pose(settings, model, images.clone() if is_plugin else images, targets, eps, draws)
    ledger = batch.ledger(steps=0) if eps == 0 else IMAGE_ATTACKS.of(settings).attack(settings, batch, perturb)
    attacked, steps, queries, success = result = [column.cpu() for column in ledger.result()]
    if eps > 0 and is_plugin and (sentences := broken_bounds(result, images, settings.norm, eps)):
        raise InputError(f"At {eps_name(eps, settings.norm)} of the attack {settings.called}: {' '.join(sentences)}")
    require_numbers(model, attacked, draws)
    return AttackResult(attacked, steps, queries, success, ledger.fell_to)


Generators = Mapping[str, dict[str, bytes]]
"""The files of the trained generator for every ε, by `eps_name`."""


@dataclass(frozen=True)
class AttackJob:
    """Everything a worker needs to attack a partition; picklable."""

    subject: ResolvedSubject
    name: str  # of the subject
    files: dict[str, bytes]
    attack: ImageAttack
    seeds: Seeds
    generators: Generators | None = None

    def model(self) -> ImageModel:
        """The subject, loaded."""
        return load_image_model(self.subject, self.files)

    def result(self, model: ImageModel, targeted: TargetedImages, eps: float) -> AttackResult:
        """The attack at one ε; at 0 the clean images, bit for bit."""
        import torch

        from assay.tasks.attacks.batch import Draws

        images, targets = torch.from_numpy(targeted.pixels), torch.from_numpy(targeted.targets)
        choice, perturb = IMAGE_ATTACKS.of(self.attack), None
        with plugin_faults(self.attack, choice.word, self.subject.masked):
            if self.generators is not None and choice.generator is not None and eps > 0:
                perturb = choice.generator.load(self.generators[eps_name(eps)], model.device, model.block)
            carry_out = partial(run_attack, self.attack, model, images, targets, eps, perturb=perturb)
            return deterministically(partial(carry_out, Draws(self.seeds, targeted.ids)), model.device)

    def grid(self) -> list[float]:
        """Every ε of the attack in rising order, the clean point first."""
        return sorted({0.0, *self.attack.eps})


@dataclass(frozen=True)
class TargetedImages:
    """A partition of samples as arrays: `targets` is what an attack takes for the truth."""

    ids: tuple[str, ...]
    pixels: Pixels
    clean: Probabilities
    targets: npt.NDArray[np.int64]  # [n], or [n, k]

    @staticmethod
    def of(samples: pa.Table, model: ImageModel) -> TargetedImages:
        """The samples; one whose class is unknown is attacked away from what the subject says of it."""
        ids = tuple(samples["id"].to_pylist())
        pixels = pixels_of(samples)
        clean = model.predict(pixels, ids)
        if model.multilabel:
            return TargetedImages(ids, pixels, clean, _labels(samples, model))
        gold = samples["gold"].to_numpy(zero_copy_only=False).astype(np.float64)
        unknown = np.isnan(gold)
        targets = np.where(unknown, said(clean, multilabel=False), np.where(unknown, 0, gold)).astype(np.int64)
        return TargetedImages(ids, pixels, clean, targets)


def attack_partition(samples: pa.Table, *, job: AttackJob, kept: frozenset[str]) -> tuple[pa.Table, pa.Table]:
    """The records of one partition, a row per sample and ε, and the images of the samples in `kept`."""
    if samples.num_rows == 0:
        return Attacked.schema.empty_table(), AdversarialImages.schema.empty_table()
    model = job.model()
    targeted = TargetedImages.of(samples, model)
    records, pictures = [], []
    for eps in job.grid():
        result = job.result(model, targeted, eps)
        attacked = targeted.clean if eps == 0 else model.predict(result.images.numpy(), targeted.ids)
        records.append(_record(samples, job, model, targeted, result, attacked, eps))
        pictures.append(_pictures(job, targeted, result.images.numpy(), eps, kept))
    return rows_by_sample(records, targeted.ids), rows_by_sample(pictures, targeted.ids)


def _record(
    samples: pa.Table,
    job: AttackJob,
    model: ImageModel,
    targeted: TargetedImages,
    result: AttackResult,
    attacked: Probabilities,
    eps: float,
) -> pa.Table:
    n, no_code = len(targeted.ids), np.full(len(targeted.ids), -1, np.int16)
    moved = (result.images.numpy() - targeted.pixels).reshape(n, -1)
    farthest = np.abs(moved).max(axis=1)
    if job.attack.norm in COUNTED:
        farthest = moved.reshape(targeted.pixels.shape).any(axis=1).sum(axis=(1, 2))
    columns = {
        "id": samples["id"],
        "subject": [job.name] * n,
        "attack": [job.attack.called] * n,
        "eps": np.full(n, eps),
        "gold": samples["gold"],
        "labels": samples["labels"].cast(pa.list_(pa.int8())) if model.multilabel else pa.nulls(n),
        "clean": no_code if model.multilabel else said(targeted.clean, multilabel=False),
        "attacked": no_code if model.multilabel else said(attacked, multilabel=False),
        "clean_probabilities": targeted.clean.tolist(),
        "attacked_probabilities": attacked.tolist(),
        "success": result.success.numpy(),
        "distance": farthest.astype(np.float64),
        "distance_l2": np.sqrt(np.square(moved, dtype=np.float64).sum(axis=1)),
        "steps": result.steps.numpy(),
        "queries": result.queries.numpy(),
        "winner": pa.nulls(n) if result.fell_to is None else result.fell_to,
    }
    return pa.table(columns, schema=Attacked.schema)


def _pictures(job: AttackJob, targeted: TargetedImages, images: Pixels, eps: float, kept: frozenset[str]) -> pa.Table:
    everything = job.attack.keep_all and eps > 0
    rows = [row for row, sample in enumerate(targeted.ids) if everything or sample in kept]
    columns: dict[str, Any] = {
        "id": [targeted.ids[row] for row in rows],
        "subject": [job.name] * len(rows),
        "attack": [job.attack.called] * len(rows),
        "eps": [eps] * len(rows),
        **image_columns(images[rows]),
    }
    return pa.table(columns, schema=AdversarialImages.schema)


def _labels(samples: pa.Table, model: ImageModel) -> npt.NDArray[np.int64]:
    if LABELS not in samples.column_names:
        raise InputError(
            "The subject knows several labels per image, and the samples have no column `labels`: name the columns of "
            "the labels in source.label."
        )
    return targets_of(samples, [str(code) for code in range(model.classes)])


Candidate = tuple[int, str, str]  # class, hash of the id, id


def candidates(samples: pa.Table, *, per_class: int) -> frozenset[Candidate]:
    """So many samples of every class in a partition, chosen by a hash of the id; of several labels the first counts.

    >>> table = pa.table({"id": ["a", "b", "c"], "gold": [0, 0, 1]})
    >>> sorted(kept(candidates(table, per_class=1), 1)), sorted(kept(candidates(table, per_class=0), 0))
    (['b', 'c'], [])
    """
    ids = samples["id"].to_pylist()
    hashes = [hashlib.blake2b(sample.encode(), digest_size=8, person=b"assay.kept").hexdigest() for sample in ids]
    return _first(frozenset(zip(_classes(samples), hashes, ids, strict=True)), per_class)


def kept(pool: frozenset[Candidate], per_class: int) -> frozenset[str]:
    """The ids of the samples that are kept, out of the candidates of all partitions."""
    return frozenset(sample for _, _, sample in _first(pool, per_class))


def _first(pool: frozenset[Candidate], per_class: int) -> frozenset[Candidate]:
    return frozenset(candidate for alike in groupby(0, sorted(pool)).values() for candidate in alike[:per_class])


def _classes(samples: pa.Table) -> list[int]:
    if "labels" not in samples.column_names:
        return [-1 if gold is None else gold for gold in samples["gold"].to_pylist()]
    rows = samples["labels"].to_pylist()
    return [next((label for label, there in enumerate(row or ()) if there == 1), -1) for row in rows]


def transfer_partition(samples: pa.Table, *, jobs: Sequence[AttackJob]) -> Counts:
    """Right answers and answers judged [ε, made for, shown to, 2] in one partition, per label where there are several.

    The images are made here and shown at once to every subject, so none is stored. As in the accuracy of an attack, an
    image that a subject gets wrong without it is not right for having been moved.
    """
    grid = jobs[0].grid()
    counts = np.zeros((len(grid), len(jobs), len(jobs), 2), np.int64)
    if samples.num_rows == 0:
        return counts
    models = [job.model() for job in jobs]
    several = models[0].multilabel
    if any(model.multilabel != several for model in models):
        raise InputError("Some of the subjects know one class per image and others several labels: compare alike.")
    targeted_by = [TargetedImages.of(samples, model) for model in models]
    truth = _truth(samples, targeted_by[0], models[0])
    withstood = [_right(targeted.clean, truth, several) | several for targeted in targeted_by]
    for source, (job, model, targeted) in enumerate(zip(jobs, models, targeted_by, strict=True)):
        for at, eps in enumerate(grid):
            images = job.result(model, targeted, eps).images.numpy()
            for target, judge in enumerate(models):
                right = _right(judge.predict(images, targeted.ids), truth, several) & withstood[target]
                counts[at, source, target] = right.sum(), (truth >= 0).sum()
    return counts


def transfer_findings(counts: Counts, jobs: Sequence[AttackJob]) -> list[Finding]:
    """`attack.transfer`: the accuracy of each subject on the images made for each, with Wilson's interval.

    `subject` is the one that looks; the group names ε and the subject that the images were made for.
    """
    findings = []
    for (at, eps), (source, made_for), (target, shown_to) in product(
        enumerate(jobs[0].grid()), enumerate(jobs), enumerate(jobs)
    ):
        right, judged = counts[at, source, target].tolist()
        of, group = made_for.attack.called, f"{eps_name(eps, made_for.attack.norm)}, made for {made_for.name}"
        findings.append(share("attack.transfer", right, judged, of=of, group=group, subject=shown_to.name))
    return findings


def _right(probabilities: Probabilities, truth: npt.NDArray[np.int64], several: bool) -> npt.NDArray[np.bool_]:
    """Where an answer is right and the truth known."""
    right: npt.NDArray[np.bool_] = (said(probabilities, several) == truth) & (truth >= 0)
    return right


def _truth(samples: pa.Table, targeted: TargetedImages, model: ImageModel) -> npt.NDArray[np.int64]:
    """What is true, -1 where nobody knows: codes [n], or labels [n, k]."""
    if model.multilabel:
        return targeted.targets
    return np.where(np.asarray(samples["gold"].is_null().to_numpy()), -1, targeted.targets)
