"""Defended image subjects as stages: trained on a worker, and held against their originals, clean and under every
attack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import Attacked, Classes, Findings, Predictions, Samples, SubjectFiles, class_names
from assay.infra.engines.devices import deterministically, torch_device_here
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import collect, read_files
from assay.infra.stages.stage import say, stage, stage_seeds, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.measures import COLUMNS
from assay.tasks.defenses.adversarial_training import attacked
from assay.tasks.defenses.comparison import (
    CLEAN,
    NONE,
    Answers,
    accuracy_findings,
    attacked_answers,
    best_findings,
    between_findings,
    by_label,
    class_gain_findings,
    clean_answers,
    comparison_findings,
    deciding_answers,
)
from assay.tasks.defenses.settings import Defence
from assay.tasks.defenses.table import IMAGE_DEFENCES
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.groups import groups_by_id
from assay.tasks.subjects.images.dataset import LABELS, labelled_images, targets_of, truth_columns
from assay.tasks.subjects.images.task import model_again, trained
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.trained import Checkpoints, TrainedSubject, trained_on_worker

JUDGING_STEPS = 10
"""Of the PGD that says which epoch is the best."""


def defend_images(
    training: pa.Table,
    *,
    checkpoints: Checkpoints,
    files: Mapping[str, bytes],
    subject: ResolvedSubject,
    defense: Defence,
    called: str,
    classes: Sequence[str],
    seeds: Seeds,
) -> tuple[dict[str, bytes], pa.Table]:
    """The files and the curve of the defended model of that name; `defense` has one ε, one start and one λ.

    Its card says of which subject it was made, with which defence, and from where it started.
    """
    why = IMAGE_DEFENCES.of(defense).one_class
    if (LABELS in training.column_names) and why:
        others = " or ".join(f"`{choice.word}`" for choice in IMAGE_DEFENCES if not choice.one_class)
        raise InputError(
            f"{why}, and {subject.settings.name} answers with several labels per image: defend it by {others}."
        )
    options = defense.train or subject.settings.train or Training()
    lessons = labelled_images(training, classes)
    about = {
        "defends": subject.settings.name,
        "defence": defense.model_dump(mode="json", by_alias=True, exclude={"train"}),
    }

    def learn() -> tuple[dict[str, bytes], pa.Table]:
        model = model_again(files, subject, lessons, classes, seeds, fresh=defense.start != ("subject",))
        hook = IMAGE_DEFENCES.of(defense).guarded_hook(defense, seeds, subject.masked)
        judging = partial(attacked, eps=defense.budget, steps=JUDGING_STEPS, step_size=None, seeds=seeds)
        return trained(
            replace(model, name=called),
            lessons,
            options,
            subject,
            classes,
            seeds=seeds,
            checkpoints=checkpoints,
            hook=hook,
            about=about,
            attack=judging if defense.stop == ("best",) else None,
        )

    return deterministically(learn, torch_device_here())


@stage(version=1, title="defend", draws=True, gpu=True)
def defend_subject(
    training: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    defense: Defence,
    name: str,
) -> TrainedSubject:
    """The files of the subject's defended model, called `name`, and how it learned; `defense` is a single variant.

    The files load as the subject's own do. Validation samples come out of the training samples and choose nothing; the
    audited ones are not seen.
    """
    defended = trained_on_worker(
        defend_images,
        training,
        files=read_files(files),
        subject=subject,
        defense=defense,
        called=name,
        classes=tuple(class_names(collect(classes, None))),
        seeds=stage_seeds(),
    )
    curve = collect(defended.curve, None).sort_by("epoch").to_pylist()
    stops = defense.stop == ("best",)
    counts = max(curve, key=lambda row: (row["validation_accuracy"] or 0.0, -row["epoch"])) if stops else curve[-1]
    aside, how = counts["validation_accuracy"], "attacked" if stops else "clean"
    shown = "" if aside is None else f", {aside:.1%} of the {how} validation samples right"
    best = f", the best after {counts['epoch']}" if stops else ""
    say(f"{name} · {plural(len(curve), 'epoch')} of {training.rows} samples{best}{shown}")
    return defended


@stage(version=11, title="defences", draws=True)
def measure_defences(
    predictions: dict[str, Artifact[Predictions]],
    attacked: dict[str, list[Artifact[Attacked]]],
    evaluation: Artifact[Samples],
    classes: Artifact[Classes],
    name: str,
    telling: str,
    significance: float,
    margin: float = 0.05,
) -> Artifact[Findings]:
    """The findings on one subject's defences: `defense.accuracy`, `.gain`, `.mcnemar_p`, what each class gains,
    `.best_accuracy`, and `.between_p` of every two.

    `predictions` and `attacked` (the tables of all attacks, the worst case among them) go by the name of the defence,
    those of the undefended subject by `none`; `telling` names the ε at which conclusions are drawn.
    """
    names = class_names(collect(classes, None))
    known, of_id = truth_columns(evaluation), groups_by_id(evaluation)

    def answers_of(model: str) -> list[Answers]:
        predicted = collect(predictions[model], None)
        rows = known.take(pc.index_in(predicted["id"], value_set=known["id"].combine_chunks()))
        clean = clean_answers(predicted, targets_of(rows, names), len(names))
        answers = [clean, *attacked_answers(collect(table, COLUMNS) for table in attacked.get(model, []))]
        return [given.grouped(of_id) for given in answers]

    original = answers_of(NONE)
    findings, decisive = accuracy_findings(deciding_answers(original), NONE, name, names), dict[str, Answers]()
    for defence in predictions:
        if defence != NONE:
            defended = answers_of(defence)
            findings += accuracy_findings(deciding_answers(defended), defence, name, names)
            findings += comparison_findings(original, defended, defence, name, telling, significance, stage_seeds())
            before, after = (
                by_label([given for given in deciding_answers(answers) if given.group in (CLEAN, telling)])
                for answers in (original, defended)
            )
            findings += class_gain_findings(before, after, defence, name, names, significance, margin)
            decisive |= [(defence, given) for given in deciding_answers(defended) if given.group == telling]
    findings += [*best_findings(decisive, name, len(names)), *between_findings(decisive, name, significance)]
    say(f"{name} · {_concluded(findings, telling)}")
    return write_table(findings_table(findings), into=Findings)


def _concluded(findings: Sequence[Finding], telling: str) -> str:
    """What is left at the telling ε without and with each defence, in a line."""
    left = [finding for finding in findings if finding.metric == "defense.accuracy" and finding.group == telling]
    shown = [f"{finding.of} {finding.value:.1%}" for finding in left if finding.value is not None]
    return f"right at {telling}: {', '.join(shown)}" if shown else f"no attack tries {telling} on every pixel"
