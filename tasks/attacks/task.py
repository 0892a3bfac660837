"""Attacks on images as stages: a generator is trained, a subject is attacked, the worst case is taken, images are
shown to other subjects, a subject is probed, and results are measured.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import (
    AdversarialImages,
    Attacked,
    Classes,
    Findings,
    GeneratorFiles,
    Probed,
    Samples,
    SubjectFiles,
    class_names,
)
from assay.infra.engines.devices import deterministically
from assay.infra.errors import RunError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import collect, map_partitions, read_files, reduce_partitions
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.stages.trainings import Checkpoints, train_on_worker
from assay.infra.storage.artifacts import Artifact
from assay.infra.user_code.choices import plugin_faults
from assay.tasks.attacks.measures import (
    COLUMNS,
    WORST,
    Trial,
    attack_findings,
    on_grid,
    trials_one_by_one,
    worst_called,
    worst_of,
)
from assay.tasks.attacks.red_flags import PROBES, Reading, flags_of_attacks
from assay.tasks.attacks.running import (
    AttackJob,
    attack_partition,
    candidates,
    kept,
    transfer_findings,
    transfer_partition,
)
from assay.tasks.attacks.settings import GAP, ImageAttack, Norm, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import Finding, findings_from, findings_table, lowest
from assay.tasks.statistics.groups import groups_by_id
from assay.tasks.subjects.holding_out import rows_with_ids
from assay.tasks.subjects.images.task import require_classes
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.trained import CARD


@stage(version=1, title="generator", draws=True, gpu=True)
def train_generator(
    training: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: ImageAttack,
    eps: float,
) -> Artifact[GeneratorFiles]:
    """A generator of perturbations within ε against the subject; what `attack_subject` takes under `eps_name(eps)`."""
    generator: Artifact[GeneratorFiles] = train_on_worker(
        learn_perturbations,
        training,
        into=GeneratorFiles,
        files=read_files(files),
        subject=subject,
        classes=tuple(class_names(collect(classes, None))),
        attack=attack,
        eps=eps,
        seeds=stage_seeds(),
    )
    how = (
        f"{plural(attack.epochs, 'epoch')} of {training.rows} samples, {attack.loss} loss"
        if isinstance(attack, GAP)
        else ""
    )
    say(" · ".join(part for part in (f"{attack.called} at {eps_name(eps)}", how) if part))
    return generator


def learn_perturbations(
    training: pa.Table,
    *,
    checkpoints: Checkpoints,
    files: dict[str, bytes],
    subject: ResolvedSubject,
    classes: Sequence[str],
    attack: ImageAttack,
    eps: float,
    seeds: Seeds,
) -> dict[str, bytes]:
    """The files of a generator, on a worker."""
    from assay.tasks.subjects.images.dataset import images_of
    from assay.tasks.subjects.images.model import load_image_model

    learned = IMAGE_ATTACKS.of(attack).generator
    if learned is None:
        raise RunError(f"The attack {attack.called} has no generator to train.")
    model = load_image_model(subject, files)
    lessons = images_of(training, classes)
    with plugin_faults(attack, IMAGE_ATTACKS.of(attack).word, subject.masked):
        return deterministically(lambda: learned.train(model, lessons, attack, eps, seeds, checkpoints), model.device)


_USUAL_ROWS, _MANY_ROWS, _BYTES = 128, 1024, 64 * 2**20


class Attacks(NamedTuple):
    """What became of every sample, and the images that are kept."""

    attacked: Artifact[Attacked]
    images: Artifact[AdversarialImages]


@stage(version=2, title="attack", draws=True, gpu=True)
def attack_subject(
    evaluation: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: ImageAttack,
    name: str,
    generators: dict[str, Artifact[GeneratorFiles]] | None = None,
) -> Attacks:
    """A record per sample and ε (the clean point among them), and adversarial images for the report.

    `name` is what the records call the subject. `generators` are those of an attack that has them, by `eps_name`.
    """
    job = _attack_job(classes, files, subject, attack, name, generators)
    card = json.loads(job.files[CARD])
    attacked, images = map_partitions(
        attack_partition,
        evaluation,
        into=(Attacked, AdversarialImages),
        rows=_rows_for(attack, evaluation.rows, (card["channels"], card["size"])),
        job=job,
        kept=kept(reduce_partitions(candidates, evaluation, per_class=attack.keep), attack.keep),
    )
    say(_summary(reduce_partitions(count_successes, attacked, eps=max(job.grid())), job))
    return Attacks(attacked, images)


@stage(version=1, title="worst case")
def worst_case(attacked: list[Artifact[Attacked]]) -> Artifact[Attacked]:
    """Per sample and ε the record of the attack that did most to one subject, in a table called `worst-case`."""
    summaries = [reduce_partitions(what_was_attacked, table) for table in attacked]
    grid = sorted({float(eps) for summary in summaries for eps in summary["grid"]})
    labels = sum(name.startswith("known ") for name in summaries[0])  # none where samples have one class
    known = tuple(summaries[0][f"known {at}"] for at in range(labels))
    tables = [
        map_partitions(on_grid, table, into=Attacked, name=f"grid-{at}", grid=grid, known=known)
        for at, table in enumerate(attacked)
    ]
    worst = map_partitions(worst_of, *tables, into=Attacked, known=known)
    say(f"{len(attacked)} attacks, {len(grid)} ε")
    return worst


@stage(version=2, title="transfer", draws=True, gpu=True)
def transfer_attacks(
    evaluation: Artifact[Samples],
    classes: Artifact[Classes],
    attack: ImageAttack,
    files: dict[str, Artifact[SubjectFiles]],
    subjects: dict[str, ResolvedSubject],
    generators: dict[str, dict[str, Artifact[GeneratorFiles]]] | None = None,
) -> Artifact[Findings]:
    """`attack.transfer`: how every subject answers for images that were made against every subject.

    Subjects, and the generators of an attack that has them, go by the names of the subjects. The images are those that
    `attack_subject` makes.
    """
    trained = generators or {}
    jobs = [_attack_job(classes, files[name], subjects[name], attack, name, trained.get(name)) for name in files]
    counts = reduce_partitions(transfer_partition, evaluation, jobs=jobs)
    say(f"{attack.called} · images made for each of {len(jobs)} subjects, shown to all")
    return write_table(findings_table(transfer_findings(counts, jobs)), into=Findings)


def what_was_attacked(attacked: pa.Table) -> dict[str, Any]:
    """Every ε in a partition of records, spelt so that it can be read back exactly, and known labels.

    Of several labels, `known 0` and so on count the records in which each is known.
    """
    known: Counter[str] = Counter()
    for labels in attacked["labels"].to_pylist():
        known.update({f"known {at}": int(label >= 0) for at, label in enumerate(labels or ())})
    return {"grid": frozenset(repr(eps) for eps in attacked["eps"].unique().to_pylist()), **known}


def count_successes(attacked: pa.Table, *, eps: float) -> dict[str, int]:
    """On how many samples of a partition the attack reached its goal at one ε, and how many there are."""
    there = attacked.filter(pc.equal(attacked["eps"], eps))
    several = there.num_rows - there["labels"].null_count
    return {"reached": pc.sum(there["success"]).as_py() or 0, "of": there.num_rows, "several labels": several}


def _rows_for(attack: ImageAttack, samples: int, image: tuple[int, int]) -> int | None:
    """How many samples are attacked together; None for as many as a partition has.

    A network sees blocks of one size, so that every image gets the same bits whatever its neighbours are; what is left
    over fills one up, or a small one (`attacks.batch.cut`). An attack that drops what has fallen therefore gains more,
    the more samples it begins with. Four partitions at least are left for the workers, and the images of one must fit
    in memory a few times over.
    """
    if not (attack.only_accuracy or IMAGE_ATTACKS.of(attack).drops_fallen):
        return None
    channels, size = image
    fitting = _BYTES // (4 * channels * size * size)
    rows = min(samples // 4, _MANY_ROWS, fitting)
    return rows if rows > _USUAL_ROWS else None


def _attack_job(
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: ImageAttack,
    name: str,
    generators: dict[str, Artifact[GeneratorFiles]] | None,
) -> AttackJob:
    trained = None if generators is None else {eps: read_files(generator) for eps, generator in generators.items()}
    contents, seeds = read_files(files), Seeds(stage_seeds().run_seed, "attack")  # the same in every such stage
    require_classes(contents, classes.rows, name)
    return AttackJob(subject, name, contents, attack, seeds, trained)


def _summary(counted: dict[str, int], job: AttackJob) -> str:
    n, largest = counted["of"], max(job.grid())
    share = f"{counted['reached'] / n:.0%}" if n else "none"
    what = "wrong under attack" if not counted["several labels"] else "with more labels wrong"
    what = what if job.attack.goal == "untargeted" else "as the attack wants them"
    return f"{job.attack.called} on {job.name} · {share} of {n} {what} at {eps_name(largest, job.attack.norm)}"


PROBED = 64
"""How many samples a subject is probed with: one forward and backward each, and 40 steps at ε = 1."""


@stage(version=3, title="probes", draws=True, gpu=True)
def probe_subject(
    evaluation: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    name: str,
    limit: int = PROBED,
) -> Artifact[Findings]:
    """The red flags that a subject raises by itself: a softmax at its end, no gradients, randomness, ε = 1 in vain."""
    from assay.tasks.attacks.probes import chosen, flags_of_probes
    from assay.tasks.subjects.images.dataset import targets_of, truth_columns

    if not subject.has_gradient:
        readings = [Reading(flag, False, 0, "it is only asked and has no gradient") for flag in PROBES]
        say(f"{name} · only asked, so there is nothing to probe")
        return write_table(findings_table([reading.finding(name) for reading in readings]), into=Findings)
    names, known = class_names(collect(classes, None)), truth_columns(evaluation)
    ids = chosen(known["id"].to_pylist(), limit, stage_seeds().generator())
    held = read_files(files)
    probed = map_partitions(
        probe_partition, evaluation, into=Probed, files=held, subject=subject, ids=frozenset(ids), seeds=stage_seeds()
    )
    rows = collect(probed, None)
    truth = targets_of(known.take(pc.index_in(rows["id"], value_set=known["id"].combine_chunks())), names)
    readings = flags_of_probes(rows, truth, softmaxed=json.loads(held[CARD])["softmaxed"])
    say(f"{name} · {len(ids)} samples · {_flags_in_words(readings)}")
    return write_table(findings_table([reading.finding(name) for reading in readings]), into=Findings)


@stage(version=14, title="robustness")
def measure_attacks(
    attacked: list[Artifact[Attacked]],
    classes: Artifact[Classes],
    attacks: list[ImageAttack],
    name: str,
    transfers: list[Artifact[Findings]],
    split: str = "",
    evaluation: Artifact[Samples] | None = None,
) -> Artifact[Findings]:
    """The findings on one subject's attacks in one norm, their worst case among them, and the red flags they raise.

    `attacks` are the settings behind the tables, `transfers` what `transfer_attacks` found. Tables of another split
    than the audited one (a generator on its own training images, the X of Tables 1 and 2) are measured apart, with the
    `split` in their groups, and raise no flags. `evaluation` are the samples that were attacked: their groups, where
    they have some, are what intervals count.
    """
    names = class_names(collect(classes, None))
    of_id = None if evaluation is None else groups_by_id(evaluation)
    aims = {attack.called: attack.target for attack in attacks}
    trials: list[Trial] = []
    findings: list[Finding] = []
    norm: Norm = attacks[0].norm if attacks else "linf"
    for trial in trials_one_by_one(collect(table, COLUMNS) for table in attacked):
        trial = replace(trial, norm=norm, attack=worst_called(norm) if trial.attack == WORST else trial.attack)
        groups = None if of_id is None else np.array([of_id[sample] for sample in trial.ids.tolist()])
        findings += attack_findings(trial, names, split, aims.get(trial.attack), groups)
        trials.append(trial.answered())
    flags: list[Reading] = []
    if not split:
        moved = [row for table in transfers for row in findings_from(collect(table, Findings.schema.names))]
        flags = flags_of_attacks(trials, attacks, names, moved)
        findings += [replace(flag.finding(name), group="" if norm == "linf" else norm) for flag in flags]
    say(f"{name} · {_lowest_accuracy(findings)}" + (f" · {_flags_in_words(flags)}" if flags else ""))
    return write_table(findings_table(findings), into=Findings)


def probe_partition(
    samples: pa.Table, *, files: dict[str, bytes], subject: ResolvedSubject, ids: frozenset[str], seeds: Seeds
) -> pa.Table:
    """The probes of those samples of a partition that are among the ids."""
    import torch

    from assay.tasks.attacks.batch import Draws
    from assay.tasks.attacks.probes import probe_samples
    from assay.tasks.attacks.running import TargetedImages
    from assay.tasks.subjects.images.model import load_image_model

    some = rows_with_ids(samples, ids=ids)
    if some.num_rows == 0:
        return Probed.schema.empty_table()
    model = load_image_model(subject, files)
    targeted = TargetedImages.of(some, model)
    images, truth = torch.from_numpy(targeted.pixels), torch.from_numpy(targeted.targets)
    return probe_samples(model, images, truth, Draws(seeds, targeted.ids))


def _flags_in_words(readings: Sequence[Reading]) -> str:
    raised = [reading.flag for reading in readings if reading.raised]
    return f"red flags: {', '.join(raised)}" if raised else "no red flag"


def _lowest_accuracy(findings: Sequence[Finding]) -> str:
    # Of several ε that leave the same, the largest is the one that says something: often everything is left at 0.
    least = lowest([finding for finding in reversed(findings) if finding.metric == "attack.accuracy"])
    return "nothing was attacked" if least is None else f"{least.of} at {least.group} leaves {least.value:.1%} right"
