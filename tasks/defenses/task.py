"""Defences as stages: a subject is trained to withstand more, and what that gained and cost is measured."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from assay.data.classes import class_names
from assay.data.image_schemas import Attacked
from assay.data.schemas import Classes, Findings, Predictions, Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, read_files, reduce_partitions
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.attacks.trials import COLUMNS
from assay.tasks.defenses.answers import Answers, attacked_answers, clean_answers
from assay.tasks.defenses.comparing import NONE, accuracy_findings, comparison_findings, deciding
from assay.tasks.defenses.learning import defend_images
from assay.tasks.defenses.settings import AnyImageDefence
from assay.tasks.defenses.telling_apart import best_findings, between_findings
from assay.tasks.statistics.findings import Finding, findings_table
from assay.tasks.statistics.grouped_samples import groups_by_id
from assay.tasks.subjects.holding_out import columns_of
from assay.tasks.subjects.images.lessons import LABELS, targets_of
from assay.tasks.subjects.images.task import require_classes
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.trained import TrainedSubject, trained_on_worker


@stage(version=1, title="defend", draws=True, gpu=True)
def defend_subject(
    training: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    defense: AnyImageDefence,
    name: str,
) -> TrainedSubject:
    """The files of the subject's defended model, called `name`, and how it learned; `defense` is a single variant.

    The files load as the subject's own do. Validation samples come out of the training samples and choose nothing; the
    audited ones are not seen.
    """
    names, contents = class_names(collect(classes, None)), read_files(files)
    require_classes(contents, classes.rows, subject.settings.name)
    defended = trained_on_worker(
        defend_images,
        training,
        files=contents,
        subject=subject,
        defense=defense,
        called=name,
        classes=tuple(names),
        seeds=stage_seeds(),
    )
    last = defended.last_epoch()
    aside = last["validation_accuracy"]
    shown = "" if aside is None else f", {aside:.1%} of the clean validation samples right"
    say(f"{name} · {last['epoch']} epochs of {training.rows} samples{shown}")
    return defended


@stage(version=6, title="defences", draws=True)
def measure_defences(
    predictions: dict[str, Artifact[Predictions]],
    attacked: dict[str, list[Artifact[Attacked]]],
    evaluation: Artifact[Samples],
    classes: Artifact[Classes],
    name: str,
    telling: str,
    significance: float,
) -> Artifact[Findings]:
    """The findings on one subject's defences: `defense.accuracy`, `.gain`, `.mcnemar_p`, `.best_accuracy`, and
    `.between_p` of every two.

    `predictions` and `attacked` (the tables of all attacks, the worst case among them) go by the name of the defence,
    those of the undefended subject by `none`; `telling` names the ε at which conclusions are drawn.
    """
    names = class_names(collect(classes, None))
    several = LABELS in reduce_partitions(columns_of, evaluation)["columns"]
    known = collect(evaluation, ["id", "gold", *([LABELS] if several else [])])

    of_id = groups_by_id(evaluation)

    def answers_of(model: str) -> list[Answers]:
        predicted = collect(predictions[model], None)
        rows = known.take(pc.index_in(predicted["id"], value_set=known["id"].combine_chunks()))
        clean = clean_answers(predicted, targets_of(rows, names), len(names))
        answers = [clean, *attacked_answers(collect(one, COLUMNS) for one in attacked.get(model, []))]
        return [one.grouped(of_id) for one in answers]

    original = answers_of(NONE)
    findings, decisive = accuracy_findings(original, NONE, name, names), dict[str, Answers]()
    for defence in predictions:
        if defence != NONE:
            defended = answers_of(defence)
            findings += accuracy_findings(defended, defence, name, names)
            findings += comparison_findings(
                original, defended, defence, name, telling=telling, significance=significance, seeds=stage_seeds()
            )
            decisive |= [(defence, one) for one in deciding(defended) if one.group == telling]
    findings += [*best_findings(decisive, name, len(names)), *between_findings(decisive, name, significance)]
    say(f"{name} · {_concluded(findings, telling)}")
    return write_table(findings_table(findings), into=Findings)


def _concluded(findings: Sequence[Finding], telling: str) -> str:
    """What is left at the telling ε without and with each defence, in a line."""
    left = [one for one in findings if one.metric == "defense.accuracy" and one.group == telling]
    shown = [f"{one.of} {one.value:.1%}" for one in left if one.value is not None]
    return f"right at {telling}: {', '.join(shown)}" if shown else "no attack to withstand"
