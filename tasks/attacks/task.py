"""Attacks as stages: a subject under one attack, the worst case over several, and images shown to other subjects."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from assay.data.image_schemas import AdversarialImages, Attacked, GeneratorFiles
from assay.data.schemas import Classes, Findings, Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import map_partitions, read_files, reduce_partitions
from assay.infra.seeds import Seeds
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.attacks.keeping import candidates, kept
from assay.tasks.attacks.records import Assault, attack_partition
from assay.tasks.attacks.settings import AnyImageAttack, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.attacks.transfer import transfer_findings, transfer_partition
from assay.tasks.attacks.worst import on_grid, worst_of
from assay.tasks.statistics.findings import findings_table
from assay.tasks.subjects.images.model import CARD
from assay.tasks.subjects.resolved import ResolvedSubject

_USUAL_ROWS, _MANY_ROWS, _BYTES = 128, 1024, 64 * 2**20


class Attacks(NamedTuple):
    """What became of every sample, and the images that are kept."""

    attacked: Artifact[Attacked]
    images: Artifact[AdversarialImages]


@stage(version=1, title="attack", draws=True, gpu=True)
def attack_subject(
    evaluation: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: AnyImageAttack,
    name: str,
    generators: dict[str, Artifact[GeneratorFiles]] | None = None,
) -> Attacks:
    """A record per sample and ε (the clean point among them), and adversarial images for the report.

    `name` is what the records call the subject. `generators` are those of an attack that has them, by `eps_name`.
    """
    assault = _assault(classes, files, subject, attack, name, generators)
    card = json.loads(assault.files[CARD])
    pool = reduce_partitions(candidates, evaluation, per_class=attack.keep)
    attacked, images = map_partitions(
        attack_partition,
        evaluation,
        into=(Attacked, AdversarialImages),
        rows=_rows_for(attack, evaluation.rows, (card["channels"], card["size"])),
        assault=assault,
        kept=kept(pool, attack.keep),
    )
    say(_summary(reduce_partitions(count_successes, attacked), assault))
    return Attacks(attacked, images)


@stage(version=1, title="worst case")
def worst_case(attacked: list[Artifact[Attacked]]) -> Artifact[Attacked]:
    """Per sample and ε the record of the attack that did most to one subject, in a table called `worst-case`."""
    summaries = [reduce_partitions(what_was_attacked, table) for table in attacked]
    subjects = sorted({subject for summary in summaries for subject in summary["subjects"]})
    if len(subjects) > 1:
        raise InputError(f"The worst case is that of one subject, and these tables are of {', '.join(subjects)}.")
    grid = sorted({float(eps) for summary in summaries for eps in summary["grid"]})
    known = _known(summaries[0])
    tables = [
        map_partitions(on_grid, table, into=Attacked, name=f"grid-{at}", grid=grid, known=known)
        for at, table in enumerate(attacked)
    ]
    worst: Artifact[Attacked] = map_partitions(worst_of, *tables, into=Attacked, known=known)
    say(f"{len(attacked)} attacks, {len(grid)} ε")
    return worst


@stage(version=1, title="transfer", draws=True, gpu=True)
def transfer_attacks(
    evaluation: Artifact[Samples],
    classes: Artifact[Classes],
    attack: AnyImageAttack,
    files: dict[str, Artifact[SubjectFiles]],
    subjects: dict[str, ResolvedSubject],
    generators: dict[str, dict[str, Artifact[GeneratorFiles]]] | None = None,
) -> Artifact[Findings]:
    """`attack.transfer`: how every subject answers for images that were made against every subject.

    Subjects, and the generators of an attack that has them, go by the names of the subjects. The images are those that
    `attack_subject` makes.
    """
    trained = generators or {}
    assaults = [_assault(classes, files[name], subjects[name], attack, name, trained.get(name)) for name in files]
    counts = reduce_partitions(transfer_partition, evaluation, assaults=assaults)
    say(f"{attack.called} · images made for each of {len(assaults)} subjects, shown to all")
    return write_table(findings_table(transfer_findings(counts, assaults)), into=Findings)


def what_was_attacked(attacked: pa.Table) -> dict[str, Any]:
    """The subjects in a partition of records, every ε, spelt so that it can be read back exactly, and known labels.

    Of several labels, `known 0` and so on count the records in which each is known.
    """
    grid = frozenset(repr(eps) for eps in attacked["eps"].unique().to_pylist())
    known: Counter[str] = Counter()
    for labels in attacked["labels"].to_pylist():
        known.update({f"known {at}": int(label >= 0) for at, label in enumerate(labels or ())})
    return {"subjects": frozenset(attacked["subject"].unique().to_pylist()), "grid": grid, **known}


def _known(summary: Mapping[str, Any]) -> tuple[int, ...]:
    """Per label the records in which it is known; nothing where samples have one class."""
    return tuple(summary[f"known {at}"] for at in range(sum(name.startswith("known ") for name in summary)))


def count_successes(attacked: pa.Table) -> dict[str, int]:
    """On how many samples of a partition the attack reached its goal, at every ε, and how many there are."""
    counted = attacked.group_by("eps").aggregate([("success", "sum"), ("success", "count")]).to_pylist()
    reached = {f"reached {row['eps']!r}": int(row["success_sum"] or 0) for row in counted}
    several = {"several labels": attacked.num_rows - attacked["labels"].null_count}
    return reached | several | {f"of {row['eps']!r}": int(row["success_count"]) for row in counted}


def _rows_for(attack: AnyImageAttack, samples: int, image: tuple[int, int]) -> int | None:
    """How many samples are attacked together; None for as many as a partition has.

    A network sees blocks of one size, filled up, so that every image gets the same bits whatever its neighbours are.
    (Smaller blocks for what is left over would be cheaper, and are not the same bits in every network: on a CPU with
    AVX2, blocks of 4 differ from blocks of 64 in ResNet50 and Inception-v3.) An attack that drops what has fallen
    therefore gains more, the more samples it begins with: 128 end in a block that is mostly filling. Four partitions
    at least are left for the workers, and the images of one must fit in memory a few times over.
    """
    if not (attack.only_accuracy or IMAGE_ATTACKS.of(attack).drops_fallen):
        return None
    channels, size = image
    fitting = _BYTES // (4 * channels * size * size)
    rows = min(samples // 4, _MANY_ROWS, fitting)
    return rows if rows > _USUAL_ROWS else None


def _assault(
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: AnyImageAttack,
    name: str,
    generators: dict[str, Artifact[GeneratorFiles]] | None,
) -> Assault:
    if attack.target is not None and attack.target >= classes.rows:
        raise InputError(
            f"The attack {attack.called} aims at class {attack.target}, and the classes are 0 to {classes.rows - 1}: "
            "set `target` to one of them."
        )
    trained = None if generators is None else {eps: read_files(generator) for eps, generator in generators.items()}
    seeds = Seeds(stage_seeds().run_seed, "attack")  # the same in every stage that attacks
    return Assault(subject, name, read_files(files), classes.rows, attack, seeds, trained)


def _summary(counted: dict[str, int], assault: Assault) -> str:
    largest = max(assault.grid())
    reached, n = counted.get(f"reached {largest!r}", 0), counted.get(f"of {largest!r}", 0)
    share = f"{reached / n:.0%}" if n else "none"
    what = "wrong under attack" if not counted.get("several labels") else "with more labels wrong"
    what = what if assault.attack.goal == "untargeted" else "as the attack wants them"
    return f"{assault.attack.called} on {assault.name} · {share} of {n} {what} at {eps_name(largest)}"
