"""What attacks come to, as stages: a subject is probed before anybody believes them, and their results are measured."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.classes import class_names
from assay.data.image_schemas import Attacked, Probed
from assay.data.schemas import Classes, Findings, Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, map_partitions, read_files, reduce_partitions
from assay.infra.seeds import Seeds
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.attacks.measures import attack_findings
from assay.tasks.attacks.red_flags import PROBES, Reading, flags_of_attacks
from assay.tasks.attacks.settings import AnyImageAttack
from assay.tasks.attacks.trials import COLUMNS, Trial, trials_one_by_one
from assay.tasks.statistics.findings import Finding, findings_from, findings_table
from assay.tasks.statistics.grouped_samples import groups_by_id
from assay.tasks.subjects.holding_out import columns_of
from assay.tasks.subjects.images.model import CARD
from assay.tasks.subjects.resolved import ResolvedSubject

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
    from assay.tasks.subjects.images.lessons import LABELS, targets_of

    if not subject.has_gradient:
        readings = [Reading(flag, False, 0, "it is only asked and has no gradient") for flag in PROBES]
        say(f"{name} · only asked, so there is nothing to probe")
        return write_table(findings_table([reading.finding(name) for reading in readings]), into=Findings)
    names = class_names(collect(classes, None))
    several = LABELS in reduce_partitions(columns_of, evaluation)["columns"]
    known = collect(evaluation, ["id", "gold", *([LABELS] if several else [])])
    ids = chosen(known["id"].to_pylist(), limit, stage_seeds().generator())
    held = read_files(files)
    probed = map_partitions(
        probe_partition,
        evaluation,
        into=Probed,
        files=held,
        subject=subject,
        ids=frozenset(ids),
        seeds=stage_seeds(),
    )
    rows = collect(probed, None)
    truth = targets_of(known.take(pc.index_in(rows["id"], value_set=known["id"].combine_chunks())), names)
    readings = flags_of_probes(rows, truth, multilabel=several, softmaxed=json.loads(held[CARD])["softmaxed"])
    say(f"{name} · {len(ids)} samples · {_flags_in_words(readings)}")
    return write_table(findings_table([reading.finding(name) for reading in readings]), into=Findings)


@stage(version=4, title="robustness")
def measure_attacks(
    attacked: list[Artifact[Attacked]],
    classes: Artifact[Classes],
    attacks: list[AnyImageAttack],
    name: str,
    transfers: list[Artifact[Findings]],
    split: str = "",
    evaluation: Artifact[Samples] | None = None,
) -> Artifact[Findings]:
    """The findings on one subject's attacks, the worst case among them, and the red flags they raise together.

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
    for trial in trials_one_by_one(collect(table, COLUMNS) for table in attacked):
        groups = None if of_id is None else np.array([of_id[sample] for sample in trial.ids.tolist()])
        findings += attack_findings(trial, names, split, aims.get(trial.attack), groups)
        trials.append(trial.answered())
    flags: list[Reading] = []
    if not split:
        moved = [row for table in transfers for row in findings_from(collect(table, Findings.schema.names))]
        flags = flags_of_attacks(trials, attacks, names, moved)
        findings += [flag.finding(name) for flag in flags]
    say(f"{name} · {_summary(findings)}" + (f" · {_flags_in_words(flags)}" if flags else ""))
    return write_table(findings_table(findings), into=Findings)


def probe_partition(
    samples: pa.Table, *, files: dict[str, bytes], subject: ResolvedSubject, ids: frozenset[str], seeds: Seeds
) -> pa.Table:
    """The probes of those samples of a partition that are among the ids."""
    import torch

    from assay.tasks.attacks.draws import Draws
    from assay.tasks.attacks.probes import probe_samples
    from assay.tasks.attacks.records import Posed
    from assay.tasks.subjects.images.model import load_image_model

    some = samples.filter(pc.is_in(samples["id"], value_set=pa.array(sorted(ids), pa.string())))
    if some.num_rows == 0:
        return Probed.schema.empty_table()
    model = load_image_model(subject, files)
    posed = Posed.of(some, model)
    images, truth = torch.from_numpy(posed.pixels), torch.from_numpy(posed.targets)
    return probe_samples(model, images, truth, Draws(seeds, posed.ids))


def _flags_in_words(readings: Sequence[Reading]) -> str:
    raised = [reading.flag for reading in readings if reading.raised]
    return f"red flags: {', '.join(raised)}" if raised else "no red flag"


def _summary(findings: Sequence[Finding]) -> str:
    accuracies = [one for one in findings if one.metric == "attack.accuracy" and one.value is not None]
    if not accuracies:
        return "nothing was attacked"
    tied = min(one.value or 0.0 for one in accuracies)
    # Of several ε that leave the same, the largest is the one that says something: often everything is left at 0.
    lowest = [one for one in accuracies if (one.value or 0.0) == tied][-1]
    return f"{lowest.of} at {lowest.group} leaves {lowest.value:.1%} right"
