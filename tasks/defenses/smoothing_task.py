"""Randomised smoothing (Cohen, Rosenfeld and Kolter 2019) as stages: a subject trained under noise, the classes that no
perturbation within a radius can change, and what they come to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.images import pixels_of
from assay.data.schemas import Certified, Classes, Findings, Samples, SubjectFiles, class_names
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import collect, columns_in, map_partitions, read_files
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.defenses.settings import Smoothing
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.clusters import share_by
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import groups_by_id
from assay.tasks.subjects.holding_out import draw_evenly, rows_with_ids
from assay.tasks.subjects.images.dataset import LABELS
from assay.tasks.subjects.images.model import ImageModel, load_image_model, require_pixels
from assay.tasks.subjects.images.task import learn_images
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.trained import TrainedSubject, trained_on_worker

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.subjects.images.training import Batch, Descent


def under_noise(sigma: float, batch: Batch) -> Descent:
    """The loss of a batch under fresh N(0, σ²) noise, not clipped to [0, 1] as smoothing does not."""
    import torch

    from assay.tasks.subjects.images.training import Descent

    noise = batch.seeds.generator().standard_normal(tuple(batch.images.shape), dtype=np.float32)
    logits = batch.model.logits(batch.images + sigma * torch.from_numpy(noise).to(batch.images.device))
    return Descent(batch.loss(logits, batch.targets), logits)


ABSTAINS = -1


@dataclass(frozen=True)
class Certificate:
    """The class that the smoothed subject gives, or −1, and the L2 radius within which it gives no other.

    `lower` bounds the probability of the class under noise from below, from `hits` of so many `draws`.
    """

    predicted: int
    radius: float
    lower: float
    hits: int
    draws: int


def certify(model: ImageModel, image: Tensor, settings: Smoothing, generator: np.random.Generator) -> Certificate:
    """CERTIFY of Cohen et al. for one image [c, h, w]: wrong with probability `alpha` at most.

    The class is guessed from `selection` noisy copies; of `draws` others, its share bounds p_A from below
    (Clopper-Pearson). Where that is above a half, the smoothed subject gives this class within the radius σ·Φ⁻¹(p_A);
    else it abstains.
    """
    sigma, n = settings.sigma, settings.draws
    guess = int(sample_under_noise(model, image, sigma, settings.selection, generator).argmax())
    hits = int(sample_under_noise(model, image, sigma, n, generator)[guess])
    lower = lower_bound(hits, n, settings.alpha)
    if lower <= 0.5:
        return Certificate(ABSTAINS, 0.0, lower, hits, n)
    return Certificate(guess, radius_of(lower, sigma), lower, hits, n)


def sample_under_noise(
    model: ImageModel, image: Tensor, sigma: float, n: int, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    """How often each class is said of `n` copies of an image under N(0, σ²) noise [k]; in blocks of one fixed size.

    Noisy pixels are not clipped to [0, 1]: the proof needs the noise as it is.
    """
    import torch

    counts = np.zeros(model.classes, np.int64)
    with torch.inference_mode():
        for start in range(0, n, model.block):
            noise = generator.standard_normal((model.block, *image.shape), dtype=np.float32)
            noisy = image + sigma * torch.from_numpy(noise).to(image.device)
            predicted = model.logits(noisy)[: n - start].argmax(dim=1).cpu().numpy()
            counts += np.bincount(predicted, minlength=model.classes)
    return counts


def lower_bound(hits: int, n: int, alpha: float) -> float:
    """The one-sided lower end of Clopper and Pearson's interval of hits/n at confidence 1 − α.

    >>> round(lower_bound(999, 1000, 0.001), 5), lower_bound(0, 10, 0.001)
    (0.9908, 0.0)
    """
    from scipy.stats import beta

    return 0.0 if hits == 0 else float(beta.ppf(alpha, hits, n - hits + 1))


def radius_of(lower: float, sigma: float) -> float:
    """σ·Φ⁻¹(p_A), Theorem 1 with p_B = 1 − p_A.

    >>> round(radius_of(0.9908, 0.25), 3)
    0.589
    """
    from scipy.special import ndtri

    return float(sigma * ndtri(lower))


AS_IT_IS, UNDER_NOISE = "as-it-is", "under-noise"  # what a certified model was trained on
ROWS = 8  # of a partition: each sample is looked at a thousand times


@stage(version=1, title="train under noise", draws=True, gpu=True)
def train_under_noise(
    training: Artifact[Samples], classes: Artifact[Classes], subject: ResolvedSubject, sigma: float
) -> TrainedSubject:
    """The subject trained as it was, from the same initialisation, on images under Gaussian noise."""
    names, seeds = tuple(class_names(collect(classes, None))), Seeds(stage_seeds().run_seed, "train_network")
    hook, about = partial(under_noise, sigma), {"noise": sigma}
    trained = trained_on_worker(
        learn_images, training, subject=subject, classes=names, seeds=seeds, hook=hook, about=about
    )
    say(f"{subject.settings.name} · σ = {sigma:g}, {plural(trained.curve.rows, 'epoch')} of {training.rows} samples")
    return trained


@stage(version=1, title="certify", draws=True, gpu=True)
def certify_subject(
    evaluation: Artifact[Samples], files: Artifact[SubjectFiles], subject: ResolvedSubject, settings: Smoothing
) -> Artifact[Certified]:
    """What the smoothed subject says of some samples, and within which radius it can say nothing else."""
    if LABELS in columns_in(evaluation):
        raise InputError(
            f"Smoothing certifies one class per image, and the images that {subject.settings.name} sees bear several "
            "labels: leave `smoothing` out."
        )
    known = collect(evaluation, ["id", "gold"])
    ids = draw_evenly(known["id"].to_pylist(), known["gold"].to_pylist(), settings.limit)
    some = map_partitions(rows_with_ids, evaluation, into=Samples, name="some", ids=ids)
    certified = map_partitions(
        certify_partition,
        some,
        into=Certified,
        rows=ROWS,
        files=read_files(files),
        subject=subject,
        settings=settings,
        seeds=stage_seeds(),
    )
    say(f"{subject.settings.name} · {certified.rows} samples, {settings.draws} draws each at σ = {settings.sigma:g}")
    return certified


@stage(version=4, title="certified accuracy")
def measure_certified(
    certified: Artifact[Certified], name: str, how: str, settings: Smoothing, evaluation: Artifact[Samples]
) -> Artifact[Findings]:
    """`defense.certified_accuracy` at every radius, and `defense.abstains`; their `of` is how the model was trained.

    Intervals count the groups of the samples, where they have some.
    """
    findings = certified_findings(collect(certified, None), name, how, settings.radii, groups_by_id(evaluation))
    shares = ", ".join(f"{finding.group} {finding.value or 0.0:.0%}" for finding in findings if finding.group)
    say(f"{name} {how} · {shares}")
    return write_table(findings_table(findings), into=Findings)


def certify_partition(
    samples: pa.Table, *, files: dict[str, bytes], subject: ResolvedSubject, settings: Smoothing, seeds: Seeds
) -> pa.Table:
    """The certificates of a partition."""
    import torch

    if samples.num_rows == 0:
        return Certified.schema.empty_table()
    model = load_image_model(subject, files)
    ids, pixels = samples["id"].to_pylist(), pixels_of(samples)
    require_pixels(pixels, ids)
    rows = []
    for sample, gold, image in zip(ids, samples["gold"].to_pylist(), pixels, strict=True):
        certificate = certify(model, torch.from_numpy(image).to(model.device), settings, seeds.generator(sample))
        known = {"id": sample, "subject": subject.settings.name, "gold": gold}
        rows.append(known | asdict(certificate) | {"abstains": certificate.predicted == ABSTAINS})
    return pa.Table.from_pylist(rows, schema=Certified.schema)


def certified_findings(
    certified: pa.Table, name: str, how: str, radii: Sequence[float], of_id: Mapping[str, int] | None = None
) -> list[Finding]:
    """The share of samples that are right, not abstained from, and certified within each radius at least, of those
    whose class is known."""
    rows = [row for row in certified.to_pylist() if row["gold"] is not None]
    groups = None if of_id is None else [of_id[row["id"]] for row in rows]
    findings = [
        share_by(
            "defense.certified_accuracy",
            [not row["abstains"] and row["predicted"] == row["gold"] and row["radius"] >= radius for row in rows],
            groups,
            of=how,
            group=f"radius={radius:g}",
            subject=name,
        )
        for radius in radii
    ]
    return [*findings, share_by("defense.abstains", [row["abstains"] for row in rows], groups, of=how, subject=name)]
